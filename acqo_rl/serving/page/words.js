// What the numbers say, in sentences. Nothing here touches the page.

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

/** A key, to a thousandth. */
export const precise = (x) => x.toFixed(x < 10 ? 3 : 2);

/** What the policy did, as a headline and the reason for it. */
export function decision({ route, variants, reasoning }) {
  const written = variants.filter((variant) => variant.kind !== "original").length;
  const beside = written < variants.length && written ? ", beside the question itself" : "";
  const [headline, reason] = {
    pass: ["Searched as it stands", "One search, with the question itself."],
    disambiguate: [
      written === 1 ? "Rewritten to stand by itself" : `Read in ${written} ways`,
      "The question leans on earlier turns, or means several things.",
    ],
    decompose: [`Split into ${plural(written, "part")}`, "The question asks for several things at once."],
    expand: [`Put in ${plural(written, "other wording")}`, "The same need in other words."],
  }[route] ?? [route, ""];
  return { headline: headline + beside, reason: reasoning || reason };
}

export const KINDS = {
  original: "as asked",
  reading: "a reading",
  part: "a part",
  variant: "other words",
  hypothetical: "a made-up answer",
  step_back: "one step back",
  expansion: "with more words",
};

/** The keys of a fusion: the first one as it is shown, and what it means. */
export function firstKey(fusion) {
  if (fusion !== "rsf") return { name: "Score", help: `The score of ${fusion}; higher is better`, of: (r) => r.score };
  return { name: "P", help: "1 / Σ 1/rank over the lists that have it; lower is better", of: (r) => 1 / r.score };
}

/** Whether the lists come from one retriever, so that their scores compare. */
export const comparable = (lists) => new Set(lists.filter((l) => l.documents.length).map((l) => l.retriever)).size <= 1;

/** Which key puts a document before the next one: "first", "similarity", "list" or "id". */
export function deciding(result, next, lists) {
  if (Math.abs(result.score - next.score) > TOLERANCE) return "first";
  if (comparable(lists) && result.similarity !== next.similarity) return "similarity";
  return result.places[0].ranking === next.places[0].ranking ? "id" : "list";
}

/** Why a document is before the next one. */
export function ahead(result, next, lists, fusion) {
  const key = firstKey(fusion);
  const [mine, other] = [precise(key.of(result)), precise(key.of(next))];
  const tie = `It ties with number ${next.rank} in ${key.name} (${mine})`;
  const better = fusion === "rsf" ? "lower" : "higher";
  const [s, otherS] = [precise(result.similarity), precise(next.similarity)];
  return {
    first: `It is before number ${next.rank} by ${key.name}: ${mine} against ${other}, and ${better} is better.`,
    similarity: `${tie}, and is before it by S: ${s} against ${otherS}, and higher is better.`,
    list: `${tie}, and is before it because its list comes first.`,
    id: `${tie}, and is before it only by the order of the document ids.`,
  }[deciding(result, next, lists)];
}

/** Both keys with the numbers they are made of. */
export function formulas(result, fusion) {
  const best = result.places.map((place) => precise(place.score));
  const most = best.length > 1 ? `max(${best.join(", ")}) = ` : "";
  const similarity = `S = ${most}${precise(result.similarity)}`;
  if (fusion !== "rsf") return [`Score of ${fusion} = ${precise(result.score)}`, similarity];
  const sum = result.places.map((place) => `1/${place.rank}`).join(" + ");
  return [`P = 1 / (${sum}) = ${precise(1 / result.score)}`, similarity];
}
