// The list of sentences with their states, and its filter.

import { at, make, makeButton } from "./common.js";

export const STATES = { raw: "no tree", parsed: "parsed", touched: "begun", done: "done" };
const PAGE = 200, WAIT = 250;

export class SentenceList {
  constructor(project, onPick) {
    this.project = project;
    this.onPick = onPick;
    this.states = new Set();
    this.count = PAGE;
    this.current = null;
    this.asked = 0;
    at("states").append(...Object.entries(STATES).map(([state, name]) => this.stateButton(state, name)));
    at("contains").addEventListener("input", () => {
      clearTimeout(this.timer);
      this.timer = setTimeout(() => this.filter(), WAIT);
    });
    at("more").addEventListener("click", () => { this.count += PAGE; this.load(); });
  }

  stateButton(state, name) {
    const button = makeButton(undefined, () => {
      if (!this.states.delete(state)) this.states.add(state);
      button.setAttribute("aria-pressed", String(this.states.has(state)));
      this.filter();
    });
    button.dataset.state = state;
    button.setAttribute("aria-pressed", "false");
    button.title = `Show sentences that are: ${name}`;
    button.append(make("span", name, `state ${state}`), make("span", "", "share"));
    return button;
  }

  filter() {
    this.count = PAGE;
    this.load();
  }

  // How many sentences are in each state.
  showCounts(states) {
    for (const button of at("states").children) button.lastChild.textContent = states[button.dataset.state];
  }

  async load() {
    const number = ++this.asked;
    const { total, sentences } = await this.project.list(1, Math.min(this.count, 500), [...this.states], at("contains").value.trim());
    if (number !== this.asked) return;
    at("sentences").replaceChildren(...sentences.map((each) => this.item(each)));
    at("more").hidden = sentences.length >= total || this.count >= 500;
    if (!sentences.length) at("sentences").append(make("li", "No such sentence.", "empty"));
    this.mark(this.current);
  }

  item(sentence) {
    const item = make("li"), button = makeButton(undefined, () => this.onPick(sentence.number));
    button.dataset.number = sentence.number;
    item.append(button);
    fill(button, sentence);
    return item;
  }

  // Show a changed sentence, if it is in the list.
  update(view) {
    const button = this.buttonOf(view.number);
    if (!button) return;
    const decided = view.words.filter((word) => word.by.head === "human").length;
    fill(button, { ...view, words: view.words.length, decided });
  }

  buttonOf(number) {
    return at("sentences").querySelector(`[data-number="${number}"]`);
  }

  mark(number) {
    this.current = number;
    at("sentences").querySelectorAll("[aria-current]").forEach((button) => button.removeAttribute("aria-current"));
    const button = this.buttonOf(number);
    if (!button) return;
    button.setAttribute("aria-current", "true");
    const list = at("sentences"), { offsetTop: top, offsetHeight: height } = button;
    if (top - list.offsetTop < list.scrollTop || top - list.offsetTop + height > list.scrollTop + list.clientHeight) list.scrollTop = top - list.offsetTop - list.clientHeight / 2;
  }
}

function fill(button, { number, state, text, words, decided }) {
  const shown = make("span", text, "what");
  shown.dir = "auto";
  const mark = make("span", "", `state ${state}`);
  mark.setAttribute("role", "img");
  mark.setAttribute("aria-label", STATES[state]);
  const share = make("span", state === "touched" ? `${decided}/${words}` : "", "share");
  button.title = `${STATES[state]}, ${decided} of ${words} heads decided by a human`;
  button.replaceChildren(mark, make("span", String(number), "number"), shown, share);
}
