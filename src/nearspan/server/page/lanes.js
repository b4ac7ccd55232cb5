// Lanes: a text with its entities drawn below its lines. The browser lays out the text, in any direction of writing;
// its own boxes say where the characters of an entity are. Each entity has one lane within a paragraph, the narrower
// ones nearer to the text, and no two in a lane touch.

import { make } from "./dom.js";
import { Offsets } from "./offsets.js";

const LANE = 16; // pixels
const BAR = 3;
const APART = 6; // between neighbours in a lane
const TEXT = 26; // a line's height without lanes

const ruler = document.createElement("canvas").getContext("2d");

/** A drawn text. Entities have `fragments` in characters and a `label`; `named` gives what is read aloud for one. */
export class Lanes {
  constructor(root, { colour, named, open = null }) {
    this.root = root;
    this.colour = colour;
    this.named = named;
    this.open = open;
    this.text = "";
    this.entities = [];
    this.selected = null;
    this.width = 0;
    root.classList.add("lanes");
    if (open) {
      root.setAttribute("role", "group");
      root.setAttribute("aria-label", "Entities in the text");
      root.addEventListener("click", (event) => this.#clicked(event));
      root.addEventListener("pointerover", (event) => this.#hover(event.target.dataset?.entity));
      root.addEventListener("pointerleave", () => this.#hover(undefined));
    }
    new ResizeObserver(() => {
      if (Math.abs(root.clientWidth - this.width) >= 1) this.#draw();
    }).observe(root);
  }

  /** Show a text with its entities. */
  show(text, entities) {
    this.text = text;
    this.offsets = new Offsets(text);
    this.selected = null;
    this.entities = entities.map((entity, index) => {
      const pieces = entity.fragments.map(([start, end]) => [this.offsets.unit(start), this.offsets.unit(end)]);
      const size = pieces.reduce((sum, [start, end]) => sum + end - start, 0);
      return { ...entity, index, pieces, size };
    });
    this.root.replaceChildren();
    this.paragraphs = [];
    let start = 0;
    for (const line of text.split("\n")) {
      const words = document.createTextNode(line);
      const marks = make("div", { class: "marks" });
      const block = make("div", { class: "paragraph", dir: "auto" }, words, marks);
      this.paragraphs.push({ start, end: start + line.length, words, marks, block });
      this.root.append(block);
      start += line.length + 1;
    }
    this.#draw();
  }

  /** Mark an entity, or none, as the one that is spoken of. */
  select(index) {
    this.selected = index;
    for (const mark of this.root.querySelectorAll("[data-entity]")) {
      mark.classList.toggle("selected", Number(mark.dataset.entity) === index);
      if (mark.localName === "button") mark.setAttribute("aria-pressed", String(Number(mark.dataset.entity) === index));
    }
    if (index !== null) for (const mark of this.root.querySelectorAll("button[data-entity]")) mark.tabIndex = Number(mark.dataset.entity) === index ? 0 : -1;
  }

  /** Put the focus on an entity. */
  focus(index) {
    this.root.querySelector(`button[data-entity="${index}"]`)?.focus();
  }

  /** The selected words as UTF-16 offsets, or null. */
  selection() {
    const chosen = document.getSelection();
    if (!chosen.rangeCount || chosen.isCollapsed) return null;
    const range = chosen.getRangeAt(0);
    const [start, end] = [this.#offset(range.startContainer, range.startOffset), this.#offset(range.endContainer, range.endOffset)];
    return start === null || end === null || start >= end ? null : [start, end];
  }

  #offset(node, offset) {
    const paragraph = this.paragraphs.find((one) => one.block.contains(node));
    if (!paragraph) return null;
    if (node === paragraph.words) return paragraph.start + offset;
    return offset === 0 ? paragraph.start : paragraph.end;
  }

  #clicked(event) {
    const index = event.target.closest?.("[data-entity]")?.dataset.entity ?? this.#under(event);
    if (index !== undefined) this.open(Number(index));
  }

  /** The narrowest entity at the character that was clicked. */
  #under(event) {
    if (!document.getSelection().isCollapsed) return undefined;
    const place = document.caretPositionFromPoint
      ? document.caretPositionFromPoint(event.clientX, event.clientY)
      : document.caretRangeFromPoint?.(event.clientX, event.clientY);
    const node = place?.offsetNode ?? place?.startContainer;
    const at = node ? this.#offset(node, place.offset ?? place.startOffset) : null;
    const held = this.entities.filter((one) => at !== null && one.pieces.some(([start, end]) => start <= at && at <= end));
    return held.sort((one, other) => one.size - other.size)[0]?.index;
  }

  #hover(index) {
    for (const mark of this.root.querySelectorAll(".tint")) mark.classList.toggle("near", mark.dataset.entity === index);
  }

  #draw() {
    this.width = this.root.clientWidth;
    if (!this.width) return; // not to be seen: drawn when it is
    ruler.font = `600 10px ${getComputedStyle(this.root).fontFamily}`;
    const focused = document.activeElement?.dataset?.entity;
    const had = this.root.contains(document.activeElement);
    const kept = this.paragraphs.map((paragraph) => this.#measured(paragraph)); // read all, then write all
    kept.forEach((places, at) => this.#marked(this.paragraphs[at], places));
    const first = this.root.querySelector("button[data-entity]");
    if (first) first.tabIndex = 0;
    if (this.selected !== null) this.select(this.selected);
    if (had && focused !== undefined) this.focus(focused);
  }

  /** Where each entity stands on each line of a paragraph. */
  #measured({ start, end, words, block }) {
    const mine = this.entities.filter((one) => one.pieces.some(([a, b]) => a < end && start < b));
    if (!mine.length) return [];
    const box = block.getBoundingClientRect();
    const style = getComputedStyle(block);
    const [height, leftward] = [parseFloat(style.lineHeight), style.direction === "rtl"];
    const lineOf = (rect) => Math.floor((rect.top + rect.height / 2 - box.top) / height);
    return mine.map((entity) => {
      const lines = new Map();
      for (const [a, b] of entity.pieces) {
        if (a >= end || b <= start) continue;
        for (const rect of boxes(words, Math.max(0, a - start), Math.min(end, b) - start, lineOf)) {
          const line = lineOf(rect);
          if (!lines.has(line)) lines.set(line, []);
          lines.get(line).push([rect.left - box.left, rect.right - box.left]);
        }
      }
      const wide = Math.ceil(ruler.measureText(entity.label).width) + 4;
      const places = [...lines].sort(([one], [other]) => one - other).map(([line, bars], at) => {
        bars = joined(bars);
        let [left, right] = [bars[0][0], Math.max(...bars.map(([, edge]) => edge))];
        const from = left;
        const to = right;
        if (at === 0) {
          // room for the label, which stands where the reading begins
          if (leftward) left = Math.max(0, Math.min(left, right - wide));
          else right = Math.min(Math.max(right, left + wide), box.width);
          if (right - left < wide) leftward ? (right = Math.min(box.width, left + wide)) : (left = Math.max(0, right - wide));
        }
        return { line, bars, left, right, from, to, leftward };
      });
      return { entity, places };
    });
  }

  /** Give each entity a lane, and draw it. */
  #marked({ marks, block }, measured) {
    marks.replaceChildren();
    const taken = []; // by lane, by line: stretches that are in use
    const narrow = [...measured].sort((one, other) => one.entity.size - other.entity.size || one.entity.index - other.entity.index);
    for (const [at, one] of narrow.entries()) {
      const inside = narrow.slice(0, at).filter((other) => meet(one.entity, other.entity));
      one.lane = Math.max(0, ...inside.map((other) => other.lane + 1)); // below what it holds
      while (one.places.some((place) => hits(taken[one.lane]?.get(place.line), place))) one.lane += 1;
      const lane = (taken[one.lane] ??= new Map());
      for (const place of one.places) lane.set(place.line, [...(lane.get(place.line) ?? []), place]);
    }
    const height = TEXT + LANE * Math.max(taken.length, this.open ? 1 : 0);
    block.style.lineHeight = `${height}px`;
    block.style.marginTop = `${(TEXT - height) / 2}px`; // the first line needs no lanes above it
    block.style.paddingBottom = `${(height - TEXT) / 2}px`;
    for (const one of measured) this.#one(marks, one, height);
  }

  #one(marks, { entity, places, lane }, height) {
    const colour = this.colour(entity.label, entity);
    const owner = { "data-entity": entity.index };
    places.forEach(({ line, bars, left, right, from, to, leftward }, at) => {
      const text = line * height + (height - TEXT) / 2;
      const top = text + TEXT + lane * LANE;
      for (const [a, b] of bars) {
        marks.append(placed(make("i", { class: `tint ${colour}`, ...owner }), a, b, text + 1, TEXT));
        marks.append(placed(make("i", { class: `bar ${colour}`, ...owner }), a, b, top, BAR));
      }
      bars.slice(1).forEach(([a], gap) => {
        const edge = Math.max(...bars.slice(0, gap + 1).map(([, b]) => b));
        if (a - edge > 1) marks.append(placed(make("i", { class: `gap ${colour}`, ...owner }), edge, a, top + 1, 1));
      });
      if (at > 0) return;
      const said = this.named(entity);
      const mark = this.open
        ? make("button", { class: `mark ${colour}`, type: "button", tabIndex: -1, "aria-label": said, "aria-pressed": "false", title: said, ...owner }, entity.label)
        : make("span", { class: `mark ${colour}`, title: said, ...owner }, entity.label);
      mark.classList.toggle("leftward", leftward);
      marks.append(placed(mark, left, right, top, LANE - 1));
    });
  }
}

/** The boxes of some characters, without those of the blanks at which a line is broken. */
function boxes(words, start, end, lineOf) {
  const range = document.createRange();
  const found = [];
  let blanks = null;
  for (const { 0: run, index } of words.data.slice(start, end).matchAll(/\s+|\S+/g)) {
    range.setStart(words, start + index);
    range.setEnd(words, start + index + run.length);
    const rects = [...range.getClientRects()].filter((rect) => rect.width >= 0.5);
    if (!run.trim()) {
      blanks = rects;
      continue;
    }
    if (blanks && rects.length && lineOf(found.at(-1) ?? rects[0]) === lineOf(rects[0])) found.push(...blanks);
    found.push(...rects);
    blanks = null;
  }
  return found;
}

/** Stretches from left to right, those that touch made one. */
function joined(stretches) {
  const found = [];
  for (const [left, right] of stretches.sort(([one], [other]) => one - other)) {
    if (found.length && left - found.at(-1)[1] < 1) found.at(-1)[1] = Math.max(right, found.at(-1)[1]);
    else found.push([left, right]);
  }
  return found;
}

function meet(one, other) {
  return one.pieces[0][0] < other.pieces.at(-1)[1] && other.pieces[0][0] < one.pieces.at(-1)[1];
}

function hits(stretches, { left, right }) {
  return stretches?.some((one) => one.left < right + APART && left < one.right + APART) ?? false;
}

function placed(element, left, right, top, height) {
  Object.assign(element.style, { left: `${left}px`, width: `${right - left}px`, top: `${top}px`, height: `${height}px` });
  return element;
}
