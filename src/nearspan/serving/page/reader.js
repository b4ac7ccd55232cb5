// The reader: a text is annotated, its entities are asked about and corrected.

import { edit, post } from "./api.js";
import { byId, chip, make, number, rove, say } from "./dom.js";
import { idle, shown } from "./evidence.js";
import { Lanes } from "./lanes.js";
import { Offsets, wholeWords } from "./offsets.js";

export class Reader {
  constructor({ served, colour, edited }) {
    Object.assign(this, { served, colour, edited, text: "", asked: 0 });
    this.panel = byId("panel");
    this.panel.replaceChildren(...idle());
    this.lanes = new Lanes(byId("passage"), { colour, named: (entity) => named(entity), open: (index) => this.#explain(index) });
    rove(byId("passage"), "button[data-entity]");
    byId("passage").addEventListener("pointerup", () => setTimeout(() => this.#selected()));
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

  /** Find the entities of what is in the box; nothing happens where that is empty. */
  async annotate() {
    const text = byId("text").value.toWellFormed();
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
      return now === label ? kept : `${kept} The model still says ${now ?? "no entity"}: no weight of this sentence is enough.`;
    };
    return this.#edit(() => edit("POST", "/memory/corrections", body), evidence.fragments, said);
  }

  #remove(one, evidence) {
    const [start, end] = [one.fragments[0][0], one.fragments.at(-1)[1]];
    const said = () => `“${one.text}” of ${one.document} is out of the memory.`;
    return this.#edit(() => edit("DELETE", `/memory/${one.sentence_id}?start=${start}&end=${end}`), evidence.fragments, said);
  }

  /** Edit the memory, read the text again with it, and offer to undo. */
  async #edit(work, fragments, said) {
    try {
      const done = await work();
      if (done === null) return; // no token
      await this.edited();
      await this.annotate();
      const index = this.entities.findIndex((one) => String(one.fragments) === String(fragments));
      await (index >= 0 ? this.#explain(index) : this.#ask(fragments, ""));
      const undo = make("button", { type: "button", id: "undo", onclick: () => this.#undo(fragments) }, "Undo");
      this.panel.prepend(make("div", { class: "kept row" }, make("p", {}, said(done)), undo));
      undo.focus();
      say(said(done));
    } catch (error) {
      say(error.message, { wrong: true });
    }
  }

  async #undo(fragments) {
    try {
      if ((await edit("POST", "/memory/undo")) === null) return;
      await this.edited();
      await this.annotate();
      const index = this.entities.findIndex((one) => String(one.fragments) === String(fragments));
      if (index >= 0) await this.#explain(index);
      else this.panel.focus();
      say("It is undone.", { shown: true });
    } catch (error) {
      say(error.message, { wrong: true });
    }
  }

  /** Asking about words without a mouse. */
  #other() {
    const words = make("input", { id: "words", autocomplete: "off", dir: "auto" });
    return make("form", {
      class: "other",
      onsubmit: (event) => {
        event.preventDefault();
        const at = words.value.trim() ? this.text.indexOf(words.value.trim()) : -1;
        if (at < 0) say("These words are not in the text.", { wrong: true });
        else this.#words(at, at + words.value.trim().length);
      },
    }, make("label", { htmlFor: "words" }, "Ask about other words of the text"), make("span", { class: "row" }, words, make("button", {}, "Ask")));
  }
}

function named(entity) {
  const score = entity.score === null ? "" : `, ${entity.score.toFixed(2)}`;
  return `${entity.text}, ${entity.label}${score}`;
}
