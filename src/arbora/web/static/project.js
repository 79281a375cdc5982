// The treebank on the server: what is known of it, and changes to it, one after the other.

import { ask } from "./common.js";

const POLL = 2000;

async function call(path, body) {
  return (await ask(path, body)).json();
}

// Calls back: onProject(project, isNews) when it is known anew; isNews: something else changed the treebank;
// onSentences(answer) after a change, onSaving(error or null, isPending).
export class Project {
  constructor(calls) {
    this.calls = calls;
    this.about = null;     // GET /api/project
    this.sentence = null;  // the view of the current sentence
    this.queue = Promise.resolve();
    this.pending = 0;
    this.changes = 0;      // how often it was set, so that a late answer is not taken for news
  }

  // `isOurs`: it follows a change made here, which is shown already.
  set(about, isOurs = true) {
    const before = this.about;
    this.about = about;
    this.changes += 1;
    this.calls.onProject(about, !isOurs && before !== null && before.revision !== about.revision);
  }

  async refresh() {
    const { changes } = this, about = await call("/api/project");
    if (changes === this.changes && !this.pending) this.set(about, false);
  }

  // Look for what the background learning and other programs have changed.
  watch() {
    setInterval(() => {
      if (document.hidden || this.pending) return;
      this.refresh().then(() => this.calls.onSaving(null, false)).catch((error) => this.calls.onSaving(error, false));
    }, POLL);
  }

  async load(number) {
    this.sentence = await call("/api/sentence", { number });
    return this.sentence;
  }

  list(start, count, states, contains) {
    const filter = { ...(states.length ? { states } : {}), ...(contains ? { contains } : {}) };
    return call("/api/sentences", { start, count, ...filter });
  }

  // What the parser thinks of a word's head and label; null if the sentence has changed meanwhile.
  async choices(word, head) {
    const { number, version } = this.sentence;
    try {
      return await call("/api/choices", { number, version, word, ...(head === undefined ? {} : { head }) });
    } catch (error) {
      if (error.code === "stale") return null;
      throw error;
    }
  }

  next(order, unit, after, skip) {
    return call("/api/next", { order, unit, after, skip });
  }

  findings(count) {
    return call("/api/findings", { count });
  }

  // A marked word is right as it is; or not, after all.
  async settle(word, right) {
    const { number, version } = this.sentence;
    this.sentence = await call("/api/settle", { number, version, word, right });
    await this.refresh();
  }

  curve() {
    return call("/api/curve");
  }

  // Edit the current sentence. If the parser has changed it meanwhile, but not its words, the edit is sent again.
  edit(edit) {
    return this.change(async () => {
      const before = this.sentence;
      try {
        return await this.send(edit);
      } catch (error) {
        if (error.code !== "stale") throw error;
        await this.load(before.number);
        if (wordsOf(this.sentence) === wordsOf(before)) return this.send(edit);
        throw new Error("This sentence was changed meanwhile. Look again, then repeat the change.");
      }
    });
  }

  send(edit) {
    const { number, version } = this.sentence;
    return call("/api/edit", { number, version, edit });
  }

  undo() {
    return this.change(() => call("/api/undo", {}));
  }

  redo() {
    return this.change(() => call("/api/redo", {}));
  }

  // Run a change after those before it, and show whether it is saved.
  change(work) {
    const result = this.queue.then(async () => {
      const answer = await work();
      const own = answer.sentences.find((each) => each.number === this.sentence?.number) ?? answer.sentences[0];
      if (own) this.sentence = own;
      this.set(answer.project);
      this.calls.onSentences(answer);
      return answer;
    });
    this.pending += 1;
    this.calls.onSaving(null, true);
    const settled = (error) => {
      this.pending -= 1;
      const isLost = error && (error.status === undefined || error.status >= 500);
      this.calls.onSaving(isLost ? error : null, this.pending > 0);
    };
    this.queue = result.then(() => settled(null), settled);
    return result;
  }

  async learn(what) {
    this.set(await call("/api/learn", { do: what }));
  }

  async reload() {
    this.set(await call("/api/reload", {}), false);
  }

  saveCopy(name) {
    return call("/api/save", { name });
  }

  async exported(states) {
    return (await ask("/api/export", { marks: false, ...(states ? { states } : {}) })).text();
  }
}

function wordsOf(sentence) {
  return JSON.stringify(sentence.words.map((word) => word.form));
}
