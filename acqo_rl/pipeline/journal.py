"""What happens while one question is answered: model calls, searches, steps and failures."""

import logging
import threading
from dataclasses import dataclass, field
from typing import Literal

from acqo_rl import time_limit
from acqo_rl.searching.result import Failure
from acqo_rl.searching.trace import Trace
from acqo_rl.text import normalised

_log = logging.getLogger(__name__)

Broken = Literal["search", "model", "time"]


@dataclass(slots=True)
class Budget:
    """A hard limit of model calls, some of which are reserved for essential steps. Thread-safe.

    Attributes:
        limit: maximum number of calls.
        reserved: calls that only essential steps may use.
        used: calls so far.
    """

    limit: int = 20
    reserved: int = 2
    used: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def use(self, calls: int = 1, *, essential: bool = False) -> bool:
        """Takes calls from the budget; returns False, and takes none, if not enough are left."""
        with self._lock:
            if self.used + calls + (0 if essential else self.reserved) > self.limit:
                return False
            self.used += calls
            if essential:
                self.reserved = max(0, self.reserved - calls)
            return True

    def settle(self, granted: int, made: int) -> None:
        """Replaces calls taken in advance by the number of calls actually made."""
        with self._lock:
            self.used += made - granted


@dataclass(slots=True)
class Journal:
    """The record of one question, which all steps write.

    Attributes:
        budget: budget of model calls.
        trace: all steps with their durations.
        skipped: skipped steps with reasons.
        failures: failed calls, after which the result is not cached, and unusable replies.
        broken: kinds of failures that a retry may avoid: a search, a model call, or the time limit.
        searched: normalised texts that were searched; includes the question if sub-queries were searched instead.
        cached: whether the result comes from the cache.
    """

    budget: Budget = field(default_factory=Budget)
    trace: Trace = field(default_factory=Trace)
    skipped: list[str] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    broken: set[Broken] = field(default_factory=set)
    searched: set[str] = field(default_factory=set)
    cached: bool = False

    def has_searched(self, text: str) -> bool:
        """Whether the text was searched, ignoring case and spacing."""
        return normalised(text) in self.searched

    def is_late(self, step: str) -> bool:
        """Whether the time limit has passed; if so, records the step as skipped."""
        if time_limit.current().seconds > 0:
            return False
        self.skip(step, "the time limit is reached")
        self.broken.add("time")
        return True

    def skip(self, step: str, reason: str) -> None:
        """Records a skipped step."""
        self.skipped.append(f"{step}: {reason}")
        self.trace.add(step, f"skipped: {reason}")

    def fail(self, failure: Failure, what: Broken | None = None) -> None:
        """Records a failed call (a retry may succeed), or an unusable reply if ``what`` is ``None``.

        The log contains only the step, because the reason may quote a reply.
        """
        if what:
            self.broken.add(what)
        _log.info("answer_step_fell_back", extra={"step": failure.step})
        self.failures.append(failure)
        self.trace.add(failure.step, f"failed: {failure.public}")
