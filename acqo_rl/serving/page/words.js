// Texts that explain a result. This module does not access the page.

const TOLERANCE = 1e-12; // as in acqo_rl/fusion.py: sums of reciprocal ranks closer than this are equal

export const plural = (n, one, many = `${one}s`) => `${n.toLocaleString("en")} ${n === 1 ? one : many}`;

export function ordinal(n) {
  const last = n % 100 >= 11 && n % 100 <= 13 ? 0 : n % 10;
  return n + (["th", "st", "nd", "rd"][last] ?? "th");
}

export function duration(ms) {
  if (ms >= 1000) return `${(ms / 1000).toFixed(2)} s`;
  return ms >= 10 ? `${Math.round(ms)} ms` : `${ms.toFixed(1)} ms`;
}

/** A score with two or three decimals. */
export const precise = (x) => x.toFixed(x < 10 ? 3 : 2);

/** Headline and reason of a reformulation. */
export function decision({ route, variants, reasoning }) {
  const written = variants.filter((variant) => variant.kind !== "original").length;
  const original = written < variants.length && written ? ", plus the original question" : "";
  const [headline, reason] = {
    pass: ["Searched unchanged", "One search, with the question as typed."],
    disambiguate: [
      written === 1 ? "Rewritten as a standalone question" : `Searched in ${written} readings`,
      "The question depends on earlier turns, or has several meanings.",
    ],
    decompose: [`Split into ${plural(written, "part")}`, "The question asks several things at once."],
    expand: [`Expanded with ${plural(written, "other wording")}`, "Different wordings of the same question."],
  }[route] ?? [route, ""];
  return { headline: headline + original, reason: reasoning || reason };
}

export const KINDS = {
  original: "as typed",
  reading: "reading",
  part: "part",
  variant: "paraphrase",
  hypothetical: "invented passage",
  step_back: "more general question",
  expansion: "with added words",
};

/** The first sort key of a fusion: its name, its meaning, and its value as shown. */
export function firstKey(fusion) {
  if (fusion !== "rsf") return { name: "Score", help: `The score of ${fusion}; higher is better`, of: (r) => r.score };
  return { name: "P", help: "1 / Σ 1/rank over the lists with the document; lower is better", of: (r) => 1 / r.score };
}

/** Whether all lists come from one retriever; only then are their scores comparable. */
export const comparable = (lists) => new Set(lists.filter((l) => l.documents.length).map((l) => l.retriever)).size <= 1;

/** The key that ranks a document above the next one: "first", "similarity", "list" or "id". */
export function deciding(result, next, lists) {
  if (Math.abs(result.score - next.score) > TOLERANCE) return "first";
  if (comparable(lists) && result.similarity !== next.similarity) return "similarity";
  return result.places[0].ranking === next.places[0].ranking ? "id" : "list";
}

/** Why a document ranks above the next one. */
export function ahead(result, next, lists, fusion) {
  const key = firstKey(fusion);
  const [mine, other] = [precise(key.of(result)), precise(key.of(next))];
  const tie = `It ties with number ${next.rank} in ${key.name} (${mine})`;
  const better = fusion === "rsf" ? "lower" : "higher";
  const [s, otherS] = [precise(result.similarity), precise(next.similarity)];
  return {
    first: `It ranks above number ${next.rank} by ${key.name}: ${mine} versus ${other}; ${better} is better.`,
    similarity: `${tie} and ranks above it by S: ${s} versus ${otherS}; higher is better.`,
    list: `${tie} and ranks above it because its list comes first.`,
    id: `${tie} and ranks above it only by the order of the document ids.`,
  }[deciding(result, next, lists)];
}

/** Both keys with the numbers from which they are computed. */
export function formulas(result, fusion) {
  const best = result.places.map((place) => precise(place.score));
  const most = best.length > 1 ? `max(${best.join(", ")}) = ` : "";
  const similarity = `S = ${most}${precise(result.similarity)}`;
  if (fusion !== "rsf") return [`Score of ${fusion} = ${precise(result.score)}`, similarity];
  const sum = result.places.map((place) => `1/${place.rank}`).join(" + ");
  return [`P = 1 / (${sum}) = ${precise(1 / result.score)}`, similarity];
}
