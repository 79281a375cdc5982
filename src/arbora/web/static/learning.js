// Curves of learning: accuracy by decisions, and corrections by sentence.

import { counted, draw, make } from "./common.js";

const WIDTH = 360, HEIGHT = 170, LEFT = 34, BOTTOM = 24, TOP = 12, RIGHT = 12;

export function drawCurves(place, { points, sentences, held_out: heldOut }) {
  const scored = points.filter((point) => point.las !== null);
  const figures = [];
  if (scored.length) figures.push(accuracy(scored, heldOut));
  if (sentences.length) figures.push(corrections(sentences));
  if (!figures.length) figures.push(make("p", "The curves begin with the first model that is trained here, and with the first finished sentences."));
  place.replaceChildren(...figures);
}

function frame(title, description, most, unit) {
  const figure = make("figure"), svg = draw("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": description });
  draw("path", { class: "axis", d: `M${LEFT},${TOP} V${HEIGHT - BOTTOM} H${WIDTH - RIGHT}` }, svg);
  for (const share of [0, 0.5, 1])
    draw("text", { x: LEFT - 5, y: heightOf(share) + 4, "text-anchor": "end" }, svg, `${Math.round(share * most)}${unit}`);
  figure.append(make("figcaption", title), svg);
  return { figure, svg };
}

const heightOf = (share) => HEIGHT - BOTTOM - share * (HEIGHT - BOTTOM - TOP);

function accuracy(points, heldOut) {
  const last = points.at(-1), most = Math.max(1, ...points.map((point) => point.decisions));
  const title = `LAS on ${last.held_out_words} held-out words: ${last.las.toFixed(1)} after ${last.decisions} decisions`;
  const { figure, svg } = frame(title, title, 100, "%");
  figure.title = heldOut;
  const x = (point) => LEFT + (point.decisions / most) * (WIDTH - LEFT - RIGHT);
  draw("path", { class: "line", d: points.map((point, i) => `${i ? "L" : "M"}${x(point)},${heightOf(point.las / 100)}`).join(" ") }, svg);
  for (const point of points) {
    const dot = draw("circle", { class: "dot", cx: x(point), cy: heightOf(point.las / 100), r: 3 }, svg);
    draw("title", {}, dot, `${point.decisions} decisions: LAS ${point.las.toFixed(1)}`);
  }
  draw("text", { x: WIDTH - RIGHT, y: HEIGHT - 6, "text-anchor": "end" }, svg, `${most} decisions`);
  return figure;
}

function corrections(sentences) {
  const shown = sentences.slice(-40), shares = shown.map(({ words, corrections: count }) => count / Math.max(1, words));
  const mean = shares.reduce((sum, share) => sum + share, 0) / shares.length, most = Math.max(0.1, ...shares);
  const title = `Corrections in the last ${counted(shown.length, "finished sentence")}: ${Math.round(100 * mean)} per 100 words`;
  const { figure, svg } = frame(title, title, Math.round(100 * most), "");
  const step = (WIDTH - LEFT - RIGHT) / shown.length;
  shares.forEach((share, i) => {
    const bar = draw("rect", { class: "bar", x: LEFT + i * step + 1, y: heightOf(share / most), width: Math.max(1, step - 2), height: HEIGHT - BOTTOM - heightOf(share / most) }, svg);
    draw("title", {}, bar, `${shown[i].corrections} of ${shown[i].words} words`);
  });
  draw("text", { x: WIDTH - RIGHT, y: HEIGHT - 6, "text-anchor": "end" }, svg, "latest");
  return figure;
}
