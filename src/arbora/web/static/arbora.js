// The page: what is typed goes to the server, what comes back is drawn. Text is only ever set as text.

import { TreeView, finePercent, percent, runsToLeft } from "./tree.js";

const TREES = 8;
const at = (id) => document.getElementById(id);
const state = {
  info: null,
  sentences: [],   // as the server told them, with `kept` (word -> head), `past` (for undo), `details`, `choice`
  current: 0,
  busy: 0,         // requests under way
  asked: 0,        // numbers requests, so that a late answer is not shown over a newer one
};

// Small helpers

function make(name, text, className) {
  const element = document.createElement(name);
  if (text !== undefined) element.textContent = text;
  if (className) element.className = className;
  return element;
}

function say(text, bad = false) {
  at("status").textContent = text;
  at("status").classList.toggle("bad", bad);
}

// While something is asked for, screen readers and tests know that what is shown will change.
async function busily(work) {
  state.busy += 1;
  at("result").setAttribute("aria-busy", "true");
  try {
    return await work();
  } finally {
    state.busy -= 1;
    at("result").setAttribute("aria-busy", String(state.busy > 0));
  }
}

async function ask(path, body) {
  let response;
  try {
    response = await fetch(path, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });
  } catch {
    throw new Error("The server does not answer. Is it still running?");
  }
  if (response.ok) return response;
  const told = await response.json().catch(() => null);
  const error = new Error(told?.error?.message ?? `The server answered ${response.status}.`);
  error.code = told?.error?.code;
  throw error;
}

function save(name, kind, text) {
  const link = make("a");
  link.href = URL.createObjectURL(new Blob([text], { type: kind }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

// Parsing

async function parse(body, what) {
  const number = ++state.asked;
  at("parse").disabled = true;
  say("Parsing…");
  try {
    const answer = await (await ask("/api/parse", body)).json();
    if (number !== state.asked) return;
    state.sentences = answer.sentences.map((sentence) => ({
      ...sentence, file: "conllu" in body ? sentence.given : null, kept: new Map(), past: [], details: null, choice: 0,
    }));
    const words = answer.sentences.reduce((sum, sentence) => sum + sentence.words.length, 0);
    say([`${what}: ${counted(answer.sentences.length, "sentence")}, ${counted(words, "word")}.`, ...answer.notes.map((note) => `Note: ${note}.`)].join(" "));
    at("result").hidden = false;
    listSentences();
    await select(0);
  } catch (error) {
    if (number === state.asked) say(error.message, true);
  } finally {
    at("parse").disabled = false;
  }
}

function counted(count, name) {
  return `${count} ${name}${count === 1 ? "" : "s"}`;
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
    return say(`${file.name} has ${file.size.toLocaleString()} bytes, more than the server takes at a time.`, true);
  let text;
  try {
    text = new TextDecoder("utf-8", { fatal: true }).decode(await file.arrayBuffer());
  } catch {
    return say(`${file.name} is not UTF-8 text.`, true);
  }
  await busily(() => parse({ conllu: text }, file.name));
}

// Sentences

function listSentences() {
  const nav = at("sentences");
  nav.hidden = state.sentences.length < 2;
  nav.replaceChildren(...state.sentences.map((sentence, i) => {
    const button = make("button");
    button.type = "button";
    const text = make("span", sentence.text, "what");
    text.dir = "auto";
    button.append(text, make("span", finePercent(sentence.trees[0].probability), "share"));
    button.addEventListener("click", () => busily(() => select(i)));
    return button;
  }));
}

async function select(index) {
  state.current = index;
  [...at("sentences").children].forEach((button, i) => button.toggleAttribute("aria-current", i === index));
  const sentence = state.sentences[index];
  view.current = 1;
  show();
  if (!sentence.details) await lookCloser(sentence, sentence.kept).catch((error) => say(error.message, true));
}

// The next-best trees and all arcs, around the heads that are fixed.
async function lookCloser(sentence, kept) {
  const number = ++state.asked;
  const isShort = sentence.words.length <= (state.info?.limits.ranked_words ?? 100);
  const keep = [...kept].map(([word, head]) => ({ word, head }));
  const more = isShort ? { k: TREES, marginals: true } : {};
  const answer = await (await ask("/api/parse", { conllu: sentence.trees[0].conllu, keep, ...more })).json();
  if (number !== state.asked) return false;
  sentence.details = answer.sentences[0];
  sentence.kept = kept;
  sentence.choice = 0;
  if (sentence === state.sentences[state.current]) show();
  return true;
}

function treesOf(sentence) {
  const found = (sentence.details ?? sentence).trees.map((tree, i) => ({ tree, name: i === 0 ? "Best" : `${i + 1}`, share: tree.probability }));
  return sentence.file && !sentence.kept.size ? [...found, { tree: sentence.file, name: "From the file", share: null }] : found;
}

function shownTree(sentence) {
  const trees = treesOf(sentence);
  return trees[Math.min(sentence.choice, trees.length - 1)].tree;
}

// What is shown of the current sentence

function show() {
  const sentence = state.sentences[state.current];
  listChoices(sentence);
  view.show(sentence.words, shownTree(sentence), sentence.kept);
  at("undo").disabled = sentence.past.length === 0;
  at("release").disabled = sentence.kept.size === 0;
  showWord(view.current);
  drawMap();
}

function listChoices(sentence) {
  const hadFocus = at("choices").contains(document.activeElement);
  at("choices").replaceChildren(...treesOf(sentence).map(({ name, share }, i) => {
    const button = make("button", `${name} `);
    button.type = "button";
    button.setAttribute("role", "radio");
    button.setAttribute("aria-checked", String(i === sentence.choice));
    button.tabIndex = i === sentence.choice ? 0 : -1;
    if (share !== null) button.append(make("span", finePercent(share), "share"));
    button.addEventListener("click", () => { sentence.choice = i; show(); });
    return button;
  }));
  if (hadFocus) at("choices").children[sentence.choice]?.focus();
}

function onChoiceKey(event) {
  const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
  if (!step) return;
  event.preventDefault();
  const sentence = state.sentences[state.current], count = treesOf(sentence).length;
  sentence.choice = (sentence.choice + step + count) % count;
  show();
}

function nameOf(sentence, node) {
  return node === 0 ? "ROOT" : sentence.words[node - 1].form;
}

function showWord(word) {
  const sentence = state.sentences[state.current], tree = shownTree(sentence), token = sentence.words[word - 1];
  view.light(word);
  const about = [token.lemma, token.upos, token.xpos, token.feats].filter((text) => text !== "_").join(" · ");
  const title = make("h2", token.form);
  title.dir = "auto";
  const list = make("ol");
  list.append(...headsOf(sentence, word).map(({ head, share }) => headRow(sentence, tree, word, head, share)));
  const parts = [title, make("p", about || "no tags"), list];
  if (sentence.kept.has(word)) {
    const button = make("button", "Let go of this head");
    button.type = "button";
    button.addEventListener("click", () => release(word));
    parts.push(make("p", "You fixed this head."), button);
  }
  at("word").replaceChildren(...parts);
  lightMap(word);
}

// The most probable heads of a word, and in any case the one that it has.
function headsOf(sentence, word) {
  const table = sentence.details?.marginals, own = shownTree(sentence).heads[word - 1];
  if (!table) return [{ head: own, share: shownTree(sentence).head_probabilities?.[word - 1] ?? null }];
  const all = table.map((row, head) => ({ head, share: row[word] })).filter(({ head }) => head !== word);
  all.sort((a, b) => b.share - a.share);
  const best = all.slice(0, 5).filter(({ head, share }) => share >= 0.005 || head === own);
  return best.some(({ head }) => head === own) ? best : [...best, all.find(({ head }) => head === own)];
}

function headRow(sentence, tree, word, head, share) {
  const isOwn = tree.heads[word - 1] === head;
  const button = make("button");
  button.type = "button";
  button.setAttribute("aria-pressed", String(isOwn));
  button.title = `Fix ${nameOf(sentence, head)} as the head`;
  button.style.setProperty("--share", share ?? 0);
  const what = make("span", nameOf(sentence, head) + (isOwn && tree.deprels[word - 1] !== "_" ? ` (${tree.deprels[word - 1]})` : ""), "what");
  what.dir = "auto";
  button.append(what, make("span", percent(share), "share"));
  button.addEventListener("click", () => fix(word, head));
  const item = make("li");
  item.append(button);
  return item;
}

// The heat map

function drawMap() {
  const sentence = state.sentences[state.current], table = sentence.details?.marginals;
  if (!at("heat").open) return;
  if (!table) return at("map").replaceChildren(make("p", "Sentences as long as this one have no map."));
  const tree = shownTree(sentence), words = sentence.words;
  const top = make("tr");
  top.append(make("td"), ...words.map((word) => {
    const cell = make("th");
    cell.scope = "col";
    cell.append(make("span", word.form));
    return cell;
  }));
  const head = make("thead"), body = make("tbody"), grid = make("table");
  head.append(top);
  body.append(...table.map((row, from) => mapRow(sentence, tree, row, from)));
  grid.append(head, body);
  grid.dir = runsToLeft(words.map((word) => word.form).join(" ")) ? "rtl" : "ltr";
  at("map").replaceChildren(grid);
  lightMap(view.current);
}

function mapRow(sentence, tree, row, from) {
  const line = make("tr"), name = make("th", nameOf(sentence, from));
  name.scope = "row";
  line.append(name, ...sentence.words.map((word, i) => {
    const share = row[i + 1], cell = make("td", share >= 0.005 ? String(Math.round(100 * share)) : "");
    cell.style.setProperty("--share", share);
    cell.classList.toggle("strong", share > 0.55);
    cell.classList.toggle("chosen", tree.heads[i] === from);
    if (from !== i + 1) cell.title = `${nameOf(sentence, from)} → ${word.form}: ${percent(share)}`;
    return cell;
  }));
  return line;
}

function lightMap(word) {
  at("map").querySelectorAll(".lit").forEach((element) => element.classList.remove("lit"));
  at("map").querySelectorAll("tr").forEach((row) => row.children[word]?.classList.add("lit"));
}

// Corrections

async function change(kept, said) {
  const sentence = state.sentences[state.current], before = new Map(sentence.kept), heads = shownTree(sentence).heads;
  say("Parsing the rest…");
  try {
    if (!(await lookCloser(sentence, kept))) return;
    sentence.past.push(before);
    at("undo").disabled = false;
    const moved = shownTree(sentence).heads.filter((head, i) => head !== heads[i]).length;
    say(`${said} ${moved === 0 ? "No head changed." : `${counted(moved, "head")} changed.`}`);
  } catch (error) {
    say(error.code === "no_tree" ? `That cannot be: ${error.message}.` : error.message, true);
  }
}

function fix(word, head) {
  const sentence = state.sentences[state.current];
  if (word === head) return;
  const kept = new Map(sentence.kept).set(word, head);
  return busily(() => change(kept, `“${nameOf(sentence, word)}” now hangs on ${head === 0 ? "ROOT" : `“${nameOf(sentence, head)}”`}.`));
}

function release(word) {
  const kept = new Map(state.sentences[state.current].kept);
  kept.delete(word);
  return busily(() => change(kept, `“${nameOf(state.sentences[state.current], word)}” is free again.`));
}

async function undo() {
  const sentence = state.sentences[state.current];
  const before = sentence.past.pop();
  if (!before) return;
  try {
    await lookCloser(sentence, before);
    say("Undone.");
  } catch (error) {
    sentence.past.push(before);
    say(error.message, true);
  }
}

// Export

// What is shown of this sentence, and of the others what was last chosen.
function saveConllu() {
  save("trees.conllu", "text/plain;charset=utf-8", state.sentences.map((sentence) => shownTree(sentence).conllu).join(""));
  say(`Saved ${counted(state.sentences.length, "sentence")}.`);
}

async function saveSvg() {
  try {
    const response = await ask("/api/svg", { conllu: shownTree(state.sentences[state.current]).conllu });
    save("tree.svg", "image/svg+xml", await response.text());
    say("Saved the picture.");
  } catch (error) {
    say(error.message, true);
  }
}

// Light and dark

function turnTheme() {
  const next = { auto: "light", light: "dark", dark: "auto" }[document.documentElement.dataset.theme ?? "auto"];
  if (next === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = next;
  at("theme").textContent = `Theme: ${next}`;
}

const view = new TreeView(at("stage"), { onShow: showWord, onHead: fix, onRelease: release, onSay: say });

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
at("undo").addEventListener("click", () => busily(undo));
at("release").addEventListener("click", () => busily(() => change(new Map(), "All heads are free again.")));
at("save-conllu").addEventListener("click", saveConllu);
at("save-svg").addEventListener("click", saveSvg);
at("heat").addEventListener("toggle", () => { if (state.sentences.length) drawMap(); });
at("theme").addEventListener("click", turnTheme);

fetch("/api/info").then((response) => response.json()).then((info) => {
  state.info = info;
  at("model").textContent = `${info.name} · ${info.trees} trees${info.is_calibrated ? "" : " · probabilities not calibrated"}`;
  if (info.example && !at("text").value) {
    at("text").value = info.example;
    say("Press Parse to see the trees of this text, or type your own.");
  }
  at("text").focus();
  at("text").select();
}).catch(() => say("The server does not answer. Is it still running?", true));
