// The panel of one word: its head and label with what the parser thinks, its columns, and what can be done with it.

import { at, make, makeButton, runsToLeft, say } from "./common.js";
import { shareRows } from "./picker.js";

const COLUMNS = [["form", "Form"], ["lemma", "Lemma"], ["upos", "UPOS"], ["xpos", "XPOS"], ["feats", "Features"]];
const BY = { human: "by a human", parser: "by the parser" };
const shownValue = (value) => (value === "_" ? "" : value);

// `actions` do what is asked for: see `WordActions` in edits.js.
export class WordPanel {
  constructor(project, actions) {
    this.project = project;
    this.actions = actions;
    this.asked = 0;
  }

  get sentence() {
    return this.project.sentence;
  }

  show(id) {
    const panel = at("word"), word = this.sentence.words[id - 1], { actions } = this;
    const focused = panel.contains(document.activeElement) ? document.activeElement.id : "";
    const title = make("h2", word.form), top = make("div", undefined, "row");
    title.dir = "auto";
    top.append(title, titled(makeButton("Head…", () => actions.chooseHead()), "Choose another head in the tree (Enter)"));
    if (word.head !== null) top.append(makeButton(`Label: ${shownValue(word.deprel) || "none"}`, () => actions.chooseLabel(id)));
    const rows = make("div");
    rows.id = "heads";
    panel.replaceChildren(top, this.decided(word), ...this.faults(word), rows, this.arcActions(word), this.fields(word), make("h3", "Words and sentences"), this.wordActions(word));
    if (focused) document.getElementById(focused)?.focus();
    this.drawHeads(word, word.head === null ? [] : [{ head: word.head, probability: word.head_probability }]);
    this.loadHeads(word);
  }

  decided(word) {
    if (word.head === null) return make("p", "This word has no head yet.");
    const head = word.by.head, label = word.by.deprel;
    const text = head === label ? `Head and label ${BY[head] ?? "unknown"}` : `Head ${BY[head] ?? "unknown"}, label ${BY[label] ?? "missing"}`;
    return make("p", `${text}.`);
  }

  faults(word) {
    if (!word.faults.length) return [];
    const list = make("ul", undefined, "faults");
    list.append(...word.faults.map((fault) => make("li", fault)));
    const row = make("div", undefined, "actions"), { actions } = this;
    if (word.proposal) row.append(keyed(makeButton("Take the proposed arc", () => actions.accept(word.id)), "a"));
    row.append(keyed(makeButton("It is right as it is", () => actions.settle(word.id)), "r"));
    return [list, row];
  }

  // The parser's candidates come a little later.
  async loadHeads(word) {
    const number = ++this.asked;
    const answer = await this.project.choices(word.id).catch(() => null);
    if (answer && number === this.asked && document.getElementById("heads")) this.drawHeads(word, answer.heads.slice(0, 6));
  }

  drawHeads(word, heads) {
    const all = heads.some(({ head }) => head === word.head) || word.head === null ? heads : [...heads, { head: word.head, probability: word.head_probability }];
    const form = (head) => this.sentence.words[head - 1].form;
    const isUnique = (head) => this.sentence.words.every((each) => each.id === head || each.form !== form(head));
    const name = (head) => (head === 0 ? "ROOT" : isUnique(head) ? form(head) : `${form(head)} (${head})`);
    const rows = all.map(({ head, probability }) => ({ value: head, name: name(head), share: probability }));
    const isOwn = (head) => head === word.head, onPick = (head) => this.actions.setHead(word.id, head);
    at("heads").replaceChildren(shareRows(rows, { isOwn, onPick, toLeft: runsToLeft(this.sentence.text), what: "Set the head:" }));
  }

  arcActions(word) {
    const row = make("div", undefined, "actions"), { actions } = this;
    if (word.head !== null && !(word.by.head === "human" && word.by.deprel === "human"))
      row.append(keyed(makeButton("This arc is right", () => actions.confirm(word.id)), "y"));
    if (word.by.head === "human" || word.by.deprel === "human")
      row.append(keyed(makeButton("Leave it to the parser", () => actions.forget(word.id)), "Delete"));
    return row;
  }

  fields(word) {
    const grid = make("div", undefined, "fields");
    for (const [column, name] of COLUMNS) {
      const label = make("label", name), by = make("span", "", "by"), field = column === "upos" ? this.tagButton(word) : this.field(word, column);
      label.htmlFor = field.id = `column-${column}`;
      const who = word.by[column];
      if (who && word[column] !== "_") { by.textContent = who; by.classList.add(who); }
      grid.append(label, field, by);
    }
    return grid;
  }

  tagButton(word) {
    const button = makeButton(shownValue(word.upos) || "none", () => this.actions.chooseTag(word.id));
    button.setAttribute("aria-keyshortcuts", "p");
    return button;
  }

  field(word, column) {
    const input = make("input");
    input.type = "text";
    input.dir = "auto";
    input.autocomplete = "off";
    input.spellcheck = false;
    input.autocapitalize = "off";
    input.value = shownValue(word[column]);
    if (column === "feats") input.placeholder = "Case=Nom|Number=Sing";
    input.addEventListener("change", () => {
      const value = input.value.trim();
      if (column === "form" && !value) { input.value = word.form; say("A word needs a form. To remove it, join it with the next.", true); return; }
      this.actions.setColumn(word.id, column, value || "_");
    });
    input.addEventListener("keydown", (event) => {
      if (event.key === "Escape") input.value = shownValue(word[column]);
      if (event.key === "Enter" || event.key === "Escape") { event.preventDefault(); input.blur(); this.actions.focusTree(); }
    });
    return input;
  }

  wordActions(word) {
    const row = make("div", undefined, "actions"), { actions, sentence } = this, last = sentence.words.length;
    const token = sentence.tokens.find((each) => each.first <= word.id && word.id <= each.last);
    const isInside = token && word.id < token.last;
    row.append(keyed(makeButton("Split word…", () => actions.splitWord(word.id)), "s"));
    if (word.id < last) row.append(keyed(makeButton("Join with next", () => actions.joinWords(word.id)), "j"));
    if (token) row.append(keyed(makeButton("Multiword token…", () => actions.editToken(token)), "t"), makeButton("Remove token", () => actions.removeToken(token)));
    else if (word.id < last) row.append(keyed(makeButton("Multiword token…", () => actions.makeToken(word.id)), "t"));
    if (!isInside) row.append(makeButton(word.space_after ? "No space after" : "Space after", () => actions.setSpace(word.id, !word.space_after)));
    if (word.id < last && !isInside) row.append(keyed(makeButton("End sentence here", () => actions.splitSentence(word.id)), "."));
    row.append(keyed(makeButton("Join next sentence", () => actions.joinSentences()), "+"));
    return row;
  }
}

function titled(button, title) {
  button.title = title;
  return button;
}

function keyed(button, key) {
  button.setAttribute("aria-keyshortcuts", key);
  return titled(button, `Key: ${key === "Delete" ? key : key.toUpperCase()}`);
}
