"""Settings that are numbers, held to their ranges before any work begins."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping

from acqo_rl.errors import ConfigError

FINITE = sys.float_info.max
ABOVE_0 = math.ulp(0.0)


def check_ranges(settings: object, ranges: Mapping[str, tuple[float, float]]) -> None:
    """Refuses a number outside its range, and one that is none (NaN).

    Args:
        settings: an instance of a dataclass; settings that it lacks, or that are ``None``, are not looked at.
        ranges: name -> least and most; ``ABOVE_0`` leaves 0 out, ``FINITE`` only infinity.

    Raises:
        ConfigError: names the setting, its value and what is wanted.
    """
    for name, (least, most) in ranges.items():
        value = getattr(settings, name, None)
        if value is not None and not least <= value <= most:
            lower = "above 0" if least == ABOVE_0 else f"at least {least:g}"
            upper = "" if most >= FINITE else f" and at most {most:g}"
            number = "" if math.isfinite(value) else "a finite number, "
            raise ConfigError(f"{name} is {value}; it must be {number}{lower}{upper}.")
