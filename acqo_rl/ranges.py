"""Checks numeric settings against their ranges before any work begins."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping

from acqo_rl.errors import ConfigError

FINITE = sys.float_info.max
ABOVE_0 = math.ulp(0.0)


PORTS = {"port": (0, 65_535)}
"""Range of the port of a server."""


def check_ranges(settings: object, ranges: Mapping[str, tuple[float, float]]) -> None:
    """Rejects a number outside its range, and NaN.

    Args:
        settings: a dataclass instance; missing settings and settings that are ``None`` are skipped.
        ranges: name -> (minimum, maximum), both inclusive. ``ABOVE_0`` as minimum excludes 0; ``FINITE`` as maximum
            excludes only infinity.

    Raises:
        ConfigError: a setting is out of range; the message names the setting, its value and the range.
    """
    for name, (least, most) in ranges.items():
        value = getattr(settings, name, None)
        if value is not None and not least <= value <= most:
            lower = "above 0" if least == ABOVE_0 else f"at least {least:g}"
            upper = "" if most >= FINITE else f" and at most {most:g}"
            number = "" if math.isfinite(value) else "a finite number, "
            raise ConfigError(f"{name} is {value}; it must be {number}{lower}{upper}.")
