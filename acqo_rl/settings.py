"""Fields of the dataclasses of settings."""

from __future__ import annotations

from copy import copy
from dataclasses import MISSING, field, fields
from typing import Any


def setting(text: str, default: Any = MISSING, **metadata: Any) -> Any:
    """A field of a dataclass of settings.

    Args:
        text: of ``--help``.
        default: a value, a list or a mapping; without it, the setting is required.
        metadata: ``positional=True`` for a list that is given without its name.
    """
    if isinstance(default, list | dict):
        return field(default_factory=lambda: copy(default), metadata={"help": text, **metadata})
    return field(default=default, metadata={"help": text, **metadata})


def group(text: str, settings: type) -> Any:
    """A field that holds the settings of a dataclass, given as a mapping: ``--NAME.KEY VALUE``; the help lists them."""
    shown = ", ".join(item.name for item in fields(settings))
    return field(default_factory=settings, metadata={"help": f"{text} Keys: {shown}."})
