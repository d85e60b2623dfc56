"""Argument parsing and error handling shared by the entry points in ``train/`` and ``scripts/``.

An entry point is a dataclass, ``make_parser()`` and ``main(config)``. Settings come from a flat YAML file
(``--config``), and the command line overrides them. An unknown key is an error in either place.
"""

from __future__ import annotations

import argparse
import errno
import json
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from acqo_rl.errors import AcqoError, ConfigError

if TYPE_CHECKING:
    from trl import TrlParser

_NOT_WRITABLE = {
    errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOTDIR, errno.EISDIR, errno.EEXIST, errno.ENAMETOOLONG,
    errno.ENOSPC, errno.EDQUOT,
}  # fmt: skip


def make_parser(*config_types: type, description: str) -> TrlParser:
    """Builds the parser of one entry point.

    Args:
        config_types: dataclasses whose fields have ``metadata={"help": ...}``; mappings are given as JSON on the
            command line.
        description: the module's docstring; its line breaks are kept, so that example commands stay readable.
    """
    from trl.scripts.utils import TrlParser

    class Formatter(argparse.ArgumentDefaultsHelpFormatter, argparse.RawDescriptionHelpFormatter):
        pass

    class Parser(TrlParser):
        """Lists ``--config`` in ``--help`` and validates YAML values like command-line values."""

        def format_help(self) -> str:
            return str(super().format_help()) + "\n  --config FILE         YAML file with any of the settings above\n"

        def error(self, message: str) -> NoReturn:
            raise ValueError(message)

        def set_defaults_with_config(self, **settings: Any) -> list[str]:
            for action in self._actions:
                value = settings.get(action.dest)
                if value is not None and not (action.type is dict and isinstance(value, dict)):
                    settings[action.dest] = self._checked(action, value)
            return super().set_defaults_with_config(**settings)

        def _checked(self, action: argparse.Action, value: Any) -> Any:
            """Parses a YAML value like a command-line value, because TrlParser checks neither type nor choices."""
            values = value if isinstance(value, list) else [value]
            if action.nargs != "+" and isinstance(value, list):
                raise argparse.ArgumentError(action, f"expected one value, got {value!r}")
            if action.nargs == "+" and any(isinstance(one, dict | list) for one in values):
                raise argparse.ArgumentError(action, f"expected a list of plain values, got {value!r}")
            read = [self._get_value(action, str(one)) for one in values]
            for one in read:
                self._check_value(action, one)
            return read if action.nargs == "+" else read[0]

    parser = Parser(config_types, description=description, formatter_class=Formatter, allow_abbrev=False)
    parser.register("type", dict, json.loads)
    for action in parser._actions:  # the parser repeats the help text of --x for --no_x
        if f"--no_{action.dest}" in action.option_strings:
            action.help = f"Turn off --{action.dest}."
    return parser


def parse(parser: TrlParser, args: Sequence[str] | None = None) -> tuple[Any, ...]:
    """Returns dataclass instances read from the command line and the YAML file.

    Raises:
        ConfigError: the YAML file is missing or not a mapping, a key is unknown, or a value is invalid.
    """
    from yaml import YAMLError

    try:
        return tuple(parser.parse_args_and_config(args))
    except (ValueError, OSError, IndexError, YAMLError, argparse.ArgumentError) as error:
        raise ConfigError(f"Invalid configuration: {error} (--help lists all settings).") from error


def run(main: Callable[..., Any], parser: TrlParser, args: Sequence[str] | None = None) -> None:
    """Parses the settings and calls ``main``.

    The process exits with a message and status 2 on an :class:`AcqoError` or an output path that cannot be written,
    and with status 130 on an interrupt. Other exceptions propagate.
    """
    try:
        main(*parse(parser, args))
    except AcqoError as error:
        sys.stderr.write(f"error: {error}\n")
        raise SystemExit(2) from error
    except OSError as error:
        if error.errno not in _NOT_WRITABLE:
            raise
        sys.stderr.write(f"error: {error}; fix the path or choose another one, then run the same command again\n")
        raise SystemExit(2) from error
    except KeyboardInterrupt:
        sys.stderr.write("\ninterrupted; written files are kept, run the same command again to continue\n")
        raise SystemExit(130) from None
