// The list of words that may be wrong: what a check found, the likeliest errors first.

import { at, counted, make, makeButton, percent, replaceKeepingFocus } from "./common.js";

const PAGE = 100, MOST = 500;

export class FindingList {
  // `onPick(finding)` shows a word.
  constructor(project, onPick) {
    this.project = project;
    this.onPick = onPick;
    this.findings = null; // not known yet
    this.count = PAGE;
    this.asked = 0;
    at("checking").addEventListener("toggle", () => this.load());
    at("more-findings").addEventListener("click", () => { this.count = Math.min(MOST, this.count + PAGE); this.load(); });
  }

  // List anew, if the list is open.
  async load() {
    if (!at("checking").open) return;
    const number = ++this.asked, { total, findings } = await this.project.findings(this.count);
    if (number !== this.asked) return;
    this.findings = findings;
    at("marked").textContent = total ? `${counted(total, "word")} may be wrong` : "nothing is marked";
    replaceKeepingFocus(at("findings"), findings.map((each) => this.item(each)));
    at("more-findings").hidden = findings.length >= total || this.count >= MOST;
  }

  item(finding) {
    const { number, word, form, faults, probability } = finding, item = make("li");
    const button = makeButton(undefined, () => this.onPick(finding)), name = make("bdi", form, "what");
    Object.assign(button.dataset, { number, word });
    button.title = faults.join("; ");
    button.append(make("span", String(number), "number"), name, make("span", probability === null ? faults.join("; ") : percent(probability), "share"));
    item.append(button);
    return item;
  }

  // Show the finding after a word of a sentence; the first one if that is in none.
  async next(number, word) {
    at("checking").open = true;
    await this.load();
    const place = this.findings.findIndex((each) => each.number === number && each.word === word);
    const finding = this.findings[place + 1] ?? this.findings[0];
    if (finding) await this.onPick(finding);
    return finding;
  }
}
