// One sentence of the page: what the file had, what the user fixed, and what the parser found around that.
//
// `pins` maps words to {head, deprel, by}: arcs that every tree keeps, by the "file" or by "you". `free` is the
// parser's answer without pins, `around` the one with them. Nothing here touches the page.

import { ask } from "./common.js";

const TREES = 8;

export class ParsedSentence {
  constructor(answer, fromFile, limits) {
    this.words = answer.words;
    this.text = answer.text;
    this.tokens = answer.tokens;
    this.file = fromFile ? answer.given : null;
    this.best = answer.trees[0];
    this.limits = limits;
    this.free = null;
    this.around = null;
    this.choice = 0;
    this.past = [];
    this.pins = new Map();
    (this.file?.heads ?? []).forEach((head, i) => {
      if (head !== null) this.pins.set(i + 1, { head, deprel: known(this.file.deprels[i]), by: "file" });
    });
    this.isPartial = this.pins.size > 0 && this.pins.size < this.words.length;
  }

  get isLong() {
    return this.words.length > this.limits.ranked_words;
  }

  get hasEdits() {
    return [...this.pins.values()].some((pin) => pin.by === "you");
  }

  // Words that the user fixed.
  get kept() {
    return new Set([...this.pins].filter(([, pin]) => pin.by === "you").map(([word]) => word));
  }

  get isAsInFile() {
    return this.file !== null && !this.isPartial && !this.hasEdits && this.pins.size === this.words.length;
  }

  // The trees to choose from, the one with the pins first; `own`: whether it has them.
  trees() {
    const free = (this.free?.trees ?? [this.best]).map((tree, i) => ({ ...tree, name: i === 0 ? "Best" : `${i + 1}`, own: !this.pins.size }));
    const fromFile = this.file && !this.isPartial ? [{ ...this.file, probability: null, name: "From the file", own: this.isAsInFile }] : [];
    if (this.isAsInFile) return [...fromFile, ...free];
    if (!this.pins.size) return [...free, ...fromFile];
    if (!this.around) return [{ ...this.file, probability: null, name: "From the file", own: true }, ...free];
    const first = this.hasEdits ? "Yours" : "Completed";
    const around = this.around.trees.map((tree, i) => ({ ...tree, name: i === 0 ? first : `${i + 1}`, own: true }));
    return [...around, ...fromFile, ...(this.file ? free.slice(0, 1).map((tree) => ({ ...tree, name: "Parser" })) : [])];
  }

  // The chosen tree, with the probabilities of its heads: those of pinned words are as if nothing was pinned.
  shown() {
    const trees = this.trees(), tree = trees[Math.min(this.choice, trees.length - 1)], table = this.free?.marginals;
    const shares = tree.heads.map((head, i) => {
      if (tree.own && !this.pins.has(i + 1)) return tree.head_probabilities?.[i] ?? null;
      return head === null ? null : table ? table[head][i + 1] : this.pins.has(i + 1) ? null : tree.head_probabilities?.[i] ?? null;
    });
    return { ...tree, shares, words: this.words, tokens: this.tokens, kept: tree.own ? this.kept : new Set() };
  }

  // P(arc) [head][word] around the pins; for a pinned word, as if nothing was pinned. Null if unknown.
  table() {
    const tree = this.shown(), free = this.free?.marginals ?? null;
    const around = tree.own && this.pins.size && !this.isAsInFile ? this.around?.marginals ?? null : null;
    if (!around || !free) return around ?? free;
    return around.map((row, head) => row.map((share, word) => (this.pins.has(word) ? free[head][word] : share)));
  }

  // Labels of the shown arc to a word with their probabilities, the likeliest first; null if unknown.
  labelsOf(word) {
    const head = this.shown().heads[word - 1];
    const answer = [this.around, this.free].find((each) => each?.labels && each.trees[0].heads[word - 1] === head);
    return answer ? Object.entries(answer.labels[word - 1]).map(([value, share]) => ({ value, share })).sort((a, b) => b.share - a.share) : null;
  }

  // How many heads of the file's tree differ from the parser's; null without one.
  differences() {
    return this.file ? this.file.heads.filter((head, i) => head !== null && head !== this.best.heads[i]).length : null;
  }

  // The pins after a change of the shown tree.
  changed(word, pin) {
    const pins = new Map(this.shown().own ? this.pins : []);
    if (pin) pins.set(word, pin);
    else pins.delete(word);
    return pins;
  }

  // Ask for what is not known yet.
  async load() {
    if (!this.free) this.free = await this.request(new Map());
    if (this.pins.size && !this.around && !this.isAsInFile) this.around = await this.request(this.pins);
  }

  async request(pins) {
    const keep = [...pins].map(([word, { head, deprel }]) => ({ word, head, deprel }));
    const more = this.isLong ? {} : { k: TREES, marginals: true };
    const answer = await (await ask("/api/parse", { conllu: this.best.conllu, keep, ...more })).json();
    return answer.sentences[0];
  }

  // Find the trees around other pins, and remember the old ones.
  async repin(pins) {
    const around = pins.size ? await this.request(pins) : null;
    this.past.push({ pins: this.pins, around: this.around, choice: this.choice });
    Object.assign(this, { pins, around, choice: 0 });
  }

  undo() {
    Object.assign(this, this.past.pop());
  }
}

function known(label) {
  return label === "_" ? null : label;
}
