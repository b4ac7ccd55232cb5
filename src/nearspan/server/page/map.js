// The map: the memory's entities in two dimensions. A list beside it holds the same for keyboards and screen readers.

import { get } from "./api.js";
import { chip, make, number, rove, say } from "./dom.js";
import { context } from "./evidence.js";

const SVG = "http://www.w3.org/2000/svg";
const [WIDE, HIGH, EDGE] = [1000, 640, 24];
const LISTED = 100;

/** The map's view; `open` is called with a sentence to be annotated. */
export class MemoryMap {
  constructor(view, { colour, labels, open }) {
    Object.assign(this, { view, colour, labels, open, hidden: new Set(), points: null, chosen: null });
  }

  /** Fetch and draw it; again after an edit. */
  async show() {
    let found;
    try {
      found = await get("/map");
    } catch (error) {
      this.view.replaceChildren(make("p", { class: "card" }, error.message));
      return;
    }
    this.points = scaled(found.points);
    this.chosen = null;
    const part = found.points.length < found.entities ? `${number(found.points.length)} of ${number(found.entities)}` : number(found.entities);
    const share = Math.round((found.explained_variance[0] + found.explained_variance[1]) * 100);
    this.picture = document.createElementNS(SVG, "svg");
    this.picture.setAttribute("viewBox", `0 0 ${WIDE} ${HIGH}`);
    this.picture.setAttribute("role", "img");
    this.picture.setAttribute("aria-label", `${part} entities of the memory as points; the list holds the same`);
    this.picture.addEventListener("click", (event) => this.#clicked(event));
    this.detail = make("div", { class: "card detail", "aria-live": "polite" }, make("p", { class: "soft" }, "Choose a point to read the span in its sentence."));
    this.filter = make("input", { id: "map-filter", type: "search", autocomplete: "off", oninput: () => this.#list() });
    this.list = make("ul", { class: "points", "aria-label": "Entities of the memory" });
    rove(this.list, "button");
    this.view.replaceChildren(
      make("p", { class: "soft" }, `${part} entities of the memory, along the two directions in which their vectors differ most (${share}% of the variance). Near points look alike to the model.`),
      make("div", { class: "row", role: "group", "aria-label": "Labels shown" }, this.labels.map((label) => this.#toggle(label))),
      make("div", { class: "columns" }, make("div", { class: "card picture" }, this.picture),
        make("div", {}, this.detail, make("div", { class: "card" }, make("label", { htmlFor: "map-filter" }, "Find in the list"), this.filter, this.list))),
    );
    this.#draw();
    this.#list();
    say(`The map shows ${part} entities.`);
  }

  #toggle(label) {
    const button = make("button", { class: `chip ${this.colour(label)}`, type: "button", "aria-pressed": String(!this.hidden.has(label)) }, label);
    button.addEventListener("click", () => {
      this.hidden.has(label) ? this.hidden.delete(label) : this.hidden.add(label);
      button.setAttribute("aria-pressed", String(!this.hidden.has(label)));
      this.#draw();
      this.#list();
    });
    return button;
  }

  get #visible() {
    return this.points.filter((point) => !this.hidden.has(point.label));
  }

  #draw() {
    this.picture.replaceChildren(
      ...this.#visible.map((point) => {
        const dot = document.createElementNS(SVG, "circle");
        for (const [name, value] of Object.entries({ cx: point.left, cy: point.top, r: 5, class: this.colour(point.label), "data-text": point.text })) dot.setAttribute(name, value);
        dot.append(document.createElementNS(SVG, "title"));
        dot.firstChild.textContent = `${point.text}, ${point.label}`;
        return dot;
      }),
    );
    if (this.chosen) this.#ring(this.chosen);
  }

  #list() {
    const wanted = this.filter.value.trim().toLowerCase();
    const found = this.#visible.filter((point) => point.text.toLowerCase().includes(wanted));
    const rows = found.slice(0, LISTED).map((point, at) =>
      make("li", {}, make("button", { type: "button", tabIndex: at ? -1 : 0, onclick: () => this.#choose(point) }, make("span", { dir: "auto" }, point.text), chip(point.label, this.colour))));
    if (found.length > LISTED) rows.push(make("li", { class: "soft" }, `and ${number(found.length - LISTED)} more: narrow the search`));
    if (!found.length) rows.push(make("li", { class: "soft" }, "nothing found"));
    this.list.replaceChildren(...rows);
  }

  /** The nearest point, if there is one close to where was clicked. */
  #clicked(event) {
    const box = this.picture.getBoundingClientRect();
    const [left, top] = [((event.clientX - box.left) / box.width) * WIDE, ((event.clientY - box.top) / box.height) * HIGH];
    let [best, least] = [null, 20 ** 2];
    for (const point of this.#visible) {
      const far = (point.left - left) ** 2 + (point.top - top) ** 2;
      if (far < least) [best, least] = [point, far];
    }
    if (best) this.#choose(best);
  }

  #choose(point) {
    this.chosen = point;
    this.#ring(point);
    this.detail.replaceChildren(
      make("p", {}, chip(point.label, this.colour)),
      context(point),
      make("div", { class: "row" }, make("button", { type: "button", onclick: () => this.open(point.sentence) }, "Open in Text")),
    );
  }

  #ring(point) {
    this.picture.querySelector(".ring")?.remove();
    const ring = document.createElementNS(SVG, "circle");
    for (const [name, value] of Object.entries({ cx: point.left, cy: point.top, r: 11, class: "ring" })) ring.setAttribute(name, value);
    this.picture.append(ring);
  }
}

function scaled(points) {
  const span = (values) => [Math.min(...values), Math.max(...values)];
  const [[left, right], [low, high]] = [span(points.map((point) => point.x)), span(points.map((point) => point.y))];
  return points.map((point) => ({
    ...point,
    left: EDGE + ((point.x - left) / (right - left || 1)) * (WIDE - 2 * EDGE),
    top: HIGH - EDGE - ((point.y - low) / (high - low || 1)) * (HIGH - 2 * EDGE),
  }));
}
