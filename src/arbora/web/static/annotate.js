// The page of `arbora annotate`: a treebank, sentence by sentence, with a parser that asks what it doubts.

import { at, counted, make, makeButton, percent, save, say, setUpTheme } from "./common.js";
import { askFields, showKeys } from "./dialogs.js";
import { WordActions } from "./edits.js";
import { FindingList } from "./findings.js";
import { drawCurves } from "./learning.js";
import { Project } from "./project.js";
import { STATES, SentenceList } from "./sentences.js";
import { TreeView } from "./tree.js";
import { WordPanel } from "./wordpanel.js";

const ORDERS = { text: "text order", doubt: "doubt", diversity: "doubt and diversity" };
const FEW = 100; // decisions
const state = { question: null, skip: [], busy: 0 };

const project = new Project({ onProject: showProject, onSentences: showChange, onSaving: showSaving });
const list = new SentenceList(project, (number) => busily(() => open(number)));
const findings = new FindingList(project, ({ number, word }) => busily(() => open(number, word)));
const page = { project, run, settle, focusTree };
const actions = new WordActions(page);
const panel = new WordPanel(project, actions);
const view = (page.view = new TreeView(at("stage"), {
  onShow: (word) => panel.show(word),
  onHead: (word, head) => actions.setHead(word, head),
  onRelease: (word) => actions.forget(word),
  onLabel: (word) => { view.focus(word); return guarded(() => actions.chooseLabel(word)); },
  onSay: say,
}));

// While something is asked for, screen readers and tests know that what is shown will change.
async function busily(work) {
  state.busy += 1;
  at("work").setAttribute("aria-busy", "true");
  try {
    return await guarded(work);
  } finally {
    state.busy -= 1;
    at("work").setAttribute("aria-busy", String(state.busy > 0));
  }
}

async function guarded(work) {
  try {
    return await work();
  } catch (error) {
    say(error.message, true);
    return null;
  }
}

function focusTree() {
  if (project.sentence) view.focus(view.current);
}

// Sentences

async function open(number, word) {
  const sentence = await project.load(number);
  if (state.question && state.question.number !== number) ask(null);
  offer();
  show(word ?? sentence.doubtful ?? 1);
  list.mark(number);
  history.replaceState(null, "", `#${number}`);
  focusTree();
}

function show(word = view.current) {
  const { sentence } = project, { words } = sentence;
  const human = (each) => each.by.head === "human";
  view.show({
    words, tokens: sentence.tokens, heads: words.map((each) => each.head), deprels: words.map((each) => each.deprel),
    shares: words.map((each) => (human(each) ? null : each.head_probability)),
    kept: new Set(words.filter(human).map((each) => each.id)), keptName: "decided by a human",
    openLabels: new Set(words.filter((each) => human(each) && each.by.deprel !== "human").map((each) => each.id)),
    marks: new Map(words.filter((each) => each.faults.length).map((each) => [each.id, each.faults.join("; ")])),
  }, word);
  at("text").textContent = sentence.text;
  at("place").replaceChildren(make("span", STATES[sentence.state], `state ${sentence.state}`), ` ${sentence.number} of ${project.about.sentences}`);
  at("back").disabled = sentence.number <= 1;
  at("forth").disabled = sentence.number >= project.about.sentences;
  const isDone = sentence.state === "done";
  at("done").textContent = isDone ? "Done ✓ (reopen)" : "Done";
  at("done").setAttribute("aria-pressed", String(isDone));
  const empty = sentence.empty_nodes ? [`${counted(sentence.empty_nodes, "empty node")}: kept, but not shown here`] : [];
  at("notes").replaceChildren(...[...sentence.notes, ...empty].map((note) => make("li", note)));
  panel.show(view.current);
}

// Changes

// Send one edit; returns the answer, or null after an error.
async function run(edit, message) {
  offer();
  return busily(async () => {
    try {
      const answer = await project.edit(edit), { length } = answer.reparsed;
      say(message + (length ? ` The parser changed ${counted(length, "word")}.` : ""));
      return answer;
    } catch (error) {
      if (["cycle", "two_roots"].includes(error.code))
        offer(makeButton("Apply it, and leave the earlier decision to the parser", () => run({ ...edit, release: true }, message)));
      if (error.code === "changed_outside") await project.refresh();
      throw error;
    }
  });
}

// A marked word is right as it is; or not, after all.
async function settle(word, right) {
  const name = actions.nameOf(word);
  await busily(async () => {
    await project.settle(word, right);
    show();
    await findings.load();
    say(right ? `${name} is right: it is no longer marked.` : `${name} is marked again.`);
    offer(...(right ? [makeButton("Mark it again", () => settle(word, false))] : []));
  });
  focusTree();
}

// Buttons that help after an error; none: away with them.
function offer(...buttons) {
  at("remedy").replaceChildren(...buttons);
  at("remedy").hidden = !buttons.length;
}

function showChange({ sentences, first, shift }) {
  if (shift) {
    state.skip = state.skip.map(([number, word]) => [number > first ? number + shift : number, word]);
    list.load();
  } else sentences.forEach((each) => list.update(each));
  guarded(() => findings.load());
  const isOther = list.current !== project.sentence.number;
  if (isOther) list.mark(project.sentence.number);
  show(isOther ? project.sentence.doubtful ?? 1 : view.current);
  history.replaceState(null, "", `#${project.sentence.number}`);
}

async function step(what) {
  await busily(async () => {
    const answer = await project[what]();
    say(`${what === "undo" ? "Undone" : "Redone"}: ${answer.what}.`);
  });
  focusTree();
}

async function toggleDone() {
  const isDone = project.sentence.state === "done";
  return run({ do: "state", state: isDone ? "touched" : "done" }, isDone ? "The sentence is open again." : "The sentence is done.");
}

// Questions

function ask(question) {
  state.question = question;
  at("question").hidden = question === null;
  at("setup").hidden = question !== null;
  if (question === null) return;
  const { word, doubt, left } = question, asked = word ? project.sentence.words[word - 1] : null;
  const more = [doubt === null ? "" : `doubt ${percent(doubt)}`, `${left} left`].filter(Boolean).join(", ");
  at("ask").replaceChildren(...(asked ? arcQuestion(asked) : ["Is this whole sentence right?"]), make("span", ` ${more}`, "share"));
}

function arcQuestion({ form, head, deprel }) {
  const quoted = (text) => ["“", make("bdi", text), "”"];
  if (head === null) return ["What is the head of ", ...quoted(form), "?"];
  const above = head === 0 ? [] : [" of ", ...quoted(project.sentence.words[head - 1].form)];
  return ["Is ", ...quoted(form), " the ", make("b", head === 0 ? "root" : deprel), ...above, "?"];
}

function nextQuestion(isSkip) {
  const asked = state.question;
  if (isSkip && asked) state.skip = [...state.skip, [asked.number, asked.word ?? 0]].slice(-1000);
  return busily(async () => {
    const question = await project.next(at("order").value, at("unit").value, project.sentence?.number ?? 0, state.skip);
    const notes = question.notes.map((note) => ` ${note}.`).join("");
    if (question.number === null) {
      ask(null);
      return say(`No questions left.${state.skip.length ? " Reload the page to see skipped ones." : ""}${notes}`);
    }
    await open(question.number, question.word ?? undefined);
    ask(question);
    say(notes.trim());
    return question;
  });
}

function nextFinding() {
  return busily(async () => {
    const finding = await findings.next(project.sentence.number, view.current);
    say(finding ? finding.faults.join("; ") : "No word is marked.");
  });
}

// Yes to the question; without one, the current arc is right, and the most doubtful word comes next.
async function yes() {
  const { question } = state, isAsked = question?.number === project.sentence.number;
  if (isAsked && !question.word) return (await toggleDoneOnce()) && nextQuestion(false);
  const word = isAsked ? question.word : view.current;
  if (!(await actions.confirm(word))) return null;
  if (isAsked) return nextQuestion(false);
  if (project.sentence.doubtful) view.focus(project.sentence.doubtful);
  return null;
}

async function toggleDoneOnce() {
  return project.sentence.state === "done" || toggleDone();
}

// The project around the sentence

function showProject(about, isNews) {
  const { model, learning, states } = about;
  const source = model ? { given: "given model", induced: "induced model", learned: `model ${model.number}, learned here` }[model.source] : "no model yet";
  at("model").textContent = `${about.file} · ${states.done} of ${counted(about.sentences, "sentence")} done · ${counted(about.decisions, "decision")} · ${source}`;
  list.showCounts(states);
  for (const what of ["undo", "redo"]) {
    at(what).disabled = about[what] === null;
    at(what).title = about[what] ? `${what === "undo" ? "Undo" : "Redo"}: ${about[what]} (${what === "undo" ? "U, Ctrl+Z" : "Ctrl+Y"})` : "";
  }
  showOrders(about.orders);
  showLearning(learning, model);
  showOutside(about.changed_outside);
  if (isNews) refreshShown();
}

function showOrders(orders) {
  const select = at("order"), before = select.value || (orders.includes("doubt") ? "doubt" : orders[0]);
  if ([...select.options].map((option) => option.value).join() === orders.join()) return;
  select.replaceChildren(...orders.map((order) => new Option(ORDERS[order] ?? order, order)));
  select.value = orders.includes(before) ? before : orders[0];
}

function showLearning({ phase, every, since, message, error }, model) {
  const isIdle = phase === "idle";
  at("phase").textContent = error ? `failed: ${error}` : message || (isIdle ? "" : `${phase}…`);
  at("check").disabled = !isIdle;
  at("learn").textContent = isIdle ? "Learn now" : "Cancel";
  at("since").textContent = `${counted(since, "decision")} since the last training; it runs every ${every}.`;
  const seen = `${model?.number} ${phase} ${project.about.states.done}`;
  if (at("learning").open && seen !== state.curve) drawLearning(seen);
}

function drawLearning(seen) {
  state.curve = seen;
  return guarded(async () => drawCurves(at("curves"), await project.curve()));
}

// Something else has changed the treebank: show it, unless the user is in the middle of something.
async function refreshShown() {
  list.load();
  guarded(() => findings.load());
  if (!project.sentence || state.busy || view.choosing !== null || view.dragging.active || document.querySelector("dialog") || isTyping(document.activeElement)) return;
  const before = project.sentence, { number } = before;
  await guarded(async () => {
    const sentence = await project.load(Math.min(number, project.about.sentences));
    if (JSON.stringify(sentence) === JSON.stringify(before)) return;
    show();
    if (state.question) ask(state.question.number === number ? state.question : null);
  });
}

function showOutside(isChanged) {
  const box = at("outside");
  if (!isChanged) box.hidden = true;
  if (!isChanged || !box.hidden) return;
  const take = makeButton("Reload the file", () => busily(async () => {
    await project.reload();
    await open(Math.min(project.sentence.number, project.about.sentences));
    say("File reloaded.");
  }));
  const keep = makeButton("Save this version as…", () => busily(async () => {
    const value = await askFields({ title: "Save a copy", submit: "Save", fields: [{ name: "name", label: "File name", value: `copy-of-${project.about.file}` }] });
    if (value) say(`Saved as ${(await project.saveCopy(value.name)).file}.`);
  }));
  box.replaceChildren(make("p", `Another program has changed or removed ${project.about.file}. Nothing is saved until you choose.`), take, keep);
  box.hidden = false;
}

function showSaving(error, isPending) {
  at("saved").textContent = error ? `Not saved: ${error.message}` : isPending ? "Saving…" : "All changes are saved";
  at("saved").classList.toggle("bad", error !== null);
}

// Keys of the page, wherever the focus is, except in fields and dialogs

const focusColumn = (column) => () => { const field = at(`column-${column}`); field.focus(); field.select?.(); };
const word = (name) => () => actions[name](view.current);
const KEYS = [
  ["y", "This is right: confirm it and go on", yes],
  ["n", "Next question; skip this one", () => nextQuestion(true)],
  ["d", "The sentence is done, or open again", toggleDone],
  ["u", "Undo (also Ctrl+Z; redo: Ctrl+Y)", () => step("undo")],
  ["PageDown", "Next sentence", () => move(1)],
  ["PageUp", "Previous sentence", () => move(-1)],
  ["l", "Choose a label", word("chooseLabel")],
  ["Delete", "Leave head and label to the parser", word("forget")],
  ["p", "Choose UPOS", word("chooseTag")],
  ["x", "Edit XPOS", focusColumn("xpos")],
  ["f", "Edit features", focusColumn("feats")],
  ["m", "Edit the lemma", focusColumn("lemma")],
  ["w", "Edit the form", focusColumn("form")],
  ["s", "Split the word", word("splitWord")],
  ["j", "Join the word with the next", word("joinWords")],
  ["t", "Make or edit a multiword token", word("token")],
  [".", "End the sentence after the word", word("splitSentence")],
  ["+", "Join the next sentence to this one", () => actions.joinSentences()],
  ["c", "Go to the next word that may be wrong", nextFinding],
  ["a", "Take the proposed arc instead of a marked one", word("accept")],
  ["r", "The marked word is right as it is", word("settle")],
  ["Escape", "Stop asking", () => ask(null)],
  ["?", "Show the keys", () => showKeys([["← →", "Select another word"], ["Enter", "Choose a head: arrows move, 0 is ROOT, Enter takes it, Escape cancels"], ...KEYS])],
];

function isTyping(element) {
  return Boolean(element?.closest("input, textarea, select, dialog"));
}

function move(by) {
  const next = project.sentence.number + by;
  if (next >= 1 && next <= project.about.sentences) return busily(() => open(next));
}

document.addEventListener("keydown", (event) => {
  if (event.defaultPrevented || isTyping(event.target) || !project.sentence || view.choosing !== null) return;
  const isControl = event.ctrlKey || event.metaKey, key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
  const control = { z: event.shiftKey ? "redo" : "undo", y: "redo" }[key];
  const action = isControl ? control && (() => step(control)) : event.altKey ? null : KEYS.find(([name]) => name === key)?.[2];
  if (action) { event.preventDefault(); guarded(action); }
  else if (!isControl && ["ArrowLeft", "ArrowRight"].includes(key) && event.target === document.body) { event.preventDefault(); focusTree(); }
});

for (const [id, action] of Object.entries({
  back: () => move(-1), forth: () => move(1), done: toggleDone, undo: () => step("undo"), redo: () => step("redo"),
  stop: () => ask(null), keys: KEYS.at(-1)[2], next: () => nextQuestion(false), yes, skip: () => nextQuestion(true),
  learn: () => busily(() => project.learn(project.about.learning.phase === "idle" ? "start" : "cancel")),
  check: () => busily(() => project.learn("check")), "next-finding": nextFinding,
  export: () => busily(async () => save(project.about.file, "text/plain;charset=utf-8", await project.exported())),
  "export-done": () => busily(async () => save(project.about.file, "text/plain;charset=utf-8", await project.exported(["done"]))),
})) at(id).addEventListener("click", action);
at("learning").addEventListener("toggle", () => { if (at("learning").open) drawLearning(""); });
setUpTheme(at("theme"));

busily(async () => {
  await project.refresh();
  showSaving(null, false);
  document.title = `${project.about.name}: Arbora`;
  await list.load();
  const { decisions, model } = project.about;
  if (decisions < FEW && model?.source !== "given") at("unit").value = "sentence"; // these teach more at first
  const wanted = Number(location.hash.slice(1)) || (await project.next("text", "sentence", 0, [])).number || 1;
  await open(Math.min(wanted, project.about.sentences));
  const hasKeys = !matchMedia("(pointer: coarse)").matches;
  say([...project.about.notes, hasKeys ? "Press N for the first question, or ? for all keys." : "Tap “Next question” to begin."].join(" "));
  project.watch();
});
