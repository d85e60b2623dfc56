"""Arguments from the fields of a dataclass.

They are those of transformers' HfArgumentParser, whose import takes a second.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import MISSING, Field, field, fields, is_dataclass
from types import NoneType
from typing import Any, Literal, get_args, get_origin, get_type_hints

_TRUE = ("yes", "true", "t", "y", "1")
_FALSE = ("no", "false", "f", "n", "0")


def setting(text: str, default: Any = MISSING) -> Any:
    """A field of a dataclass of settings.

    Args:
        text: of ``--help``.
        default: a value, a list or a mapping; without it, the setting is required.
    """
    if isinstance(default, list | dict):
        return field(default_factory=lambda: copy(default), metadata={"help": text})
    return field(default=default, metadata={"help": text})


def group(text: str, settings: type) -> Any:
    """A field that holds the settings of a dataclass, given as a mapping: ``--NAME.KEY VALUE``; the help lists them."""
    shown = ", ".join(item.name for item in fields(settings))
    return field(default_factory=settings, metadata={"help": f"{text} Keys: {shown}."})


def add_fields(parser: argparse.ArgumentParser, config_type: type) -> dict[str, type]:
    """Adds one argument for each field; a field without a default is required.

    Args:
        parser: the parser.
        config_type: dataclass with fields of the types ``str``, ``int``, ``float``, ``bool``, ``dict``, ``Literal``,
            lists of these, or one of these or ``None``. ``metadata`` holds the ``help``. A field that is a dataclass
            is read as a mapping.

    Returns:
        Name -> class of the fields that are dataclasses.
    """
    hints = get_type_hints(config_type)
    groups = {name: kind for name, kind in hints.items() if isinstance(kind, type) and is_dataclass(kind)}
    for item in fields(config_type):
        _add(parser, item, dict if item.name in groups else hints[item.name])
    return groups


def _add(parser: argparse.ArgumentParser, item: Field[Any], kind: Any) -> None:
    names = list(dict.fromkeys(f"--{name}" for name in (item.name, item.name.replace("_", "-"))))
    if NoneType in get_args(kind):
        kind = next(one for one in get_args(kind) if one is not NoneType)
    settings: dict[str, Any] = dict(item.metadata)
    if item.default is not MISSING:
        settings["default"] = item.default
    elif item.default_factory is not MISSING:
        default = item.default_factory()
        settings["default"] = {} if is_dataclass(default) else default
    else:
        settings["required"] = True
    if get_origin(kind) is Literal:
        settings |= {"type": _choice(get_args(kind)), "choices": get_args(kind)}
    elif get_origin(kind) is list:
        settings |= {"type": get_args(kind)[0], "nargs": "+"}
    elif kind is bool:
        settings |= {"type": _truth, "nargs": "?", "const": True}
    else:
        settings["type"] = kind
    parser.add_argument(*names, **settings)
    if kind is bool and item.default is True:
        turned_off = [f"--no_{item.name}", f"--no-{item.name.replace('_', '-')}"]
        help_text = f"Turn off --{item.name}."
        parser.add_argument(
            *turned_off, action="store_false", dest=item.name, default=argparse.SUPPRESS, help=help_text
        )


def _choice(choices: Sequence[Any]) -> Callable[[str], Any]:
    by_text = {str(choice): choice for choice in choices}
    return lambda text: by_text.get(text, text)


def _truth(text: str) -> bool:
    if text.lower() not in (*_TRUE, *_FALSE):
        raise argparse.ArgumentTypeError(f"expected True or False, got {text}")
    return text.lower() in _TRUE
