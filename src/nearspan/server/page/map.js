// The map: the memory's entities in two dimensions. A list beside it holds the same for keyboards and screen readers.

import { get } from "./api.js";
import { announce, chip, make, number, useArrowKeys } from "./dom.js";
import { spanInContext } from "./evidence.js";

const SVG = "http://www.w3.org/2000/svg";
const [WIDTH, HEIGHT, MARGIN] = [1000, 640, 24];
const LISTED = 100;
const REACH = 20; // how far from a point a click may be

/** The map's view; `open` is called with a sentence to annotate. */
export class MemoryMap {
  constructor(view, { colour, labels, open }) {
    Object.assign(this, { view, colour, labels, open, hidden: new Set(), points: null, chosen: null });
  }

  /** Fetch and draw it; again after an edit. */
  async show() {
    let map;
    try {
      map = await get("/map");
    } catch (error) {
      this.view.replaceChildren(make("p", { class: "card" }, error.message));
      return;
    }
    this.points = scaleToPicture(map.points);
    this.chosen = null;
    const shown = map.points.length < map.entities ? `${number(map.points.length)} of ${number(map.entities)}` : number(map.entities);
    const variance = Math.round((map.explained_variance[0] + map.explained_variance[1]) * 100);
    this.picture = makeSvg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": `${shown} entities of the memory as points; the list holds the same` });
    this.picture.addEventListener("click", (event) => this.#click(event));
    this.detail = make("div", { class: "card detail", "aria-live": "polite" }, make("p", { class: "soft" }, "Choose a point to read the span in its sentence."));
    this.filter = make("input", { id: "map-filter", type: "search", autocomplete: "off", oninput: () => this.#list() });
    this.list = make("ul", { class: "points", "aria-label": "Entities of the memory" });
    useArrowKeys(this.list, "button");
    this.view.replaceChildren(
      make("p", { class: "soft" }, `${shown} entities of the memory, along the two directions in which their vectors differ most (${variance}% of the variance). Near points look alike to the model.`),
      make("div", { class: "row", role: "group", "aria-label": "Labels shown" }, this.labels.map((label) => this.#toggle(label))),
      make("div", { class: "columns" }, make("div", { class: "card picture" }, this.picture),
        make("div", {}, this.detail, make("div", { class: "card" }, make("label", { htmlFor: "map-filter" }, "Find in the list"), this.filter, this.list))),
    );
    this.#draw();
    this.#list();
    announce(`The map shows ${shown} entities.`);
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
    const dots = this.#visible.map((point) => {
      const dot = makeSvg("circle", { cx: point.left, cy: point.top, r: 5, class: this.colour(point.label), "data-text": point.text });
      dot.append(makeSvg("title"));
      dot.firstChild.textContent = `${point.text}, ${point.label}`;
      return dot;
    });
    this.picture.replaceChildren(...dots);
    if (this.chosen) this.#ring(this.chosen);
  }

  #list() {
    const query = this.filter.value.trim().toLowerCase();
    const points = this.#visible.filter((point) => point.text.toLowerCase().includes(query));
    const rows = points.slice(0, LISTED).map((point, at) =>
      make("li", {}, make("button", { type: "button", tabIndex: at ? -1 : 0, onclick: () => this.#choose(point) }, make("span", { dir: "auto" }, point.text), chip(point.label, this.colour))));
    if (points.length > LISTED) rows.push(make("li", { class: "soft" }, `and ${number(points.length - LISTED)} more: narrow the search`));
    if (!points.length) rows.push(make("li", { class: "soft" }, "no such entity"));
    this.list.replaceChildren(...rows);
  }

  /** Choose the nearest point, if one is close to the click. */
  #click(event) {
    const box = this.picture.getBoundingClientRect();
    const [left, top] = [((event.clientX - box.left) / box.width) * WIDTH, ((event.clientY - box.top) / box.height) * HEIGHT];
    let [nearest, least] = [null, REACH ** 2];
    for (const point of this.#visible) {
      const distance = (point.left - left) ** 2 + (point.top - top) ** 2;
      if (distance < least) [nearest, least] = [point, distance];
    }
    if (nearest) this.#choose(nearest);
  }

  #choose(point) {
    this.chosen = point;
    this.#ring(point);
    this.detail.replaceChildren(
      make("p", {}, chip(point.label, this.colour)),
      spanInContext(point),
      make("div", { class: "row" }, make("button", { type: "button", onclick: () => this.open(point.sentence) }, "Open in Text")),
    );
  }

  #ring(point) {
    this.picture.querySelector(".ring")?.remove();
    this.picture.append(makeSvg("circle", { cx: point.left, cy: point.top, r: 11, class: "ring" }));
  }
}

function makeSvg(name, attributes = {}) {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  return element;
}

function scaleToPicture(points) {
  const range = (values) => [Math.min(...values), Math.max(...values)];
  const [[left, right], [low, high]] = [range(points.map((point) => point.x)), range(points.map((point) => point.y))];
  return points.map((point) => ({
    ...point,
    left: MARGIN + ((point.x - left) / (right - left || 1)) * (WIDTH - 2 * MARGIN),
    top: HEIGHT - MARGIN - ((point.y - low) / (high - low || 1)) * (HEIGHT - 2 * MARGIN),
  }));
}
