"""What every entry point in ``train/`` and ``scripts/`` shares; nothing else in the library knows of command lines.

An entry point is a dataclass, ``make_parser()`` and ``main(config)``. Settings come from a flat YAML file
(``--config``), and the command line overrides them. An unknown key is an error in both.
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
    """A parser for one entry point.

    Args:
        config_types: dataclasses whose fields carry ``metadata={"help": ...}``; a mapping is JSON on the command line.
        description: the module's docstring; its example commands are kept as they are written.
    """
    from trl.scripts.utils import TrlParser

    class Formatter(argparse.ArgumentDefaultsHelpFormatter, argparse.RawDescriptionHelpFormatter):
        pass

    class Parser(TrlParser):
        """Knows ``--config`` in ``--help``, and holds values of the YAML file to the rules of the command line."""

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
            """The value as the command line would read it: TrlParser takes wrong types and choices as they are."""
            values = value if isinstance(value, list) else [value]
            if action.nargs != "+" and isinstance(value, list):
                raise argparse.ArgumentError(action, f"one value expected, not {value!r}")
            if action.nargs == "+" and any(isinstance(one, dict | list) for one in values):
                raise argparse.ArgumentError(action, f"a list of plain values expected, not {value!r}")
            read = [self._get_value(action, str(one)) for one in values]
            for one in read:
                self._check_value(action, one)
            return read if action.nargs == "+" else read[0]

    parser = Parser(config_types, description=description, formatter_class=Formatter, allow_abbrev=False)
    parser.register("type", dict, json.loads)
    for action in parser._actions:  # the parser gives both of a pair the same help
        if f"--no_{action.dest}" in action.option_strings:
            action.help = f"The opposite of --{action.dest}."
    return parser


def parse(parser: TrlParser, args: Sequence[str] | None = None) -> tuple[Any, ...]:
    """Dataclass instances from the command line and the YAML file.

    Raises:
        ConfigError: the YAML file is missing or is no mapping, or there is an unknown key or a value that does not fit.
    """
    from yaml import YAMLError

    try:
        return tuple(parser.parse_args_and_config(args))
    except (ValueError, OSError, IndexError, YAMLError, argparse.ArgumentError) as error:
        raise ConfigError(f"The configuration cannot be read: {error} (see --help for every setting).") from error


def run(main: Callable[..., Any], parser: TrlParser, args: Sequence[str] | None = None) -> None:
    """Parse, call ``main``; errors of the project end with a message and status 2, an interrupt with 130.

    So does a file or folder that cannot be written, be it for its place, its permissions or a full disk.
    """
    try:
        main(*parse(parser, args))
    except AcqoError as error:
        sys.stderr.write(f"error: {error}\n")
        raise SystemExit(2) from error
    except OSError as error:
        if error.errno not in _NOT_WRITABLE:
            raise
        sys.stderr.write(f"error: {error}; give another place, or mend this one and start the same command again\n")
        raise SystemExit(2) from error
    except KeyboardInterrupt:
        sys.stderr.write("\ninterrupted; what was written is kept, start the same command again to go on\n")
        raise SystemExit(130) from None
