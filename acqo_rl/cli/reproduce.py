r"""Replay a published result and say whether it still holds.

    acqo reproduce --list
    acqo reproduce demo --work outputs/results
    acqo reproduce conversations multihop --data BEIR_FOLDERS --work outputs/results
    acqo reproduce all --config configs/results.yaml --data BEIR_FOLDERS

configs/results.yaml lists each result: the command that makes it, the results that it needs first, and the figures
that were published. The commands go on where they were, so what --work already holds is not done twice. Status 0 says
that every figure holds, 1 that one does not, 2 that something could not be run.
"""

from __future__ import annotations

import argparse
import json
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from acqo_rl.cli import command
from acqo_rl.errors import AcqoError, ConfigError, DataError

ALL = "all"


@dataclass
class ReproduceConfig:
    """Settings of a replay; the results themselves come from the YAML file."""

    data: str = field(default="data", metadata={"help": "Folder that holds the BEIR folders of the data sets."})
    work: str = field(default="outputs/results", metadata={"help": "Folder of all that is made."})
    list: bool = field(default=False, metadata={"help": "Name the results and what they need; run nothing."})
    data_sets: dict = field(
        default_factory=dict, metadata={"help": "Folder in --data -> what it holds and under which licence."}
    )
    results: dict = field(default_factory=dict, metadata={"help": "Name -> command, needs, file, figures, tolerance."})


@dataclass(frozen=True)
class Result:
    """One entry of the list.

    Attributes:
        command: what makes it; ``{work}`` and the names of data sets in braces stand for folders. Empty where
            another result has made the file.
        needs: results above it in the list that come first.
        file: JSON file with the figures.
        figures: published values, nested as the file nests them. A list of the file is read as a mapping, by the
            ``step`` (of a log) or ``system`` (of a comparison) of its items.
        tolerance: largest difference to a published value.
    """

    command: str = ""
    needs: tuple[str, ...] = ()
    file: str = ""
    figures: Mapping[Any, Any] = field(default_factory=dict)
    tolerance: float = 0.0


@dataclass(frozen=True)
class Figure:
    """A published value and what a replay got; ``got`` is ``None`` where the file does not hold it."""

    result: str
    key: str
    expected: float
    tolerance: float
    got: float | None

    @property
    def holds(self) -> bool:
        """Whether the two differ by the tolerance at most."""
        return self.got is not None and abs(self.got - self.expected) <= self.tolerance + 1e-9


def make_parser() -> Any:
    """The parser of this command."""
    parser = command.make_parser(ReproduceConfig, description=__doc__)
    parser.add_argument("names", nargs="*", help=f"results to replay, or {ALL!r}")
    return parser


def main(config: ReproduceConfig, positional: argparse.Namespace) -> None:
    """Runs what the named results need, then compares."""
    data_sets, listed = listing(config)
    results = read_results(listed)
    if config.list:
        for name, result in results.items():
            print(f"{name:32} {sum(1 for _ in leaves(result.figures)):3} figures  {', '.join(result.needs)}".rstrip())
        return
    chain = order(positional.names, results)
    places = find_places(config, data_sets, [results[name] for name in chain])
    for number, name in enumerate(chain, start=1):
        if results[name].command:
            run(f"{number}/{len(chain)} {name}", results[name].command, places)
    named = results if positional.names == [ALL] else positional.names
    figures = [figure for name in named for figure in compare(name, results[name], places)]
    print(f"\n{format_figures(figures)}\n")
    missed = sum(not figure.holds for figure in figures)
    print(f"{len(figures) - missed} of {len(figures)} figures hold.")
    if missed:
        raise SystemExit(1)


def listing(config: ReproduceConfig) -> tuple[dict[str, str], dict[str, Any]]:
    """Data sets and results of the settings; the project's own where the settings list no results."""
    import yaml

    if config.results:
        return config.data_sets, config.results
    own = yaml.safe_load(command.find_config("results", "reproduce").read_text(encoding="utf-8"))
    return own["data_sets"], own["results"]


def read_results(entries: Mapping[str, Any]) -> dict[str, Result]:
    """The entries of the YAML file, in its order.

    Raises:
        ConfigError: an entry has an unknown key, or it needs one that does not stand above it.
    """
    results: dict[str, Result] = {}
    for name, entry in entries.items():
        try:
            result = Result(**{**entry, "needs": tuple(entry.get("needs", ()))})
            list(leaves(result.figures))
        except (TypeError, AttributeError, ValueError) as error:
            raise ConfigError(
                f"The result {name!r} wants command, needs, file, figures (numbers) and tolerance ({error})."
            ) from error
        if strange := [other for other in result.needs if other not in results]:
            raise ConfigError(f"The result {name!r} needs {', '.join(strange)}: write what it needs above it.")
        results[name] = result
    return results


def order(names: Sequence[str], results: dict[str, Result]) -> list[str]:
    """The named results and all that they need, each after what it needs.

    Raises:
        ConfigError: no name is given, or one is not listed.
    """
    if not names:
        raise ConfigError(f"Name what to replay, or {ALL}: --list names the {len(results)} results.")
    wanted = set(results) if list(names) == [ALL] else set(names)
    if unknown := sorted(wanted - results.keys()):
        alike = sorted({name for wrong in unknown for name in get_close_matches(wrong, results)})
        meant = f"; was {', '.join(alike)} meant?" if alike else "."
        raise ConfigError(f"There is no result {', '.join(unknown)}{meant} --list names all.")
    for name in reversed(results):
        if name in wanted:
            wanted.update(results[name].needs)
    return [name for name in results if name in wanted]


def find_places(config: ReproduceConfig, data_sets: Mapping[str, str], results: Sequence[Result]) -> dict[str, str]:
    """Placeholder -> folder.

    Raises:
        ConfigError: a command has a placeholder that is no data set.
        DataError: the folder of a data set is not there.
    """
    places = {"work": str(Path(config.work).resolve())}
    for name in dict.fromkeys(n for result in results for n in re.findall(r"\{(\w+)\}", result.command) if n != "work"):
        if name not in data_sets:
            raise ConfigError(f"The commands speak of {{{name}}}, which data_sets does not describe; add it.")
        folder = Path(config.data).resolve() / name
        if not (folder / "qrels").is_dir():
            raise DataError(
                f"{folder} is no BEIR folder. The project may not ship this set: {data_sets[name]}. "
                f"Get it under its licence, write it as a BEIR folder of that name, and give --data the one above it."
            )
        places[name] = str(folder)
    return places


def run(title: str, line: str, places: Mapping[str, str]) -> None:
    """One command, printed before it runs.

    Raises:
        AcqoError: it failed.
    """
    words = [word.format(**places) for word in shlex.split(line)]
    print(f"\n== {title}\n   {shlex.join(words)}", flush=True)
    program = {"acqo": [sys.executable, "-m", "acqo_rl.cli"], "python": [sys.executable]}.get(words[0], words[:1])
    ended = subprocess.run([*program, *words[1:]]).returncode
    if ended == 130:
        raise KeyboardInterrupt
    if ended != 0:
        raise AcqoError(
            f"{title} ended with status {ended}; its message stands above. What was made before it is kept."
        )


def compare(name: str, result: Result, places: Mapping[str, str]) -> list[Figure]:
    """Published values of one result beside those of its file.

    Raises:
        DataError: the file is missing or is no JSON.
    """
    if not result.figures:
        return []
    file = Path(result.file.format(**places))
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise DataError(f"{file} does not hold the figures of {name!r} ({error}).") from error
    return [
        Figure(name, ".".join(keys), expected, result.tolerance, value_at(content, keys))
        for keys, expected in leaves(result.figures)
    ]


def leaves(figures: Mapping[Any, Any], above: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], float]]:
    """Keys and value of every published figure."""
    for key, value in figures.items():
        if isinstance(value, Mapping):
            yield from leaves(value, (*above, str(key)))
        else:
            yield (*above, str(key)), float(value)


def value_at(content: Any, keys: Sequence[str]) -> float | None:
    """The value under nested keys, ``None`` where there is none."""
    for key in keys:
        if isinstance(content, list):
            items = [item for item in content if key in (str(item.get("step")), item.get("system"), item.get("name"))]
            content = {name: value for item in items for name, value in item.items()}
        else:
            content = content.get(key) if isinstance(content, dict) else None
    return content if isinstance(content, int | float) else None


def format_figures(figures: Sequence[Figure]) -> str:
    """A table for the terminal."""
    from acqo_rl.evaluation.tables import Table, aligned

    rows = tuple(
        (
            figure.result,
            figure.key,
            f"{figure.expected:.4g}",
            "-" if figure.got is None else f"{figure.got:.4g}",
            f"{figure.tolerance:g}",
            "yes" if figure.holds else "NO",
        )
        for figure in figures
    )
    return aligned(Table("", "", ("result", "figure", "expected", "got", "tolerance", "holds"), rows, labels=2))
