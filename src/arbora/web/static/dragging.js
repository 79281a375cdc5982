// Dragging a word onto its head, with a mouse, a pen or a finger. The page scrolls when the pointer nears its edges.

import { draw } from "./common.js";
import { nodeAt } from "./layout.js";

const SLACK = 5, EDGE = 28, SPEED = 7, REST = 300;
const ENDS = ["pointerup", "pointercancel", "lostpointercapture"];

export class Dragging {
  constructor(view) {
    this.view = view;
    this.active = null;
    // A finger that starts on a word drags and does not scroll, also where `touch-action` is unknown for SVG.
    view.stage.addEventListener("touchstart", (event) => {
      if (event.touches.length === 1 && event.target.closest(".node:not(.root)")) event.preventDefault();
    }, { passive: false });
    view.stage.addEventListener("pointerup", (event) => {
      if (view.choosing !== null && event.target.closest(".node.root")) view.choose(0);
    });
  }

  start(event, word) {
    if (event.button !== 0 || this.active) return;
    event.preventDefault();
    const node = this.view.nodes[word];
    this.active = { word, node, x: event.clientX, y: event.clientY, startY: event.clientY, target: -1, line: null };
    node.setPointerCapture(event.pointerId);
    const move = (each) => this.move(each.clientX, each.clientY);
    const end = (each) => {
      node.removeEventListener("pointermove", move);
      ENDS.forEach((name) => node.removeEventListener(name, end));
      this.end(each.type === "pointerup");
    };
    node.addEventListener("pointermove", move);
    ENDS.forEach((name) => node.addEventListener(name, end));
  }

  move(clientX, clientY) {
    const { active, view } = this;
    if (!active.line && Math.hypot(clientX - active.x, clientY - active.y) < SLACK) return;
    if (!active.line) this.begin();
    Object.assign(active, { x: clientX, y: clientY });
    const box = view.svg.getBoundingClientRect(), row = this.rowOf(active.word), { plan } = view;
    const x = clientX - box.left, y = clientY - box.top, from = row.x[active.word - row.first];
    const isBelow = y > row.bottom, foot = isBelow ? row.bottom : row.base, bend = isBelow ? (foot + y) / 2 : Math.min(y, foot) - 20;
    active.line.setAttribute("d", `M${from},${foot} C${from},${bend} ${x},${bend} ${x},${y}`);
    const { node, place } = nodeAt(plan, x, y);
    active.target = node === active.word ? -1 : node;
    view.mark(active.target, place);
  }

  begin() {
    const { active, view } = this;
    if (view.choosing !== null) view.stopChoosing();
    active.line = draw("path", { class: "pull" }, view.svg);
    view.svg.classList.add("dragging");
    const scroll = (now) => {
      if (!this.active) return;
      this.scroll(now);
      requestAnimationFrame(scroll);
    };
    requestAnimationFrame(scroll);
  }

  // Scroll while the pointer rests near the edge that it has moved towards.
  scroll(now) {
    const { active, view } = this, { top, bottom } = view.viewOf(), before = window.scrollY;
    const isUp = active.y < Math.min(active.startY - SLACK, top + EDGE), isDown = active.y > Math.max(active.startY + SLACK, bottom - EDGE);
    if (!isUp && !isDown) active.restsSince = now;
    if (now - (active.restsSince ??= now) < REST) return;
    window.scrollBy(0, isUp ? -SPEED : SPEED);
    if (window.scrollY !== before) this.move(active.x, active.y);
  }

  rowOf(word) {
    return this.view.plan.rows.find((row) => word <= row.last);
  }

  end(dropped) {
    const { active, view } = this;
    this.active = null;
    if (!active) return;
    view.svg.classList.remove("dragging");
    view.mark(-1);
    active.line?.remove();
    if (!dropped) return;
    if (active.line) {
      view.setCurrent(active.word);
      if (active.target >= 0) view.calls.onHead(active.word, active.target);
    } else if (view.choosing !== null && active.word !== view.current) view.choose(active.word);
    else {
      if (view.choosing !== null) view.stopChoosing("Nothing changed.");
      view.focus(active.word);
    }
  }
}
