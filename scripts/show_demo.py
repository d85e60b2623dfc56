r"""The end of scripts/demo.sh: questions before and after, the hops on bridge questions, and how to go on.

python scripts/show_demo.py --output_dir outputs/demo
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from acqo_rl.cli import command
from acqo_rl.files import read_json

MEASURE = "nDCG@10"
KINDS = ("simple", "ambiguous", "compound")
LABELS = {
    "raw": "raw query",
    "prompted": "prompt-only model",
    "before": "before, trained:demo",
    "stage1": "after Stage I",
    "policy": "trained policy",
}
STAGES = (
    ("Stage I over trained:demo: ", "before", "stage1"),
    ("Stage II over Stage I:     ", "stage1", "policy"),
    ("both over trained:demo:    ", "before", "policy"),
    ("both over the rules:       ", "rules", "policy"),
)


@dataclass
class ShowDemoConfig:
    """Settings of the closing words."""

    output_dir: str = field(default="outputs/demo", metadata={"help": "Folder of the recipe."})


def main(config: ShowDemoConfig) -> None:
    """Prints the table, the examples and the commands."""
    import numpy as np

    from acqo_rl.data.beir import read_corpus
    from acqo_rl.evaluation.report import results_in
    from acqo_rl.evaluation.significance import paired_bootstrap
    from acqo_rl.evaluation.tables import Table, aligned, interval

    out = Path(config.output_dir)
    results = results_in(out / "evaluation")
    scores = {system: np.array([row["measures"][MEASURE] for row in rows]) for system, rows in results.items()}
    titles = {doc_id: document.title for doc_id, document in read_corpus(out / "data").items()}
    print(f"\nOn {len(results['raw'])} held-out test questions:\n")
    means = (
        (LABELS.get(s, s), f"{sum(v) / len(v):.3f}", interval(paired_bootstrap(v - scores["raw"])))
        for s, v in scores.items()
    )
    print(aligned(Table("", "", ("", MEASURE, "difference to the raw query [95 % CI]"), tuple(means))))
    print("\nThe reward of the searches of the same dev questions during training:\n")
    print(aligned(Table("", "", ("", "step", "reward", "rise, with standard error"), curve(out))))
    print(
        f"\nWhat reinforcement learning added, in {MEASURE} with 95 % confidence interval, and a comparison with rules:"
    )
    for stage, before, after in STAGES:
        print(f"  {stage} {interval(paired_bootstrap(scores[after] - scores[before]))}")
    print("\nThree questions before and after:")
    for kind in KINDS:
        show_example(kind, results["raw"], results["policy"], titles)
    answers = (results["policy"], results_in(out / "evaluation_hops")["policy"])
    without, hops = ([row for row in rows if row["kind"] == "bridge"] for rows in answers)
    before, after = (np.array([row["measures"][MEASURE] for row in rows]) for rows in (without, hops))
    gain = interval(paired_bootstrap(after - before))
    print(f"\nHops of the trained policy on {len(hops)} questions over two or three linked passages, in {MEASURE}:")
    print(f"  {before.mean():.3f} without, {after.mean():.3f} with hops, {gain}")
    show_example("bridge", without, hops, titles)
    print(f"\nThe whole report: {out / 'evaluation' / 'report.html'}\n\nGo on:")
    print(f"  .venv/bin/acqo search --data {out}/data --index {out}/index --model {out}/policy --hop {out}/hop/model")
    print("  .venv/bin/acqo train --config configs/train/embedded.yaml --data BEIR_DIR --output_dir outputs/mine")


def curve(out: Path) -> tuple[tuple[str, ...], ...]:
    """The evaluations of both stages."""
    rows = []
    for stage, name in (("Stage I", "stage1"), ("Stage II", "stage2")):
        for entry in read_json(out / name / "log.json"):
            if "eval_gain" in entry:
                rise = f"{entry['eval_gain']:+.3f} ± {entry['eval_gain_error']:.3f}" if entry["step"] else ""
                rows.append((stage, str(entry["step"]), f"{entry['eval_greedy_reward']:.3f}", rise))
    return tuple(rows)


def show_example(
    kind: str, raw: Sequence[dict[str, Any]], policy: Sequence[dict[str, Any]], titles: dict[str, str]
) -> None:
    """One question of a kind: the one in the middle of those that the policy answers in its usual way."""
    pairs = [(before, after) for before, after in zip(raw, policy, strict=True) if after["kind"] == kind]
    pairs.sort(key=lambda pair: pair[1]["measures"][MEASURE] - pair[0]["measures"][MEASURE])
    before, after = pairs[len(pairs) // 2]
    made = after["reformulation"]
    print(f"\n[{kind}] {made['query']['text']}")
    for turn in made["query"]["history"]:
        print(f"    after: {turn['speaker']}: {turn['text']}")
    print(f"    route: {made['route']}")
    for sub_query in made["sub_queries"]:
        print(f"    search: {sub_query['text']}")
    for label, result in (("before", before), ("after", after)):
        found = ", ".join(f"{titles[doc_id]} at {rank or 'no rank'}" for doc_id, rank in result["gold_ranks"].items())
        print(f"    wanted, {label}: {found} ({MEASURE} {result['measures'][MEASURE]:.2f})")


if __name__ == "__main__":
    command.run(main, sys.argv[1:])
