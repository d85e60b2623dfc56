"""What happened on the way, and how long each step took."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
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

    def __init__(self, listener: Callable[[Step], None] | None = None) -> None:
        """No step yet.

        Args:
            listener: is told of each step as it ends, in the thread that ends it.
        """
        self._steps: list[Step] = []
        self._listener = listener

    @property
    def steps(self) -> tuple[Step, ...]:
        """All steps so far."""
        return tuple(self._steps)

    def add(self, name: str, detail: str, ms: float = 0.0) -> None:
        """A step that took no time, or whose milliseconds are known."""
        step = Step(name, ms, detail)
        self._steps.append(step)
        if self._listener:
            self._listener(step)

    @contextmanager
    def step(self, name: str, detail: str = "") -> Iterator[None]:
        """Times what is done inside, also where it fails."""
        begin = time.perf_counter()
        try:
            yield
        finally:
            self.add(name, detail, 1000 * (time.perf_counter() - begin))


def ms_of(steps: Iterable[Step], name: str) -> float:
    """Milliseconds of all steps of one name."""
    return sum(step.ms for step in steps if step.name == name)
