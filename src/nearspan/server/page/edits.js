// The log: all edits of the memory, and the way to take back the last one that stands.

import { edit, get } from "./api.js";
import { announce, make, number, pager } from "./dom.js";

const PAGE = 20;

/** The log's view; `onEdit` is called when an edit was undone. */
export class EditLog {
  constructor(view, { onEdit }) {
    Object.assign(this, { view, onEdit, offset: 0 });
  }

  /** Fetch and show a page of edits, the last one first. */
  async show() {
    let log;
    try {
      log = await get(`/memory/log?limit=${PAGE}&offset=${this.offset}`);
    } catch (error) {
      this.view.replaceChildren(make("p", { class: "card" }, error.message));
      return;
    }
    const { total, edits, undoable, training_due: due } = log;
    const last = Math.min(this.offset + PAGE, total);
    const caption = total ? `${number(this.offset + 1)} to ${number(last)} of ${number(total)}` : "No edit since the memory was built.";
    const go = (offset) => {
      this.offset = offset;
      return this.show();
    };
    this.view.replaceChildren(
      make("p", { class: "soft" }, "Every edit of the memory, by whomever, the last one first. Undo takes back the last one that stands."),
      ...(due ? [make("p", { class: "card wrong" }, `${due[0].toUpperCase()}${due.slice(1)}.`)] : []),
      make("ol", { class: "items", "aria-label": "Edits" }, edits.map((each) => this.#row(each, undoable))),
      pager({ offset: this.offset, size: PAGE, isLast: last >= total, caption, go }),
    );
    announce(`${number(total)} edits.`);
  }

  #row({ number: id, time, summary, receipt }, undoable) {
    const undo = make("button", { type: "button", class: "last", onclick: () => this.#undo(id, undo) }, "Undo");
    const lines = receipt.length ? make("details", {}, make("summary", {}, "Receipt"), receipt.map((line) => make("p", { class: "soft" }, line))) : null;
    return make("li", { class: "card" },
      make("p", { class: "row" }, make("b", {}, `${number(id)}`), make("span", { class: "sentence", dir: "auto" }, summary),
        make("span", { class: "source" }, new Date(time).toLocaleString()), id === undoable ? undo : null),
      lines);
  }

  async #undo(id, button) {
    button.disabled = true;
    try {
      if ((await edit("POST", `/memory/undo?only=${id}`)) !== null) {
        await Promise.all([this.onEdit(), this.show()]);
        announce("It is undone.", { visible: true });
        return;
      }
      announce("Nothing was changed: editing needs the token.", { wrong: true });
    } catch (error) {
      announce(error.message, { wrong: true });
    }
    button.disabled = false;
  }
}
