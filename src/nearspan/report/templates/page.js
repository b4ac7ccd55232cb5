// Pages of a long list: a form shows the items of a list that match its choices, so many at a time.
for (const form of document.querySelectorAll(".pager")) {
  const items = [...document.querySelector(`[data-items="${form.dataset.list}"]`).children];
  const size = Number(form.dataset.size), fields = [...form.querySelectorAll("select")];
  const output = form.querySelector("output"), buttons = form.querySelectorAll("[data-step]");
  let first = 0;
  const show = () => {
    const fits = items.filter((item) => fields.every(({ name, value }) => !value || item.dataset[name] === value));
    first = Math.max(0, Math.min(first, fits.length - 1));
    first -= first % size;
    const page = new Set(fits.slice(first, first + size));
    for (const item of items) item.hidden = !page.has(item);
    const last = Math.min(first + size, fits.length);
    output.textContent = fits.length ? `${first + 1}–${last} of ${fits.length}` : "none";
    for (const button of buttons) button.disabled = button.dataset.step < 0 ? first === 0 : last === fits.length;
  };
  for (const field of fields) field.addEventListener("change", () => { first = 0; show(); });
  for (const button of buttons) {
    button.addEventListener("click", () => { first += button.dataset.step * size; show(); form.scrollIntoView(); });
  }
  for (const link of document.querySelectorAll(`[data-filter="${form.dataset.list}"]`)) {
    link.addEventListener("click", () => {
      for (const field of fields) field.value = link.dataset[field.name] ?? "";
      first = 0;
      show();
      form.scrollIntoView();
    });
  }
  form.addEventListener("submit", (event) => event.preventDefault());
  form.hidden = false;
  show();
}
