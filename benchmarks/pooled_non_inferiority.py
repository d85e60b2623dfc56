r"""Test of non-inferiority over the queries of several evaluations, such as one per data set.

    python benchmarks/pooled_non_inferiority.py --evaluations evaluations/dstc11 evaluations/infoseek \
        --baseline float32 --system bf16 --margin 0.005

Each evaluation is the output folder of acqo evaluate with both reformulators, one index and one fusion. The test is the
one of acqo evaluate --non_inferiority_margin. One row per evaluation comes first.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from acqo_rl.cli import command
from acqo_rl.errors import DataError


@dataclass
class PoolConfig:
    """Settings of the test."""

    evaluations: list[str] = field(metadata={"help": "Output folders of acqo evaluate."})
    baseline: str = field(metadata={"help": "Name of the reformulator that may be replaced."})
    system: str = field(metadata={"help": "Name of the reformulator that may replace it."})
    measure: str = field(default="nDCG@10", metadata={"help": "Measure of the test."})
    margin: float = field(default=0.005, metadata={"help": "Largest accepted loss of the mean."})


def make_parser() -> Any:
    """The parser of this script."""
    return command.make_parser(PoolConfig, description=__doc__)


def main(config: PoolConfig) -> None:
    """Prints one row per evaluation and one for all of them."""
    from acqo_rl.evaluation.significance import non_inferiority

    values = [read_values(Path(folder), config) for folder in config.evaluations]
    pooled = tuple([value for one in values for value in one[side]] for side in (0, 1))
    print("| evaluation | queries | mean difference | above, with 95 % confidence | loss excluded |")
    print("|---| ---: | ---: | ---: |---|")
    names = [Path(folder).name for folder in config.evaluations]
    for name, (before, after) in zip([*names, "all"], [*values, pooled], strict=True):
        test = non_inferiority(before, after, config.margin)
        print(f"| {name} | {test.queries} | {test.mean:+.4f} | {test.bound:+.4f} | {'yes' if test.shown else 'no'} |")


def read_values(folder: Path, config: PoolConfig) -> tuple[list[float], list[float]]:
    """The measure of every query with the baseline and with the system.

    Raises:
        DataError: the evaluation lacks one of the two, or they were evaluated on different queries.
    """
    from acqo_rl.evaluation.files import read_results
    from acqo_rl.evaluation.summary import changes_of

    found = read_results(folder)
    if missing := {config.baseline, config.system} - found.keys():
        raise DataError(f"{folder} has no results of {', '.join(missing)}, but of {', '.join(found)}; evaluate both.")
    changes = changes_of(found[config.system], found[config.baseline], config.measure)
    before, after = ([getattr(c, side).measures[config.measure] for c in changes] for side in ("before", "after"))
    return before, after


if __name__ == "__main__":
    command.run(main, make_parser(), sys.argv[1:])
