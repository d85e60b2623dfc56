"""Records the steps of a search and their durations."""

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Step:
    """One step: its name, its duration in milliseconds, and what it did or why it was skipped."""

    name: str
    ms: float
    detail: str = ""


class Trace:
    """The steps of one query, in the order in which they ended. Thread-safe."""

    def __init__(self, listener: Callable[[Step], None] | None = None) -> None:
        """Creates an empty trace.

        Args:
            listener: called with each step when it ends, in the thread that ran the step.
        """
        self._steps: list[Step] = []
        self._listener = listener

    @property
    def steps(self) -> tuple[Step, ...]:
        """All recorded steps."""
        return tuple(self._steps)

    def add(self, name: str, detail: str, ms: float = 0.0) -> None:
        """Adds a step with a known duration."""
        step = Step(name, ms, detail)
        self._steps.append(step)
        if self._listener:
            self._listener(step)

    @contextmanager
    def step(self, name: str, detail: str = "") -> Iterator[None]:
        """Times the body of the ``with`` statement and adds a step, even if the body raises an exception."""
        begin = time.perf_counter()
        try:
            yield
        finally:
            self.add(name, detail, 1000 * (time.perf_counter() - begin))


def ms_of(steps: Iterable[Step], name: str) -> float:
    """Total milliseconds of all steps with this name."""
    return sum(step.ms for step in steps if step.name == name)
