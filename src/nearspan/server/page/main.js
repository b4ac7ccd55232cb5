// The page: its tabs, and the views behind them.

import { get, isTokenWrong } from "./api.js";
import { announce, byId, make, number, useArrowKeys } from "./dom.js";
import { EditLog } from "./edits.js";
import { ErrorBrowser } from "./errors.js";
import { MemoryMap } from "./map.js";
import { MemoryBrowser } from "./memory.js";
import { Reader } from "./reader.js";
import { ReviewLoop } from "./review.js";

const EXAMPLES = 3;
const SHORT = 36; // characters of an example on its button

async function start() {
  let health;
  try {
    health = await get("/health");
  } catch (error) {
    announce(error.message, { wrong: true });
    return;
  }
  const classes = new Map(Object.entries(health.colours)); // of /page/colours.css, by label
  const colour = (label) => classes.get(label) ?? "c-none";
  const showModel = ({ recipe, sentences }) => {
    byId("model").textContent = `${recipe}, ${number(sentences)} sentences in its memory`;
  };
  showModel(health);
  const onEdit = async () => showModel(await get("/health"));
  const reader = new Reader({ health, colour, onEdit });
  const open = (text, error = null) => {
    selectTab(byId("tab-text"));
    byId("text").value = text;
    return reader.annotate(text, error);
  };
  const parts = { colour, labels: health.labels, corpus: health.corpus, open, onEdit: () => Promise.all([onEdit(), reader.setStale()]) };
  const views = {
    "tab-text": reader,
    "tab-review": new ReviewLoop(byId("view-review"), { ...parts, overlap: health.overlap }),
    "tab-map": new MemoryMap(byId("view-map"), parts),
    "tab-memory": new MemoryBrowser(byId("view-memory"), parts),
    "tab-edits": new EditLog(byId("view-edits"), parts),
    "tab-errors": new ErrorBrowser(byId("view-errors"), parts),
  };
  const tabs = document.querySelector("[role=tablist]");
  byId("tab-review").hidden = !health.review;

  function selectTab(selected) {
    for (const tab of tabs.querySelectorAll("[role=tab]")) {
      tab.setAttribute("aria-selected", String(tab === selected));
      tab.tabIndex = tab === selected ? 0 : -1;
      byId(tab.getAttribute("aria-controls")).hidden = tab !== selected;
    }
    views[selected.id].show();
  }
  tabs.addEventListener("click", (event) => event.target.role === "tab" && selectTab(event.target));
  useArrowKeys(tabs, "[role=tab]:not([hidden])", selectTab);
  if (health.review) selectTab(byId("tab-review")); // who is given texts to answer comes for them
  if (await isTokenWrong()) announce("This token is wrong. You can read; whoever edits is asked for the right one.", { wrong: true });
  const button = (text) => make("button", { type: "button", class: "quiet", title: text, onclick: () => open(text) }, shorten(text));
  byId("examples").append(...(await examples()).map(button));
}

/** Sentences of the memory that show as many labels as a few can. */
async function examples() {
  let sentences = [];
  try {
    ({ sentences } = await get("/memory?limit=100"));
  } catch {
    return []; // this model has no memory
  }
  const labels = ({ entities }) => [...new Set(entities.map(({ label }) => label))];
  let left = sentences.filter(({ text, entities }) => entities.length && text.length < 200);
  const [chosen, shown] = [[], new Set()];
  while (chosen.length < EXAMPLES && left.length) {
    const news = (sentence) => labels(sentence).filter((label) => !shown.has(label)).length;
    const best = left.reduce((best, sentence) => (news(sentence) > news(best) ? sentence : best));
    chosen.push(best.text);
    labels(best).forEach((label) => shown.add(label));
    left = left.filter(({ text }) => text !== best.text);
  }
  return chosen;
}

function shorten(text) {
  return text.length <= SHORT ? text : `${text.slice(0, SHORT).replace(/\s+\S*$/, "").toWellFormed()} …`;
}

start();
