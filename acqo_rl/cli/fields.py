"""Arguments from the fields of a dataclass.

They are those of transformers' HfArgumentParser, whose import takes a second.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import MISSING, Field, fields
from types import NoneType
from typing import Any, Literal, get_args, get_origin, get_type_hints

_TRUE = ("yes", "true", "t", "y", "1")
_FALSE = ("no", "false", "f", "n", "0")


def add_fields(parser: argparse.ArgumentParser, config_type: type) -> None:
    """Adds one argument for each field; a field without a default is required.

    Args:
        parser: the parser.
        config_type: dataclass with fields of the types ``str``, ``int``, ``float``, ``bool``, ``dict``, ``Literal``,
            lists of these, or one of these or ``None``. ``metadata`` holds the ``help``.
    """
    hints = get_type_hints(config_type)
    for item in fields(config_type):
        _add(parser, item, hints[item.name])


def _add(parser: argparse.ArgumentParser, item: Field[Any], kind: Any) -> None:
    names = list(dict.fromkeys(f"--{name}" for name in (item.name, item.name.replace("_", "-"))))
    if NoneType in get_args(kind):
        kind = next(one for one in get_args(kind) if one is not NoneType)
    settings: dict[str, Any] = dict(item.metadata)
    if item.default is not MISSING:
        settings["default"] = item.default
    elif item.default_factory is not MISSING:
        settings["default"] = item.default_factory()
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
