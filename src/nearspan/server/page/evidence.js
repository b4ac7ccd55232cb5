// The panel: the training spans that a span's label rests on.

import { chip, make, number } from "./dom.js";
import { Offsets, slice } from "./offsets.js";

const STRENGTHS = {
  exact: ["Exact", "The weights of these training spans add up to the probability: this is how the model decided."],
  attended: ["Attended", "Where the words occurred in training, with their weights in what each word recalled. This is a part of what the head read."],
  nearest: ["Nearest", "Look-alikes by cosine. They show what the model finds alike, not how it decided."],
};
const LEAST = 0.0005; // smaller weights are not shown
const CONTEXT = 90; // characters on each side of a training span

/** The panel before anything is asked. */
export function emptyPanel() {
  return [
    make("h2", {}, "Evidence"),
    make("p", { class: "soft" }, "Choose an entity, or select any words of the text, to see the training spans behind it."),
  ];
}

/** Evidence as elements; `actions` stand below the heading, `remove` takes a training span out of the memory. */
export function evidencePanel(evidence, colour, actions, remove) {
  const [strength, meaning] = STRENGTHS[evidence.strength] ?? [evidence.strength, ""];
  const key = evidence.label ?? "null";
  const probability = evidence.probabilities[key] ?? 0;
  const rest = Object.entries(evidence.probabilities).filter(([label, value]) => label !== key && value >= LEAST);
  const interpolated = evidence.weight > 0 && evidence.weight < 1;
  return [
    make("h2", { tabIndex: -1, dir: "auto", id: "evidence-title" }, evidence.text),
    make("p", { class: "row" }, chip(evidence.label, colour), make("b", { class: "figure" }, probability.toFixed(3)),
      rest.length ? make("span", { class: "soft" }, "then " + rest.slice(0, 3).map(([label, value]) => `${labelName(label)} ${value.toFixed(3)}`).join(", ")) : null),
    actions,
    make("p", { class: "strength" }, make("b", {}, strength), ". ", meaning,
      interpolated ? ` The memory has a weight of ${Math.round(100 * evidence.weight)}% in the probability.` : ""),
    ...Object.entries(evidence.neighbours).map(([label, group]) => neighbourSection(label, group, evidence, colour, remove)),
    ...(evidence.strength === "attended" ? evidence.recalled.map((word) => recalledSection(word, colour)) : []),
    identifierSection(evidence, colour),
    evidence.counter_evidence && counterEvidence(evidence.counter_evidence, colour),
  ];
}

/** The concepts that the words may name, and the training spans of like spelling behind them. */
function identifierSection({ identifiers, linked }, colour) {
  const shares = Object.entries(identifiers).filter(([, share]) => share >= LEAST);
  if (!shares.length) return null;
  const [[likeliest, share], ...rest] = shares.map(([name, value]) => [name === "null" ? "none that the memory has" : name, value]);
  const others = rest.slice(0, 2).map(([name, value]) => `${name} ${value.toFixed(3)}`).join(", ");
  return make("section", { id: "identifiers" },
    make("h3", {}, "Identifier: ", make("b", { dir: "auto" }, likeliest), ` ${share.toFixed(3)}`),
    make("p", { class: "soft" }, `By the spelling of these training spans.${others ? ` Then ${others}.` : ""}`),
    make("ul", { class: "neighbours" }, linked.filter(({ weight }) => weight >= LEAST).map((neighbour) => neighbourRow(neighbour, colour))));
}

/** The smallest set of training spans without which the label would be another. */
function counterEvidence({ size, label, neighbours }, colour) {
  const spans = size === 1 ? "this training span" : `these ${number(size)} training spans`;
  const outcome = label === null ? "is no longer an entity" : "becomes ";
  return make("details", {},
    make("summary", {}, `Remove ${spans} and it ${outcome}`, label === null ? null : chip(label, colour)),
    make("ul", { class: "neighbours" }, neighbours.map((neighbour) => neighbourRow(neighbour, colour))),
    size > neighbours.length ? make("p", { class: "soft" }, `and ${number(size - neighbours.length)} more`) : null);
}

/** A word, and the training occurrences that were blended into its state. */
function recalledSection(word, colour) {
  const rows = word.neighbours.filter(({ weight }) => weight >= LEAST).map((neighbour) => neighbourRow(neighbour, colour));
  if (word.unlisted >= LEAST) rows.push(unlistedRow(word.unlisted, "all other occurrences together", colour(null)));
  const weight = word.weight ? `${Math.round(100 * word.weight)}% recalled` : "not in the training data";
  return make("section", {}, make("h3", { dir: "auto" }, `${word.text}: ${weight}`), rows.length ? make("ul", { class: "neighbours" }, rows) : null);
}

const labelName = (key) => (key === "null" ? "no entity" : key);

function neighbourSection(key, group, evidence, colour, remove) {
  const label = key === "null" ? null : key;
  const listed = group.filter(({ weight }) => evidence.strength === "nearest" || weight >= LEAST);
  const rows = listed.map((neighbour) => neighbourRow(neighbour, colour, remove));
  const unlisted = evidence.unlisted[key] ?? 0;
  if (unlisted >= LEAST) rows.push(unlistedRow(unlisted, "all others of this label together", colour(label)));
  return rows.length ? make("section", {}, make("h3", {}, chip(label, colour)), make("ul", { class: "neighbours" }, rows)) : null;
}

const neighbourRow = (neighbour, colour, remove) => weightRow(neighbour.weight, spanInContext(neighbour, remove), colour(neighbour.label));
const unlistedRow = (weight, name, colour) => weightRow(weight, make("p", { class: "soft" }, name), colour);

function weightRow(weight, content, colour) {
  const bar = make("i", { class: colour });
  bar.style.width = `${Math.max(0, Math.min(1, weight)) * 100}%`;
  const track = make("span", { class: "track", "aria-hidden": "true" }, bar);
  return make("li", {}, make("span", { class: "weight" }, track, make("b", {}, weight.toFixed(3))), content);
}

/** A training span in its sentence, with the document it came from. */
export function spanInContext(span, remove = null) {
  const { fragments, sentence } = span;
  const offsets = new Offsets(sentence);
  const parts = [];
  let at = Math.max(0, fragments[0][0] - CONTEXT);
  if (at > 0) parts.push("…");
  for (const [start, end] of fragments) {
    parts.push(slice(sentence, offsets, at, start), make("mark", {}, slice(sentence, offsets, start, end)));
    at = end;
  }
  const after = slice(sentence, offsets, at, Math.min(at + CONTEXT, offsets.character(sentence.length)));
  parts.push(after, offsets.unit(at) + after.length < sentence.length ? "…" : "");
  const name = `Remove ${span.text} of ${span.document} from the memory`;
  return make("div", {}, make("p", { dir: "auto" }, parts), make("p", { class: "source row" }, span.document, span.identifier ? make("b", { dir: "auto" }, span.identifier) : null,
    remove && make("button", { type: "button", class: "quiet small", "aria-label": name, onclick: () => remove(span) }, "remove")));
}
