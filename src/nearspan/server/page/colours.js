// Colours: each label has one of twelve, by its place among the model's labels; no entity is grey.

const COLOURS = 12;

/** A function from labels to class names. */
export function colours(labels) {
  const places = new Map(labels.map((label, at) => [label, at]));
  return (label) => (places.has(label) ? `c${places.get(label) % COLOURS}` : "c-none");
}
