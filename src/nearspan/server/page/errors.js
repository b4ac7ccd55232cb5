// The error browser: gold against predicted, error by error.

import { get } from "./api.js";
import { announce, make, number, pager } from "./dom.js";
import { Lanes } from "./lanes.js";

const PAGE = 10;
const WAIT = 500; // milliseconds until the server is asked how far it has come

/** The errors' view; `open` is called with a sentence to annotate and the error in it. */
export class ErrorBrowser {
  constructor(view, { colour, labels, open, corpus }) {
    Object.assign(this, { view, colour, labels, open, corpus, kind: "", label: "", offset: 0 });
  }

  /** Fetch and show a page of errors. */
  async show() {
    if (!this.corpus) {
      const command = make("code", {}, "nearspan serve MODEL --corpus test.jsonl");
      this.view.replaceChildren(make("p", { class: "card" }, "To browse errors, start the server with a corpus: ", command));
      return;
    }
    const query = new URLSearchParams({ kind: this.kind, label: this.label, limit: PAGE, offset: this.offset });
    let page;
    try {
      page = await get(`/errors?${query}`);
    } catch (error) {
      announce(error.message, { wrong: true });
      return;
    }
    const { precision, recall, f1 } = page.scores;
    const tile = (name, value) => make("p", {}, make("b", {}, (100 * value).toFixed(2)), make("span", { class: "soft" }, name));
    const rows = page.errors.map((error) => this.#row(error));
    this.view.replaceChildren(
      make("div", { class: "tiles" }, tile("F1", f1), tile("precision", precision), tile("recall", recall)),
      make("p", { class: "soft", id: "scoring" }, page.scored < 1 ? `The memory was edited. Scoring the corpus again: ${Math.floor(100 * page.scored)}%.` : ""),
      make("div", { class: "row" }, this.#kinds(page.kinds), this.#labelChoice()),
      make("ol", { class: "errors", start: this.offset + 1 }, rows.map(({ item }) => item)),
      this.#pages(page.total),
    );
    if (page.scored < 1 && !this.view.hidden) setTimeout(() => this.show(), WAIT);
    for (const { draw } of rows) draw(); // now that they have a width
    announce(`${number(page.total)} errors.`);
  }

  #go(change) {
    Object.assign(this, { offset: 0 }, change);
    return this.show();
  }

  #kinds(kinds) {
    const total = Object.values(kinds).reduce((sum, count) => sum + count, 0);
    const button = (kind, name, count) => make("button", {
      class: "chip", type: "button", "aria-pressed": String(this.kind === kind), onclick: () => this.#go({ kind }),
    }, `${name} ${number(count)}`);
    const buttons = Object.entries(kinds).map(([kind, count]) => button(kind, kind, count));
    return make("div", { class: "row", role: "group", "aria-label": "Kinds of errors" }, button("", "all", total), buttons);
  }

  #labelChoice() {
    const options = [make("option", { value: "" }, "any"), ...this.labels.map((label) => make("option", { value: label }, label))];
    const choice = make("select", { id: "error-label", onchange: () => this.#go({ label: choice.value }) }, options);
    choice.value = this.label;
    return make("span", { class: "row" }, make("label", { htmlFor: "error-label" }, "Label"), choice);
  }

  /** An error as a list item, and how to draw its text once it is on the page. */
  #row(error) {
    const roles = [["gold", error.gold], ["predicted", error.predicted]].filter(([, entity]) => entity);
    const entities = roles.map(([role, entity]) => ({ ...entity, label: `${role} ${entity.label}`, classes: `${this.colour(entity.label)} ${role}` }));
    const summary = roles.map(([role, entity]) => `${role} ${entity.label} “${entity.text}”`).join(", ");
    const text = make("div", {});
    const lanes = new Lanes(text, { colour: (entity) => entity.classes, describe: (entity) => entity.label });
    const open = make("button", { type: "button", class: "quiet last", onclick: () => this.open(error.text, error) }, "Open in Text");
    const heading = make("p", { class: "row" }, make("b", {}, error.kind), make("span", { class: "soft" }, summary), make("span", { class: "source" }, error.document), open);
    return { item: make("li", { class: "card" }, heading, text), draw: () => lanes.show(error.text, entities) };
  }

  #pages(total) {
    const last = Math.min(this.offset + PAGE, total);
    const caption = total ? `${number(this.offset + 1)} to ${number(last)} of ${number(total)}` : "none";
    return pager({ offset: this.offset, size: PAGE, isLast: last >= total, caption, go: (offset) => this.#go({ offset }) });
  }
}
