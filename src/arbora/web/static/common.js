// What both pages share: elements, numbers in words, requests, downloads, colours. Text is only ever set as text.

export const at = (id) => document.getElementById(id);

export function make(name, text, className) {
  const element = document.createElement(name);
  if (text !== undefined) element.textContent = text;
  if (className) element.className = className;
  return element;
}

export function makeButton(text, onClick, className) {
  const button = make("button", text, className);
  button.type = "button";
  if (onClick) button.addEventListener("click", onClick);
  return button;
}

// Replace the options of a list whose element may have the focus, and keep the focus at its place.
export function replaceKeepingFocus(parent, children) {
  const place = [...parent.children].findIndex((child) => child.contains(document.activeElement));
  parent.replaceChildren(...children);
  if (place < 0) return;
  const next = parent.children[Math.min(place, parent.children.length - 1)];
  (next?.matches("button") ? next : next?.querySelector("button"))?.focus();
}

export function draw(name, attributes, parent, text) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  if (text !== undefined) element.textContent = text;
  if (parent) parent.append(element);
  return element;
}

export function say(text, bad = false) {
  at("status").textContent = text;
  at("status").classList.toggle("bad", bad);
}

// Numbers

export function percent(share) {
  if (share === null || share === undefined) return "";
  const value = 100 * share;
  return value > 99.5 && value < 100 ? ">99%" : value > 0 && value < 0.5 ? "<1%" : `${Math.round(value)}%`;
}

// Of whole trees, which are seldom probable: two digits at least.
export function finePercent(share) {
  if (share === null || share === undefined || share >= 0.0995) return percent(share);
  return share < 0.0001 ? "<0.01%" : `${Number((100 * share).toPrecision(2))}%`;
}

export function counted(count, name) {
  return `${count.toLocaleString("en")} ${name}${count === 1 ? "" : "s"}`;
}

// The first letter with a direction decides: Hebrew, Arabic, Syriac, Thaana, N'Ko and their kin run to the left.
const TO_LEFT = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u;
export function runsToLeft(text) {
  const letter = /\p{L}/u.exec(text);
  return letter !== null && TO_LEFT.test(letter[0]);
}

// Trees

// The words of a cycle in `heads` (a map from words to heads), the first of the sentence first, or null.
export function cycleIn(heads) {
  for (const start of [...heads.keys()].sort((a, b) => a - b)) {
    const path = [];
    for (let word = start; heads.get(word) > 0 && !path.includes(word); word = heads.get(word)) path.push(word);
    const last = path.at(-1);
    if (last !== undefined && heads.get(last) === start) return path;
  }
  return null;
}

// Why no tree has all these heads, in words; "" if the heads do not show it.
export function conflictOf(heads, words, roots) {
  const form = (word) => words[word - 1].form, cycle = cycleIn(heads);
  if (cycle) {
    const way = [...cycle, cycle[0]].map(form).join(" → ");
    return `These heads form a cycle: ${way}. Unpin one of them, or choose another head.`;
  }
  const tops = [...heads].filter(([, head]) => head === 0).map(([word]) => `“${form(word)}”`);
  return roots === "single" && tops.length > 1 ? `Only one word can depend on ROOT, but ${tops.join(" and ")} do. Unpin one of them.` : "";
}

// Requests

// POST `body` as JSON, or GET without one.
export async function ask(path, body) {
  const post = { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) };
  let response;
  try {
    response = await fetch(path, body === undefined ? {} : post);
  } catch {
    throw new Error("The server does not answer. Is it still running?");
  }
  if (response.ok) return response;
  const problem = await response.json().catch(() => null);
  const error = new Error(problem?.error?.message ?? `The server answered ${response.status}.`);
  error.code = problem?.error?.code;
  error.status = response.status;
  throw error;
}

export function save(name, kind, text) {
  const link = make("a");
  link.href = URL.createObjectURL(new Blob([text], { type: kind }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

// Light and dark: as the system says, until the button is pressed.
export function setUpTheme(button) {
  button.addEventListener("click", () => {
    const next = { auto: "light", light: "dark", dark: "auto" }[document.documentElement.dataset.theme ?? "auto"];
    if (next === "auto") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = next;
    button.textContent = `Theme: ${next}`;
  });
}
