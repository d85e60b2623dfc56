r"""The end of scripts/demo.sh: three questions before and after, and how to go on.

python scripts/show_demo.py --output_dir outputs/demo
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from acqo_rl.cli import command

if TYPE_CHECKING:
    from acqo_rl.evaluation.run import Evaluation, QueryResult

KINDS = ("simple", "ambiguous", "compound")
LABELS = {
    "raw": "raw query",
    "prompted": "prompt-only model",
    "warm_start": "warm start",
    "stage1": "after Stage I",
    "policy": "trained policy",
}
STAGES = (
    ("Stage I over the warm start: ", "warm_start", "stage1"),
    ("Stage II over Stage I:       ", "stage1", "policy"),
    ("both over the warm start:    ", "warm_start", "policy"),
)


@dataclass
class ShowDemoConfig:
    """Settings of the closing words."""

    output_dir: str = field(default="outputs/demo", metadata={"help": "Folder of the recipe."})


def make_parser() -> Any:
    """The parser of this script."""
    return command.make_parser(ShowDemoConfig, description=__doc__)


def main(config: ShowDemoConfig) -> None:
    """Prints the table, the examples and the commands."""
    from acqo_rl.data.beir import read_corpus
    from acqo_rl.evaluation.files import read_results
    from acqo_rl.evaluation.summary import compare
    from acqo_rl.evaluation.tables import format_table, interval

    out = Path(config.output_dir)
    evaluations = read_results(out / "evaluation")
    titles = {doc_id: document.title for doc_id, document in read_corpus(out / "data").items()}
    shown = [replace(evaluation, name=LABELS.get(name, name)) for name, evaluation in evaluations.items()]
    print(f"\nOn {len(shown[0].results)} held-out test questions:\n")
    print(format_table(shown, shown[0]))
    print("\nWhat reinforcement learning added, in nDCG@10 with 95 % confidence interval:")
    for stage, before, after in STAGES:
        difference = compare(evaluations[after], evaluations[before], ["nDCG@10"]).differences["nDCG@10"]
        print(f"  {stage} {interval(difference)}")
    print("\nThree questions before and after:")
    for kind in KINDS:
        show_example(kind, evaluations["raw"], evaluations["policy"], titles)
    print(f"\nThe whole report, with plots: {out / 'evaluation' / 'report.html'}\n\nGo on:")
    print(f"  .venv/bin/acqo search --data {out}/data --index {out}/index --model {out}/policy")
    print("  .venv/bin/acqo train --config configs/train/embedded.yaml --data BEIR_DIR --output_dir outputs/mine")


def show_example(kind: str, raw: Evaluation, policy: Evaluation, titles: dict[str, str]) -> None:
    """One question of a kind: the one in the middle of those that the policy answers in its usual way."""
    pairs = [(before, after) for before, after in zip(raw.results, policy.results, strict=True) if after.kind == kind]
    pairs.sort(key=lambda pair: gain(*pair))
    before, after = pairs[len(pairs) // 2]
    query = after.reformulation.query
    print(f"\n[{kind}] {query.text}")
    for turn in query.history:
        print(f"    after: {turn}")
    print(f"    route: {after.reformulation.route}")
    for sub_query in after.reformulation.sub_queries:
        print(f"    search: {sub_query.text}")
    for label, result in (("before", before), ("after", after)):
        found = ", ".join(f"{titles[doc_id]} at {rank or 'no rank'}" for doc_id, rank in result.gold_ranks.items())
        print(f"    wanted, {label}: {found} (nDCG@10 {result.measures['nDCG@10']:.2f})")


def gain(before: QueryResult, after: QueryResult) -> float:
    """What reformulating added, in nDCG@10."""
    return after.measures["nDCG@10"] - before.measures["nDCG@10"]


if __name__ == "__main__":
    command.run(main, make_parser(), sys.argv[1:])
