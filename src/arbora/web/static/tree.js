// A tree as interactive SVG. Text is only ever set as text; nothing here reads markup.

const NS = "http://www.w3.org/2000/svg";
const GAP = 20, LEVEL = 27, FIRST = 30, CORNER = 9, MARGIN = 14, STEP = 8;
const WORD_LINE = 22, TAG_LINE = 16, ROOT_ROOM = 30, TIP = 7;
const FONT = 'system-ui, "Helvetica Neue", Arial, "Noto Sans", sans-serif';
const SURE = 0.8;

// The first letter with a direction decides: Hebrew, Arabic, Syriac, Thaana, N'Ko and their kin run to the left.
const TO_LEFT = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u;
export function runsToLeft(text) {
  const letter = /\p{L}/u.exec(text);
  return letter !== null && TO_LEFT.test(letter[0]);
}

export function percent(share) {
  if (share === null || share === undefined) return "";
  const value = 100 * share;
  return value > 99.5 && value < 100 ? ">99%" : value > 0 && value < 0.5 ? "<1%" : `${Math.round(value)}%`;
}

// Of whole trees, which are seldom probable: two digits at least.
export function finePercent(share) {
  if (share === null || share === undefined || share >= 0.0995) return percent(share);
  return share < 0.0001 ? "<0.01%" : `${Number((100 * share).toPrecision(2))}%`;
}

const canvas = document.createElement("canvas").getContext("2d");
function widthOf(text, size) {
  canvas.font = `${size}px ${FONT}`;
  return canvas.measureText(text).width;
}

function make(name, attributes, parent) {
  const element = document.createElementNS(NS, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  if (parent) parent.append(element);
  return element;
}

function write(text, attributes, parent) {
  const element = make("text", attributes, parent);
  element.textContent = text;
  return element;
}

function clipped(text, most) {
  const letters = [...text];
  return letters.length > most ? letters.slice(0, most - 1).join("") + "…" : text;
}

// Where everything stands, as if written from left to right; node 0 is ROOT. Mirrored in the end where the script asks for it.
function layOut(words, tree, kept) {
  const forms = ["ROOT", ...words.map((word) => clipped(word.form, 40))];
  const tags = ["", ...words.map((word) => (word.upos === "_" ? "" : clipped(word.upos, 12)))];
  const widths = forms.map((form, i) => Math.max(widthOf(form, i ? 17 : 12), widthOf(tags[i], 11), 12) + 12);
  const arcs = tree.heads.map((head, i) => {
    const share = tree.head_probabilities ? tree.head_probabilities[i] : null;
    const unsure = share !== null && share < SURE && !kept.has(i + 1);
    const label = clipped(tree.deprels[i] === "_" ? "" : tree.deprels[i], 24) + (unsure ? ` ${percent(share)}` : "");
    return { head, dep: i + 1, low: Math.min(head, i + 1), high: Math.max(head, i + 1), label, unsure, kept: kept.has(i + 1), level: 0 };
  });
  const spans = arcs.filter((arc) => arc.head > 0).sort((a, b) => a.high - a.low - (b.high - b.low) || a.low - b.low);
  const x = [MARGIN + widths[0] / 2];
  for (let i = 1; i < forms.length; i++) x.push(x[i - 1] + widths[i - 1] / 2 + GAP + widths[i] / 2);
  for (const arc of spans) {
    const missing = widthOf(arc.label, 12) + 34 - (x[arc.high] - x[arc.low]);
    if (missing > 0) for (let i = arc.high; i < x.length; i++) x[i] += missing;
  }
  const placed = [];
  for (const arc of spans) {
    const below = placed.filter((other) => other.low < arc.high && arc.low < other.high).map((other) => other.level);
    arc.level = 1 + Math.max(0, ...below);
    placed.push(arc);
  }
  const levels = Math.max(0, ...spans.map((arc) => arc.level));
  spreadEnds(arcs, x, widths);
  return { forms, tags, widths, x, arcs, base: ROOT_ROOM + FIRST + levels * LEVEL, width: x.at(-1) + widths.at(-1) / 2 + MARGIN };
}

// Arcs that meet at a word stand beside each other, the longest in the middle, so that they do not cross.
function spreadEnds(arcs, x, widths) {
  const ends = x.map(() => []);
  for (const arc of arcs) {
    const reach = arc.high - arc.low;
    if (arc.head === 0) { ends[arc.dep].push({ arc, end: "to", order: 0 }); continue; }
    for (const [end, node, other] of [["from", arc.head, arc.dep], ["to", arc.dep, arc.head]])
      ends[node].push({ arc, end, order: other < node ? -1 / reach : 1 / reach });
  }
  ends.forEach((own, node) => {
    own.sort((a, b) => a.order - b.order);
    const step = Math.min(STEP, (widths[node] - 6) / Math.max(1, own.length));
    own.forEach((each, i) => { each.arc[each.end] = x[node] + step * (i - (own.length - 1) / 2); });
  });
}

function arcPath(arc, base) {
  if (arc.head === 0) return `M${arc.to},${ROOT_ROOM - 6} V${base - TIP}`;
  const y = base - FIRST - (arc.level - 1) * LEVEL;
  const r = Math.min(CORNER, Math.abs(arc.to - arc.from) / 2), side = arc.to > arc.from ? 1 : -1;
  return `M${arc.from},${base} V${y + r} Q${arc.from},${y} ${arc.from + side * r},${y} H${arc.to - side * r} ` +
    `Q${arc.to},${y} ${arc.to},${y + r} V${base - TIP}`;
}

// What a screen reader says of a word.
function described(words, tree, dep, kept) {
  const head = tree.heads[dep - 1], share = tree.head_probabilities ? tree.head_probabilities[dep - 1] : null;
  const above = head === 0 ? "ROOT" : words[head - 1].form;
  const sure = kept.has(dep) ? ", fixed by you" : share === null ? "" : `, ${percent(share)}`;
  return `${words[dep - 1].form}, ${words[dep - 1].upos}, ${tree.deprels[dep - 1]} of ${above}${sure}`;
}

// Draws into `stage` and calls back: onShow(word | null) as words are pointed at, onHead(word, head), onRelease(word), onSay(text).
export class TreeView {
  constructor(stage, calls) {
    this.stage = stage;
    this.calls = calls;
    this.current = 1;
    this.choosing = null;
    this.pointer = {};
    window.addEventListener("pointermove", (event) => { this.pointer = { x: event.screenX, y: event.screenY }; });
  }

  // A word that comes to lie under a pointer at rest is not pointed at.
  hasMoved(event) {
    return event.screenX !== this.pointer.x || event.screenY !== this.pointer.y;
  }

  show(words, tree, kept) {
    const hadFocus = this.stage.contains(document.activeElement);
    this.words = words;
    this.tree = tree;
    this.kept = kept;
    this.choosing = null;
    this.current = Math.min(this.current, words.length);
    this.draw();
    if (hadFocus) this.focus(this.current);
  }

  draw() {
    this.toLeft = runsToLeft(this.words.map((word) => word.form).join(" "));
    const plan = layOut(this.words, this.tree, this.kept);
    if (this.toLeft) {
      plan.x = plan.x.map((x) => plan.width - x);
      for (const arc of plan.arcs) { arc.to = plan.width - arc.to; if (arc.head > 0) arc.from = plan.width - arc.from; }
    }
    this.plan = plan;
    const height = plan.base + WORD_LINE + TAG_LINE + 12;
    this.svg = make("svg", { width: plan.width, height, viewBox: `0 0 ${plan.width} ${height}` });
    this.arcs = plan.arcs.map((arc) => this.drawArc(arc));
    this.nodes = plan.forms.map((form, i) => this.drawNode(form, i));
    this.svg.addEventListener("keydown", (event) => this.onKey(event));
    this.svg.addEventListener("focusin", (event) => this.onFocus(event));
    this.stage.replaceChildren(this.svg);
  }

  drawArc(arc) {
    const { base } = this.plan;
    const names = ["arc", arc.unsure && "unsure", arc.kept && "kept"].filter(Boolean).join(" ");
    const group = make("g", { class: names, "aria-hidden": "true" }, this.svg);
    make("path", { d: arcPath(arc, base) }, group);
    make("path", { class: "tip", d: `M${arc.to},${base} l-3.4,${-TIP} h6.8 z` }, group);
    const y = arc.head === 0 ? ROOT_ROOM - 12 : base - FIRST - (arc.level - 1) * LEVEL + 4;
    write(arc.label, { class: "label", x: arc.head === 0 ? arc.to : (arc.from + arc.to) / 2, y }, group);
    return group;
  }

  drawNode(form, i) {
    const { base, x, widths, tags } = this.plan;
    const group = make("g", { class: i ? "node" : "node root" }, this.svg);
    const height = i ? WORD_LINE + TAG_LINE + 4 : WORD_LINE;
    make("rect", { x: x[i] - widths[i] / 2, y: base + 3, width: widths[i], height, rx: 6 }, group);
    write(form, { class: "form", x: x[i], y: base + (i ? 21 : 18) }, group);
    group.dataset.node = i;
    if (i === 0) return group;
    write(tags[i], { class: "tag", x: x[i], y: base + WORD_LINE + TAG_LINE }, group);
    group.setAttribute("tabindex", i === this.current ? "0" : "-1");
    group.setAttribute("role", "button");
    group.setAttribute("aria-label", described(this.words, this.tree, i, this.kept));
    group.addEventListener("pointerenter", (event) => { if (!this.drag && this.hasMoved(event)) this.calls.onShow(i); });
    group.addEventListener("pointerdown", (event) => this.startDrag(event, i));
    return group;
  }

  // The word and its head stand out.
  light(word) {
    this.svg.querySelectorAll(".lit").forEach((element) => element.classList.remove("lit"));
    if (!word) return;
    this.arcs[word - 1].classList.add("lit");
    this.nodes[word].classList.add("lit");
    this.nodes[this.tree.heads[word - 1]].classList.add("lit");
  }

  focus(word) {
    this.nodes[this.current].setAttribute("tabindex", "-1");
    this.current = word;
    this.nodes[word].setAttribute("tabindex", "0");
    this.nodes[word].focus();
  }

  onFocus(event) {
    const word = Number(event.target.dataset.node);
    if (!word) return;
    this.current = word;
    this.calls.onShow(word);
  }

  // Keys

  onKey(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const forward = this.toLeft ? "ArrowLeft" : "ArrowRight", back = this.toLeft ? "ArrowRight" : "ArrowLeft";
    const moves = { [forward]: 1, [back]: -1, Home: -Infinity, End: Infinity };
    const action = event.key in moves ? () => this.move(moves[event.key]) : this.actions()[event.key];
    if (!action) return;
    event.preventDefault();
    action();
  }

  actions() {
    const choose = () => (this.choosing === null ? this.startChoosing() : this.choose(this.choosing));
    if (this.choosing === null)
      return { Enter: choose, " ": choose, Delete: () => this.letGo(), Backspace: () => this.letGo() };
    const root = () => this.aim(0);
    return { Enter: choose, " ": choose, Escape: () => this.stopChoosing("Nothing changed."), 0: root, r: root };
  }

  letGo() {
    if (this.kept.has(this.current)) this.calls.onRelease(this.current);
  }

  move(step) {
    const n = this.words.length;
    if (this.choosing === null) return this.focus(Math.max(1, Math.min(n, this.current + step)));
    let next = Math.max(0, Math.min(n, this.choosing + step));
    if (next === this.current) next += step > 0 ? 1 : -1;
    if (next >= 0 && next <= n) this.aim(next);
  }

  startChoosing() {
    this.choosing = -1;
    this.aim(this.tree.heads[this.current - 1]);
  }

  aim(node) {
    this.choosing = node;
    this.mark(node);
    const name = node === 0 ? "ROOT" : this.words[node - 1].form;
    this.calls.onSay(`New head of “${this.words[this.current - 1].form}”: ${name}? Arrows change it, Enter takes it, Escape does not.`);
  }

  mark(node) {
    this.nodes.forEach((each, i) => each.classList.toggle("target", i === node));
  }

  choose(head) {
    this.choosing = null;
    this.mark(-1);
    this.calls.onHead(this.current, head);
  }

  stopChoosing(said) {
    this.choosing = null;
    this.mark(-1);
    this.calls.onSay(said);
  }

  // Dragging

  startDrag(event, word) {
    if (event.button !== 0) return;
    const node = this.nodes[word];
    this.drag = { word, x: event.clientX, y: event.clientY, target: -1, line: null };
    node.setPointerCapture(event.pointerId);
    const move = (each) => this.onDrag(each);
    const end = (each) => {
      node.removeEventListener("pointermove", move);
      ["pointerup", "pointercancel", "lostpointercapture"].forEach((name) => node.removeEventListener(name, end));
      this.endDrag(each.type === "pointerup");
    };
    node.addEventListener("pointermove", move);
    ["pointerup", "pointercancel", "lostpointercapture"].forEach((name) => node.addEventListener(name, end));
  }

  onDrag(event) {
    const { drag, plan } = this;
    if (!drag.line && Math.hypot(event.clientX - drag.x, event.clientY - drag.y) < 5) return;
    if (!drag.line) {
      drag.line = make("path", { class: "pull" }, this.svg);
      this.svg.classList.add("dragging");
    }
    const box = this.svg.getBoundingClientRect();
    const x = event.clientX - box.left, y = event.clientY - box.top;
    const from = plan.x[drag.word], top = Math.min(y, plan.base) - 20;
    drag.line.setAttribute("d", `M${from},${plan.base} C${from},${top} ${x},${top} ${x},${y}`);
    const inside = plan.x.findIndex((centre, i) => Math.abs(centre - x) <= plan.widths[i] / 2 + GAP / 2);
    drag.target = inside === drag.word || y < 0 || y > box.height + 20 ? -1 : inside;
    this.mark(drag.target);
  }

  endDrag(dropped) {
    const drag = this.drag;
    this.drag = null;
    if (!drag) return;
    this.svg.classList.remove("dragging");
    this.mark(-1);
    if (!drag.line) return this.focus(drag.word);
    drag.line.remove();
    if (dropped && drag.target >= 0) {
      this.current = drag.word;
      this.calls.onHead(drag.word, drag.target);
    }
  }
}
