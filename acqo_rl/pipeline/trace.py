"""What happened on the way, and how long each step took."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Step:
    """One step: its name, its milliseconds, and what it did or why it was skipped."""

    name: str
    ms: float
    detail: str = ""


class Trace:
    """The steps of one query in the order they ended; several threads may add to it."""

    def __init__(self) -> None:
        self._steps: list[Step] = []

    @property
    def steps(self) -> tuple[Step, ...]:
        """All steps so far."""
        return tuple(self._steps)

    def add(self, name: str, detail: str, ms: float = 0.0) -> None:
        """A step that took no time, or whose milliseconds are known."""
        self._steps.append(Step(name, ms, detail))

    @contextmanager
    def step(self, name: str, detail: str = "") -> Iterator[None]:
        """Times what is done inside, also where it fails."""
        begin = time.perf_counter()
        try:
            yield
        finally:
            self._steps.append(Step(name, 1000 * (time.perf_counter() - begin), detail))
