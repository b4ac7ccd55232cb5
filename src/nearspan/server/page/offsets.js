// Offsets: the server counts characters (code points), JavaScript counts UTF-16 units.

/** Converts between the two ways of counting a text. */
export class Offsets {
  constructor(text) {
    this.units = null; // where each character begins; null where both ways count the same
    if (/[\u{10000}-\u{10ffff}]/u.test(text)) {
      const units = new Uint32Array(text.length + 1);
      let count = 0;
      for (let unit = 0; unit < text.length; unit += text.codePointAt(unit) > 0xffff ? 2 : 1) units[count++] = unit;
      units[count++] = text.length;
      this.units = units.subarray(0, count);
    }
  }

  /** A character's offset in UTF-16 units. */
  unit(character) {
    return this.units ? this.units[character] : character;
  }

  /** The character that a UTF-16 offset is at or in. */
  character(unit) {
    if (!this.units) return unit;
    let low = 0;
    let high = this.units.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.units[middle] <= unit) low = middle;
      else high = middle - 1;
    }
    return low;
  }
}

/** A piece of a text by its characters. */
export function slice(text, offsets, start, end) {
  return text.slice(offsets.unit(start), offsets.unit(end));
}

const WORD = /[\p{L}\p{M}\p{N}]/u;

/** A selection made of whole words: without blanks at its ends, with the rest of words that it cuts. Null if nothing is left. */
export function wholeWords(text, start, end) {
  while (start < end && /\s/u.test(text[start])) start += 1;
  while (end > start && /\s/u.test(text[end - 1])) end -= 1;
  if (start === end) return null;
  const character = (unit) => String.fromCodePoint(text.codePointAt(unit));
  const before = (unit) => (unit > 1 && /[\ud800-\udbff]/.test(text[unit - 2]) && /[\udc00-\udfff]/.test(text[unit - 1]) ? unit - 2 : unit - 1);
  while (start > 0 && WORD.test(character(start)) && WORD.test(character(before(start)))) start = before(start);
  while (end < text.length && WORD.test(character(before(end))) && WORD.test(character(end))) end += character(end).length;
  return [start, end];
}

/** The next place after `after` where words stand as whole words, else the first such place; -1 where there is none. */
export function nextPlace(text, words, after) {
  let first = -1;
  for (let at = text.indexOf(words); at >= 0; at = text.indexOf(words, at + 1)) {
    if (String(wholeWords(text, at, at + words.length)) !== String([at, at + words.length])) continue;
    if (at > after) return at;
    if (first < 0) first = at;
  }
  return first;
}
