// The error browser: gold against predicted, error by error.

import { get } from "./api.js";
import { make, number, say } from "./dom.js";
import { Lanes } from "./lanes.js";

const PAGE = 10;

/** The errors' view; `open` is called with a sentence to be annotated. */
export class Errors {
  constructor(view, { colour, labels, open, corpus }) {
    Object.assign(this, { view, colour, labels, open, corpus, kind: "", label: "", offset: 0 });
  }

  /** Fetch and show them. */
  async show() {
    if (!this.corpus) {
      this.view.replaceChildren(make("p", { class: "card" }, "To browse errors, start the server with a corpus: ", make("code", {}, "nearspan serve MODEL --corpus test.jsonl")));
      return;
    }
    const query = new URLSearchParams({ kind: this.kind, label: this.label, limit: PAGE, offset: this.offset });
    let found;
    try {
      found = await get(`/errors?${query}`);
    } catch (error) {
      say(error.message, { wrong: true });
      return;
    }
    const { precision, recall, f1 } = found.scores;
    this.view.replaceChildren(
      make("div", { class: "tiles" }, [["F1", f1], ["precision", precision], ["recall", recall]].map(([name, value]) => make("p", {}, make("b", {}, (100 * value).toFixed(2)), make("span", { class: "soft" }, name)))),
      found.edited ? make("p", { class: "soft" }, "The memory has been edited since the corpus was scored; start the server again to score it anew.") : "",
      make("div", { class: "row" }, this.#kinds(found.kinds), this.#choice()),
      make("ol", { class: "errors", start: this.offset + 1 }, found.errors.map((error) => this.#one(error))),
      this.#pages(found.total),
    );
    for (const draw of this.waiting.splice(0)) draw();
    say(`${number(found.total)} errors.`);
  }

  waiting = [];

  #go(change) {
    Object.assign(this, { offset: 0 }, change);
    return this.show();
  }

  #kinds(kinds) {
    const all = Object.values(kinds).reduce((sum, count) => sum + count, 0);
    const button = (kind, name, count) => make("button", { class: "chip", type: "button", "aria-pressed": String(this.kind === kind), onclick: () => this.#go({ kind }) }, `${name} ${number(count)}`);
    return make("div", { class: "row", role: "group", "aria-label": "Kinds of errors" }, button("", "all", all), Object.entries(kinds).map(([kind, count]) => button(kind, kind, count)));
  }

  #choice() {
    const choice = make("select", { id: "error-label", onchange: () => this.#go({ label: choice.value }) }, make("option", { value: "" }, "any"), this.labels.map((label) => make("option", { value: label }, label)));
    choice.value = this.label;
    return make("span", { class: "row" }, make("label", { htmlFor: "error-label" }, "Label"), choice);
  }

  #one(error) {
    const text = make("div", {});
    const roles = [["gold", error.gold], ["predicted", error.predicted]].filter(([, entity]) => entity);
    const entities = roles.map(([role, entity]) => ({ ...entity, role, label: `${role} ${entity.label}`, own: entity.label }));
    const lanes = new Lanes(text, { colour: (_, entity) => `${this.colour(entity.own)} ${entity.role}`, named: (entity) => entity.label });
    this.waiting.push(() => lanes.show(error.text, entities));
    const said = roles.map(([role, entity]) => `${role} ${entity.label} “${entity.text}”`).join(", ");
    return make("li", { class: "card" }, make("p", { class: "row" }, make("b", {}, error.kind), make("span", { class: "soft" }, said), make("span", { class: "source" }, error.document),
      make("button", { type: "button", class: "quiet last", onclick: () => this.open(error.text) }, "Open in Text")), text);
  }

  #pages(total) {
    const last = Math.min(this.offset + PAGE, total);
    return make("nav", { class: "row", "aria-label": "Pages" },
      make("button", { type: "button", disabled: this.offset === 0, onclick: () => this.#go({ offset: Math.max(0, this.offset - PAGE) }) }, "Earlier"),
      make("span", { class: "soft" }, total ? `${number(this.offset + 1)} to ${number(last)} of ${number(total)}` : "none"),
      make("button", { type: "button", disabled: last >= total, onclick: () => this.#go({ offset: this.offset + PAGE }) }, "Later"));
  }
}
