"""Parses the settings of the subcommands.

A subcommand consists of a dataclass of settings and ``main(config)``. Settings come from YAML files (``--config``) and
from the command line, which has priority. Pydantic converts and checks both alike. Unknown settings are errors.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import MISSING, Field, fields, is_dataclass
from pathlib import Path
from types import NoneType
from typing import Any, Literal, NoReturn, get_args, get_origin, get_type_hints

from acqo_rl.errors import AcqoError, ConfigError, did_you_mean

_IS_FAULT = (FileNotFoundError, ConnectionError, TimeoutError)
"""Errors of the system that an output path does not cause."""


class Parser(argparse.ArgumentParser):
    """Reads the settings of a dataclass; the values of arguments are texts until pydantic converts them."""

    def __init__(self, config_type: type, description: str | None) -> None:
        super().__init__(
            description=description,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
            argument_default=argparse.SUPPRESS,
        )
        self.config_type = config_type
        hints = get_type_hints(config_type)
        for item in fields(config_type):
            self._add(item, hints[item.name])
        self.add_argument("--config", action="append", metavar="FILE", help="YAML file with any of these settings")

    def _add(self, item: Field[Any], hint: Any) -> None:
        kind = next(one for one in get_args(hint) if one is not NoneType) if NoneType in get_args(hint) else hint
        options: dict[str, Any] = {"help": f"{item.metadata['help']}{_default_of(item)}"}
        if get_origin(kind) is list:
            options["nargs"] = "*" if "positional" in item.metadata else "+"
        elif get_origin(kind) is Literal:
            options["metavar"] = f"{{{','.join(map(str, get_args(kind)))}}}"
        elif kind is bool:
            options |= {"nargs": "?", "const": True, "metavar": "True"}
        elif dict in (kind, get_origin(kind)) or is_dataclass(kind):
            options |= {"type": json.loads, "metavar": "JSON"}
        self.add_argument(item.name if "positional" in item.metadata else f"--{item.name}", **options)

    def error(self, message: str) -> NoReturn:
        """Raises, so that :func:`parse` reports all errors in the same way."""
        raise ValueError(message)

    def values_of(self, arguments: Sequence[str]) -> dict[str, Any]:
        """The settings of the files and of the command line, not yet checked.

        Raises:
            ValueError: an argument is unknown or has no value, or a file is not a mapping.
            OSError: a file cannot be read.
        """
        import yaml

        rest, nested = _split_nested(arguments)
        given, unknown = self.parse_known_args(rest)
        if unknown:
            word = unknown[0].partition("=")[0]
            hint = did_you_mean([word], self._option_string_actions) if word.startswith("-") else ""
            raise ValueError(f"unknown argument {word!r}{hint}")
        values: dict[str, Any] = {}
        typed = vars(given)
        for name in typed.pop("config", []):
            settings = yaml.safe_load(find_config(name, self.prog.split()[-1]).read_text(encoding="utf-8"))
            if not isinstance(settings, dict):
                raise ValueError(f"{name} must be a mapping, not {settings!r}")
            values |= settings
        values |= typed
        for (name, *keys), value in nested:
            values[name] = _with(values.get(name), keys, value)
        return values


def _default_of(item: Field[Any]) -> str:
    """The default of a setting, for ``--help``."""
    if item.default is MISSING and item.default_factory is MISSING:
        return " (required)"
    default = item.default if item.default_factory is MISSING else item.default_factory()
    return "" if default in (None, "", [], {}) or is_dataclass(default) else f" (default: {default})"


def _split_nested(arguments: Sequence[str]) -> tuple[list[str], list[tuple[list[str], Any]]]:
    """Separates arguments of the form ``--NAME.KEY VALUE``; returns the others, and these as (names, value)."""
    rest: list[str] = []
    nested: list[tuple[list[str], Any]] = []
    words = iter(arguments)
    for word in words:
        name, given, value = word.removeprefix("--").partition("=")
        names = name.split(".")
        if not word.startswith("--") or len(names) == 1 or not all(map(str.isidentifier, names)):
            rest.append(word)
            continue
        following = value if given else next(words, None)
        if following is None:
            raise ValueError(f"{word} needs a value")
        nested.append((names, plain_value(following)))
    return rest, nested


def plain_value(text: str) -> Any:
    """Parses a value of a mapping as JSON (1e-6, true, null); if this fails, the value is a text."""
    try:
        return json.loads(text)
    except ValueError:
        return {"True": True, "False": False, "None": None}.get(text, text)


def _with(mapping: Any, keys: Sequence[str], value: Any) -> Any:
    """Returns a copy of a mapping with a value added under nested keys."""
    if not keys:
        return value
    known = mapping if isinstance(mapping, dict) else {}
    return {**known, keys[0]: _with(known.get(keys[0]), keys[1:], value)}


def parser_of(main: Callable[[Any], Any]) -> Parser:
    """Builds the parser of a command.

    Args:
        main: takes ``config``, an instance of a dataclass. Each field is a setting, and its ``metadata`` holds the
            ``help``. A field without a default is required. A field that is a dataclass or a ``dict`` is given as
            JSON, or one key at a time. The docstring of the module is the description.
    """
    parser = Parser(get_type_hints(main)["config"], sys.modules[main.__module__].__doc__)
    package, _, name = main.__module__.rpartition(".")
    if package == __package__:
        parser.prog = f"acqo {name.replace('_', '-')}"
    return parser


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
    folder = configs_folder()
    own = folder / command.replace("-", "_")
    for file in (Path(name), own / f"{name}.yaml", folder / f"{name}.yaml"):
        if file.is_file():
            return file
    there = sorted(file.stem for file in own.glob("*.yaml"))
    wrong = f"unknown config {name!r}{did_you_mean([Path(name).stem], there)}"
    raise FileNotFoundError(f"{wrong}; give a file, or one of these: {', '.join(there) or 'none'}")


def parse(main: Callable[[Any], Any], args: Sequence[str]) -> Any:
    """Returns the settings of a command from the command line and the YAML files; ``main`` as in :func:`parser_of`.

    Raises:
        ConfigError: a file is missing or not a mapping, a setting is unknown or missing, or a value is invalid.
    """
    from pydantic import ConfigDict, TypeAdapter, ValidationError
    from yaml import YAMLError

    parser = parser_of(main)
    # In a tuple, because pydantic takes no settings for a dataclass itself.
    kind: Any = tuple[parser.config_type]  # type: ignore[name-defined]
    adapter = TypeAdapter(kind, config=ConfigDict(extra="forbid", coerce_numbers_to_str=True))
    try:
        return adapter.validate_python((parser.values_of(args),))[0]
    except ValidationError as errors:
        problem = "; ".join(_problem(one, parser.config_type) for one in errors.errors(include_url=False))
        raise ConfigError(f"Invalid configuration: {problem}. --help lists all settings.") from errors
    except (ValueError, OSError, YAMLError) as error:
        raise ConfigError(f"Invalid configuration: {error}; --help lists all settings.") from error


def _problem(error: Any, config_type: Any) -> str:
    """A sentence about a value that pydantic refuses."""
    path = [str(part) for part in error["loc"][1:]]
    if error["type"] == "missing":
        return f"{'.'.join(path)} is required"
    if error["type"] == "unexpected_keyword_argument":
        for part in path[:-1]:
            config_type = get_type_hints(config_type)[part]
        return f"{'.'.join(path)} is unknown{did_you_mean(path[-1:], [item.name for item in fields(config_type)])}"
    return f"{'.'.join(path)} is {error['input']!r}: {error['msg']}"


def run(main: Callable[[Any], Any], args: Sequence[str]) -> None:
    """Parses the settings and calls ``main``.

    The process exits with a message and status 2 on an :class:`AcqoError`, a missing package of an extra, or an output
    path that cannot be written, and with status 130 on an interrupt. Other exceptions propagate.
    """
    try:
        main(parse(main, args))
    except AcqoError as error:
        sys.stderr.write(f"error: {error}\n")
        raise SystemExit(2) from error
    except ModuleNotFoundError as error:
        if (extra := extra_of(error.name or "")) is None:
            raise
        sys.stderr.write(f"error: this command needs the package {error.name}; run: pip install 'acqo-rl[{extra}]'\n")
        raise SystemExit(2) from error
    except OSError as error:
        if isinstance(error, _IS_FAULT):
            raise
        sys.stderr.write(f"error: {error}; fix the path or choose another one, then run the same command again\n")
        raise SystemExit(2) from error
    except KeyboardInterrupt:
        sys.stderr.write("\ninterrupted; written files are kept, run the same command again to continue\n")
        raise SystemExit(130) from None


def extra_of(module: str) -> str | None:
    """The first extra of this package that installs a module; ``None`` if no extra does."""
    from importlib.metadata import PackageNotFoundError, requires

    from packaging.requirements import Requirement

    name = module.partition(".")[0].replace("_", "-").lower()
    try:
        needed = map(Requirement, requires("acqo-rl") or ())
    except PackageNotFoundError:  # run from a folder, without an installation
        return None
    found = (one for one in needed if one.name.lower() in (name, f"py{name}") and one.marker)
    return next((str(one.marker).partition("extra == ")[2].strip("\"'") for one in found), None)
