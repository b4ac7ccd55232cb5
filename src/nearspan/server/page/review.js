// The review: text after text, answered by keyboard or by hand.

import { edit } from "./api.js";
import { announce, chip, make, number } from "./dom.js";
import { Lanes } from "./lanes.js";
import { Offsets } from "./offsets.js";

const NAME = "nearspan-reviewer"; // the reviewer's name in the browser's storage
const KEYS = 9; // labels that have a key

/** The review's view; `open` is called with a text to look at, `onEdit` after each answer. */
export class ReviewLoop {
  constructor(view, { colour, labels, overlap, open, onEdit }) {
    Object.assign(this, { view, colour, labels, overlap, open, onEdit, task: null, busy: false, timer: 0 });
    this.reviewer = localStorage.getItem(NAME) ?? "";
  }

  /** Ask for the name, or go on with the text that this reviewer has. */
  show() {
    if (!this.reviewer) this.#askName();
    else if (!this.task) this.#begin();
  }

  #askName() {
    const name = make("input", { id: "reviewer", autocomplete: "name", maxLength: 100, required: true, value: this.reviewer });
    const submit = (event) => {
      event.preventDefault();
      this.reviewer = name.value.trim();
      localStorage.setItem(NAME, this.reviewer);
      if (this.reviewer) this.#begin();
    };
    this.view.replaceChildren(make("form", { class: "card name", onsubmit: submit },
      make("h2", {}, "Review"),
      make("p", {}, "You are shown the texts that teach the model most. Accept the entities that it reads in them, or correct them first."),
      make("label", { htmlFor: "reviewer" }, "Your name, by which others know who has which text"),
      make("div", { class: "row" }, name, make("button", { class: "primary" }, "Start"))));
    name.focus();
  }

  async #begin() {
    await this.#withoutButtons(async () => {
      const review = await edit("GET", "/review");
      if (review === null) {
        this.view.replaceChildren(make("p", { class: "card" }, "A review needs the token for editing."), make("button", { type: "button", onclick: () => this.#begin() }, "Give the token"));
        return;
      }
      this.#build(review.formats);
      await this.#next();
    });
  }

  /** The view's frame, in which texts come and go. */
  #build(formats) {
    const button = (id, name, key, work, more = {}) => make("button", { type: "button", id, onclick: work, "aria-keyshortcuts": key, ...more }, name, " ", make("kbd", {}, key));
    this.counts = make("p", { class: "soft", id: "review-progress" });
    this.bar = make("progress", { "aria-label": "Texts answered" });
    this.due = make("p", { class: "soft" });
    this.train = make("button", { type: "button", class: "quiet", onclick: () => this.#train() }, "Train the model again");
    this.training = "";
    this.note = make("div", { class: "edited row", role: "group", "aria-label": "Note", hidden: true });
    this.about = make("p", { class: "soft" });
    const passage = make("div", {});
    this.lanes = new Lanes(passage, {
      colour: ({ label }) => this.colour(label),
      describe: ({ text, label }) => `${text}, ${label}`,
      open: (index) => this.#select(this.entities[index].fragments),
    });
    passage.addEventListener("pointerup", (event) => setTimeout(() => this.#selectByHand(event)));
    const label = (name, at) => make("button", { type: "button", class: `chip ${this.colour(name)}`, disabled: true, onclick: () => this.#label(name), "aria-keyshortcuts": at < KEYS ? String(at + 1) : null },
      at < KEYS ? make("kbd", {}, String(at + 1)) : null, name);
    this.labelButtons = [...this.labels.map(label), make("button", { type: "button", class: "chip none", disabled: true, onclick: () => this.#label(null), "aria-keyshortcuts": "0" }, make("kbd", {}, "0"), "no entity")];
    this.words = make("p", { class: "soft", id: "chosen" });
    this.board = make("div", { class: "card board", hidden: true, tabIndex: 0, role: "group", "aria-label": "Text to answer", "aria-describedby": "review-keys", onkeydown: (event) => this.#key(event) },
      this.about, passage, this.words,
      make("div", { class: "row", role: "group", "aria-label": "Label of the chosen words" }, this.labelButtons),
      make("div", { class: "row answers" },
        button("accept", "Right", "Enter", () => this.#answer(), { class: "primary" }),
        button("skip-text", "Skip", "S", () => this.#skip()),
        button("undo-answer", "Undo", "U", () => this.#undo())));
    this.none = make("div", { class: "card", hidden: true });
    const format = make("select", { id: "format" }, formats.map((name) => make("option", { value: name }, name)));
    format.value = "jsonl";
    const download = make("button", { type: "button", onclick: () => this.#download(format.value) }, "Download");
    this.view.replaceChildren(
      make("div", { class: "row" }, this.counts, make("button", { type: "button", class: "quiet last", onclick: () => this.#askName() }, `You are ${this.reviewer}`)),
      this.bar, make("div", { class: "row" }, this.due, this.train), this.note, this.board, this.none,
      make("p", { class: "soft hint", id: "review-keys" }, "Choose words with the mouse or a finger, or with ← and →, with Shift more of them; ↑ and ↓ choose an entity. A number gives what is chosen a label, 0 or Delete none. Esc brings back what the model has read."),
      make("div", { class: "row" }, make("label", { htmlFor: "format" }, "All answers as"), format, download));
  }

  async #next() {
    const answer = await edit("POST", "/review/next", { reviewer: this.reviewer });
    if (answer !== null) this.#take(answer);
  }

  /** Show a text to answer, and how far the review is. */
  #take({ task, progress }) {
    this.#showProgress(progress);
    this.task = task;
    clearTimeout(this.timer);
    this.board.hidden = !task;
    this.none.hidden = Boolean(task);
    if (!task) {
      const left = progress.left ? "All texts that are left are with others, or you have skipped them." : "All texts are answered.";
      this.none.replaceChildren(make("p", {}, left), make("p", { class: "row" },
        make("button", { type: "button", onclick: () => this.#withoutButtons(() => this.#next()) }, "Ask again"),
        make("button", { type: "button", onclick: () => this.#undo() }, "Undo")));
      announce(left);
      return;
    }
    const { text, words, entities } = task.document;
    this.offsets = new Offsets(text);
    Object.assign(this, { entities, wordEdges: words, chosen: null });
    const wrong = task.doubt < 0.05 ? "The model is sure of all that it has read." : `The model expects to read ${task.doubt.toFixed(1)} of its spans wrong.`;
    this.about.textContent = `${task.document.id}. ${wrong}`;
    this.#draw();
    this.timer = setTimeout(() => this.#say("Your time for this text is over. Others may have it, and the first answer counts."), Math.max(0, 1000 * task.until - Date.now()));
    this.board.focus({ preventScroll: true });
    announce(`${text} ${entities.length === 1 ? "1 entity" : `${number(entities.length)} entities`}.`);
  }

  #showProgress({ texts, known, answered, accepted, recently_accepted: recently, left, training_due: due, training }) {
    const done = texts - known;
    const recent = Math.min(50, answered);
    this.counts.textContent = `${number(answered)} of ${number(done)} texts answered, ${number(left)} left. ` +
      (answered ? `${number(accepted)} were right as the model had read them${answered > 50 ? `, ${recently} of the last ${recent}` : ""}.` : "");
    Object.assign(this.bar, { max: Math.max(1, done), value: answered });
    this.train.hidden = training === "running" || (!answered && !training);
    this.due.classList.toggle("wrong", training.startsWith("failed") || (due !== "" && !training));
    if (training) this.due.textContent = training === "running" ? "The model is trained with all answers. Go on meanwhile." : `The training has ${training}`;
    else this.due.textContent = due ? `${due[0].toUpperCase()}${due.slice(1)}.` : "";
    if (this.training === "running" && !training) this.#say("The model is trained, and reads the texts that are left. What it has learned counts as known.");
    this.training = training;
  }

  #draw() {
    const caption = ({ label, score }) => (score === null ? label : `${label} ${score.toFixed(2)}`);
    this.lanes.show(this.task.document.text, this.entities.map((entity) => ({ ...entity, caption: caption(entity) })));
    for (const mark of this.board.querySelectorAll("button.mark")) mark.tabIndex = -1; // the board has the keys
    this.#choose(this.chosen);
  }

  /** Choose words: fragments of characters, or null. */
  #choose(fragments) {
    this.chosen = fragments;
    this.ends = fragments && [this.wordEdges.findIndex(([start]) => start === fragments[0][0]), this.wordEdges.findIndex(([, end]) => end === fragments.at(-1)[1])];
    for (const button of this.labelButtons) button.disabled = !fragments;
    const index = fragments ? this.#indexOf(fragments) : -1;
    this.lanes.select(index < 0 ? null : index);
    for (const mark of this.board.querySelectorAll("button.mark")) mark.tabIndex = -1;
    if (!fragments) {
      document.getSelection().removeAllRanges();
      this.words.textContent = "Nothing is chosen.";
      return;
    }
    this.lanes.selectWords(this.offsets.unit(fragments[0][0]), this.offsets.unit(fragments.at(-1)[1]));
    const label = index < 0 ? "no entity" : this.entities[index].label;
    this.words.replaceChildren("Chosen: ", make("b", { dir: "auto" }, this.#text(fragments)), ", ", chip(index < 0 ? null : label, this.colour));
  }

  #select(fragments) {
    this.#choose(fragments);
    announce(this.words.textContent);
    this.board.focus({ preventScroll: true });
  }

  #text(fragments) {
    const { text } = this.task.document;
    return fragments.map(([start, end]) => text.slice(this.offsets.unit(start), this.offsets.unit(end))).join(" … ");
  }

  #indexOf(fragments) {
    return this.entities.findIndex((entity) => String(entity.fragments) === String(fragments));
  }

  /** Words that were selected or clicked with the mouse or a finger. */
  #selectByHand(event) {
    if (!this.task || event.target.closest("[data-entity]")) return;
    let range = this.lanes.selection();
    if (!range) {
      const at = this.lanes.offsetAt(event);
      range = at === null ? null : [at, at + 1];
    }
    if (!range) return;
    const [start, end] = range.map((unit) => this.offsets.character(unit));
    const touched = this.wordEdges.filter(([from, to]) => from < end && start < to);
    this.#select(touched.length ? [[touched[0][0], touched.at(-1)[1]]] : null);
  }

  #key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || this.busy || !this.task || event.target.closest("button:not(.mark)")) return;
    const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    const leftward = getComputedStyle(this.lanes.paragraphs[0].block).direction === "rtl";
    const [back, on] = leftward ? ["ArrowRight", "ArrowLeft"] : ["ArrowLeft", "ArrowRight"];
    const actions = {
      Enter: () => this.#answer(),
      s: () => this.#skip(),
      u: () => this.#undo(),
      [on]: () => this.#move(1, event.shiftKey),
      [back]: () => this.#move(-1, event.shiftKey),
      ArrowDown: () => this.#moveToEntity(1),
      ArrowUp: () => this.#moveToEntity(-1),
      Escape: () => this.#reset(),
      Delete: () => this.#label(null),
      Backspace: () => this.#label(null),
      0: () => this.#label(null),
    };
    const chosen = this.labels[Number(key) - 1];
    const action = Object.hasOwn(actions, key) ? actions[key] : /^[1-9]$/.test(key) && chosen ? () => this.#label(chosen) : null;
    if (!action) return;
    event.preventDefault();
    action();
  }

  /** Choose the word before or after; with `more`, words from where that began. */
  #move(by, more) {
    const edges = this.wordEdges;
    const inside = (at) => Math.min(edges.length - 1, Math.max(0, at));
    const before = by > 0 ? -1 : edges.length;
    let [anchor, head] = this.ends ?? [before, before];
    head = inside((more ? head : by > 0 ? Math.max(anchor, head) : Math.min(anchor, head)) + by);
    anchor = more && this.ends ? anchor : head;
    this.#select([[edges[Math.min(anchor, head)][0], edges[Math.max(anchor, head)][1]]]);
    this.ends = [anchor, head];
  }

  #moveToEntity(by) {
    if (!this.entities.length) return;
    const at = this.chosen ? this.#indexOf(this.chosen) : -1;
    const { length } = this.entities;
    let to = (at + by + length) % length;
    if (at < 0) to = by > 0 ? 0 : length - 1;
    this.#select(this.entities[to].fragments);
  }

  /** Give the chosen words a label, or none; what cannot stand beside them goes. */
  #label(label) {
    if (!this.chosen) return;
    const fragments = this.chosen;
    const beside = this.entities.filter((entity) => String(entity.fragments) !== String(fragments) && (label === null || !this.#clash(entity.fragments, fragments)));
    const entity = { text: this.#text(fragments), label, start: fragments[0][0], end: fragments.at(-1)[1], fragments, score: null };
    this.entities = label === null ? beside : [...beside, entity].sort((left, right) => left.start - right.start || left.end - right.end);
    this.#draw();
    announce(this.words.textContent);
    this.board.focus({ preventScroll: true });
  }

  /** Whether two spans may not stand together in this model. */
  #clash(left, right) {
    const shares = left.some(([start, end]) => right.some(([from, to]) => start < to && from < end));
    const inside = (inner, outer) => inner.every(([start, end]) => outer.some(([from, to]) => from <= start && end <= to));
    if (!shares || this.overlap === "any" || left.length > 1 || right.length > 1) return false;
    return this.overlap === "flat" || !(inside(left, right) || inside(right, left));
  }

  #reset() {
    Object.assign(this, { entities: this.task.document.entities, chosen: null });
    this.#draw();
    announce("As the model has read it.", { visible: true });
  }

  #answer() {
    return this.#withoutButtons(async () => {
      const { text } = this.task.document;
      const entities = this.entities.map(({ label, fragments }) => ({ label, fragments }));
      const answer = await edit("POST", "/review/answer", { reviewer: this.reviewer, text, entities });
      if (answer === null) return;
      await this.#next();
      const missed = answer.edit.receipt.filter((line) => line.includes("not remembered") || line.includes("still misread"));
      if (answer.is_late) this.#say("Your time for that text was over. The answer counts, as nobody else had given one.");
      else if (missed.length) this.#say(missed.join(". "));
      this.onEdit();
    });
  }

  #skip() {
    return this.#withoutButtons(async () => {
      if ((await edit("POST", "/review/skip", { reviewer: this.reviewer, text: this.task.document.text })) !== null) await this.#next();
    });
  }

  #undo() {
    return this.#withoutButtons(async () => {
      const answer = await edit("POST", "/review/undo", { reviewer: this.reviewer });
      if (answer === null) return;
      this.#take(answer);
      announce("Your last answer is undone.", { visible: true });
      this.onEdit();
    });
  }

  #train() {
    return this.#withoutButtons(async () => {
      const progress = await edit("POST", "/review/train");
      if (progress !== null) this.#showProgress(progress);
    });
  }

  #download(format) {
    return this.#withoutButtons(async () => {
      const file = await edit("GET", `/review/answers?format=${encodeURIComponent(format)}`);
      if (file === null) return;
      const bytes = Uint8Array.from(atob(file.content), (character) => character.charCodeAt(0));
      const url = URL.createObjectURL(new Blob([bytes]));
      make("a", { href: url, download: file.name }).click();
      setTimeout(() => URL.revokeObjectURL(url), 10_000);
      announce(file.problems.length ? `${file.name}: ${file.problems.join("; ")}` : `${file.name} is written.`, { visible: true });
    });
  }

  /** A note that stays until the next answer, with a way on. */
  #say(message) {
    const next = make("button", { type: "button", onclick: () => this.#withoutButtons(() => this.#next()) }, "Next text");
    const look = make("button", { type: "button", class: "quiet", onclick: () => this.open(this.task.document.text) }, "Open in Text");
    this.note.replaceChildren(make("p", {}, message), ...(this.task ? [look, next] : []));
    this.note.hidden = false;
    announce(message);
  }

  /** One request at a time; what is refused is said, and the text stays as it is. */
  async #withoutButtons(work) {
    if (this.busy) return;
    this.busy = true;
    if (this.note) this.note.hidden = true;
    this.view.classList.add("busy");
    try {
      await work();
    } catch (error) {
      if (this.note) this.#say(error.message);
      announce(error.message, { wrong: true, visible: !this.note });
    } finally {
      this.busy = false;
      this.view.classList.remove("busy");
    }
  }
}
