// The page of `arbora serve`: what is typed goes to the server, what comes back is drawn and can be corrected.

import { ask, at, conflictOf, counted, finePercent, make, makeButton, replaceKeepingFocus, runsToLeft, save, say, setUpTheme } from "./common.js";
import { drawHeat, lightHeat } from "./heat.js";
import { pick, shareRows } from "./picker.js";
import { ParsedSentence } from "./sentence.js";
import { TreeView, mostDoubtful } from "./tree.js";

const state = {
  info: null,
  sentences: [],
  current: 0,
  busy: 0,         // requests under way
  asked: 0,        // numbers requests, so that a late answer is not shown over a newer one
};
const current = () => state.sentences[state.current];

// While something is asked for, screen readers and tests know that what is shown will change.
async function busily(work) {
  state.busy += 1;
  at("result").setAttribute("aria-busy", "true");
  try {
    return await work();
  } catch (error) {
    say(error.message, true);
  } finally {
    state.busy -= 1;
    at("result").setAttribute("aria-busy", String(state.busy > 0));
  }
}

// Parsing

async function parse(body, what) {
  const number = ++state.asked;
  at("parse").disabled = true;
  say("Parsing…");
  try {
    const answer = await (await ask("/api/parse", body)).json();
    if (number !== state.asked) return;
    state.sentences = answer.sentences.map((each) => new ParsedSentence(each, "conllu" in body, state.info.limits));
    const words = answer.sentences.reduce((sum, sentence) => sum + sentence.words.length, 0);
    say([`${what}: ${counted(answer.sentences.length, "sentence")}, ${counted(words, "word")}.`, ...answer.notes.map((note) => `Note: ${note}.`)].join(" "));
    at("result").hidden = false;
    listSentences();
    await select(0);
  } catch (error) {
    if (number === state.asked) throw error;
  } finally {
    at("parse").disabled = false;
  }
}

function parseText() {
  const text = at("text").value;
  if (!text.trim()) return say("There is no text yet.", true);
  // What looks like CoNLL-U is taken as such.
  const isTable = /^(?:#.*\n)*1(?:-\d+)?\t(?:[^\t\n]*\t){8}[^\t\n]*$/m.test(text.slice(0, 20_000));
  return busily(() => parse(isTable ? { conllu: text } : { text }, "Parsed"));
}

async function openFile(file) {
  if (!file) return;
  if (state.info && file.size > state.info.limits.body * 0.9)
    return say(`${file.name} has ${file.size.toLocaleString()} bytes, more than the server takes at a time. To work on a whole treebank: arbora annotate FILE.`, true);
  let text;
  try {
    text = new TextDecoder("utf-8", { fatal: true }).decode(await file.arrayBuffer());
  } catch {
    return say(`${file.name} is not UTF-8 text.`, true);
  }
  if (at("text").value === state.info?.example) at("text").value = "";
  await busily(() => parse({ conllu: text }, file.name));
}

// Sentences

function listSentences() {
  at("sentences").hidden = state.sentences.length < 2;
  at("sentences").replaceChildren(...state.sentences.map((sentence, i) => {
    const button = makeButton(undefined, () => busily(() => select(i)));
    const text = make("span", sentence.text, "what"), differences = sentence.differences();
    text.dir = "auto";
    button.append(text);
    if (differences) {
      const mark = make("span", `${differences} differ`, "share");
      mark.title = `${counted(differences, "head")} of the file differ from the parser's`;
      button.append(mark);
    }
    button.append(make("span", finePercent(sentence.best.probability), "share"));
    return button;
  }));
}

async function select(index) {
  state.current = index;
  [...at("sentences").children].forEach((button, i) => button.toggleAttribute("aria-current", i === index));
  const sentence = current();
  show(1);
  await sentence.load();
  // The word in question is the most doubtful one, unless the user has chosen another by then.
  if (sentence === current()) show(view.current === 1 ? mostDoubtful(sentence.shown()) : view.current);
}

// What is shown of the current sentence

function show(word = view.current) {
  const sentence = current();
  listChoices(sentence);
  view.show(sentence.shown(), word);
  at("undo").disabled = sentence.past.length === 0;
  at("release").disabled = sentence.pins.size === 0;
  at("why").textContent = whyMissing(sentence);
  showWord(view.current);
  drawMap();
}

// Why there are no further trees, or no probability of the tree.
function whyMissing(sentence) {
  const { limits, unranked } = state.info;
  if (sentence.isLong) return `This sentence has ${sentence.words.length} words. Further trees, candidate heads and the map are for at most ${limits.ranked_words}.`;
  return unranked ? `No further trees and no probability of the whole tree: ${unranked}.` : "";
}

function listChoices(sentence) {
  const buttons = sentence.trees().map(({ name, probability }, i) => {
    const button = makeButton(`${name} `, () => { sentence.choice = i; show(); });
    button.setAttribute("role", "radio");
    button.setAttribute("aria-checked", String(i === sentence.choice));
    button.tabIndex = i === sentence.choice ? 0 : -1;
    if (probability !== null) button.append(make("span", finePercent(probability), "share"));
    return button;
  });
  replaceKeepingFocus(at("choices"), buttons);
}

function onChoiceKey(event) {
  const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
  if (!step) return;
  event.preventDefault();
  const sentence = current(), count = sentence.trees().length;
  sentence.choice = (sentence.choice + step + count) % count;
  show();
  at("choices").children[sentence.choice].focus();
}

const nameOf = (node) => (node === 0 ? "ROOT" : current().words[node - 1].form);

function showWord(word) {
  const sentence = current(), shown = sentence.shown(), token = sentence.words[word - 1], pin = sentence.pins.get(word);
  const about = [token.lemma, token.upos, token.xpos, token.feats].filter((text) => text !== "_").join(" · ");
  const title = make("h2", token.form), top = make("div", undefined, "row");
  title.dir = "auto";
  const own = shown.heads[word - 1], label = shown.deprels[word - 1];
  const rows = headsOf(sentence, shown, word).map(({ head, share }) => ({ value: head, name: nameOf(head), share }));
  const toLeft = runsToLeft(sentence.text);
  const list = shareRows(rows, { isOwn: (head) => head === own, onPick: (head) => fix(word, head), toLeft, what: "Set the head:" });
  top.append(title, makeButton("Head…", () => view.startChoosing()));
  if (own !== null) top.append(makeButton(`Label: ${label === "_" ? "none" : label}`, () => chooseLabel(word)));
  const parts = [top, make("p", about || "no tags"), list];
  if (shown.own && pin) {
    const isYours = pin.by === "you";
    parts.push(make("p", isYours ? "You pinned this head." : "This head is from the file."),
      makeButton(isYours ? "Unpin this head" : "Leave this head to the parser", () => release(word)));
  }
  at("word").replaceChildren(...parts);
  lightHeat(word);
}

// The most probable heads of a word, and in any case the one that it has.
function headsOf(sentence, shown, word) {
  const table = sentence.table(), own = shown.heads[word - 1];
  if (!table) return own === null ? [] : [{ head: own, share: shown.shares[word - 1] }];
  const all = table.map((row, head) => ({ head, share: row[word] })).filter(({ head }) => head !== word);
  all.sort((a, b) => b.share - a.share);
  const best = all.slice(0, 5).filter(({ head, share }) => share >= 0.005 || head === own);
  return own === null || best.some(({ head }) => head === own) ? best : [...best, all.find(({ head }) => head === own)];
}

function drawMap() {
  if (!at("heat").open) return;
  const sentence = current(), table = sentence.table();
  if (table) drawHeat(sentence.words, sentence.shown().heads, table, view.current);
  else at("map").replaceChildren(make("p", sentence.free ? whyMissing(sentence) || "This parser has no probabilities of arcs." : "Loading…"));
}

// Corrections, one after the other

let corrections = Promise.resolve();
function change(pinsOf, message) {
  corrections = corrections.then(() => busily(() => repin(pinsOf(current()), message)));
  return corrections;
}

async function repin(pins, message) {
  const sentence = current(), { heads } = sentence.shown();
  const conflict = conflictOf(new Map([...pins].map(([word, pin]) => [word, pin.head])), sentence.words, state.info.roots);
  if (conflict) return say(conflict, true);
  say("Parsing the rest…");
  await sentence.repin(pins).catch((error) => {
    error.message = error.message.replace(/\bword (\d+)/g, (_, number) => `“${nameOf(Number(number))}”`);
    throw error;
  });
  if (sentence !== current()) return;
  show();
  const moved = sentence.shown().heads.filter((head, i) => head !== heads[i]).length;
  say(`${message} ${moved === 0 ? "No head changed." : `${counted(moved, "head")} changed.`}`);
}

function fix(word, head, deprel = null) {
  if (word === head) return;
  const message = `“${nameOf(word)}” now depends on ${head === 0 ? "ROOT" : `“${nameOf(head)}”`}${deprel ? ` as ${deprel}` : ""}.`;
  return change((sentence) => sentence.changed(word, { head, deprel, by: "you" }), message);
}

function release(word) {
  const sentence = current();
  if (!sentence.shown().own || !sentence.pins.has(word)) return;
  return change((each) => each.changed(word, null), `“${nameOf(word)}” is unpinned.`);
}

async function chooseLabel(word) {
  view.focus(word);
  const sentence = current(), shown = sentence.shown(), head = shown.heads[word - 1], label = shown.deprels[word - 1];
  if (head === null) return say(`“${nameOf(word)}” has no head yet: choose one first.`, true);
  const ranked = sentence.labelsOf(word) ?? [], known = new Set(ranked.map((option) => option.value));
  const others = state.info.labels.filter((value) => !known.has(value)).map((value) => ({ value, share: null }));
  const value = await pick({ title: `Label of “${nameOf(word)}”, under ${head === 0 ? "ROOT" : `“${nameOf(head)}”`}`, options: [...ranked, ...others], current: label });
  if (sentence !== current()) return;
  view.focus(word);
  if (value !== null && value !== label) await fix(word, head, value);
}

function undo() {
  if (!current().past.length) return;
  current().undo();
  show();
  say("Undone.");
}

// Export

// What is shown of every sentence. A sentence whose tree is partial is completed first.
async function saveConllu() {
  for (const sentence of state.sentences) if (sentence.isPartial && !sentence.around) await sentence.load();
  save("trees.conllu", "text/plain;charset=utf-8", state.sentences.map((sentence) => sentence.shown().conllu).join(""));
  say(`Saved ${counted(state.sentences.length, "sentence")}.`);
}

async function saveSvg() {
  const response = await ask("/api/svg", { conllu: current().shown().conllu });
  save("tree.svg", "image/svg+xml", await response.text());
  say("Saved the picture.");
}

const view = new TreeView(at("stage"), { onShow: showWord, onHead: fix, onRelease: release, onLabel: chooseLabel, onSay: say });

at("parse").addEventListener("click", parseText);
at("text").addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); parseText(); }
});
at("open").addEventListener("click", () => at("file").click());
at("file").addEventListener("change", () => { openFile(at("file").files[0]); at("file").value = ""; });
document.addEventListener("dragover", (event) => { if (event.dataTransfer?.types.includes("Files")) event.preventDefault(); });
document.addEventListener("drop", (event) => {
  if (!event.dataTransfer?.files.length) return;
  event.preventDefault();
  openFile(event.dataTransfer.files[0]);
});
at("choices").addEventListener("keydown", onChoiceKey);
at("undo").addEventListener("click", undo);
at("release").addEventListener("click", () => change(() => new Map(), "All heads are unpinned."));
at("save-conllu").addEventListener("click", () => busily(saveConllu));
at("save-svg").addEventListener("click", () => busily(saveSvg));
at("heat").addEventListener("toggle", () => { if (state.sentences.length) drawMap(); });
setUpTheme(at("theme"));

busily(async () => {
  const info = (state.info = await (await ask("/api/info")).json());
  at("model").textContent = `${info.name} · ${info.trees} trees${info.is_calibrated ? "" : " · probabilities not calibrated"}`;
  if (info.example && !at("text").value) {
    at("text").value = info.example;
    await parse({ text: info.example }, "An example");
  }
  at("text").focus();
  at("text").select();
});
