"""The budget of model calls for one query."""

from __future__ import annotations

import threading

from acqo_rl.errors import ConfigError


class Budget:
    """A hard limit of model calls, some of which are reserved for essential steps. Thread-safe."""

    def __init__(self, limit: int = 20, reserved: int = 2) -> None:
        """Creates an unused budget.

        Args:
            limit: total number of calls.
            reserved: number of these calls that only essential steps may use.

        Raises:
            ConfigError: a number is negative.
        """
        if limit < 0 or reserved < 0:
            raise ConfigError(f"The budget is {limit} calls, {reserved} of them reserved; neither may be negative.")
        self.limit = limit
        self._reserved = reserved
        self._used = 0
        self._lock = threading.Lock()

    @property
    def used(self) -> int:
        """Number of calls taken so far."""
        return self._used

    def use(self, calls: int = 1, *, essential: bool = False) -> bool:
        """Takes calls from the budget; returns False, and takes none, if not enough are left."""
        with self._lock:
            kept = 0 if essential else self._reserved
            if self._used + calls + kept > self.limit:
                return False
            self._used += calls
            if essential:
                self._reserved = max(0, self._reserved - calls)
            return True

    def settle(self, granted: int, made: int) -> None:
        """Replaces calls taken in advance by the number of calls actually made."""
        with self._lock:
            self._used += made - granted
