// Lanes: a text with its entities drawn below its lines. The browser lays out the text, in any direction of writing;
// its boxes say where the characters of an entity are. Each entity has one lane within a paragraph, narrow entities
// nearer to the text, and no two in a lane touch.

import { make } from "./dom.js";
import { Offsets } from "./offsets.js";

const LANE = 16; // pixels
const BAR = 3;
const GAP = 6; // between neighbours in a lane
const TEXT = 26; // a line's height without lanes

const ruler = document.createElement("canvas").getContext("2d");

/** A drawn text. `colour` gives an entity's classes, `describe` what is read aloud for it, its `caption` or else its label stands below it, `open` is called with its index. */
export class Lanes {
  constructor(root, { colour, describe, open = null }) {
    Object.assign(this, { root, colour, describe, open, text: "", entities: [], selected: null, width: 0 });
    root.classList.add("lanes");
    if (open) {
      root.setAttribute("role", "group");
      root.setAttribute("aria-label", "Entities in the text");
      root.addEventListener("click", (event) => this.#click(event));
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

  /** Mark an entity as the one that the panel explains; null: none. */
  select(index) {
    this.selected = index;
    for (const mark of this.root.querySelectorAll("[data-entity]")) {
      const chosen = Number(mark.dataset.entity) === index;
      mark.classList.toggle("selected", chosen);
      if (mark.localName !== "button") continue;
      mark.setAttribute("aria-pressed", String(chosen));
      if (index !== null) mark.tabIndex = chosen ? 0 : -1;
    }
  }

  /** Put the focus on an entity. */
  focus(index) {
    this.root.querySelector(`button[data-entity="${index}"]`)?.focus();
  }

  /** The box of some characters on the screen; null where they are in no paragraph. */
  boxOf(fragments) {
    const [at, to] = [this.offsets.unit(fragments[0][0]), this.offsets.unit(fragments.at(-1)[1])];
    const first = this.paragraphs.find(({ start, end }) => start <= at && at <= end);
    if (!first) return null;
    const range = document.createRange();
    range.setStart(first.words, at - first.start);
    range.setEnd(first.words, Math.min(to, first.end) - first.start);
    return range.getBoundingClientRect();
  }

  /** The selected words as UTF-16 offsets, or null. */
  selection() {
    const selection = document.getSelection();
    if (!selection.rangeCount || selection.isCollapsed) return null;
    const range = selection.getRangeAt(0);
    const start = this.#offset(range.startContainer, range.startOffset);
    const end = this.#offset(range.endContainer, range.endOffset);
    return start === null || end === null || start >= end ? null : [start, end];
  }

  /** Select words, from one UTF-16 offset to another. */
  selectWords(start, end) {
    const place = (at) => this.paragraphs.findLast((paragraph) => paragraph.start <= at) ?? this.paragraphs[0];
    const [from, to] = [place(start), place(end)];
    document.getSelection().setBaseAndExtent(from.words, start - from.start, to.words, Math.min(end - to.start, to.words.length));
  }

  /** The UTF-16 offset of the character that was clicked, or null. */
  offsetAt(event) {
    const caret = document.caretPositionFromPoint
      ? document.caretPositionFromPoint(event.clientX, event.clientY)
      : document.caretRangeFromPoint?.(event.clientX, event.clientY);
    const node = caret?.offsetNode ?? caret?.startContainer;
    return node ? this.#offset(node, caret.offset ?? caret.startOffset) : null;
  }

  #offset(node, offset) {
    const paragraph = this.paragraphs.find(({ block }) => block.contains(node));
    if (!paragraph) return null;
    if (node === paragraph.words) return paragraph.start + offset;
    return offset === 0 ? paragraph.start : paragraph.end;
  }

  #click(event) {
    const index = event.target.closest?.("[data-entity]")?.dataset.entity ?? this.#entityAt(event);
    if (index !== undefined) this.open(Number(index));
  }

  /** The narrowest entity at the character that was clicked. */
  #entityAt(event) {
    if (!document.getSelection().isCollapsed) return undefined;
    const at = this.offsetAt(event);
    const around = this.entities.filter(({ pieces }) => at !== null && pieces.some(([start, end]) => start <= at && at <= end));
    return around.sort((left, right) => left.size - right.size)[0]?.index;
  }

  #hover(index) {
    for (const tint of this.root.querySelectorAll(".tint")) tint.classList.toggle("near", tint.dataset.entity === index);
  }

  #draw() {
    this.width = this.root.clientWidth;
    if (!this.width) return; // hidden: drawn when it is shown
    ruler.font = `600 10px ${getComputedStyle(this.root).fontFamily}`;
    const focused = this.root.contains(document.activeElement) ? document.activeElement.dataset.entity : undefined;
    const measured = this.paragraphs.map((paragraph) => this.#measure(paragraph)); // read all boxes, then write all marks
    measured.forEach((entities, at) => this.#drawParagraph(this.paragraphs[at], entities));
    const first = this.root.querySelector("button[data-entity]");
    if (first) first.tabIndex = 0;
    if (this.selected !== null) this.select(this.selected);
    if (focused !== undefined) this.focus(focused);
  }

  /** Where each entity stands on each line of a paragraph. */
  #measure({ start, end, words, block }) {
    const entities = this.entities.filter(({ pieces }) => pieces.some(([from, to]) => from < end && start < to));
    if (!entities.length) return [];
    const box = block.getBoundingClientRect();
    const style = getComputedStyle(block);
    const [height, leftward] = [parseFloat(style.lineHeight), style.direction === "rtl"];
    const lineOf = (rect) => Math.floor((rect.top + rect.height / 2 - box.top) / height);
    return entities.map((entity) => {
      const lines = new Map();
      for (const [from, to] of entity.pieces) {
        if (from >= end || to <= start) continue;
        for (const rect of characterBoxes(words, Math.max(0, from - start), Math.min(end, to) - start, lineOf)) {
          const line = lineOf(rect);
          if (!lines.has(line)) lines.set(line, []);
          lines.get(line).push([rect.left - box.left, rect.right - box.left]);
        }
      }
      const width = Math.ceil(ruler.measureText(entity.caption ?? entity.label).width) + 4;
      const places = [...lines].sort(([before], [after]) => before - after).map(([line, boxes], at) => {
        const bars = merge(boxes);
        let [left, right] = [bars[0][0], Math.max(...bars.map(([, edge]) => edge))];
        if (at === 0) {
          // room for the label, which stands where the reading begins
          if (leftward) left = Math.max(0, Math.min(left, right - width));
          else right = Math.min(Math.max(right, left + width), box.width);
          if (right - left < width) leftward ? (right = Math.min(box.width, left + width)) : (left = Math.max(0, right - width));
        }
        return { line, bars, left, right, leftward };
      });
      return { entity, places };
    });
  }

  /** Give each entity a lane, and draw it. */
  #drawParagraph({ marks, block }, measured) {
    marks.replaceChildren();
    const lanes = []; // for each lane, by line: the intervals in use
    const narrowFirst = [...measured].sort((left, right) => left.entity.size - right.entity.size || left.entity.index - right.entity.index);
    for (const [at, wide] of narrowFirst.entries()) {
      const inside = narrowFirst.slice(0, at).filter((narrow) => overlap(wide.entity, narrow.entity));
      wide.lane = Math.max(0, ...inside.map(({ lane }) => lane + 1));
      while (wide.places.some((place) => collides(lanes[wide.lane]?.get(place.line), place))) wide.lane += 1;
      const lane = (lanes[wide.lane] ??= new Map());
      for (const place of wide.places) lane.set(place.line, [...(lane.get(place.line) ?? []), place]);
    }
    const height = TEXT + LANE * Math.max(lanes.length, this.open ? 1 : 0);
    block.style.lineHeight = `${height}px`;
    block.style.marginTop = `${(TEXT - height) / 2}px`; // the first line needs no lanes above it
    block.style.paddingBottom = `${(height - TEXT) / 2}px`;
    for (const entity of measured) this.#drawEntity(marks, entity, height);
  }

  #drawEntity(marks, { entity, places, lane }, height) {
    const colour = this.colour(entity);
    const owner = { "data-entity": entity.index };
    const draw = (kind, ...place) => marks.append(position(make("i", { class: `${kind} ${colour}`, ...owner }), ...place));
    places.forEach(({ line, bars, left, right, leftward }, at) => {
      const text = line * height + (height - TEXT) / 2;
      const top = text + TEXT + lane * LANE;
      for (const [from, to] of bars) {
        draw("tint", from, to, text + 1, TEXT);
        draw("bar", from, to, top, BAR);
      }
      bars.slice(1).forEach(([from], before) => {
        const edge = Math.max(...bars.slice(0, before + 1).map(([, to]) => to));
        if (from - edge > 1) draw("gap", edge, from, top + 1, 1);
      });
      if (at > 0) return;
      const title = this.describe(entity);
      const mark = this.open
        ? make("button", { class: `mark ${colour}`, type: "button", tabIndex: -1, "aria-label": title, "aria-pressed": "false", title, ...owner }, entity.caption ?? entity.label)
        : make("span", { class: `mark ${colour}`, title, ...owner }, entity.caption ?? entity.label);
      mark.classList.toggle("leftward", leftward);
      marks.append(position(mark, left, right, top, LANE - 1));
    });
  }
}

/** The boxes of some characters, without those of the blanks at which a line is broken. */
function characterBoxes(words, start, end, lineOf) {
  const range = document.createRange();
  const boxes = [];
  let blanks = null;
  for (const { 0: run, index } of words.data.slice(start, end).matchAll(/\s+|\S+/g)) {
    range.setStart(words, start + index);
    range.setEnd(words, start + index + run.length);
    const rects = [...range.getClientRects()].filter((rect) => rect.width >= 0.5);
    if (!run.trim()) {
      blanks = rects;
      continue;
    }
    if (blanks && rects.length && lineOf(boxes.at(-1) ?? rects[0]) === lineOf(rects[0])) boxes.push(...blanks);
    boxes.push(...rects);
    blanks = null;
  }
  return boxes;
}

/** Intervals from left to right, those that touch made one. */
function merge(intervals) {
  const merged = [];
  for (const [left, right] of intervals.sort(([before], [after]) => before - after)) {
    if (merged.length && left - merged.at(-1)[1] < 1) merged.at(-1)[1] = Math.max(right, merged.at(-1)[1]);
    else merged.push([left, right]);
  }
  return merged;
}

function overlap({ pieces: left }, { pieces: right }) {
  return left[0][0] < right.at(-1)[1] && right[0][0] < left.at(-1)[1];
}

function collides(intervals, { left, right }) {
  return intervals?.some((used) => used.left < right + GAP && left < used.right + GAP) ?? false;
}

function position(element, left, right, top, height) {
  Object.assign(element.style, { left: `${left}px`, width: `${right - left}px`, top: `${top}px`, height: `${height}px` });
  return element;
}
