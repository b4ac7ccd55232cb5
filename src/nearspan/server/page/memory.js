// The memory: its sentences with their entities, to search, to open and to remove.

import { edit, get } from "./api.js";
import { announce, make, number, pager } from "./dom.js";
import { Lanes } from "./lanes.js";

const PAGE = 10;

/** The memory's view; `open` is called with a sentence to annotate, `onEdit` when one was removed. */
export class MemoryBrowser {
  constructor(view, { colour, labels, open, onEdit }) {
    Object.assign(this, { view, colour, open, onEdit, offset: 0 });
    const search = () => this.#go(0);
    this.text = make("input", { id: "memory-text", type: "search", autocomplete: "off", dir: "auto", onchange: search });
    this.label = make("select", { id: "memory-label", onchange: search },
      make("option", { value: "" }, "any"), labels.map((label) => make("option", { value: label }, label)));
    const submit = (event) => {
      event.preventDefault();
      search();
    };
    this.list = make("ol", { class: "items", "aria-label": "Sentences of the memory" });
    this.pages = make("div");
    view.append(
      make("form", { class: "row filters", onsubmit: submit },
        make("span", { class: "row wide" }, make("label", { htmlFor: "memory-text" }, "Text"), this.text),
        make("span", { class: "row" }, make("label", { htmlFor: "memory-label" }, "Label"), this.label, make("button", {}, "Search"))),
      this.list, this.pages);
  }

  /** Fetch and show a page of sentences. */
  async show() {
    const query = new URLSearchParams({ text: this.text.value, label: this.label.value, limit: PAGE + 1, offset: this.offset });
    let sentences;
    try {
      ({ sentences } = await get(`/memory?${query}`));
    } catch (error) {
      this.list.replaceChildren(make("li", { class: "card" }, error.message));
      return;
    }
    const rows = sentences.slice(0, PAGE).map((sentence) => this.#row(sentence));
    const caption = rows.length ? `${number(this.offset + 1)} to ${number(this.offset + rows.length)}` : "No such sentence.";
    this.list.replaceChildren(...rows.map(({ item }) => item));
    this.pages.replaceChildren(pager({ offset: this.offset, size: PAGE, isLast: sentences.length <= PAGE, caption, go: (offset) => this.#go(offset) }));
    for (const { draw } of rows) draw(); // now that they have a width
    announce(rows.length ? `${number(rows.length)} sentences.` : caption);
  }

  #go(offset) {
    this.offset = offset;
    return this.show();
  }

  /** A sentence as a list item, and how to draw it once it is on the page. */
  #row({ id, text, entities, document, weight }) {
    const body = make("div", {});
    const lanes = new Lanes(body, { colour: ({ label }) => this.colour(label), describe: ({ label }) => label });
    const remove = make("button", { type: "button", class: "quiet", "aria-label": `Remove sentence ${id} from the memory`, onclick: () => this.#remove(id, remove) }, "Remove");
    const times = weight ? ` ×${Number(weight.toPrecision(3))}` : ", for its corrected words";
    const source = `${document} #${id}${weight === 1 ? "" : times}`;
    const heading = make("p", { class: "row" }, make("span", { class: "source" }, source),
      make("button", { type: "button", class: "quiet last", onclick: () => this.open(text) }, "Open in Text"), remove);
    return { item: make("li", { class: "card" }, heading, body), draw: () => lanes.show(text, entities) };
  }

  async #remove(id, button) {
    button.disabled = true;
    try {
      const answer = await edit("DELETE", `/memory/${id}`);
      if (answer !== null) {
        await Promise.all([this.onEdit(), this.show()]);
        announce(`Sentence ${id} is out of the memory. It can be undone under Edits.`, { visible: true });
        return;
      }
      announce("Nothing was changed: editing needs the token.", { wrong: true });
    } catch (error) {
      announce(error.message, { wrong: true });
    }
    button.disabled = false;
  }
}
