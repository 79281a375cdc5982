// Choosing one of many: rows with shares, and a dialog with a search field.

import { finePercent, make, makeButton, percent } from "./common.js";

// A list of buttons with bars as long as their share; they grow the way the text runs.
export function shareRows(rows, { isOwn, onPick, toLeft, what }) {
  const list = make("ol", undefined, "shares");
  list.dir = toLeft ? "rtl" : "ltr";
  list.append(...rows.map(({ value, name, share, note }) => {
    const button = makeButton(undefined, () => onPick(value));
    button.setAttribute("aria-pressed", String(isOwn(value)));
    button.title = `${what} ${name}`;
    button.style.setProperty("--share", share ?? 0);
    const text = make("span", undefined, "what");
    text.append(make("bdi", name), note ? ` (${note})` : "");
    button.append(text, make("span", percent(share), "share"));
    const item = make("li");
    item.append(button);
    return item;
  }));
  return list;
}

// Ask for one of `options` ({value, share, note}), the likeliest first, or for a text of the user's own.
// Resolves to the value, or to null if nothing was chosen.
export function pick({ title, options, current, free = true }) {
  const dialog = make("dialog", undefined, "picker"), field = make("input"), list = make("ul"), form = make("form");
  const label = make("label", title);
  field.type = "text";
  field.id = "picker-field";
  label.htmlFor = field.id;
  field.autocomplete = "off";
  field.spellcheck = false;
  list.id = "picker-list";
  list.setAttribute("role", "listbox");
  list.setAttribute("aria-label", title);
  for (const [name, value] of [["role", "combobox"], ["aria-controls", list.id], ["aria-expanded", "true"], ["aria-autocomplete", "list"]])
    field.setAttribute(name, value);
  form.append(label, field, list, make("p", "Type to search. Arrows and Enter choose, Escape closes.", "hint"));
  dialog.append(form);
  document.body.append(dialog);
  return new Promise((resolve) => {
    let shown = [], place = 0;
    const close = (value) => { dialog.close(); dialog.remove(); resolve(value); };
    const aim = (next) => {
      place = shown.length ? (next + shown.length) % shown.length : 0;
      [...list.children].forEach((item, i) => item.setAttribute("aria-selected", String(i === place)));
      list.children[place]?.scrollIntoView({ block: "nearest" });
      if (shown.length) field.setAttribute("aria-activedescendant", `picker-${place}`);
    };
    const fill = () => {
      shown = matching(options, field.value.trim(), free);
      list.replaceChildren(...shown.map((option, i) => optionItem(option, i, current, () => close(option.value))));
      aim(field.value ? 0 : Math.max(0, shown.findIndex((option) => option.value === current)));
    };
    field.addEventListener("input", fill);
    field.addEventListener("keydown", (event) => {
      const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
      if (step) { event.preventDefault(); aim(place + step); }
    });
    form.addEventListener("submit", (event) => { event.preventDefault(); if (shown.length) close(shown[place].value); });
    dialog.addEventListener("cancel", (event) => { event.preventDefault(); close(null); });
    dialog.addEventListener("click", (event) => { if (event.target === dialog) close(null); });
    fill();
    dialog.showModal();
    field.focus();
  });
}

function matching(options, text, free) {
  const low = text.toLowerCase(), starts = [], inside = [];
  for (const option of options) {
    const value = option.value.toLowerCase();
    if (value.startsWith(low)) starts.push(option);
    else if (value.includes(low)) inside.push(option);
  }
  const found = [...starts, ...inside];
  const isNew = free && text && !options.some((option) => option.value === text);
  return isNew ? [...found, { value: text, share: null, note: "new" }] : found;
}

function optionItem({ value, share, note }, i, current, onClick) {
  const item = make("li");
  item.id = `picker-${i}`;
  item.setAttribute("role", "option");
  item.style.setProperty("--share", share ?? 0);
  item.classList.toggle("current", value === current);
  const text = make("span", value, "what");
  text.dir = "auto";
  item.append(text, make("span", note ?? finePercent(share), "share"));
  item.addEventListener("click", onClick);
  return item;
}
