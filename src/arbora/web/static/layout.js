// Where the words and arcs of a tree stand, in rows no wider than the room.
//
// A row has nodes 0 (its left edge), 1..m (its words) and m+1 (its right edge). An arc to another row runs off the
// edge and comes in again in that row; its label is where its dependent is. The level of an arc is one above
// the highest arc between its ends, shorter arcs first. Positions are as if written from left to right, and
// mirrored in the end for other scripts. `web/layout.py` does the same for files, with fonts that it must guess.

import { percent, runsToLeft } from "./common.js";

export const GAP = 18, LEVEL = 27, FIRST = 30, EDGE = 12, FAN = 8, SHOULDER = 14;
export const WORD_LINE = 22, TAG_LINE = 16, TOKEN_LINE = 24, BAND = 20, ROOT_LABEL = 20, ROW_GAP = 10, TIP = 7;
export const FORM_SIZE = 17, TAG_SIZE = 11, LABEL_SIZE = 12;
const FONT = 'system-ui, "Helvetica Neue", Arial, "Noto Sans", sans-serif';
const SURE = 0.8, CORNER = 9, BOLD = 600; // labels are bold while their words are selected

const canvas = document.createElement("canvas").getContext("2d");
function widthOf(text, size, weight = 400) {
  canvas.font = `${weight} ${size}px ${FONT}`;
  return canvas.measureText(text).width;
}

export function clipped(text, most) {
  const letters = [...text];
  return letters.length > most ? letters.slice(0, most - 1).join("") + "…" : text;
}

const known = (text) => (text === "_" ? "" : text);

// `shown` has words, tokens ({first, last, form}), heads (null: unknown), deprels, shares (may be null), kept (words), and openLabels
// (those of kept whose label is the parser's; may be missing).
export function layOut(shown, room) {
  const { words, heads } = shown;
  const nodes = words.map((word, i) => {
    const form = clipped(word.form, 40), tag = clipped(known(word.upos), 12);
    return { word: i + 1, form, tag, width: Math.max(widthOf(form, FORM_SIZE), widthOf(tag, TAG_SIZE), 16) + 12 };
  });
  const arcs = heads.map((head, i) => arcOf(shown, head, i)).filter(Boolean);
  const rows = breakRows(nodes, arcs, room);
  const width = Math.max(...rows.map((row) => row.width));
  const toLeft = runsToLeft(words.map((word) => word.form).join(" "));
  let y = 0;
  rows.forEach((row, i) => {
    row.tokens = tokensOf(shown.tokens ?? [], row);
    row.hasRoot = row.arcs.some((arc) => arc.head === 0);
    row.top = y;
    row.base = y + BAND + (row.hasRoot ? ROOT_LABEL : 0) + (row.levels ? FIRST + (row.levels - 1) * LEVEL + LABEL_SIZE : LABEL_SIZE);
    row.bottom = row.base + WORD_LINE + TAG_LINE + 6 + (row.tokens.length ? TOKEN_LINE : 0);
    y = row.bottom + ROW_GAP;
    if (toLeft) mirror(row, width);
    else row.right = row.width;
    row.isFirst = i === 0;
  });
  return { rows, width, height: y, toLeft, nodes };
}

function arcOf({ heads, deprels, shares, kept, openLabels }, head, i) {
  if (head === null || head < 0) return null;
  const dep = i + 1, share = shares ? shares[i] : null, isKept = kept.has(dep);
  const unsure = share !== null && share < SURE && !isKept;
  const label = clipped(known(deprels[i]), 24) + (unsure ? ` ${percent(share)}` : "");
  const reach = Math.abs(head - dep), left = head === 0 ? dep : Math.min(head, dep);
  return { head, dep, left, right: head === 0 ? dep : Math.max(head, dep), reach, label, labelWidth: widthOf(label, LABEL_SIZE, BOLD), unsure, kept: isKept, labelKept: !openLabels?.has(dep) };
}

// Rows that fit, as few as possible, then as even as their number allows.
function breakRows(nodes, arcs, room) {
  let best = fill(nodes, arcs, room);
  if (best.length === 1) return best;
  const count = best.length;
  let least = room / 2, most = room;
  for (let i = 0; i < 6; i++) {
    const middle = (least + most) / 2, rows = fill(nodes, arcs, middle);
    if (rows.length > count) least = middle;
    else { most = middle; best = rows; }
  }
  return best;
}

function fill(nodes, arcs, room) {
  const rows = [];
  for (let first = 0; first < nodes.length; ) {
    let last = first, taken = 2 * EDGE + nodes[first].width;
    while (last + 1 < nodes.length && taken + GAP + nodes[last + 1].width <= room) taken += GAP + nodes[++last].width;
    let row = makeRow(nodes.slice(first, last + 1), arcs);
    while (row.width > room && last > first) {
      last = Math.max(first, last - Math.max(1, Math.floor(((last - first) * (1 - room / row.width)) / 2)));
      row = makeRow(nodes.slice(first, last + 1), arcs);
    }
    rows.push(row);
    first = last + 1;
  }
  return rows;
}

function makeRow(nodes, arcs) {
  const first = nodes[0].word, last = nodes.at(-1).word, end = nodes.length + 1;
  const own = arcs.filter((arc) => arc.left <= last && arc.right >= first).map((arc) => {
    const from = Math.max(arc.left - first + 1, 0), to = Math.min(arc.right - first + 1, end);
    return { ...arc, leftNode: from, rightNode: to, label: arc.dep >= first && arc.dep <= last ? arc.label : "" };
  });
  const spans = own.filter((arc) => arc.head > 0);
  spans.sort((a, b) => a.rightNode - a.leftNode - (b.rightNode - b.leftNode) || a.reach - b.reach || a.left - b.left);
  const fans = fansOf(own, nodes);
  const distances = distancesOf(nodes, fans, spans, own.filter((arc) => arc.head === 0));
  const x = [0];
  for (const distance of distances) x.push(x.at(-1) + distance);
  for (const arc of own) {
    arc.x1 = x[arc.leftNode] + (fans.shift.get(arc)?.left ?? 0);
    arc.x2 = x[arc.rightNode] + (fans.shift.get(arc)?.right ?? 0);
    arc.isCutLeft = arc.leftNode === 0;
    arc.isCutRight = arc.rightNode === end;
  }
  return { first, last, nodes, arcs: own, x: x.slice(1, -1), width: x.at(-1), levels: setLevels(spans, end) };
}

// Arcs that meet at a word stand beside each other, the longest in the middle, so that they do not cross.
function fansOf(arcs, nodes) {
  const ends = nodes.map(() => []), shift = new Map(arcs.map((arc) => [arc, { left: 0, right: 0 }]));
  for (const arc of arcs) {
    if (arc.head === 0) { ends[arc.leftNode - 1].push({ arc, side: "left", order: 0 }); continue; }
    if (arc.leftNode > 0) ends[arc.leftNode - 1].push({ arc, side: "left", order: 1 / arc.reach });
    if (arc.rightNode <= nodes.length) ends[arc.rightNode - 1].push({ arc, side: "right", order: -1 / arc.reach });
  }
  const half = ends.map((own, i) => {
    own.sort((a, b) => a.order - b.order);
    const step = Math.min(FAN, Math.max(4.5, (nodes[i].width - 6) / Math.max(1, own.length)));
    own.forEach(({ arc, side }, place) => { shift.get(arc)[side] = step * (place - (own.length - 1) / 2); });
    for (const { arc } of own) if (arc.head === 0) shift.get(arc).right = shift.get(arc).left;
    return (step * (own.length - 1)) / 2;
  });
  return { shift, half };
}

// Between neighbouring nodes: room for words, and for the labels above them.
function distancesOf(nodes, fans, spans, roots) {
  const halves = [0, ...nodes.map((node, i) => Math.max(node.width / 2, fans.half[i] + 4)), 0];
  const distances = halves.slice(1).map((half, i) => halves[i] + half + (i === 0 || i === nodes.length ? EDGE : GAP));
  // Labels of roots stand in a line of their own, within the row and beside each other.
  const labels = roots.filter((arc) => arc.label).map((arc) => ({ node: arc.leftNode, shift: fans.shift.get(arc).left, half: arc.labelWidth / 2 + 6 }));
  const stops = [{ node: 0, shift: 0, half: 0 }, ...labels, { node: nodes.length + 1, shift: 0, half: 0 }];
  stops.slice(1).forEach((stop, i) => widen(distances, stops[i].node, stop.node, stops[i].half + stop.half + stops[i].shift - stop.shift));
  for (const arc of spans) {
    const { left, right } = fans.shift.get(arc);
    if (arc.label) widen(distances, arc.leftNode, arc.rightNode, arc.labelWidth + 2 * SHOULDER + left - right);
  }
  return distances;
}

// Make the way between two nodes at least as long as needed.
function widen(distances, from, to, needed) {
  const missing = needed - distances.slice(from, to).reduce((sum, each) => sum + each, 0);
  if (missing > 0) for (let i = from; i < to; i++) distances[i] += missing / (to - from);
}

function setLevels(spans, end) {
  const skyline = new Array(end).fill(0);
  let top = 0;
  for (const arc of spans) {
    let level = 0;
    for (let gap = arc.leftNode; gap < arc.rightNode; gap++) level = Math.max(level, skyline[gap]);
    arc.level = level + 1;
    skyline.fill(arc.level, arc.leftNode, arc.rightNode);
    top = Math.max(top, arc.level);
  }
  return top;
}

// Brackets below the words of multiword tokens; one that goes on in another row stays open there.
function tokensOf(tokens, row) {
  return tokens.filter((token) => token.first <= row.last && token.last >= row.first).map((token) => {
    const from = Math.max(token.first, row.first) - row.first, to = Math.min(token.last, row.last) - row.first;
    const x1 = row.x[from] - row.nodes[from].width / 2 + 4, x2 = row.x[to] + row.nodes[to].width / 2 - 4;
    return { form: clipped(token.form, 40), x1, x2, isCutLeft: token.first < row.first, isCutRight: token.last > row.last };
  });
}

function mirror(row, width) {
  row.right = width;
  row.x = row.x.map((x) => width - x);
  for (const each of [...row.arcs, ...row.tokens]) { each.x1 = width - each.x1; each.x2 = width - each.x2; }
}

// The line of an arc, without its arrow.
export function arcPath(arc, row, width, toLeft) {
  if (arc.head === 0) return `M${arc.x1},${row.top + BAND - 4} V${row.base - TIP}`;
  const y = heightOf(arc, row), isUp = arc.head < arc.dep, side = toLeft ? -1 : 1;
  const r = Math.min(CORNER, Math.abs(arc.x2 - arc.x1) / 2);
  const edges = toLeft ? [width, width - row.width] : [0, row.width];
  const start = arc.isCutLeft ? `M${edges[0]},${y}` : `M${arc.x1},${isUp ? row.base : row.base - TIP} V${y + r} Q${arc.x1},${y} ${arc.x1 + side * r},${y}`;
  const end = arc.isCutRight ? `H${edges[1]}` : `H${arc.x2 - side * r} Q${arc.x2},${y} ${arc.x2},${y + r} V${isUp ? row.base - TIP : row.base}`;
  return `${start} ${end}`;
}

export function heightOf(arc, row) {
  return row.base - FIRST - (arc.level - 1) * LEVEL;
}

// The node at a point of the picture, and its row; -1 where there is none.
export function nodeAt(plan, x, y) {
  const place = plan.rows.findIndex((row) => y < row.bottom + ROW_GAP / 2 || row === plan.rows.at(-1));
  const row = plan.rows[place];
  if (y < -FIRST || y > row.bottom + FIRST) return { node: -1, place };
  if (y < row.top + BAND) return { node: 0, place };
  const inside = row.x.findIndex((centre, i) => Math.abs(centre - x) <= row.nodes[i].width / 2 + 9);
  return { node: inside < 0 ? -1 : row.nodes[inside].word, place };
}
