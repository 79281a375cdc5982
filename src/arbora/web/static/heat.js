// The map of all arcs: rows are heads, columns are words.

import { at, make, percent, runsToLeft } from "./common.js";

const nameOf = (words, node) => (node === 0 ? "ROOT" : words[node - 1].form);

export function drawHeat(words, heads, table, current) {
  const top = make("tr"), head = make("thead"), body = make("tbody"), grid = make("table");
  top.append(make("td"), ...words.map((word) => {
    const cell = make("th");
    cell.scope = "col";
    cell.append(make("span", word.form));
    return cell;
  }));
  head.append(top);
  body.append(...table.map((row, from) => heatRow(words, heads, row, from)));
  grid.append(head, body);
  grid.dir = runsToLeft(words.map((word) => word.form).join(" ")) ? "rtl" : "ltr";
  at("map").replaceChildren(grid);
  lightHeat(current);
}

function heatRow(words, heads, row, from) {
  const line = make("tr"), name = make("th", nameOf(words, from));
  name.scope = "row";
  line.append(name, ...words.map((word, i) => {
    const share = row[i + 1], cell = make("td", share >= 0.005 ? String(Math.round(100 * share)) : "");
    cell.style.setProperty("--share", share);
    cell.classList.toggle("strong", share > 0.55);
    cell.classList.toggle("chosen", heads[i] === from);
    if (from !== i + 1) cell.title = `${nameOf(words, from)} → ${word.form}: ${percent(share)}`;
    return cell;
  }));
  return line;
}

export function lightHeat(word) {
  at("map").querySelectorAll(".lit").forEach((element) => element.classList.remove("lit"));
  at("map").querySelectorAll("tr").forEach((row) => row.children[word]?.classList.add("lit"));
}
