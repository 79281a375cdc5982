// Small dialogs: a few fields, and the list of keys.

import { make, makeButton } from "./common.js";

// Ask for fields ({name, label, value, kind: "text" | "check" | "select", options}); resolves to their values by name, or to null.
export function askFields({ title, hint, fields, submit = "OK" }) {
  const dialog = make("dialog", undefined, "fields-dialog"), form = make("form"), inputs = new Map();
  form.append(make("h2", title));
  if (hint) form.append(make("p", hint));
  for (const field of fields) form.append(...fieldOf(field, inputs));
  const row = make("div", undefined, "row"), ok = make("button", submit, "primary");
  ok.type = "submit";
  const cancel = makeButton("Cancel");
  row.append(ok, cancel);
  form.append(row);
  dialog.append(form);
  document.body.append(dialog);
  return new Promise((resolve) => {
    const close = (value) => { dialog.close(); dialog.remove(); resolve(value); };
    dialog.addEventListener("cancel", (event) => { event.preventDefault(); close(null); });
    cancel.addEventListener("click", () => close(null));
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      close(Object.fromEntries([...inputs].map(([name, input]) => [name, input.type === "checkbox" ? input.checked : input.value])));
    });
    dialog.showModal();
    const first = inputs.values().next().value;
    first.focus();
    if (first.type === "text") first.select();
  });
}

function fieldOf({ name, label, value, kind = "text", options }, inputs) {
  const input = make(kind === "select" ? "select" : "input"), text = make("label", label);
  input.id = `field-${name}`;
  text.htmlFor = input.id;
  inputs.set(name, input);
  if (kind === "check") {
    input.type = "checkbox";
    input.checked = value;
    const line = make("div", undefined, "check");
    line.append(input, text);
    return [line];
  }
  if (kind === "select") for (const [key, shown] of options) input.append(new Option(shown, key));
  else { input.type = "text"; input.dir = "auto"; input.autocomplete = "off"; input.spellcheck = false; }
  input.value = value;
  return [text, input];
}

export function showKeys(rows) {
  const dialog = make("dialog", undefined, "help"), table = make("table");
  dialog.setAttribute("aria-label", "Keys");
  for (const [keys, what] of rows) {
    const row = make("tr"), cell = make("td");
    keys.split(" ").forEach((key) => cell.append(make("kbd", key), " "));
    row.append(cell, make("td", what));
    table.append(row);
  }
  const close = makeButton("Close", () => dialog.close());
  dialog.append(make("h2", "Keys"), table, close);
  dialog.addEventListener("close", () => dialog.remove());
  dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); });
  document.body.append(dialog);
  dialog.showModal();
  close.focus();
}
