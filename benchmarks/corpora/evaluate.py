r"""Compares reformulators on the written questions of corpora nobody trained on, by kind of question.

    python benchmarks/corpora/build.py --output_dir outputs/corpora
    python benchmarks/corpora/evaluate.py --corpora outputs/corpora --only crawl_game scrapy money \
        --reformulator raw turns rules auto0=auto auto=trained:four_sets --output_dir outputs/strangers

Each corpus has indexes of its own. The table has one row per index, kind of question and reformulator: the mean nDCG@10
over the questions of all corpora, the difference to the raw query with its 95 % interval, and the share of questions
that are worse than with the raw query. The same command continues an interrupted run.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from acqo_rl.cli import command
from acqo_rl.evaluation.significance import paired_bootstrap
from acqo_rl.settings import setting

WORSE = 0.001
"""Loss of nDCG@10 from which a question counts as worse."""


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


def main(config: StrangersConfig) -> None:
    """Builds indexes, evaluates, and prints the table."""
    rows: dict[tuple[str, str, str], list[float]] = defaultdict(list)
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
            output=evaluation,
        )
        groups = {row["_id"]: row["metadata"][config.group_by] for row in lines(data / "queries.jsonl")}
        for row in lines(evaluation / "queries.jsonl"):
            for group in (groups[row["reformulation"]["query"]["id"]], "all"):
                reformulator, *others = row["system"].split(" / ")  # a single index and fusion are not named
                index = others[0] if others else config.index[0]
                rows[index, group, reformulator].append(row["measures"]["nDCG@10"])
    print("| index | questions | reformulator | nDCG@10 | difference to raw | worse than raw |\n" + "|---" * 6 + "|")
    for (index, group, reformulator), values in sorted(rows.items()):
        gain = np.array(values) - np.array(rows[index, group, "raw"])
        mean = paired_bootstrap(gain)
        print(
            f"| {index} | {group} ({len(values)}) | {reformulator} | {np.mean(values):.3f} | "
            f"{mean.mean:+.3f} [{mean.low:+.3f}, {mean.high:+.3f}] | {np.mean(gain < -WORSE):.1%} |"
        )


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
