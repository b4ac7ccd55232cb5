// The panel: what a span rests on, and how to correct it.

import { chip, make, number } from "./dom.js";
import { Offsets, slice } from "./offsets.js";

const STRENGTHS = {
  exact: ["Exact", "The shares of these training spans add up to the probability: this is how the model decided."],
  attended: ["Attended", "Where the words occurred in training, with their weights in what each word recalled: a part of what the head read."],
  nearest: ["Nearest", "Look-alikes by cosine. They show what the model finds alike, not how it decided."],
};
const LEAST = 0.0005; // smaller shares are not shown
const AROUND = 90; // characters on each side of a training span

/** The panel when there is nothing to speak of. */
export function idle() {
  return [
    make("h2", {}, "Evidence"),
    make("p", { class: "soft" }, "Choose an entity, or select any words of the text, to see which training spans speak for it."),
  ];
}

/** Evidence as elements; `actions` stand below the heading, `remove` takes a training span out of the memory. */
export function shown(evidence, colour, actions, remove) {
  const [strength, meaning] = STRENGTHS[evidence.strength] ?? [evidence.strength, ""];
  const label = evidence.label ?? "null";
  const share = evidence.probabilities[label] ?? 0;
  const rest = Object.entries(evidence.probabilities).filter(([name, value]) => name !== label && value >= LEAST);
  return [
    make("h2", { tabIndex: -1, dir: "auto", id: "asked" }, evidence.text),
    make("p", { class: "row" }, chip(evidence.label, colour), make("b", { class: "figure" }, share.toFixed(3)),
      rest.length ? make("span", { class: "soft" }, "then " + rest.slice(0, 3).map(([name, value]) => `${named(name)} ${value.toFixed(3)}`).join(", ")) : null),
    actions,
    make("p", { class: "strength" }, make("b", {}, strength), ". ", meaning,
      evidence.share > 0 && evidence.share < 1 ? ` The memory has a share of ${Math.round(100 * evidence.share)}% in the probability.` : ""),
    ...Object.entries(evidence.neighbours).map(([name, group]) => neighbours(name, group, evidence, colour, remove)),
    ...(evidence.strength === "attended" ? (evidence.recalled ?? []).map((word) => recalled(word, colour)) : []),
    evidence.flip && flip(evidence.flip, colour),
  ];
}

/** What would have to go for another label. */
function flip({ size, label, neighbours: gone }, colour) {
  const what = size === 1 ? "Without this training span" : `Without these ${number(size)} training spans`;
  return make("details", {},
    make("summary", {}, `${what} it would be `, chip(label, colour)),
    make("ul", { class: "neighbours" }, gone.map((one) => row(one.weight, context(one), colour(one.label)))),
    size > gone.length ? make("p", { class: "soft" }, `and ${number(size - gone.length)} more`) : null);
}

/** A word, and the training occurrences that were blended into its state. */
function recalled(word, colour) {
  const rows = word.neighbours.filter((one) => one.weight >= LEAST).map((one) => row(one.weight, context(one), colour(one.label)));
  if (word.unlisted >= LEAST) rows.push(row(word.unlisted, make("p", { class: "soft" }, "all other occurrences together"), colour(null)));
  const share = word.share ? `${Math.round(100 * word.share)}% recalled` : "not in the training data";
  return make("section", {}, make("h3", { dir: "auto" }, `${word.text}: ${share}`), rows.length ? make("ul", { class: "neighbours" }, rows) : null);
}

const named = (name) => (name === "null" ? "no entity" : name);

function neighbours(name, group, evidence, colour, remove) {
  const exact = evidence.strength !== "nearest";
  const rows = group.filter((one) => !exact || one.weight >= LEAST).map((one) => row(one.weight, context(one, remove), colour(one.label)));
  const left = evidence.unlisted[name] ?? 0;
  if (left >= LEAST) rows.push(row(left, make("p", { class: "soft" }, "all others of this label together"), colour(name === "null" ? null : name)));
  if (!rows.length) return null;
  return make("section", {}, make("h3", {}, chip(name === "null" ? null : name, colour)), make("ul", { class: "neighbours" }, rows));
}

function row(weight, content, colour) {
  const bar = make("i", { class: colour });
  bar.style.width = `${Math.max(0, Math.min(1, weight)) * 100}%`;
  return make("li", {}, make("span", { class: "weight" }, make("span", { class: "track", "aria-hidden": "true" }, bar), make("b", {}, weight.toFixed(3))), content);
}

/** A training span in its sentence, with the document it came from. */
export function context(one, remove = null) {
  const offsets = new Offsets(one.sentence);
  const parts = [];
  let done = Math.max(0, one.fragments[0][0] - AROUND);
  if (done > 0) parts.push("…");
  for (const [start, end] of one.fragments) {
    parts.push(slice(one.sentence, offsets, done, start), make("mark", {}, slice(one.sentence, offsets, start, end)));
    done = end;
  }
  const after = slice(one.sentence, offsets, done, Math.min(done + AROUND, offsets.character(one.sentence.length)));
  parts.push(after, offsets.unit(done) + after.length < one.sentence.length ? "…" : "");
  return make("div", {}, make("p", { dir: "auto" }, parts), make("p", { class: "source row" }, one.document,
    remove && make("button", { type: "button", class: "quiet small", "aria-label": `Remove ${one.text} of ${one.document} from the memory`, onclick: () => remove(one) }, "remove")));
}
