"""Reads API keys from the environment."""

from __future__ import annotations

import os

from acqo_rl.addresses import hide
from acqo_rl.errors import ConfigError


def key_in(variable: str) -> str | None:
    """The API key in an environment variable, without white space around it; ``None`` if there is none.

    It is masked in all later messages.

    Raises:
        ConfigError: it contains a character that cannot be sent in a header.
    """
    key = os.environ.get(variable, "").strip()
    odd = next((c for c in key if not (c.isascii() and c.isprintable())), None)
    if odd is not None:
        raise ConfigError(
            f"{variable} contains the character {odd!r}, which is not possible in an API key; copy the key again."
        )
    hide(key)
    return key or None
