// What can be done with a word or a sentence of the treebank; each asks for what it needs and sends one edit.

import { say } from "./common.js";
import { askFields } from "./dialogs.js";
import { pick } from "./picker.js";

export class WordActions {
  // `page` has project, view, run(edit, message), settle(word, right) and focusTree().
  constructor(page) {
    this.page = page;
  }

  get words() {
    return this.page.project.sentence.words;
  }

  nameOf(node) {
    return node === 0 ? "ROOT" : `“${this.words[node - 1].form}”`;
  }

  focusTree() {
    this.page.focusTree();
  }

  chooseHead() {
    this.page.view.startChoosing();
  }

  setHead(word, head) {
    return this.page.run({ do: "head", word, head }, `${this.nameOf(word)} now depends on ${this.nameOf(head)}.`);
  }

  confirm(word) {
    return this.page.run({ do: "confirm", words: [word] }, `The arc to ${this.nameOf(word)} is confirmed.`);
  }

  // Take the proposed arc instead of an improbable one.
  accept(word) {
    const { proposal } = this.words[word - 1];
    if (!proposal) return say(`There is no proposal for ${this.nameOf(word)}.`);
    const { head, deprel } = proposal;
    return this.page.run({ do: "head", word, head, deprel }, `${this.nameOf(word)} is ${deprel} of ${this.nameOf(head)}.`);
  }

  settle(word) {
    if (!this.words[word - 1].faults.length) return say(`${this.nameOf(word)} is not marked.`);
    return this.page.settle(word, true);
  }

  forget(word) {
    const { by } = this.words[word - 1];
    if (by.head !== "human" && by.deprel !== "human") return say(`${this.nameOf(word)} is the parser's already.`);
    return this.page.run({ do: "forget", words: [word] }, `${this.nameOf(word)} is left to the parser.`);
  }

  async chooseLabel(id) {
    const word = this.words[id - 1];
    if (word.head === null) return say(`${this.nameOf(id)} has no head yet: choose one first.`, true);
    const answer = await this.page.project.choices(id);
    const known = answer ? answer.labels.map(({ deprel, probability }) => ({ value: deprel, share: probability })) : [];
    const options = known.length ? known : this.page.project.about.deprels.map((value) => ({ value, share: null }));
    const deprel = await pick({ title: `Label of ${this.nameOf(id)}, under ${this.nameOf(word.head)}`, options, current: word.deprel });
    this.focusTree();
    if (deprel !== null) await this.page.run({ do: "label", word: id, deprel }, `${this.nameOf(id)} is ${deprel} of ${this.nameOf(word.head)}.`);
  }

  async chooseTag(id) {
    const options = this.page.project.about.upos.map((value) => ({ value, share: null }));
    const upos = await pick({ title: `UPOS of ${this.nameOf(id)}`, options, current: this.words[id - 1].upos });
    this.focusTree();
    if (upos !== null) await this.setColumn(id, "upos", upos);
  }

  setColumn(word, column, value) {
    if (this.words[word - 1][column] === value) return undefined;
    const edit = column === "form" ? { do: "form", word, form: value } : { do: "tags", word, [column]: value };
    return this.page.run(edit, `${this.nameOf(word)}: ${value === "_" ? `no ${column}` : value}.`);
  }

  setSpace(word, after) {
    return this.page.run({ do: "space", word, after }, `${after ? "A space" : "No space"} after ${this.nameOf(word)}.`);
  }

  async splitWord(id) {
    const { form } = this.words[id - 1], middle = Math.ceil([...form].length / 2);
    const guess = [[...form].slice(0, middle).join(""), [...form].slice(middle).join("")].join(" ").trim();
    const value = await askFields({
      title: `Split “${form}”`, hint: "Write the new words with spaces between them.", submit: "Split",
      fields: [{ name: "forms", label: "Words", value: guess }, { name: "token", label: `“${form}” stays as a multiword token`, kind: "check", value: false }],
    });
    this.focusTree();
    const forms = value?.forms.trim().split(/\s+/) ?? [];
    if (!value) return;
    if (forms.length < 2) return say("Write at least two words, with a space between them.", true);
    await this.page.run({ do: "split_word", word: id, forms, token: value.token }, `“${form}” is now ${forms.join(" + ")}.`);
  }

  joinWords(id) {
    if (id >= this.words.length) return say("This is the last word.", true);
    return this.page.run({ do: "join_words", first: id, last: id + 1 }, `${this.nameOf(id)} and ${this.nameOf(id + 1)} are one word now.`);
  }

  async makeToken(id) {
    if (id >= this.words.length) return say("A multiword token needs another word after this one.", true);
    const ends = this.words.slice(id, id + 5), first = this.words[id - 1].form;
    const options = ends.map((word, i) => [String(word.id), [first, ...ends.slice(0, i + 1).map((each) => each.form)].join(" + ")]);
    const value = await askFields({
      title: "Multiword token", hint: "One form in the text that stands for several words.", submit: "Make",
      fields: [{ name: "last", label: "Words", kind: "select", options, value: options[0][0] }, { name: "form", label: "Form in the text (empty: the words run together)", value: "" }],
    });
    this.focusTree();
    if (!value) return;
    const form = value.form.trim();
    await this.page.run({ do: "make_token", first: id, last: Number(value.last), ...(form ? { form } : {}) }, "The multiword token is made.");
  }

  async editToken(token) {
    const value = await askFields({ title: "Multiword token", submit: "Change", fields: [{ name: "form", label: "Form in the text", value: token.form }] });
    this.focusTree();
    const form = value?.form.trim();
    if (form && form !== token.form) await this.page.run({ do: "edit_token", first: token.first, form }, `The token is now “${form}”.`);
  }

  removeToken(token) {
    return this.page.run({ do: "remove_token", first: token.first }, `“${token.form}” is no longer a multiword token.`);
  }

  // The key for tokens: edit the one around a word, or make one.
  token(id) {
    const token = this.page.project.sentence.tokens.find((each) => each.first <= id && id <= each.last);
    return token ? this.editToken(token) : this.makeToken(id);
  }

  splitSentence(word) {
    if (word >= this.words.length) return say("The sentence ends here already.", true);
    return this.page.run({ do: "split_sentence", word }, `The sentence ends after ${this.nameOf(word)} now.`);
  }

  joinSentences() {
    return this.page.run({ do: "join_sentences" }, "The next sentence is joined to this one.");
  }
}
