// The page: its tabs, and the views behind them.

import { get } from "./api.js";
import { announce, byId, make, number, useArrowKeys } from "./dom.js";
import { ErrorBrowser } from "./errors.js";
import { MemoryMap } from "./map.js";
import { Reader } from "./reader.js";

const EXAMPLES = {
  "A university": "Marie Curie studied physics at the University of Paris. She was born in Warsaw.",
  "A museum": "The British Museum in London bought the drawings that Merian had made in Suriname.",
  "A complaint": "I took ibuprofen for the pain in my knee, and now my stomach hurts.",
};

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
  const reader = new Reader({ health, colour, onEdit: async () => showModel(await get("/health")) });
  const open = (text) => {
    selectTab(byId("tab-text"));
    byId("text").value = text;
    return reader.annotate();
  };
  const parts = { colour, labels: health.labels, corpus: health.corpus, open };
  const views = { "tab-map": new MemoryMap(byId("view-map"), parts), "tab-errors": new ErrorBrowser(byId("view-errors"), parts) };
  const tabs = document.querySelector("[role=tablist]");

  function selectTab(selected) {
    for (const tab of tabs.querySelectorAll("[role=tab]")) {
      tab.setAttribute("aria-selected", String(tab === selected));
      tab.tabIndex = tab === selected ? 0 : -1;
      byId(tab.getAttribute("aria-controls")).hidden = tab !== selected;
    }
    views[selected.id]?.show();
  }
  tabs.addEventListener("click", (event) => event.target.role === "tab" && selectTab(event.target));
  useArrowKeys(tabs, "[role=tab]", selectTab);
  byId("examples").append(
    ...Object.entries(EXAMPLES).map(([name, text]) => make("button", { type: "button", class: "quiet", onclick: () => open(text) }, name)),
  );
}

start();
