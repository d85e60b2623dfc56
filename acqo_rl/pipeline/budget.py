"""The hard limit of model calls for one query."""

from __future__ import annotations

import threading

from acqo_rl.errors import ConfigError


class Budget:
    """Counts model calls; the last ones are reserved for what an answer cannot do without.

    Safe between threads: it never grants more than ``limit`` calls, and other steps never get the reserved ones.
    """

    def __init__(self, limit: int = 20, reserved: int = 2) -> None:
        """Nothing is used yet.

        Args:
            limit: calls in all.
            reserved: of these, calls that only essential steps get.

        Raises:
            ConfigError: a number is negative.
        """
        if limit < 0 or reserved < 0:
            raise ConfigError(f"A budget of {limit} calls, {reserved} of them reserved, was asked for; give 0 or more.")
        self.limit = limit
        self._reserved = reserved
        self._used = 0
        self._lock = threading.Lock()

    @property
    def used(self) -> int:
        """Calls granted so far."""
        return self._used

    def use(self, calls: int = 1, *, essential: bool = False) -> bool:
        """Takes so many calls, all or none; False where that would be too many."""
        with self._lock:
            kept = 0 if essential else self._reserved
            if self._used + calls + kept > self.limit:
                return False
            self._used += calls
            if essential:
                self._reserved = max(0, self._reserved - calls)
            return True

    def settle(self, granted: int, made: int) -> None:
        """Counts the calls that were made in place of those that were granted beforehand."""
        with self._lock:
            self._used += made - granted
