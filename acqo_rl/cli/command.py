"""Parses the settings of the subcommands.

A subcommand consists of a dataclass, ``make_parser()`` and ``main(config)``. Settings come from a YAML file
(``--config``) and from the command line, which has priority. Unknown settings are errors.
"""

from __future__ import annotations

import argparse
import errno
import json
import os
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import fields
from inspect import signature
from pathlib import Path
from typing import Any, NoReturn

from acqo_rl.cli.fields import add_fields
from acqo_rl.errors import AcqoError, ConfigError, did_you_mean

_OF_EXTRA = re.compile(r"""\A(?P<name>[\w.-]++).*\bextra == ['"](?P<extra>[\w-]+)""")
_NOT_WRITABLE = {
    errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOTDIR, errno.EISDIR, errno.EEXIST, errno.ENAMETOOLONG,
    errno.ENOSPC, errno.EDQUOT,
}  # fmt: skip
_NESTED = re.compile(r"--\w+(?:\.\w+)+(?:=.*)?", re.S)


class Formatter(argparse.ArgumentDefaultsHelpFormatter, argparse.RawDescriptionHelpFormatter):
    """Shows what is required and the defaults, and keeps the line breaks of the description."""

    def _get_help_string(self, action: argparse.Action) -> str | None:
        if action.required and action.option_strings:
            return f"{action.help} (required)"
        return action.help if action.default is None else super()._get_help_string(action)


class Parser(argparse.ArgumentParser):
    """Parses dataclasses, reads ``--config``, and validates YAML values like command-line values."""

    def __init__(self, config_types: Sequence[type], **settings: Any) -> None:
        super().__init__(**settings)
        self.register("type", dict, json.loads)
        self._types = config_types
        self._groups = {name: kind for one in config_types for name, kind in add_fields(self, one).items()}

    def format_help(self) -> str:
        """The help text, including ``--config``, which is not a field of a dataclass."""
        return str(super().format_help()) + "\n  --config FILE         YAML file with any of the settings above\n"

    def error(self, message: str) -> NoReturn:
        """Raises, so that :func:`parse` reports all errors in the same way."""
        raise ValueError(message)

    def parse_with_config(self, arguments: Sequence[str]) -> tuple[Any, ...]:
        """Returns dataclass instances from the command line and the YAML file given by ``--config``.

        The values of arguments that are not in a dataclass follow as a namespace.
        """
        rest, nested = _split_nested(arguments)
        while "--config" in rest:
            place = rest.index("--config")
            if place + 1 == len(rest):
                raise ValueError("--config needs a file")
            self._read(rest[place + 1])
            del rest[place : place + 2]
        mappings = {action.dest: action for action in self._actions if _is_mapping(action)}
        for (name, *keys), value in nested:
            if name not in mappings:
                hint = did_you_mean([name], mappings)
                raise ValueError(f"--{'.'.join([name, *keys])}: {name} is not a mapping{hint}")
            mappings[name].default = _with(mappings[name].default, keys, value)
        values, unknown = self.parse_known_args(rest)
        if unknown:
            raise ValueError(self._unknown(unknown[0].partition("=")[0]))
        given = vars(values)
        for name, kind in self._groups.items():
            given[name] = _read_group(name, kind, given[name])
        configs = [
            config_type(**{f.name: given.pop(f.name) for f in fields(config_type)}) for config_type in self._types
        ]
        return (*configs, values) if given else tuple(configs)

    def _unknown(self, word: str) -> str:
        hint = did_you_mean([word], self._option_string_actions) if word.startswith("-") else ""
        return f"unknown argument {word!r}{hint}"

    def _read(self, name: str) -> None:
        import yaml

        with open(find_config(name, self.prog.split()[-1]), encoding="utf-8") as file:
            settings = yaml.safe_load(file)
        self.set_values(settings, name)

    def set_values(self, settings: Any, name: str) -> None:
        """Takes values, which the command line may override.

        Raises:
            ValueError: ``settings`` is not a mapping or has an unknown key or a value of another type; ``name`` is that
                of the mapping.
        """
        if not isinstance(settings, dict):
            raise ValueError(f"{name} must be a mapping, not {settings!r}")
        actions = {action.dest: action for action in self._actions}
        if unknown := settings.keys() - actions.keys():
            wrong = sorted(map(str, unknown))
            raise ValueError(f"{name} has unknown settings: {', '.join(wrong)}{did_you_mean(wrong, actions)}")
        for key, value in settings.items():
            action = actions[key]
            plain = value is None or (_is_mapping(action) and isinstance(value, dict))
            action.default = value if plain else self._checked(action, value)
            action.required = False

    def _checked(self, action: argparse.Action, value: Any) -> Any:
        """Parses a YAML value like a command-line value."""
        values = value if isinstance(value, list) else [value]
        if action.nargs != "+" and isinstance(value, list):
            raise argparse.ArgumentError(action, f"expected one value, got {value!r}")
        if action.nargs == "+" and any(isinstance(one, dict | list) for one in values):
            raise argparse.ArgumentError(action, f"expected a list of plain values, got {value!r}")
        read = [self._get_value(action, str(one)) for one in values]
        for one in read:
            self._check_value(action, one)
        return read if action.nargs == "+" else read[0]


def _read_group(name: str, kind: type, settings: Any) -> Any:
    """An instance of a dataclass from the mapping that a setting holds."""
    parser = make_parser(kind, description="")
    try:
        parser.set_values(settings, name)
        return parser.parse_with_config([])[0]
    except (ValueError, argparse.ArgumentError) as error:
        raise ValueError(f"{name}: {error}") from error


def _is_mapping(action: argparse.Action) -> bool:
    kind: Any = action.type
    return kind is dict


def _split_nested(arguments: Sequence[str]) -> tuple[list[str], list[tuple[list[str], Any]]]:
    """Separates arguments of the form ``--NAME.KEY VALUE``; returns the others, and these as (names, value)."""
    rest: list[str] = []
    nested: list[tuple[list[str], Any]] = []
    words = iter(arguments)
    for word in words:
        if not _NESTED.fullmatch(word):
            rest.append(word)
            continue
        name, given, value = word.removeprefix("--").partition("=")
        following = value if given else next(words, None)
        if following is None:
            raise ValueError(f"{word} needs a value")
        nested.append((name.split("."), plain_value(following)))
    return rest, nested


def plain_value(text: str) -> Any:
    """Parses a value of a mapping as JSON (1e-6, true, null); if this fails, the value is a text."""
    try:
        return json.loads(text)
    except ValueError:
        return {"True": True, "False": False, "None": None}.get(text, text)


def _with(mapping: Any, keys: Sequence[str], value: Any) -> dict[str, Any]:
    """Returns a copy of a mapping with a value added under nested keys."""
    known = mapping or {}
    first, *others = keys
    return {**known, first: _with(known.get(first, {}), others, value) if others else value}


def make_parser(*config_types: type, description: str) -> Parser:
    """Builds the parser of one subcommand.

    Args:
        config_types: dataclasses, see :func:`~acqo_rl.cli.fields.add_fields`; mappings are given as JSON, or one
            key at a time.
        description: the module's docstring; its line breaks are kept.
    """
    return Parser(config_types, description=description, formatter_class=Formatter, allow_abbrev=False)


def configs_folder() -> Path:
    """The folder of the shipped configs: inside the package in a wheel, next to the package in a checkout."""
    package = Path(__file__).parents[1]
    inside = package / "configs"
    return inside if inside.is_dir() else package.parent / "configs"


def find_config(name: str, command: str) -> Path:
    """Finds the file of a config, given by its path or by the name of a shipped config (``embedded``, ``grpo/stage1``).

    Args:
        name: value of ``--config``.
        command: the subcommand; names of its own configs need no folder.

    Raises:
        FileNotFoundError: there is no such file; the message lists the configs of the subcommand.
    """
    if Path(name).is_file():
        return Path(name)
    if name.endswith((".yaml", ".yml")):
        raise FileNotFoundError(f"the file {name!r} does not exist")
    folder = configs_folder()
    own = folder / command.replace("-", "_")
    for file in (own / f"{name}.yaml", folder / f"{name}.yaml"):
        if file.is_file():
            return file
    there = sorted(file.stem for file in own.glob("*.yaml"))
    wrong = f"unknown config {name!r}{did_you_mean([name], there)}"
    raise FileNotFoundError(f"{wrong}; give a file, or one of these: {', '.join(there) or 'none'}")


def parse(parser: Parser, args: Sequence[str]) -> tuple[Any, ...]:
    """Returns dataclass instances read from the command line and the YAML file.

    Raises:
        ConfigError: the YAML file is missing or not a mapping, a key is unknown, or a value is invalid.
    """
    from yaml import YAMLError

    try:
        return parser.parse_with_config(args)
    except (ValueError, OSError, YAMLError, argparse.ArgumentError) as error:
        raise ConfigError(f"Invalid configuration: {error}; --help lists all settings.") from error


def call(function: Callable[..., Any], *values: Any, **settings: Any) -> Any:
    """Calls a function with settings from a mapping.

    Raises:
        ConfigError: the function has no such setting.
    """
    try:
        signature(function).bind(*values, **settings)
    except TypeError as error:
        known = ", ".join(signature(function).parameters)
        raise ConfigError(f"{function.__name__} does not accept the settings ({error}); use {known}.") from error
    return function(*values, **settings)


def run(main: Callable[..., Any], parser: Parser, args: Sequence[str]) -> None:
    """Parses the settings and calls ``main``.

    The process exits with a message and status 2 on an :class:`AcqoError`, a missing package of an extra, or an output
    path that cannot be written, and with status 130 on an interrupt. Other exceptions propagate.
    """
    try:
        main(*parse(parser, args))
        sys.stdout.flush()  # here, so that a closed pipe is noticed before the process exits
    except AcqoError as error:
        sys.stderr.write(f"error: {error}\n")
        raise SystemExit(2) from error
    except ModuleNotFoundError as error:
        if (extra := extra_of(error.name or "")) is None:
            raise
        sys.stderr.write(f"error: {parser.prog} needs the package {error.name}; run: pip install 'acqo-rl[{extra}]'\n")
        raise SystemExit(2) from error
    except BrokenPipeError:  # the reader of the output, such as head, has ended
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise SystemExit(1) from None
    except OSError as error:
        if error.errno not in _NOT_WRITABLE:
            raise
        sys.stderr.write(f"error: {error}; fix the path or choose another one, then run the same command again\n")
        raise SystemExit(2) from error
    except KeyboardInterrupt:
        sys.stderr.write("\ninterrupted; written files are kept, run the same command again to continue\n")
        raise SystemExit(130) from None


def extra_of(module: str) -> str | None:
    """The first extra of this package that installs a module; ``None`` if no extra does."""
    from importlib.metadata import PackageNotFoundError, requires

    name = module.partition(".")[0].replace("_", "-").lower()
    try:
        found = [_OF_EXTRA.match(requirement) for requirement in requires("acqo-rl") or ()]
    except PackageNotFoundError:  # run from a folder, without an installation
        return None
    return next((match["extra"] for match in found if match and match["name"].lower() in (name, f"py{name}")), None)
