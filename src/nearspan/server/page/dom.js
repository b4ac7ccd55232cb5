// Elements. Text goes in as text only: nothing on this page is ever parsed as HTML.

export const byId = (id) => document.getElementById(id);

/** An element with properties, and children that are elements or strings. */
export function make(name, properties = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(properties)) {
    if (value === undefined || value === null || value === false) continue;
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (key === "class") element.className = value;
    else if (key in element && !key.startsWith("aria")) element[key] = value;
    else element.setAttribute(key, value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
}

/** Tell screen readers something; `visible` shows it too, where the page does not show it anyway. */
export function announce(message, { wrong = false, visible = wrong } = {}) {
  const status = byId("status");
  status.classList.toggle("wrong", wrong);
  status.classList.toggle("aloud", !visible);
  status.textContent = message;
}

/** A label as a chip of its colour. */
export function chip(label, colour) {
  return make("span", { class: `chip ${label === null ? "none" : colour(label)}` }, label ?? "no entity");
}

export const number = (value) => value.toLocaleString("en");

/** Buttons to the pages before and after; `go` is called with the offset of the first item. */
export function pager({ offset, size, isLast, caption, go }) {
  const button = (name, to, disabled) => make("button", { type: "button", disabled, onclick: () => go(to) }, name);
  return make("nav", { class: "row", "aria-label": "Pages" },
    button("Earlier", Math.max(0, offset - size), offset === 0), make("span", { class: "soft" }, caption), button("Later", offset + size, isLast));
}

/** One tab stop for several controls: the arrow keys, Home and End go from one to the next. */
export function useArrowKeys(container, selector, onMove = () => {}) {
  container.addEventListener("keydown", (event) => {
    const controls = [...container.querySelectorAll(selector)];
    const at = controls.indexOf(document.activeElement);
    const backward = getComputedStyle(container).direction === "rtl" ? "ArrowRight" : "ArrowLeft";
    const forward = backward === "ArrowLeft" ? "ArrowRight" : "ArrowLeft";
    const to = { [forward]: at + 1, [backward]: at - 1, ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: controls.length - 1 };
    if (at < 0 || !(event.key in to)) return;
    event.preventDefault();
    const next = controls[(to[event.key] + controls.length) % controls.length];
    controls[at].tabIndex = -1;
    next.tabIndex = 0;
    next.focus();
    onMove(next);
  });
}
