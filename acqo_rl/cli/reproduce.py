r"""Run published evaluations again and check that their figures are reproduced.

    acqo reproduce --list
    acqo reproduce demo --work outputs/results
    acqo reproduce conv_dstc11_dense --data BEIR_FOLDERS --work outputs/results
    acqo reproduce --config configs/results.yaml all --data BEIR_FOLDERS --record

configs/results.yaml lists the results: the command of each, the results that it needs, and a tolerance.
configs/figures.json contains the published figures. Results that exist in --work are not computed again. With --record,
the figures of this run become the published ones; afterwards run docs/make_results.py, which writes the tables of the
documentation. Exit status: 0 if all figures are reproduced, 1 if one is not, 2 if a command failed.
"""

from __future__ import annotations

import argparse
import json
import re
import shlex
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from acqo_rl.cli import command
from acqo_rl.cli.fields import setting
from acqo_rl.errors import AcqoError, ConfigError, DataError, did_you_mean

ALL = "all"

Figures = dict[str, dict[str, float | list[float]]]
"""System -> name of the figure -> value, or mean and bounds of a difference."""


@dataclass
class ReproduceConfig:
    """Settings of the command."""

    data: str = setting("Folder that contains the BEIR folders of the data sets.", "data")
    work: str = setting("Folder for everything that the commands write.", "outputs/results")
    list: bool = setting("List the results and their requirements, without running anything.", False)
    record: bool = setting("Publish the figures of this run instead of checking them.", False)
    figures: str | None = setting("JSON file of published figures; by default the one of the package.", None)
    data_sets: dict = setting("Folder in --data -> its contents and licence; set by --config.", {})
    results: dict = setting("Name -> command, needs, file, tolerance; by default the results of the package.", {})


@dataclass(frozen=True)
class Result:
    """A published result.

    Attributes:
        command: command that computes the result; ``{work}`` and names of data sets in braces are replaced by folders.
        needs: results that must be computed first; they are listed above it.
        file: summary of an evaluation, which contains the figures; empty if the result has no published figures.
        tolerance: maximum difference from a published figure.
    """

    command: str
    needs: tuple[str, ...] = ()
    file: str = ""
    tolerance: float = 0.0


@dataclass(frozen=True)
class Figure:
    """A published value, and the value of the replay (``None`` if it has none)."""

    result: str
    key: str
    expected: float
    tolerance: float
    got: float | None

    @property
    def holds(self) -> bool:
        """Whether the values differ by at most the tolerance."""
        return self.got is not None and abs(self.got - self.expected) <= self.tolerance + 1e-9


def make_parser() -> Any:
    """The parser of this command."""
    parser = command.make_parser(ReproduceConfig, description=__doc__)
    parser.add_argument("names", nargs="*", help=f"results to compute, or {ALL!r}")
    return parser


def main(config: ReproduceConfig, positional: argparse.Namespace) -> None:
    """Computes the named results and those that they need, then checks or records their figures."""
    data_sets, listed = listing(config)
    results = read_results(listed)
    if config.list:
        for name, result in results.items():
            print(f"{name:32} {', '.join(result.needs)}".rstrip())
        return
    chain = order(positional.names, results)
    figures_file = Path(config.figures) if config.figures else command.configs_folder() / "figures.json"
    published = read_figures(figures_file)
    named = [name for name in (results if positional.names == [ALL] else positional.names) if results[name].file]
    unpublished = [name for name in named if name not in published]
    if unpublished and not config.record:
        print(f"Not checked, because {figures_file} has no figures of them (--record): {', '.join(unpublished)}.")
    places = find_places(config, data_sets, [results[name] for name in chain])
    for number, name in enumerate(chain, start=1):
        run(f"{number}/{len(chain)} {name}", results[name].command, places)
    if not named:
        print(f"\n{', '.join(chain)}: done; there are no figures to check.")
        return
    found = {name: figures_of(Path(results[name].file.format(**places))) for name in named}
    if config.record:
        write_figures(figures_file, published | found)
        print(f"\nThe figures of {', '.join(named)} are in {figures_file}.")
        return
    checked = [name for name in named if name in published]
    figures = [f for name in checked for f in compare(name, published[name], found[name], results[name].tolerance)]
    print(f"\n{format_figures(figures)}\n")
    missed = sum(not figure.holds for figure in figures)
    print(f"{len(figures) - missed} of {len(figures)} figures hold.")
    if missed:
        raise SystemExit(1)


def listing(config: ReproduceConfig) -> tuple[dict[str, str], dict[str, Any]]:
    """The data sets and results in the settings, by default those of the package."""
    import yaml

    if config.results:
        return config.data_sets, config.results
    own = yaml.safe_load(command.find_config("results", "reproduce").read_text(encoding="utf-8"))
    return own["data_sets"], own["results"]


def read_results(entries: Mapping[str, Any]) -> dict[str, Result]:
    """Reads the entries of the YAML file, in file order.

    Raises:
        ConfigError: an entry has an unknown key, or needs a result that is not listed above it.
    """
    results: dict[str, Result] = {}
    for name, entry in entries.items():
        try:
            result = Result(**{**entry, "needs": tuple(entry.get("needs", ()))})
        except (TypeError, AttributeError) as error:
            raise ConfigError(
                f"The result {name!r} must have the keys command, needs, file and tolerance ({error})."
            ) from error
        if unknown := [other for other in result.needs if other not in results]:
            raise ConfigError(f"The result {name!r} needs {', '.join(unknown)}; list what it needs above it.")
        results[name] = result
    return results


def order(names: Sequence[str], results: dict[str, Result]) -> list[str]:
    """The named results and all results that they need, in the order of computation.

    Raises:
        ConfigError: no name is given, or one is not listed.
    """
    if not names:
        raise ConfigError(f"No result is named; give names or {ALL}. --list shows the {len(results)} results.")
    wanted = set(results) if list(names) == [ALL] else set(names)
    if unknown := sorted(wanted - results.keys()):
        hint = did_you_mean(unknown, results)
        raise ConfigError(f"Unknown results: {', '.join(unknown)}{hint}. --list shows all results.")
    for name in reversed(results):
        if name in wanted:
            wanted.update(results[name].needs)
    return [name for name in results if name in wanted]


def find_places(config: ReproduceConfig, data_sets: Mapping[str, str], results: Sequence[Result]) -> dict[str, str]:
    """Placeholder -> folder.

    Raises:
        ConfigError: a command has a placeholder that is not a data set.
        DataError: the folder of a data set is missing.
    """
    places = {"work": str(Path(config.work).resolve())}
    for name in dict.fromkeys(n for result in results for n in re.findall(r"\{(\w+)\}", result.command) if n != "work"):
        if name not in data_sets:
            raise ConfigError(f"A command contains {{{name}}}, but data_sets has no such data set; add it.")
        folder = Path(config.data).resolve() / name
        if not (folder / "qrels").is_dir():
            raise DataError(
                f"{folder} is not a BEIR folder. The project cannot ship this data set: {data_sets[name]}. Obtain it "
                f"under its licence, write it as a BEIR folder with this name, and set --data to the parent folder."
            )
        places[name] = str(folder)
    return places


def run(title: str, line: str, places: Mapping[str, str]) -> None:
    """Prints and runs one command.

    Raises:
        AcqoError: the command failed.
    """
    words = [word.format(**places) for word in shlex.split(line)]
    print(f"\n== {title}\n   {shlex.join(words)}", flush=True)
    program = {"acqo": [sys.executable, "-m", "acqo_rl.cli"], "python": [sys.executable]}.get(words[0], words[:1])
    ended = subprocess.run([*program, *words[1:]]).returncode
    if ended == 130:
        raise KeyboardInterrupt
    if ended != 0:
        raise AcqoError(f"{title} failed with status {ended}; see its message above. Earlier results are kept.")


def figures_of(file: Path) -> Figures:
    """Reads the figures of an evaluation: measures, searches and differences to the first system, with 4 decimals.

    Raises:
        DataError: the file is missing or is not the summary of an evaluation.
    """
    try:
        summary = json.loads(file.read_text(encoding="utf-8"))
        found: Figures = {}
        for system in summary["systems"]:
            measures = system["overall"]["measures"]
            first = next(iter(measures))
            kinds = system["by_kind"] if summary["settings"].get("kinds") != "rules" else {}
            found[system["name"]] = {
                **{measure: round(value, 4) for measure, value in measures.items()},
                "searches": round(system["overall"]["quantities"]["texts"], 4),
                "tokens": round(system["overall"]["quantities"]["tokens"], 4),
                **{f"{first}, {k}": round(kind["measures"][first], 4) for k, kind in kinds.items()},
            }
        for comparison in summary["comparisons"]:
            for measure, d in comparison["differences"].items():
                bounds = [round(d[key], 4) for key in ("mean", "low", "high")]
                found[comparison["system"]][f"{measure}, difference"] = bounds
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise DataError(f"{file} is not the summary of an evaluation ({error!r}).") from error
    return found


def compare(name: str, published: Figures, found: Figures, tolerance: float) -> list[Figure]:
    """Pairs the published figures of a result with those of the replay; differences are compared by their means."""
    return [
        Figure(name, f"{system}: {key}", _mean_of(value), tolerance, _mean_of(found.get(system, {}).get(key)))
        for system, figures in published.items()
        for key, value in figures.items()
    ]


def _mean_of(value: Any) -> Any:
    return value[0] if isinstance(value, list) else value


def read_figures(file: Path) -> dict[str, Figures]:
    """Reads the published figures by result; empty if the file does not exist.

    Raises:
        DataError: the file is not JSON.
    """
    if not file.is_file():
        return {}
    try:
        return dict(json.loads(file.read_text(encoding="utf-8")))
    except ValueError as error:
        raise DataError(f"{file} is not a JSON object of figures ({error}).") from error


def write_figures(file: Path, figures: Mapping[str, Figures]) -> None:
    """Writes the published figures, one line per system and result."""
    from acqo_rl.files import write_atomic

    results = []
    for name, systems in sorted(figures.items()):
        rows = ",\n".join(f"    {json.dumps(system)}: {json.dumps(values)}" for system, values in systems.items())
        results.append(f"  {json.dumps(name)}: {{\n{rows}\n  }}")
    write_atomic(file, ["{\n" + ",\n".join(results) + "\n}"])


def format_figures(figures: Sequence[Figure]) -> str:
    """Formats the figures as a table."""
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
