r"""Compares reformulators on the written questions of corpora nobody trained on, by kind of question.

    python benchmarks/corpora/build.py --output_dir outputs/corpora
    python benchmarks/corpora/evaluate.py --corpora outputs/corpora --only crawl_game scrapy money \
        --reformulator raw turns rules auto0=auto auto=trained:four_sets --output_dir outputs/strangers

Each corpus has indexes of its own. The table has one row per system and kind of question: the mean of the first measure
over the questions of all corpora, the difference to the raw query with its 95 % interval, and the share of questions
that are worse than with the raw query. The same command continues an interrupted run. GROUP_BY.json in the output
folder has the means and differences over all questions, as summary.json of acqo evaluate has them for one corpus.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from acqo_rl.cli import command
from acqo_rl.evaluation.significance import Difference, paired_bootstrap
from acqo_rl.settings import setting

WORSE = 0.001
"""Loss of the measure from which a question counts as worse."""


@dataclass
class StrangersConfig:
    """Settings of this script."""

    corpora: str = setting("Folder that build.py has written.")
    output_dir: str = setting("Folder for indexes and evaluations.")
    only: list[str] = setting("Names of corpora; by default all that have questions.", [])
    split: str = setting("Only corpora of this split.", "dev")
    reformulator: list[str] = setting("As in acqo evaluate.", ["raw", "turns", "rules", "auto"])
    index: list[Literal["dense", "bm25", "hybrid"]] = setting("Kinds of indexes.", ["dense", "bm25", "hybrid"])
    group_by: str = setting("kind, query_type or difficulty.", "kind")
    measures: list[str] = setting("As in acqo evaluate.", ["nDCG@10"])


def main(config: StrangersConfig) -> None:
    """Builds indexes, evaluates, and prints the table."""
    rows: dict[str, dict[str, list[dict[str, float]]]] = defaultdict(lambda: defaultdict(list))
    summaries: list[dict[str, Any]] = []
    for corpus in sorted(Path(config.corpora).glob(f"*/qrels/{config.split}.tsv")):
        data = corpus.parents[1]
        if config.only and data.name not in config.only:
            continue
        folder = Path(config.output_dir, data.name)
        built = [kind for kind in ("dense", "bm25") if kind in config.index or "hybrid" in config.index]
        for kind in built:
            if not (folder / kind).exists():
                acqo("index", data=data, output=folder / kind, kind=kind)
        indexes = [f"{kind}={folder}/{kind}" for kind in built]
        if "hybrid" in config.index:
            indexes.append("hybrid=dense+bm25")
        evaluation = folder / "evaluation"
        acqo(
            "evaluate",
            data=data,
            split=config.split,
            index=indexes,
            reformulator=config.reformulator,
            measures=config.measures,
            group_by=config.group_by,
            output=evaluation,
        )
        summaries.append(json.loads((evaluation / "summary.json").read_text(encoding="utf-8")))
        groups = {row["_id"]: row["metadata"][config.group_by] for row in lines(data / "queries.jsonl")}
        for row in lines(evaluation / "queries.jsonl"):
            for group in (groups[row["reformulation"]["query"]["id"]], "all"):
                rows[row["system"]][group].append(row["measures"])
    first = config.measures[0]
    print(f"| system | questions | {first} | difference to raw | worse than raw |\n" + "|---" * 5 + "|")
    comparisons = []
    for system, by_group in rows.items():
        raw = rows[" / ".join(["raw", *system.split(" / ")[1:]])]  # a single index and fusion are not named
        for group, values in sorted(by_group.items()):
            mean, worse = difference(first, values, raw[group])
            shown = (
                f"{np.mean([one[first] for one in values]):.3f} | {mean.mean:+.3f} [{mean.low:+.3f}, {mean.high:+.3f}]"
            )
            print(f"| {system} | {group} ({len(values)}) | {shown} | {worse:.1%} |")
        if not system.startswith("raw"):
            found = {name: asdict(difference(name, by_group["all"], raw["all"])[0]) for name in config.measures}
            comparisons.append({"system": system, "differences": found})
    systems = [
        {
            "name": system,
            "overall": pooled([one["overall"] for one in of_corpora]),
            "by_kind": {
                kind: pooled([one["by_kind"][kind] for one in of_corpora if kind in one["by_kind"]])
                for kind in {kind: None for one in of_corpora for kind in one["by_kind"]}
            },
        }
        for system in rows
        for of_corpora in [[one for summary in summaries for one in summary["systems"] if one["name"] == system]]
    ]
    content = {"settings": {"kinds": "data set"}, "systems": systems, "comparisons": comparisons}
    Path(config.output_dir, f"{config.group_by}.json").write_text(json.dumps(content, indent=2), encoding="utf-8")


def difference(measure: str, values: list[dict[str, float]], raw: list[dict[str, float]]) -> tuple[Difference, float]:
    """The paired difference to the raw query, and the share of the questions that are worse."""
    gains = np.array([one[measure] - other[measure] for one, other in zip(values, raw, strict=True)])
    return paired_bootstrap(gains), float(np.mean(gains < -WORSE))


def pooled(groups: list[dict[str, Any]]) -> dict[str, Any]:
    """The means over the questions of several corpora, from those of each."""
    weights = [group["queries"] for group in groups]
    return {
        "queries": sum(weights),
        **{
            part: {name: float(np.average([group[part][name] for group in groups], weights=weights)) for name in names}
            for part, names in groups[0].items()
            if part != "queries"
        },
    }


def acqo(name: str, **settings: Any) -> None:
    """Runs a subcommand of ``acqo``."""
    words = [
        word
        for key, value in settings.items()
        for word in (f"--{key}", *([value] if not isinstance(value, list) else value))
    ]
    subprocess.run([sys.executable, "-m", "acqo_rl.cli", name, *map(str, words)], check=True, stdout=sys.stderr)


def lines(file: Path) -> Iterator[dict[str, Any]]:
    """The rows of a file of JSON lines."""
    return map(json.loads, file.read_text(encoding="utf-8").splitlines())


if __name__ == "__main__":
    command.run(main, sys.argv[1:])
