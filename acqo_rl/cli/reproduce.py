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

import json
import re
import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from acqo_rl.cli import command
from acqo_rl.cli.fields import setting
from acqo_rl.cli.programs import run_program
from acqo_rl.errors import ConfigError, DataError, did_you_mean

ALL = "all"
Names = list[str]

Figures = dict[str, dict[str, float | list[float]]]
"""System -> name of the figure -> value, or mean and bounds of a difference."""


@dataclass(frozen=True)
class Result:
    """A published result.

    Attributes:
        command: command that computes the result; ``{work}`` and names of data sets in braces are replaced by folders.
        needs: results that must be computed first; they are listed above it.
        file: summary of an evaluation, which contains the figures; empty if the result has no published figures.
        tolerance: maximum difference from a published figure, inclusive.
    """

    command: str
    needs: list[str] = field(default_factory=list)
    file: str = ""
    tolerance: float = 0.0


@dataclass
class ReproduceConfig:
    """Settings of the command."""

    names: Names = setting(f"Results to compute, or {ALL!r}.", [], positional=True)
    data: str = setting("Folder that contains the BEIR folders of the data sets.", "data")
    work: str = setting("Folder for everything that the commands write.", "outputs/results")
    list: bool = setting("List the results and their requirements, without running anything.", False)
    record: bool = setting("Publish the figures of this run instead of checking them.", False)
    figures: str = setting("JSON file of published figures; by default the one of the package.", "")
    data_sets: dict[str, str] = setting("Folder in --data -> its contents and licence; set by --config.", {})
    results: dict[str, Result] = setting(
        "Name -> command, needs, file, tolerance; by default the results of the package.", {}
    )


def main(config: ReproduceConfig) -> None:
    """Computes the named results and those that they need, then checks or records their figures."""
    if not config.results:
        published = command.parse(main, ["--config", str(command.configs_folder() / "results.yaml")])
        config.results, config.data_sets = published.results, published.data_sets
    results = config.results
    if config.list:
        for name, result in results.items():
            print(f"{name:32} {', '.join(result.needs)}".rstrip())
        return
    chain = order(config.names, results)
    places = find_places(config, chain)
    for number, name in enumerate(chain, start=1):
        run(f"{number}/{len(chain)} {name}", results[name].command, places)
    named = [name for name in chain if results[name].file and (name in config.names or config.names == [ALL])]
    found = {name: figures_of(Path(results[name].file.format(**places))) for name in named}
    figures_file = Path(config.figures) if config.figures else command.configs_folder() / "figures.json"
    figures = json.loads(figures_file.read_text(encoding="utf-8")) if figures_file.is_file() else {}
    if config.record:
        write_figures(figures_file, figures | found)
        print(f"\nThe figures of {', '.join(named)} are in {figures_file}.")
        return
    for name in chain:
        if name not in named or name not in figures:
            print(f"{name}: computed, but no figures of it are published.")
    check([row for name in named for row in compare(name, figures.get(name, {}), found[name], results[name].tolerance)])


def order(names: Sequence[str], results: Mapping[str, Result]) -> list[str]:
    """The named results and all results that they need, in the order of computation.

    Raises:
        ConfigError: no name is given, one is not listed, or a result needs one that is not listed above it.
    """
    known = list(results)
    for place, name in enumerate(known):
        if late := set(results[name].needs) - set(known[:place]):
            raise ConfigError(f"The result {name!r} needs {', '.join(sorted(late))}; list what it needs above it.")
    wanted = set(known) if list(names) == [ALL] else set(names)
    if not wanted:
        raise ConfigError(f"No result is named; give names or {ALL}. --list shows the {len(known)} results.")
    if unknown := sorted(wanted - set(known)):
        raise ConfigError(f"Unknown results: {', '.join(unknown)}{did_you_mean(unknown, known)}. --list shows all.")
    for name in reversed(known):
        if name in wanted:
            wanted.update(results[name].needs)
    return [name for name in known if name in wanted]


def find_places(config: ReproduceConfig, chain: Sequence[str]) -> dict[str, str]:
    """Placeholder -> folder.

    Raises:
        ConfigError: a command has a placeholder that is not a data set.
        DataError: the folder of a data set is missing.
    """
    places = {"work": str(Path(config.work).resolve())}
    named = {name for one in chain for name in re.findall(r"\{(\w+)\}", config.results[one].command)}
    for name in sorted(named - {"work"}):
        if name not in config.data_sets:
            raise ConfigError(f"A command contains {{{name}}}, but data_sets has no such data set; add it.")
        folder = Path(config.data).resolve() / name
        if not (folder / "qrels").is_dir():
            raise DataError(
                f"{folder} is not a BEIR folder. The project cannot ship this data set: {config.data_sets[name]}. "
                "Obtain it under its licence, write it as a BEIR folder with this name, and set --data to the parent "
                "folder."
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
    run_program(title, [*program, *words[1:]])


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
                "calls": round(system["overall"]["quantities"]["calls"], 4),
                **{f"{first}, {k}": round(kind["measures"][first], 4) for k, kind in kinds.items()},
            }
        for comparison in summary["comparisons"]:
            for measure, d in comparison["differences"].items():
                bounds = [round(d[key], 4) for key in ("mean", "low", "high")]
                found[comparison["system"]][f"{measure}, difference"] = bounds
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise DataError(f"{file} is not the summary of an evaluation ({error!r}).") from error
    return found


def compare(name: str, published: Figures, found: Figures, tolerance: float) -> list[tuple[str, ...]]:
    """A row for each published figure of a result: both values, the tolerance, and whether they agree.

    Differences between systems are compared by their means.
    """
    rows: list[tuple[str, ...]] = []
    for system, figures in published.items():
        for key, value in figures.items():
            expected, got = mean_of(value), mean_of(found.get(system, {}).get(key))
            holds = got is not None and abs(got - expected) <= tolerance + 1e-9
            shown = "-" if got is None else f"{got:.4g}"
            row = (name, f"{system}: {key}", f"{expected:.4g}", shown, f"{tolerance:g}", "yes" if holds else "NO")
            rows.append(row)
    return rows


def mean_of(value: Any) -> Any:
    """A value, or the mean of a difference."""
    return value[0] if isinstance(value, list) else value


def check(rows: Sequence[tuple[str, ...]]) -> None:
    """Prints the rows of :func:`compare`; exits with status 1 if a figure does not hold."""
    from acqo_rl.evaluation.tables import Table, aligned

    header = ("result", "figure", "expected", "got", "tolerance", "holds")
    holding = sum(row[-1] == "yes" for row in rows)
    print(f"\n{aligned(Table('', '', header, tuple(rows), labels=2))}\n\n{holding} of {len(rows)} figures hold.")
    if holding < len(rows):
        raise SystemExit(1)


def write_figures(file: Path, figures: Mapping[str, Figures]) -> None:
    """Writes the published figures, one line per system and result."""
    from acqo_rl.files import write_atomic

    results = []
    for name, systems in sorted(figures.items()):
        rows = ",\n".join(f"    {json.dumps(system)}: {json.dumps(values)}" for system, values in systems.items())
        results.append(f"  {json.dumps(name)}: {{\n{rows}\n  }}")
    write_atomic(file, ["{\n" + ",\n".join(results) + "\n}"])
