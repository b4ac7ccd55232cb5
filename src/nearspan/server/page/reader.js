// The reader: a text is annotated, its entities are asked about and corrected.

import { edit, post } from "./api.js";
import { byId, chip, make, number, rove, say } from "./dom.js";
import { idle, shown } from "./evidence.js";
import { Lanes } from "./lanes.js";
import { Offsets, nextPlace, wholeWords } from "./offsets.js";

export class Reader {
  constructor({ served, colour, edited }) {
    Object.assign(this, { served, colour, edited, text: "", asked: 0, sought: { words: "", at: -1 }, editing: false });
    this.panel = byId("panel");
    this.panel.replaceChildren(...idle());
    this.lanes = new Lanes(byId("passage"), { colour, named: (entity) => named(entity), open: (index) => this.#explain(index) });
    rove(byId("passage"), "button[data-entity]");
    let pressed = null; // the mark that the pointer went down on: choosing an entity is no selecting of words
    byId("passage").addEventListener("pointerdown", (event) => (pressed = event.target.closest("[data-entity]")));
    byId("passage").addEventListener("pointerup", () => pressed || setTimeout(() => this.#selected()));
    byId("ask").addEventListener("submit", (event) => {
      event.preventDefault();
      this.annotate();
    });
    byId("text").addEventListener("keydown", (event) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) this.annotate();
    });
    byId("text").addEventListener("input", () => this.#size());
    this.panel.addEventListener("keydown", (event) => {
      if (event.key === "Escape" && this.lanes.selected !== null) this.lanes.focus(this.lanes.selected);
    });
    this.#size();
  }

  /** Find the entities of a text, by default of what is in the box; nothing happens where that is empty. */
  async annotate(text = byId("text").value.toWellFormed()) {
    if (!text.trim()) {
      say("Type or paste a text first.", { shown: true });
      byId("text").focus();
      return;
    }
    this.#size();
    const turn = ++this.asked;
    byId("annotate").disabled = true;
    try {
      const found = await post("/annotate", { text });
      if (turn !== this.asked) return; // a later question was asked meanwhile
      if (text !== this.text) this.sought = { words: "", at: -1 };
      this.text = text;
      this.entities = found.documents[0].entities;
      byId("found").hidden = false;
      this.lanes.show(text, this.entities);
      this.#legend();
      this.panel.replaceChildren(...idle(), this.#other());
      say(this.entities.length === 1 ? "1 entity found." : `${number(this.entities.length)} entities found.`);
    } catch (error) {
      say(error.message, { wrong: true });
    } finally {
      byId("annotate").disabled = false;
    }
  }

  #size() {
    const box = byId("text");
    const size = new Offsets(box.value).character(box.value.length);
    const most = this.served.limits.characters;
    byId("size").textContent = size > most / 2 ? `${number(size)} of ${number(most)} characters` : "";
    byId("size").classList.toggle("wrong", size > most);
  }

  #legend() {
    const counts = new Map();
    for (const { label } of this.entities) counts.set(label, (counts.get(label) ?? 0) + 1);
    const chips = [...counts].sort(([, one], [, other]) => other - one).map(([label, count]) => make("span", { class: "row tight" }, chip(label, this.colour), make("span", { class: "soft" }, number(count))));
    byId("legend").replaceChildren(...(chips.length ? chips : [make("span", { class: "soft" }, "No entity found. Select words to ask about them.")]));
  }

  /** Ask about an entity. */
  async #explain(index) {
    this.lanes.select(index);
    document.getSelection().removeAllRanges(); // words selected before are not spoken of any more
    const { fragments, label } = this.entities[index];
    await this.#ask(fragments, label);
  }

  /** Ask about words that were selected with the mouse or a finger. */
  #selected() {
    const chosen = this.lanes.selection();
    const words = chosen && wholeWords(this.text, ...chosen);
    if (words) this.#words(...words);
  }

  #words(start, end) {
    const offsets = new Offsets(this.text);
    this.lanes.select(null);
    return this.#ask([[offsets.character(start), offsets.character(end)]], "");
  }

  async #ask(fragments, label) {
    const turn = ++this.asked;
    try {
      const evidence = await post("/neighbours", { text: this.text, fragments, label });
      if (turn !== this.asked) return;
      this.panel.replaceChildren(...shown(evidence, this.colour, this.#actions(evidence, label), (one) => this.#remove(one, evidence)).filter(Boolean), this.#other());
      byId("asked").focus({ preventScroll: window.innerWidth > 900 });
      say(`${evidence.text}: ${evidence.label ?? "no entity"}, ${evidence.strength} evidence.`);
    } catch (error) {
      say(error.message, { wrong: true });
    }
  }

  /** Correcting: another label, or none. */
  #actions(evidence, label) {
    const choice = make("select", { id: "relabel" }, this.served.labels.map((one) => make("option", { value: one }, one)));
    choice.value = evidence.label ?? this.served.labels[0];
    const correct = (wanted) => this.#correct(evidence, wanted);
    return make("div", { class: "actions" },
      make("label", { htmlFor: "relabel" }, label ? "Correct it" : "It is"),
      make("span", { class: "row" }, choice, make("button", { type: "button", onclick: () => correct(choice.value) }, label ? "Relabel" : "Add"),
        label ? make("button", { type: "button", onclick: () => correct(null) }, "Not an entity") : null),
      this.served.share ? null : make("p", { class: "soft" }, "This model decides without its memory: a correction is kept, but counts only where the server was started with --vote."));
  }

  #correct(evidence, label) {
    const body = { text: this.text, fragments: evidence.fragments, label };
    const said = ({ label: now }) => {
      const kept = `“${evidence.text}” is ${label ?? "no entity"} in the memory now.`;
      const alone = this.served.share ? "no weight of this sentence is enough" : "it decides without its memory";
      const why = evidence.fragments.length > 1 ? "fragments are joined without the memory" : alone;
      return now === label ? kept : `${kept} The model still says ${now ?? "no entity"}: ${why}.`;
    };
    return this.#edit(() => edit("POST", "/memory/corrections", body), evidence.fragments, said);
  }

  #remove(one, evidence) {
    const span = one.fragments.map(([start, end]) => `start=${start}&end=${end}`).join("&");
    const said = () => `“${one.text}” of ${one.document} is out of the memory.`;
    return this.#edit(() => edit("DELETE", `/memory/${one.sentence_id}?${span}`), evidence.fragments, said);
  }

  /** Edit the memory, read the text again with it, and offer to undo. */
  #edit(work, fragments, said) {
    return this.#alone(async () => {
      const done = await work();
      if (done === null) return; // no token
      if (!(await this.#again(fragments))) return;
      const undo = make("button", { type: "button", id: "undo", onclick: () => this.#undo(fragments, (done.edit ?? done).number) }, "Undo");
      this.panel.prepend(make("div", { class: "kept row" }, make("p", {}, said(done)), undo));
      undo.focus();
      say(said(done));
    });
  }

  #undo(fragments, number) {
    return this.#alone(async () => {
      if ((await edit("POST", `/memory/undo?only=${number}`)) === null) return;
      if (await this.#again(fragments)) say("It is undone.", { shown: true });
    });
  }

  /** Read the text again after an edit and ask about the span; false where another text has been opened meanwhile. */
  async #again(fragments) {
    const text = this.text; // not what is in the box, which may have been changed since
    await this.edited();
    await this.annotate(this.text);
    if (this.text !== text) return false;
    const index = this.entities.findIndex((one) => String(one.fragments) === String(fragments));
    await (index >= 0 ? this.#explain(index) : this.#ask(fragments, ""));
    return true;
  }

  /** One edit at a time: the panel's buttons rest while it runs. */
  async #alone(work) {
    if (this.editing) return;
    this.editing = true;
    const chosen = document.activeElement;
    const buttons = [...this.panel.querySelectorAll("button:enabled")];
    for (const button of buttons) button.disabled = true;
    try {
      await work();
    } catch (error) {
      say(error.message, { wrong: true });
    } finally {
      this.editing = false;
      for (const button of buttons) button.disabled = false;
      if (document.activeElement === document.body) chosen.focus(); // a button that rests has no focus
    }
  }

  /** Asking about words without a mouse; asked again, about the next place where they stand. */
  #other() {
    const words = make("input", { id: "words", autocomplete: "off", dir: "auto", value: this.sought.words });
    return make("form", {
      class: "other",
      onsubmit: (event) => {
        event.preventDefault();
        const wanted = words.value.trim();
        const at = wanted ? nextPlace(this.text, wanted, wanted === this.sought.words ? this.sought.at : -1) : -1;
        if (at < 0) {
          say("These words are not in the text as whole words.", { wrong: true });
          return;
        }
        this.sought = { words: wanted, at };
        this.#words(at, at + wanted.length);
      },
    }, make("label", { htmlFor: "words" }, "Ask about other words of the text"), make("span", { class: "row" }, words, make("button", {}, "Ask")));
  }
}

function named(entity) {
  const score = entity.score === null ? "" : `, ${entity.score.toFixed(2)}`;
  return `${entity.text}, ${entity.label}${score}`;
}
