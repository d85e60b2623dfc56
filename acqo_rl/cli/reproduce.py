r"""Run published evaluations again and check that their figures are reproduced.

    acqo reproduce
    acqo reproduce demo --work outputs/results
    acqo reproduce conv_dstc11_dense --data BEIR_FOLDERS --work outputs/results
    acqo reproduce all --data BEIR_FOLDERS --record

Without a name, the results are listed. configs/results.yaml has the command of each, the results that it needs, and a
tolerance. figures.json beside it contains the published figures. Results that exist in --work are not computed again.
With --record, the figures of this run become the published ones; afterwards run docs/make_results.py, which writes the
tables of the documentation. Exit status: 0 if all figures are reproduced, 1 if one is not, 2 if a command failed.
"""

import json
import re
import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from acqo_rl.cli import command
from acqo_rl.cli.programs import run_program
from acqo_rl.errors import ConfigError, DataError, did_you_mean
from acqo_rl.evaluation.tables import Table, aligned
from acqo_rl.files import read_json, write_atomic
from acqo_rl.settings import setting

Figures = dict[str, dict[str, float | list[float]]]
"""System -> name of the figure -> value, or mean and bounds of a difference."""


@dataclass(frozen=True)
class Result:
    """A published result.

    Attributes:
        command: command that computes the result; ``{work}`` and names of data sets in braces are replaced by folders.
        needs: results that must be computed first.
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

    names: list[str] = setting("Results to compute, or 'all'.", [], positional=True)
    data: str = setting("Folder that contains the BEIR folders of the data sets.", "data")
    work: str = setting("Folder for everything that the commands write.", "outputs/results")
    record: bool = setting("Publish the figures of this run instead of checking them.", False)
    results: str = setting("YAML file of the results; by default that of the package.", "")


def main(config: ReproduceConfig) -> None:
    """Computes the named results and those that they need, then checks or records their figures."""
    file = Path(config.results or command.configs_folder() / "results.yaml")
    data_sets, results = read_results(file)
    figures_file = file.with_name("figures.json")
    if not config.names:
        for name, result in results.items():
            print(f"{name:32} {', '.join(result.needs)}".rstrip())
        return
    chain = order(config.names, results)
    places = find_places(config, data_sets, [results[name].command for name in chain])
    for number, name in enumerate(chain, start=1):
        run(f"{number}/{len(chain)} {name}", results[name].command, places)
    named = [name for name in chain if results[name].file and (name in config.names or config.names == ["all"])]
    found = {name: figures_of(Path(results[name].file.format(**places))) for name in named}
    figures = read_json(figures_file) if figures_file.is_file() else {}
    if config.record:
        write_figures(figures_file, figures | found)
        print(f"\nThe figures of {', '.join(named)} are in {figures_file}.")
        return
    for name in chain:
        if name not in named or name not in figures:
            print(f"{name}: computed, but no figures of it are published.")
    rows = [row for name in named for row in compare(name, figures.get(name, {}), found[name], results[name].tolerance)]
    header = ("result", "figure", "expected", "got", "tolerance", "holds")
    holding = sum(row[-1] == "yes" for row in rows)
    print(f"\n{aligned(Table('', '', header, tuple(rows), labels=2))}\n\n{holding} of {len(rows)} figures hold.")
    if holding < len(rows):
        raise SystemExit(1)


def read_results(file: Path) -> tuple[dict[str, str], dict[str, Result]]:
    """Reads a file of results: data set -> its contents and licence, and the results by name."""
    import yaml

    content = yaml.safe_load(file.read_text(encoding="utf-8"))
    return content["data_sets"], {name: Result(**entry) for name, entry in content["results"].items()}


def order(names: list[str], results: Mapping[str, Result]) -> list[str]:
    """The named results, each after all results that it needs.

    Raises:
        ConfigError: a name is not listed.
    """
    chain: dict[str, None] = {}

    def add(name: str) -> None:
        if name not in results:
            raise ConfigError(f"Unknown result {name!r}{did_you_mean([name], results)}. acqo reproduce lists all.")
        for needed in results[name].needs:
            add(needed)
        chain[name] = None

    for name in results if names == ["all"] else names:
        add(name)
    return list(chain)


def find_places(config: ReproduceConfig, data_sets: Mapping[str, str], commands: Sequence[str]) -> dict[str, str]:
    """Placeholder in the commands -> folder.

    Raises:
        DataError: the folder of a data set is missing.
    """
    places = {"work": str(Path(config.work).resolve())}
    for name in {name for one in commands for name in re.findall(r"\{(\w+)\}", one)} - {"work"}:
        folder = Path(config.data).resolve() / name
        if not (folder / "qrels").is_dir():
            raise DataError(
                f"{folder} is not a BEIR folder. The project cannot ship this data set: {data_sets[name]}. Obtain it "
                "under its licence, write it as a BEIR folder with this name, and set --data to the parent folder."
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
        summary = read_json(file)
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
        for part, of in (("comparisons", ""), ("comparisons of fusions", " of the fusion")):
            for comparison in summary.get(part, []):
                for measure, d in comparison["differences"].items():
                    bounds = [round(d[key], 4) for key in ("mean", "low", "high")]
                    found[comparison["system"]][f"{measure}, difference{of}"] = bounds
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
            pair: tuple[Any, Any] = (value, found.get(system, {}).get(key))
            expected, got = (one[0] if isinstance(one, list) else one for one in pair)
            holds = got is not None and abs(got - expected) <= tolerance + 1e-9
            values = (f"{expected:.4g}", "-" if got is None else f"{got:.4g}", f"{tolerance:g}")
            rows.append((name, f"{system}: {key}", *values, "yes" if holds else "NO"))
    return rows


def write_figures(file: Path, figures: Mapping[str, Figures]) -> None:
    """Writes the published figures, one line per system and result."""
    results = []
    for name, systems in sorted(figures.items()):
        rows = ",\n".join(f"    {json.dumps(system)}: {json.dumps(values)}" for system, values in systems.items())
        results.append(f"  {json.dumps(name)}: {{\n{rows}\n  }}")
    write_atomic(file, ["{\n" + ",\n".join(results) + "\n}"])
