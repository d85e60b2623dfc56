"""A folder of evaluations: each reformulator is evaluated once, and a report compares as many as are asked for."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from acqo_rl.data.beir import write_atomic
from acqo_rl.errors import ConfigError
from acqo_rl.evaluation.compare import StandIn, compare, summarise
from acqo_rl.evaluation.report import write_report
from acqo_rl.evaluation.run import Evaluation
from acqo_rl.evaluation.store import read_per_query, write_per_query, write_trec

_SETTINGS = "settings.json"


class EvaluationFolder:
    """What was evaluated under one set of settings; nothing in it is ever overwritten by other results.

    ``NAME.trec`` and ``NAME.per_query.jsonl`` hold a reformulator's results, ``settings.json`` says what they were
    made with, and ``summary.json``, ``report.md``, ``report.html`` and ``plots/`` compare those of the last report.
    """

    def __init__(self, path: str | Path, settings: Mapping[str, Any]) -> None:
        """Opens a folder, or makes it.

        Args:
            path: a new or empty folder, or one with evaluations under the same settings.
            settings: all that the results of every reformulator depend on; values that JSON can hold.

        Raises:
            ConfigError: the folder holds evaluations under other settings, or something else.
        """
        self.path = Path(path)
        self.settings = _plain(settings)
        self._finished: dict[str, dict[str, Any]] = {}
        file = self.path / _SETTINGS
        if file.exists():
            self._read(file)
        elif self.path.exists() and (not self.path.is_dir() or any(self.path.iterdir())):
            raise ConfigError(f"{self.path} is not empty and holds no evaluation: choose another output folder.")
        else:
            self._write()

    def load(self, name: str, made_with: Mapping[str, Any]) -> Evaluation | None:
        """The finished evaluation of that name, ``None`` if there is none or a model's calls failed in it.

        Raises:
            ConfigError: it was made with something else.
        """
        finished = self._finished.get(name)
        if finished is None:
            return None
        if finished["made_with"] != _plain(made_with):
            raise ConfigError(
                f"{self.path} holds an evaluation of {name!r} made with something else "
                f"({_differences(finished['made_with'], _plain(made_with))}): "
                "give the new one another name or another output folder."
            )
        evaluation = read_per_query(self.path / f"{name}.per_query.jsonl", name, finished["unmeasured"])
        return None if failures(evaluation) else evaluation

    def save(self, evaluation: Evaluation, made_with: Mapping[str, Any]) -> None:
        """Writes an evaluation; it counts as finished once all of it is on disk."""
        write_trec(self.path / f"{evaluation.name}.trec", evaluation)
        write_per_query(self.path / f"{evaluation.name}.per_query.jsonl", evaluation)
        self._finished[evaluation.name] = {"made_with": _plain(made_with), "unmeasured": evaluation.unmeasured}
        self._write()

    def report(
        self, evaluations: Sequence[Evaluation], measures: Sequence[str], stand_ins: Sequence[StandIn] = ()
    ) -> None:
        """Writes the summary and the report; the first evaluation is the baseline.

        Args:
            evaluations: of the same queries.
            measures: the first one decides what helps.
            stand_ins: tests of non-inferiority, for the summary.
        """
        summary = {
            "settings": self.settings,
            "reformulators": {evaluation.name: asdict(summarise(evaluation)) for evaluation in evaluations},
            "comparisons": [asdict(compare(system, evaluations[0], measures)) for system in evaluations[1:]],
            "non_inferiority": [{**asdict(one), "sentence": str(one)} for one in stand_ins],
        }
        write_atomic(self.path / "summary.json", [json.dumps(summary, indent=2)])
        shown = {key: value if isinstance(value, str) else json.dumps(value) for key, value in self.settings.items()}
        made_with = {
            e.name: json.dumps(self._finished[e.name]["made_with"]) for e in evaluations if e.name in self._finished
        }
        write_report(self.path, evaluations, measures, shown | made_with)

    def _read(self, file: Path) -> None:
        try:
            content = json.loads(file.read_text(encoding="utf-8"))
            there, self._finished = content["settings"], content["finished"]
        except (ValueError, KeyError, TypeError) as error:
            raise ConfigError(f"{file} is damaged ({error}): choose another output folder.") from error
        if self._finished and there != self.settings:
            raise ConfigError(
                f"{self.path} holds evaluations under other settings ({_differences(there, self.settings)}): "
                "choose another output folder, or delete this one."
            )

    def _write(self) -> None:
        content = {"settings": self.settings, "finished": self._finished}
        write_atomic(self.path / _SETTINGS, [json.dumps(content, indent=2)])


def read_evaluations(path: str | Path) -> dict[str, Evaluation]:
    """Every finished evaluation of a folder by name, in the order they were made.

    Raises:
        ConfigError: the folder holds no evaluation.
    """
    file = Path(path) / _SETTINGS
    try:
        finished = json.loads(file.read_text(encoding="utf-8"))["finished"]
    except (OSError, ValueError, KeyError) as error:
        raise ConfigError(f"{path} holds no evaluation ({error}); run acqo evaluate.") from error
    return {
        name: read_per_query(Path(path) / f"{name}.per_query.jsonl", name, entry["unmeasured"])
        for name, entry in finished.items()
    }


def failures(evaluation: Evaluation) -> int:
    """Number of queries for which a call of a model failed: asked again, they may do better."""
    return sum(result.reformulation.failed_calls > 0 for result in evaluation.results)


def _plain(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings as they come back from JSON."""
    return dict(json.loads(json.dumps(settings)))


def _differences(there: Mapping[str, Any], wanted: Mapping[str, Any]) -> str:
    keys = [key for key in {**there, **wanted} if there.get(key) != wanted.get(key)]
    return "; ".join(f"{key}: there {there.get(key)!r}, wanted {wanted.get(key)!r}" for key in keys)
