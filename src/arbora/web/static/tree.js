// A tree as interactive SVG: its drawing, and how it answers to keys. Text is only ever set as text.

import { draw, percent } from "./common.js";
import { Dragging } from "./dragging.js";
import { BAND, TAG_LINE, TIP, TOKEN_LINE, WORD_LINE, arcPath, heightOf, layOut } from "./layout.js";

// What a screen reader says of a word.
function described({ words, heads, deprels, shares, kept, marks, keptName = "pinned by you" }, dep) {
  const head = heads[dep - 1], share = shares ? shares[dep - 1] : null, { form, upos } = words[dep - 1];
  const above = head === null ? "" : head === 0 ? "ROOT" : words[head - 1].form;
  const sure = kept.has(dep) ? `, ${keptName}` : share === null ? "" : `, ${percent(share)}`;
  const mark = marks?.get(dep) ? `, warning: ${marks.get(dep)}` : "";
  return head === null ? `${form}, ${upos}, no head${mark}` : `${form}, ${upos}, ${deprels[dep - 1]} of ${above}${sure}${mark}`;
}

// The most doubtful word of a tree: the first if nothing is known.
export function mostDoubtful({ shares, kept, heads }) {
  const doubts = heads.map((head, i) => (head === null ? 2 : kept.has(i + 1) || !shares || shares[i] === null ? 0 : 1 - shares[i]));
  return 1 + Math.max(0, doubts.indexOf(Math.max(...doubts)));
}

// Draws into `stage` and calls back: onShow(word) as words are pointed at or get the focus, onHead(word, head),
// onRelease(word), onLabel(word), onSay(text), and onKey(event, word) for the keys of a page; it returns true if it took one.
export class TreeView {
  constructor(stage, calls) {
    this.stage = stage;
    this.calls = calls;
    this.current = 1;
    this.choosing = null;
    this.pointer = {};
    this.dragging = new Dragging(this);
    window.addEventListener("pointermove", (event) => { this.pointer = { x: event.screenX, y: event.screenY }; });
    this.room = 0;
    new ResizeObserver(() => { if (this.shown && this.roomOf() !== this.room && !this.dragging.active) this.redraw(); }).observe(stage);
  }

  roomOf() {
    const style = getComputedStyle(this.stage);
    return Math.max(160, this.stage.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight));
  }

  // `shown`: see layOut; and marks, a map from words to warnings.
  show(shown, current = this.current) {
    this.shown = shown;
    this.choosing = null;
    this.current = Math.max(1, Math.min(current, shown.words.length));
    this.redraw();
  }

  redraw() {
    const hadFocus = this.stage.contains(document.activeElement);
    this.room = this.roomOf();
    const plan = (this.plan = layOut(this.shown, this.room)), { width, height } = plan;
    this.toLeft = plan.toLeft;
    this.svg = draw("svg", { width, height, viewBox: `0 0 ${width} ${height}` });
    this.roots = plan.rows.map((row) => this.drawRoot(row));
    this.arcs = this.shown.words.map(() => []);
    for (const row of plan.rows) for (const arc of row.arcs) this.arcs[arc.dep - 1].push(this.drawArc(arc, row));
    this.nodes = [this.roots[0]];
    for (const row of plan.rows) {
      row.nodes.forEach((node, i) => this.nodes.push(this.drawWord(node, row.x[i], row)));
      row.tokens.forEach((token) => this.drawToken(token, row));
    }
    this.svg.addEventListener("keydown", (event) => this.onKey(event));
    this.svg.addEventListener("focusin", (event) => this.onFocus(event));
    this.stage.replaceChildren(this.svg);
    if (hadFocus) this.focus(this.current);
    else this.light(this.current);
    if (this.choosing !== null) this.mark(this.choosing);
  }

  // The root is a band above every row, so that it is always near; it is seen where it has arcs, and while a head is chosen.
  drawRoot(row) {
    const isSeen = row.hasRoot || (row.isFirst && !this.plan.rows.some((each) => each.hasRoot));
    const group = draw("g", { class: ["node root", isSeen && "seen", this.toLeft && "to-left"].filter(Boolean).join(" ") }, this.svg);
    group.dataset.node = 0;
    const x = row.right - row.width, side = this.toLeft ? row.right - 8 : x + 8;
    draw("rect", { x, y: row.top + 1, width: row.width, height: BAND - 4, rx: 5 }, group);
    draw("text", { class: "form", x: side, y: row.top + 12.5 }, group, "ROOT");
    return group;
  }

  drawArc(arc, row) {
    const names = ["arc", arc.unsure && "unsure", arc.kept && "kept", arc.kept && !arc.labelKept && "open-label"].filter(Boolean).join(" ");
    const group = draw("g", { class: names, "aria-hidden": "true" }, this.svg);
    draw("path", { d: arcPath(arc, row, this.plan.width, this.toLeft) }, group);
    const isOpen = arc.dep < arc.head ? arc.isCutLeft : arc.head > 0 && arc.isCutRight;
    const x = arc.head === 0 || arc.dep < arc.head ? arc.x1 : arc.x2;
    if (!isOpen) draw("path", { class: "tip", d: `M${x},${row.base} l-3.4,${-TIP} h6.8 z` }, group);
    if (arc.label) this.drawLabel(arc, row, group);
    return group;
  }

  drawLabel(arc, row, group) {
    const x = (arc.x1 + arc.x2) / 2, y = arc.head === 0 ? row.top + BAND + 9 : heightOf(arc, row) + 4;
    const label = draw("g", { class: "label" }, group), width = arc.labelWidth + 12;
    draw("rect", { class: "paper", x: x - width / 2 + 4, y: y - 11, width: width - 8, height: 14 }, label);
    draw("rect", { x: x - width / 2, y: y - 16, width, height: 24 }, label);
    draw("text", { x, y }, label, arc.label);
    label.addEventListener("click", () => this.calls.onLabel(arc.dep));
  }

  drawWord(node, x, row) {
    const { word, form, tag, width } = node, { base } = row;
    const group = draw("g", { class: "node", tabindex: word === this.current ? "0" : "-1", role: "button" }, this.svg);
    group.dataset.node = word;
    group.setAttribute("aria-label", described(this.shown, word));
    draw("rect", { x: x - width / 2, y: base + 3, width, height: WORD_LINE + TAG_LINE + 4, rx: 6 }, group);
    draw("text", { class: "form", x, y: base + 21 }, group, form);
    draw("text", { class: "tag", x, y: base + WORD_LINE + TAG_LINE }, group, tag);
    const mark = this.shown.marks?.get(word);
    if (mark) {
      group.classList.add("marked");
      draw("title", {}, group, mark);
      draw("circle", { class: "mark", cx: x + width / 2 - 4, cy: base + 8, r: 4 }, group);
    }
    group.addEventListener("pointerenter", (event) => { if (!this.dragging.active && this.hasMoved(event)) this.point(word); });
    group.addEventListener("pointerdown", (event) => this.dragging.start(event, word));
    return group;
  }

  drawToken(token, row) {
    const y = row.base + WORD_LINE + TAG_LINE + 9, group = draw("g", { class: "token" }, this.svg), { x1, x2 } = token;
    const start = token.isCutLeft ? `M${x1},${y + 4}` : `M${x1},${y} v4`, end = token.isCutRight ? "" : "v-4";
    draw("path", { d: `${start} H${x2} ${end}` }, group);
    draw("text", { x: (x1 + x2) / 2, y: y + TOKEN_LINE - 7 }, group, token.form);
  }

  // A word that comes to lie under a pointer at rest is not pointed at.
  hasMoved(event) {
    return event.pointerType === "mouse" && (event.screenX !== this.pointer.x || event.screenY !== this.pointer.y);
  }

  point(word) {
    if (this.choosing === null && !this.stage.contains(document.activeElement)) this.setCurrent(word);
  }

  setCurrent(word) {
    this.nodes[this.current]?.setAttribute("tabindex", "-1");
    this.current = word;
    this.nodes[word].setAttribute("tabindex", "0");
    this.light(word);
    this.calls.onShow(word);
  }

  // The word and its head stand out.
  light(word) {
    this.svg.querySelectorAll(".lit").forEach((element) => element.classList.remove("lit"));
    this.arcs[word - 1].forEach((arc) => arc.classList.add("lit"));
    this.nodes[word].classList.add("lit");
    const head = this.shown.heads[word - 1];
    if (head > 0) this.nodes[head].classList.add("lit");
  }

  focus(word) {
    this.nodes[word].focus({ preventScroll: true });
    this.bringIntoView(this.nodes[word]);
  }

  bringIntoView(node) {
    const { top, bottom } = node.getBoundingClientRect(), { top: above, bottom: below } = this.viewOf();
    if (top < above) window.scrollBy(0, top - above - 40);
    else if (bottom > below) window.scrollBy(0, bottom - below + 40);
  }

  // The part of the window that nothing covers: a bar may stick to its start, a panel to its end.
  viewOf() {
    const bar = document.querySelector(".covers"), panel = document.querySelector(".sticks");
    const isBelow = panel && getComputedStyle(panel).bottom === "0px";
    return { top: bar?.offsetHeight ?? 0, bottom: window.innerHeight - (isBelow ? panel.offsetHeight : 0) };
  }

  onFocus(event) {
    const word = Number(event.target.dataset.node);
    if (word && this.choosing === null) this.setCurrent(word);
  }

  // Keys

  onKey(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (this.choosing === null && this.calls.onKey?.(event, this.current)) return event.preventDefault();
    const forward = this.toLeft ? "ArrowLeft" : "ArrowRight", back = this.toLeft ? "ArrowRight" : "ArrowLeft";
    const moves = { [forward]: 1, [back]: -1, Home: -Infinity, End: Infinity };
    const action = event.key in moves ? () => this.move(moves[event.key]) : this.actions()[event.key];
    if (!action) return;
    event.preventDefault();
    action();
  }

  actions() {
    const choose = () => (this.choosing === null ? this.startChoosing() : this.choose(this.choosing));
    const release = () => this.calls.onRelease(this.current), always = { Enter: choose, " ": choose };
    if (this.choosing === null)
      return { ...always, Delete: release, Backspace: release, l: () => this.calls.onLabel(this.current) };
    const root = () => this.aim(0);
    return { ...always, Escape: () => this.stopChoosing("Nothing changed."), 0: root, r: root };
  }

  move(step) {
    const n = this.shown.words.length;
    if (this.choosing === null) return this.focus(Math.max(1, Math.min(n, this.current + step)));
    let next = Math.max(0, Math.min(n, this.choosing + step));
    if (next === this.current) next += step > 0 ? 1 : -1;
    if (next >= 0 && next <= n) this.aim(next);
  }

  // Choosing a head: keys move, Enter or a tap confirms.
  startChoosing() {
    this.focus(this.current);
    this.svg.classList.add("choosing");
    this.aim(this.shown.heads[this.current - 1] ?? 0);
  }

  aim(node) {
    this.choosing = node;
    this.mark(node);
    this.bringIntoView(this.nodes[node]);
    const name = node === 0 ? "ROOT" : this.shown.words[node - 1].form;
    this.calls.onSay(`New head of “${this.shown.words[this.current - 1].form}”: ${name}? Arrow keys change it, Enter or a tap confirms, Escape cancels.`);
  }

  // `row` of the root's bands; all of them without it.
  mark(node, row) {
    this.nodes.forEach((each, i) => each.classList.toggle("target", i === node && i > 0));
    this.roots.forEach((each, i) => each.classList.toggle("target", node === 0 && (row === undefined || i === row)));
  }

  choose(head) {
    this.stopChoosing();
    if (head !== this.current) this.calls.onHead(this.current, head);
  }

  stopChoosing(message) {
    this.choosing = null;
    this.svg.classList.remove("choosing");
    this.mark(-1);
    if (message) this.calls.onSay(message);
  }
}
