// The reader: annotates a text, explains its entities and corrects them.

import { edit, post } from "./api.js";
import { announce, byId, chip, make, number, useArrowKeys } from "./dom.js";
import { emptyPanel, evidencePanel } from "./evidence.js";
import { Lanes } from "./lanes.js";
import { Offsets, nextPlace, wholeWords } from "./offsets.js";

export class Reader {
  constructor({ health, colour, onEdit }) {
    Object.assign(this, { health, colour, onEdit, text: "", turn: 0, error: null, search: { words: "", at: -1 }, editing: false, stale: false });
    this.panel = byId("panel");
    this.panel.replaceChildren(...emptyPanel());
    const passage = byId("passage");
    this.lanes = new Lanes(passage, { colour: ({ label, role }) => `${colour(label)} ${role ?? ""}`, describe, open: (index) => this.#explainEntity(index) });
    useArrowKeys(passage, "button[data-entity]");
    let pressed = null; // the mark that the pointer went down on: choosing an entity selects no words
    passage.addEventListener("pointerdown", (event) => (pressed = event.target.closest("[data-entity]")));
    passage.addEventListener("pointerup", () => pressed || setTimeout(() => this.#explainSelection()));
    byId("ask").addEventListener("submit", (event) => {
      event.preventDefault();
      this.annotate();
    });
    byId("text").addEventListener("keydown", (event) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) this.annotate();
    });
    byId("text").addEventListener("input", () => this.#showSize());
    this.panel.addEventListener("keydown", (event) => {
      if (event.key === "Escape") this.#close();
    });
    this.#showSize();
  }

  /** The memory was edited elsewhere on this page. */
  setStale() {
    this.stale = this.text !== "";
  }

  /** Read the text again if the memory was edited elsewhere. */
  show() {
    if (this.stale) this.annotate(this.text, this.error);
  }

  /** Find the entities of a text, by default of the one in the box; `error` is what a corpus says of them. */
  async annotate(text = byId("text").value.toWellFormed(), error = null) {
    if (!text.trim()) {
      announce("Type or paste a text first.", { visible: true });
      byId("text").focus();
      return;
    }
    this.#showSize();
    const turn = ++this.turn;
    byId("annotate").disabled = true;
    try {
      const [{ entities }] = (await post("/annotate", { text })).documents;
      if (turn !== this.turn) return; // something else was asked meanwhile
      if (text !== this.text) this.search = { words: "", at: -1 };
      Object.assign(this, { text, entities, error, stale: false });
      byId("result").hidden = false;
      this.lanes.show(text, [...entities.map((entity) => ({ ...entity, caption: caption(entity) })), ...this.#gold()]);
      this.#showLegend();
      this.#showError();
      this.panel.classList.remove("open");
      this.panel.replaceChildren(...emptyPanel(), this.#searchForm());
      announce(entities.length === 1 ? "1 entity found." : `${number(entities.length)} entities found.`);
    } catch (error) {
      announce(error.message, { wrong: true });
    } finally {
      byId("annotate").disabled = false;
    }
  }

  #showSize() {
    const { value } = byId("text");
    const size = new Offsets(value).character(value.length);
    const most = this.health.limits.characters;
    byId("size").textContent = size > most / 2 ? `${number(size)} of ${number(most)} characters` : "";
    byId("size").classList.toggle("wrong", size > most);
  }

  #showLegend() {
    const counts = new Map();
    for (const { label } of this.entities) counts.set(label, (counts.get(label) ?? 0) + 1);
    const chips = [...counts].sort(([, left], [, right]) => right - left)
      .map(([label, count]) => make("span", { class: "row tight" }, chip(label, this.colour), make("span", { class: "soft" }, number(count))));
    byId("legend").replaceChildren(...(chips.length ? chips : [make("span", { class: "soft" }, "No entity found. Select words to ask about them.")]));
  }

  /** What the corpus has and the model lacks, as marks behind those of the entities. */
  #gold() {
    const { gold } = this.error ?? {};
    return gold && !this.#has(gold) ? [{ ...gold, score: null, role: "gold", caption: `gold ${gold.label}` }] : [];
  }

  /** Whether the model reads an entity so. */
  #has({ fragments, label }) {
    return this.entities.some((entity) => entity.label === label && String(entity.fragments) === String(fragments));
  }

  /** What the corpus says of the text that was opened from an error, and one button to have it so. */
  #showError() {
    const { gold, predicted } = this.error ?? {};
    const box = byId("gold");
    box.hidden = !this.error;
    if (!this.error) return;
    const isRight = (!gold || this.#has(gold)) && (!predicted || !this.#has(predicted));
    const wanted = gold ? `“${gold.text}” is ${gold.label}` : `“${predicted.text}” is no entity`;
    const fix = make("button", { type: "button", class: "primary", id: "fix", onclick: () => this.#fix() }, `Fix it: ${wanted}`);
    box.replaceChildren(make("p", {}, isRight ? `It is as in the corpus now: ${wanted}.` : `In the corpus ${wanted}.`), ...(isRight ? [] : [fix]));
  }

  /** Correct what the corpus says is wrong: the gold entity first, then the predicted one if it still stands. */
  #fix() {
    const { gold, predicted } = this.error;
    const work = async () => {
      const edits = [];
      const correct = async ({ fragments }, label) => {
        const answer = await edit("POST", "/memory/corrections", { text: this.text, fragments, label });
        if (answer) edits.push(answer.edit.number);
        return answer;
      };
      let answer = gold ? await correct(gold, gold.label) : null;
      if (gold && !answer) return null;
      const [{ entities }] = (await post("/annotate", { text: this.text })).documents;
      const stands = predicted && entities.some((entity) => entity.label === predicted.label && String(entity.fragments) === String(predicted.fragments));
      if (stands) answer = (await correct(predicted, null)) ?? answer;
      return answer && { ...answer, edits };
    };
    const { text, fragments, label } = gold ?? { ...predicted, label: null };
    return this.#edit(work, fragments, () => {
      const kept = `“${text}” is ${label ?? "no entity"} in the memory now.`;
      const isRight = label ? this.#has({ fragments, label }) : !this.#has(predicted);
      return isRight ? kept : `${kept} The model still reads it otherwise.`;
    });
  }

  async #explainEntity(index) {
    if (index >= this.entities.length) return this.#explain(this.error.gold.fragments, "");
    this.lanes.select(index);
    document.getSelection().removeAllRanges(); // the panel is no longer about words selected before
    const { fragments, label } = this.entities[index];
    await this.#explain(fragments, label);
  }

  /** Explain words that were selected with the mouse or a finger. */
  #explainSelection() {
    const selection = this.lanes.selection();
    const words = selection && wholeWords(this.text, ...selection);
    if (words) this.#explainWords(...words);
  }

  #explainWords(start, end) {
    const offsets = new Offsets(this.text);
    this.lanes.select(null);
    return this.#explain([[offsets.character(start), offsets.character(end)]], "");
  }

  async #explain(fragments, label) {
    const turn = ++this.turn;
    try {
      const evidence = await post("/neighbours", { text: this.text, fragments, label });
      if (turn !== this.turn) return;
      const remove = (neighbour) => this.#remove(neighbour, evidence);
      const elements = evidencePanel(evidence, this.colour, this.#actions(evidence, label), remove);
      const close = make("button", { type: "button", class: "close", "aria-label": "Close the evidence", onclick: () => this.#close() }, "×");
      this.panel.replaceChildren(close, ...elements.filter(Boolean), this.#searchForm());
      this.#openSheet(fragments);
      byId("evidence-title").focus({ preventScroll: true });
      announce(`${evidence.text}: ${evidence.label ?? "no entity"}, ${evidence.strength} evidence.`);
    } catch (error) {
      announce(error.message, { wrong: true });
    }
  }

  /** On a narrow screen the panel is a sheet over the page's lower half: scroll the words out from under it. */
  #openSheet(fragments) {
    this.panel.classList.add("open");
    this.panel.scrollTop = 0;
    if (getComputedStyle(this.panel).position !== "fixed") return;
    const box = this.lanes.boxOf(fragments);
    const hidden = box ? box.bottom - this.panel.getBoundingClientRect().top + 28 : 0; // with the label below the words
    if (hidden > 0) window.scrollBy({ top: hidden });
  }

  /** Put the evidence away where it is a sheet, and go back to the entity it is about. */
  #close() {
    this.panel.classList.remove("open");
    if (this.lanes.selected !== null) this.lanes.focus(this.lanes.selected);
  }

  /** Controls that correct a span: another label than it has, or none. */
  #actions(evidence, label) {
    const has = label || (this.#has(evidence) ? evidence.label : "");
    const labels = this.health.labels.filter((name) => name !== has);
    const choice = make("select", { id: "relabel" }, labels.map((name) => make("option", { value: name }, name)));
    if (labels.includes(evidence.label)) choice.value = evidence.label;
    const button = (name, corrected) => make("button", { type: "button", onclick: () => this.#preview(evidence, corrected()) }, name);
    return make("div", { class: "actions" },
      labels.length ? make("label", { htmlFor: "relabel" }, has ? "Correct it" : "It is") : null,
      make("span", { class: "row" }, ...(labels.length ? [choice, button(has ? "Relabel" : "Add", () => choice.value)] : []), has ? button("Not an entity", () => null) : null),
      this.health.datastore_weight ? null : make("p", { class: "soft" }, "This model predicts without its memory. A correction is kept, but counts only where the server was started with --vote."));
  }

  /** Say what a correction changes in held-out sentences before it is made. */
  #preview(evidence, label) {
    return this.#withoutButtons(async () => {
      const preview = await edit("POST", "/memory/corrections/preview", { text: this.text, fragments: evidence.fragments, label });
      if (preview === null) {
        announce("Nothing was changed: editing needs the token.", { wrong: true });
        return;
      }
      this.panel.querySelector(".preview")?.remove();
      const { held_out: sentences, mended, broken, other, harms, changes } = preview;
      const box = make("div", { class: "edited preview", role: "group", "aria-label": "Preview" });
      const go = make("button", { type: "button", class: "primary", onclick: () => this.#correct(evidence, label) }, harms ? "Correct it all the same" : "Correct it");
      const stop = make("button", { type: "button", onclick: () => box.remove() }, "Leave it");
      const counts = `In ${number(sentences)} held-out sentences: ${number(mended)} mended, ${number(broken)} broken, ${number(other)} otherwise wrong.`;
      const line = ({ effect, text, before, after, sentence }) => make("li", { dir: "auto" }, make("b", {}, effect), ` “${text}”: ${before ?? "no entity"} → ${after ?? "no entity"} `, make("span", { class: "soft" }, sentence));
      box.append(
        make("p", {}, `“${evidence.text}” will be ${label ?? "no entity"}. ${counts}`),
        ...(harms ? [make("p", { class: "wrong" }, "It breaks more than it mends.")] : []),
        ...(changes.length ? [make("ul", {}, changes.slice(0, 8).map(line))] : []),
        make("p", { class: "row" }, go, stop));
      this.panel.prepend(box);
      this.panel.scrollTop = 0;
      setTimeout(() => go.focus());
      announce(counts);
    });
  }

  #correct({ text, fragments }, label) {
    const report = ({ label: predicted }) => {
      const kept = `“${text}” is ${label ?? "no entity"} in the memory now.`;
      if (predicted === label) return kept;
      let reason = this.health.datastore_weight ? "no weight of this sentence is enough" : "it predicts without its memory";
      if (fragments.length > 1) reason = "fragments are linked without the memory";
      return `${kept} The model still says ${predicted ?? "no entity"}: ${reason}.`;
    };
    return this.#edit(() => edit("POST", "/memory/corrections", { text: this.text, fragments, label }), fragments, report);
  }

  #remove(neighbour, { fragments }) {
    const query = neighbour.fragments.map(([start, end]) => `start=${start}&end=${end}`).join("&");
    const report = () => `“${neighbour.text}” of ${neighbour.document} is out of the memory.`;
    return this.#edit(() => edit("DELETE", `/memory/${neighbour.sentence_id}?${query}`), fragments, report);
  }

  /** Edit the memory, annotate the text again with it, and offer to undo. */
  #edit(work, fragments, report) {
    return this.#withoutButtons(async () => {
      const answer = await work();
      if (answer === null) {
        announce("Nothing was changed: editing needs the token.", { wrong: true });
        return;
      }
      if (!(await this.#refresh(fragments))) return;
      const edits = answer.edits ?? [(answer.edit ?? answer).number];
      const undo = make("button", { type: "button", id: "undo", onclick: () => this.#undo(fragments, edits) }, "Undo");
      this.panel.prepend(make("div", { class: "edited row" }, make("p", {}, report(answer)), undo));
      undo.focus();
      announce(report(answer));
    });
  }

  #undo(fragments, edits) {
    return this.#withoutButtons(async () => {
      for (const edited of edits.toReversed()) {
        if ((await edit("POST", `/memory/undo?only=${edited}`)) === null) return;
      }
      if (await this.#refresh(fragments)) announce("It is undone.", { visible: true });
    });
  }

  /** Annotate the text again after an edit and explain the span; false where another text has been opened meanwhile. */
  async #refresh(fragments) {
    const { text } = this; // not what is in the box, which may have been changed since
    await this.onEdit();
    await this.annotate(this.text, this.error);
    if (this.text !== text) return false;
    const index = this.entities.findIndex((entity) => String(entity.fragments) === String(fragments));
    await (index >= 0 ? this.#explainEntity(index) : this.#explain(fragments, ""));
    return true;
  }

  /** One edit at a time: the panel's buttons are disabled while it runs. */
  async #withoutButtons(work) {
    if (this.editing) return;
    this.editing = true;
    const focused = document.activeElement;
    const buttons = [...this.panel.querySelectorAll("button:enabled"), ...byId("gold").querySelectorAll("button")];
    for (const button of buttons) button.disabled = true;
    try {
      await work();
    } catch (error) {
      announce(error.message, { wrong: true });
    } finally {
      this.editing = false;
      for (const button of buttons) button.disabled = false;
      if (document.activeElement === document.body) focused.focus(); // a disabled button loses the focus
    }
  }

  /** Explains words without a mouse; asked again, at the next place where they stand. */
  #searchForm() {
    const field = make("input", { id: "words", autocomplete: "off", dir: "auto", value: this.search.words });
    const submit = (event) => {
      event.preventDefault();
      const words = field.value.trim();
      const at = words ? nextPlace(this.text, words, words === this.search.words ? this.search.at : -1) : -1;
      if (at < 0) {
        announce("These words are not in the text as whole words.", { wrong: true });
        return;
      }
      this.search = { words, at };
      this.#explainWords(at, at + words.length);
    };
    return make("form", { class: "search", onsubmit: submit }, make("label", { htmlFor: "words" }, "Ask about other words of the text"),
      make("span", { class: "row" }, field, make("button", {}, "Ask")));
  }
}

function caption({ label, score }) {
  return score === null ? label : `${label} ${score.toFixed(2)}`;
}

function describe({ text, label, score, role }) {
  return `${text}, ${role ? `${role} ` : ""}${label}${score === null ? "" : `, ${score.toFixed(2)}`}`;
}
