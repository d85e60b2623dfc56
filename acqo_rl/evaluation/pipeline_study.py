"""A study of the pipeline: every system on every query, several queries at once, and no query twice."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict
from pathlib import Path

from acqo_rl.data.beir import write_atomic
from acqo_rl.errors import DataError
from acqo_rl.evaluation.pipeline_systems import Outcome, Parts, run_system
from acqo_rl.measures import judged
from acqo_rl.types import Qrels, Query


class OutcomeFile:
    """Outcomes on disk, one JSON object a line, each written as soon as it is there.

    A process that is killed loses the queries it was at and nothing else. Where a model call gave no text, the
    outcome is reported like any other one, and measured again by the next process that opens the file.
    """

    def __init__(self, path: Path) -> None:
        """Reads what is there.

        Raises:
            DataError: a line is no outcome of this version.
        """
        self._path = path
        self._outcomes: dict[tuple[str, str], Outcome] = {}
        whole = path.read_bytes().split(b"\n")[:-1] if path.exists() else []  # what follows was not written whole
        for number, line in enumerate(whole, start=1):
            try:
                outcome = _outcome(json.loads(line))
            except (ValueError, TypeError) as error:
                raise DataError(f"{path}, line {number}: no outcome ({error}); give another output folder.") from error
            if not outcome.errors:
                self._outcomes[outcome.system, outcome.query_id] = outcome
        write_atomic(path, (_line(outcome) for outcome in self._outcomes.values()))

    def __getitem__(self, key: tuple[str, str]) -> Outcome:
        """The outcome of a system and query id."""
        return self._outcomes[key]

    def __contains__(self, key: tuple[str, str]) -> bool:
        return key in self._outcomes

    def add(self, outcome: Outcome) -> None:
        """Keeps an outcome, in memory and on disk."""
        with self._path.open("ab") as file:
            file.write(f"{_line(outcome)}\n".encode())
            file.flush()
            os.fsync(file.fileno())
        self._outcomes[outcome.system, outcome.query_id] = outcome


def draw_queries(queries: Sequence[Query], qrels: Qrels, limit: int | None, seed: int) -> list[Query]:
    """At most ``limit`` of the queries that have a relevant document, drawn by the seed, in their own order.

    Data sets are often sorted by origin, so that the first queries would speak for one origin alone.
    """
    relevant = judged(qrels)
    measured = [query for query in queries if query.id in relevant]
    if limit is None or limit >= len(measured):
        return measured
    return [measured[i] for i in sorted(random.Random(seed).sample(range(len(measured)), limit))]


def measure(names: Sequence[str], queries: Sequence[Query], parts: Parts, kept: OutcomeFile, concurrency: int) -> None:
    """Adds the outcomes that are missing, system after system.

    Args:
        names: of the systems.
        queries: of the study.
        parts: model, retriever and policy that can be called by several threads.
        kept: what was measured before is not measured again.
        concurrency: queries at once.

    Raises:
        Exception: whatever a failing retriever raises; what was measured by then is kept.
    """
    from tqdm import tqdm

    for name in names:
        missing = [query for query in queries if (name, query.id) not in kept]
        done = len(queries) - len(missing)
        with (
            ThreadPoolExecutor(concurrency) as pool,
            tqdm(total=len(queries), initial=done, desc=name, unit="query") as bar,
        ):
            waiting = [pool.submit(run_system, name, parts, query) for query in missing]
            try:
                for outcome in as_completed(waiting):
                    kept.add(outcome.result())
                    bar.update()
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise


def _line(outcome: Outcome) -> str:
    return json.dumps(asdict(outcome))


def _outcome(row: Mapping[str, object]) -> Outcome:
    return Outcome(**{key: tuple(value) if isinstance(value, list) else value for key, value in row.items()})  # type: ignore[arg-type]
