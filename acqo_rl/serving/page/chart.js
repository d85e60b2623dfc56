// The bump chart: a column for each list, a line for each document of the merged list.

import { hue, svg } from "./dom.js";

const PITCH_BELOW = 20; // pixels between documents that a list ranks below the table's last row

/** Draws the lines so that they end at the rows of the table beside them. */
export function draw(canvas, rows, { lists, results, chosen, choose }) {
  const frame = canvas.getBoundingClientRect();
  const middle = (box) => box.getBoundingClientRect().top + box.getBoundingClientRect().height / 2 - frame.top;
  const ys = rows.map(middle);
  const bottom = rows.at(-1).getBoundingClientRect().bottom - frame.top;
  const gap = (frame.width - 34) / lists.length;
  const xs = lists.map((_, list) => 34 + gap * list);
  const place = placed(results, lists.length, ys, bottom);
  const depth = Math.max(0, ...results.flatMap((r) => r.places).map((p) => place(p).y - bottom + 14));
  canvas.setAttribute("height", bottom + depth);

  canvas.replaceChildren(
    ...rows.map((row) => rule(row.getBoundingClientRect().bottom - frame.top, frame.width)),
    ...ys.map((y, i) => label(14, y, i + 1, "axis")),
    ...xs.map((x, list) => head(x, middle(rows[0].closest("table").tHead), list)),
    ...lists.flatMap((list, l) => dropped(list, l, xs[l], ys, results)),
    ...order(results, chosen).map((i) => line(results[i], i, i === chosen, { xs, ys, place, end: frame.width - 8, choose })),
  );
}

/** The index of the list that ranks a document best: its line has that colour. */
export function home(result) {
  return result.places.reduce((best, place) => (place.rank < best.rank ? place : best)).ranking;
}

/** Where a document's place in a list is drawn: beside its row, or under the last row in the order of ranks. */
function placed(results, lists, ys, bottom) {
  const below = Array.from({ length: lists }, (_, list) =>
    results.flatMap((r) => r.places).filter((p) => p.ranking === list && p.rank > ys.length)
      .map((p) => p.rank).sort((a, b) => a - b));
  return ({ ranking, rank }) => {
    const deep = rank > ys.length;
    return { deep, y: deep ? bottom + 14 + PITCH_BELOW * below[ranking].indexOf(rank) : ys[rank - 1] };
  };
}

/** The chosen document last, so that it lies on top. */
function order(results, chosen) {
  return results.map((_, i) => i).sort((a, b) => (a === chosen) - (b === chosen) || b - a);
}

function line(result, index, chosen, { xs, ys, place, end, choose }) {
  const points = result.places.map((p) => ({ x: xs[p.ranking], rank: p.rank, ...place(p) }));
  const merged = { x: end, y: ys[index] };
  const group = svg("g", { class: `document ${hue(home(result))}${chosen ? " chosen" : ""}`, "data-rank": index + 1 },
    svg("path", { class: "line", d: curve([...points, merged]) }),
    points.map((p) => dot(p, chosen)),
    svg("circle", { class: "dot", cx: merged.x, cy: merged.y, r: chosen ? 6 : 4 }),
    svg("title", {}, result.title || result.document_id));
  group.addEventListener("click", () => choose(index));
  return group;
}

function dot({ x, y, rank, deep }, chosen) {
  if (chosen) return [svg("circle", { class: "dot", cx: x, cy: y, r: 10 }), label(x, y, rank, "inside")];
  const circle = svg("circle", { class: "dot", cx: x, cy: y, r: 4.5 });
  return deep ? [circle, label(x - 9, y, rank, "deep")] : [circle];
}

function curve([first, ...rest]) {
  let from = first;
  return `M${from.x} ${from.y}` + rest.map((to) => {
    const half = (from.x + to.x) / 2;
    const part = `C${half} ${from.y} ${half} ${to.y} ${to.x} ${to.y}`;
    from = to;
    return part;
  }).join("");
}

/** Documents that a list has near its top and the merged list has not. */
function dropped(list, number, x, ys, results) {
  const kept = new Set(results.flatMap((r) => r.places).filter((p) => p.ranking === number).map((p) => p.rank));
  return list.documents.slice(0, ys.length).map((document, i) => (kept.has(i + 1) ? null :
    svg("circle", { class: "dropped", cx: x, cy: ys[i], r: 3.5 },
      svg("title", {}, `${document.title || document.document_id}: not among the first ${ys.length}`)))).filter(Boolean);
}

function head(x, y, list) {
  return svg("g", { class: hue(list) },
    svg("circle", { class: "dot", cx: x, cy: y, r: 10 }), label(x, y, list + 1, "inside"));
}

const rule = (y, width) => svg("line", { class: "rule", x1: 0, x2: width, y1: y - 0.5, y2: y - 0.5 });

const label = (x, y, text, kind) => svg("text", { class: kind, x, y, dy: "0.35em" }, String(text));
