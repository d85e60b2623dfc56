// The slope chart: one column of ranks per list, and lines to the rows of the merged table.

import { hue, svg } from "./dom.js";

const AXIS = 34; // pixels left of the first list's column
const BELOW = 20; // pixels between documents with ranks below the last row of the table

/** Draws the lines; each one ends at the middle of the row of its document. */
export function draw(canvas, rows, { lists, results, chosen, choose }) {
  const frame = canvas.getBoundingClientRect();
  const edges = rows.map((row) => row.getBoundingClientRect()).map((box) => [box.top - frame.top, box.bottom - frame.top]);
  const ys = edges.map(([top, bottom]) => (top + bottom) / 2);
  const bottom = edges.at(-1)[1];
  const head = rows[0].closest("table").tHead.getBoundingClientRect();
  const end = frame.width - 8;
  const xs = lists.map((_, list) => AXIS + ((end - AXIS) / lists.length) * list);
  const heights = placeHeights(results, lists.length, ys, bottom);
  const places = results.map((result) => result.places.map((p) => ({ ...p, x: xs[p.ranking], ...heights(p) })));
  const drawn = results.map((_, i) => i).sort((a, b) => (a === chosen) - (b === chosen) || b - a); // the chosen one on top
  canvas.setAttribute("height", Math.max(bottom, ...places.flat().map((p) => p.y + 14)));
  canvas.replaceChildren(
    ...edges.map(([, y]) => svg("line", { class: "rule", x1: 0, x2: frame.width, y1: y - 0.5, y2: y - 0.5 })),
    ...ys.map((y, i) => label(14, y, i + 1, "axis")),
    ...xs.map((x, list) => ball(x, (head.top + head.bottom) / 2 - frame.top, list, list + 1)),
    ...lists.flatMap((list, number) => dropped(list, xs[number], ys, places.flat().filter((p) => p.ranking === number))),
    ...drawn.map((i) => lines(results[i], i, places[i], { x: end, y: ys[i] }, i === chosen, choose)),
    ...drawn.flatMap((i) => dots(results[i], places[i], { x: end, y: ys[i] }, i === chosen)),
  );
}

/** The list that ranks a document best; it determines the document's colour. */
export function home(result) {
  return result.places.reduce((best, place) => (place.rank < best.rank ? place : best)).ranking;
}

/** The height of a rank: that of its row, or below the last row, sorted by rank. */
function placeHeights(results, lists, ys, bottom) {
  const deep = Array.from({ length: lists }, (_, list) => results.flatMap((result) => result.places)
    .flatMap((p) => (p.ranking === list && p.rank > ys.length ? [p.rank] : [])).sort((a, b) => a - b));
  return ({ ranking, rank }) => (rank > ys.length
    ? { deep: true, y: bottom + 14 + BELOW * deep[ranking].indexOf(rank) }
    : { deep: false, y: ys[rank - 1] });
}

/** The lines of a document, one per list that contains it; better ranks have thicker lines. */
function lines(result, index, places, end, chosen, choose) {
  const group = svg("g", { class: chosen ? "document chosen" : "document", "data-rank": index + 1 },
    places.map((p) => svg("path", { class: hue(p.ranking), d: curve(p, end), "stroke-width": 0.9 + 2.6 / p.rank })),
    svg("title", {}, result.title || result.document_id));
  group.addEventListener("click", () => choose(index));
  return group;
}

function curve(from, to) {
  const half = (from.x + to.x) / 2;
  return `M ${from.x} ${from.y} C ${half} ${from.y} ${half} ${to.y} ${to.x} ${to.y}`;
}

function dots(result, places, end, chosen) {
  return [
    ...places.flatMap(({ x, y, ranking, rank, deep }) => {
      if (chosen) return [ball(x, y, ranking, rank)];
      return [dot(x, y, 4.5, ranking), ...(deep ? [label(x - 8, y, rank, "deep")] : [])];
    }),
    dot(end.x, end.y, chosen ? 6 : 4.5, home(result)),
  ];
}

/** Documents at the top of a list that are not among the results. */
function dropped(list, x, ys, kept) {
  const ranks = new Set(kept.map((place) => place.rank));
  return list.documents.slice(0, ys.length).flatMap((document, i) => (ranks.has(i + 1) ? [] : [
    svg("circle", { class: "dropped", cx: x, cy: ys[i], r: 3.5 },
      svg("title", {}, `${document.title || document.document_id}: not among the top ${ys.length}`))]));
}

const dot = (x, y, r, list) => svg("circle", { class: `dot ${hue(list)}`, cx: x, cy: y, r });

const ball = (x, y, list, text) => svg("g", {}, dot(x, y, 10, list), label(x, y, text, "inside"));

const label = (x, y, text, kind) => svg("text", { class: kind, x, y, dy: "0.35em" }, String(text));
