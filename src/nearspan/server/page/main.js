// The page: tabs, the text and its entities, the panel beside it.

import { get } from "./api.js";
import { colours } from "./colours.js";
import { byId, make, number, rove, say } from "./dom.js";
import { Errors } from "./errors.js";
import { MemoryMap } from "./map.js";
import { Reader } from "./reader.js";

const EXAMPLES = {
  "A university": "Marie Curie studied physics at the University of Paris. She was born in Warsaw.",
  "A museum": "The Museum of Modern Art in New York sent Guernica to Spain in 1981, as Picasso had wished.",
  "A complaint": "I took ibuprofen for the pain in my knee, and now my stomach hurts.",
};

async function begin() {
  let served;
  try {
    served = await get("/health");
  } catch (error) {
    say(error.message, { wrong: true });
    return;
  }
  const colour = colours(served.labels);
  const counted = ({ recipe, sentences }) => {
    byId("served").textContent = `${recipe}, ${number(sentences)} sentences in its memory`;
  };
  counted(served);
  const reader = new Reader({ served, colour, edited: async () => counted(await get("/health")) });
  const open = (text) => {
    choose(byId("tab-text"));
    byId("text").value = text;
    return reader.annotate();
  };
  const parts = { served, colour, labels: served.labels, corpus: served.corpus, open };
  const views = { "tab-map": new MemoryMap(byId("view-map"), parts), "tab-errors": new Errors(byId("view-errors"), parts) };
  const tabs = document.querySelector("[role=tablist]");

  function choose(tab) {
    for (const one of tabs.querySelectorAll("[role=tab]")) {
      one.setAttribute("aria-selected", String(one === tab));
      one.tabIndex = one === tab ? 0 : -1;
      byId(one.getAttribute("aria-controls")).hidden = one !== tab;
    }
    views[tab.id]?.show();
  }
  tabs.addEventListener("click", (event) => event.target.role === "tab" && choose(event.target));
  rove(tabs, "[role=tab]", choose);
  byId("examples").append(
    ...Object.entries(EXAMPLES).map(([name, text]) => make("button", { type: "button", class: "quiet", onclick: () => open(text) }, name)),
  );
}

begin();
