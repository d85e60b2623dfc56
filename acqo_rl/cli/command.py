"""Parses the settings of the subcommands.

A subcommand consists of a dataclass of settings and ``main(config)``. Settings come from YAML files (``--config``) and
from the command line, which has priority. Pydantic converts and checks both alike. Unknown settings are errors.
"""

import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import MISSING, Field, fields, is_dataclass
from functools import reduce
from pathlib import Path
from textwrap import wrap
from types import NoneType
from typing import Any, Literal, get_args, get_origin, get_type_hints

from acqo_rl.errors import AcqoError, ConfigError, did_you_mean
from acqo_rl.settings import check_used, default_of, read_yaml
from acqo_rl.types import Written

_IS_FAULT = (FileNotFoundError, ConnectionError, TimeoutError)
"""Errors of the system that an output path does not cause."""


def settings_of(main: Callable[[Any], Any]) -> type:
    """The dataclass of a command's settings."""
    kind: type = get_type_hints(main)["config"]
    return kind


def help_of(main: Callable[[Any], Any]) -> str:
    """The text of ``--help``: the docstring of the module, and the ``help`` and default of each setting."""
    package, _, name = main.__module__.rpartition(".")
    program = f"acqo {name.replace('_', '-')}" if package == __package__ else Path(sys.argv[0]).name
    kind = settings_of(main)
    hints = get_type_hints(kind)
    first = [f"[{item.name.upper()} ...] " for item in fields(kind) if "positional" in item.metadata]
    usage = f"usage: {program} {''.join(first)}[--SETTING VALUE ...]"
    lines = [usage, "", sys.modules[main.__module__].__doc__ or "", "settings:"]
    for item in fields(kind):
        hint = hints[item.name]
        choices = f" {{{','.join(map(str, get_args(hint)))}}}" if _kind(hint) is Literal else ""
        lines += [f"  --{item.name}{choices}", *_wrapped(f"{item.metadata['help']}{_default_of(item)}")]
    return "\n".join([*lines, "  --config FILE", *_wrapped("YAML file with any of these settings.")])


def _wrapped(text: str) -> list[str]:
    return wrap(text, 110, initial_indent=8 * " ", subsequent_indent=8 * " ")


def _kind(hint: Any) -> Any:
    """The type of a setting, without its parameters and without ``None``."""
    kind = next(one for one in get_args(hint) if one is not NoneType) if NoneType in get_args(hint) else hint
    return get_origin(kind) or kind


def _default_of(item: Field[Any]) -> str:
    """The default of a setting, for ``--help``."""
    default = default_of(item)
    if default is MISSING:
        return " (required)"
    return "" if default in (None, "", [], {}) or is_dataclass(default) else f" (default: {default})"


def _given(config_type: type, arguments: Sequence[str]) -> list[tuple[str, list[str]]]:
    """The names on a command line (``NAME``, ``GROUP.KEY``) with their words."""
    first = [item.name for item in fields(config_type) if "positional" in item.metadata]
    given: list[tuple[str, list[str]]] = []
    for word in arguments:
        if word.startswith("--"):
            name, has_value, value = word[2:].partition("=")
            given.append((name, [value] if has_value else []))
        elif given:
            given[-1][1].append(word)
        elif first:
            given.append((first[0], [word]))
        else:
            raise ValueError(f"{word!r} has no name; write --NAME before it")
    return given


def _read(file: Path) -> dict[str, Any]:
    """The settings of a YAML file; numbers with a point are kept as written, because they may be texts (1.10)."""
    import yaml

    class Loader(yaml.SafeLoader):
        pass

    Loader.add_constructor("tag:yaml.org,2002:float", lambda _, node: Written(node.value))
    try:
        with file.open(encoding="utf-8") as stream:  # the loader names an open file in its errors
            settings = read_yaml(stream, Loader)
    except ValueError as error:
        raise ValueError(f"{file}: {error}") from error
    if not isinstance(settings, dict):
        raise ValueError(f"{file} must be a mapping, not {settings!r}")
    return settings


def merged(values: dict[str, Any], more: dict[str, Any]) -> dict[str, Any]:
    """Two mappings of settings; values of the second one have priority, key by key in mappings."""
    both = {name for name in more if isinstance(values.get(name), dict) and isinstance(more[name], dict)}
    return {**values, **more, **{name: merged(values[name], more[name]) for name in both}}


def _kind_at(path: str, kind: Any) -> Any:
    """The type of a setting, or of a key of a group; ``None`` for a key of a mapping and for what is unknown."""
    for part in path.split("."):
        hints = get_type_hints(kind) if is_dataclass(kind) else {}
        kind = _kind(hints[part]) if part in hints else None
    return kind


def _value(path: str, words: list[str], kind: Any) -> Any:
    """The value of a setting, or of a key of a group or mapping (``GROUP.KEY``)."""
    if words and (kind is list or (kind is None and "." not in path)):  # the check names what is unknown
        return words
    if kind in (bool, None) and not words:
        return True
    if len(words) != 1:
        found = " and ".join(map(repr, words[:3])) or f"none; if it begins with --, write --{path}=VALUE"
        wanted = "at least one value" if kind is list else "one value"
        raise ValueError(f"--{path} needs {wanted}, found {found}")
    return plain_value(words[0]) if kind in (None, dict) or is_dataclass(kind) else words[0]


def plain_value(text: str) -> Any:
    """Parses a value of a mapping as JSON (1e-6, true, null); if this fails, the value is a text."""
    try:
        return json.loads(text, parse_float=Written)
    except ValueError:
        return {"True": True, "False": False, "None": None}.get(text, text)


def _with(mapping: Any, keys: Sequence[str], value: Any) -> Any:
    """Returns a copy of a mapping with a value added under nested keys."""
    if not keys:
        return value
    known = mapping if isinstance(mapping, dict) else {}
    return {**known, keys[0]: _with(known.get(keys[0]), keys[1:], value)}


def configs_folder() -> Path:
    """The folder of the shipped configs: inside the package in a wheel, next to the package in a checkout."""
    package = Path(__file__).parents[1]
    inside = package / "configs"
    return inside if inside.is_dir() else package.parent / "configs"


def find_config(name: str, command: str) -> Path:
    """Finds the file of a config, given by its path or by the name of a shipped config (``embedded``, ``grpo/stage1``).

    Args:
        name: value of ``--config``.
        command: module of the subcommand; names of its own configs need no folder.

    Raises:
        FileNotFoundError: there is no such file; the message lists the configs of the subcommand.
    """
    folder = configs_folder()
    own = folder / command
    for file in (Path(name), own / f"{name}.yaml", folder / f"{name}.yaml"):
        if file.is_file():
            return file
    there = sorted(file.stem for file in own.glob("*.yaml"))
    wrong = f"unknown config {name!r}{did_you_mean([Path(name).stem], there)}"
    raise FileNotFoundError(f"{wrong}; give a file, or one of these: {', '.join(there) or 'none'}")


def parse(main: Callable[[Any], Any], args: Sequence[str]) -> Any:
    """Returns the settings of a command from the command line and the YAML files.

    Args:
        main: takes ``config``, an instance of a dataclass. Each field is a setting, and its ``metadata`` holds the
            ``help``. A field without a default is required. A field that is a dataclass or a ``dict`` is given as
            JSON, or one key at a time.
        args: ``--NAME VALUE``, ``--NAME=VALUE``, or for a list several values; a switch needs no value.

    Raises:
        ConfigError: a file is missing or not a mapping, a setting is unknown or missing, or a value is invalid.
    """
    from pydantic import ConfigDict, TypeAdapter, ValidationError
    from yaml import YAMLError

    config_type = settings_of(main)
    # In a tuple, because pydantic takes no settings for a dataclass itself.
    kind: Any = tuple[config_type]  # type: ignore[valid-type]
    adapter = TypeAdapter(kind, config=ConfigDict(extra="forbid", coerce_numbers_to_str=True))
    files: dict[Path, dict[str, Any]] = {}
    try:
        given = _given(config_type, args)
        for file in [_value(name, words, str) for name, words in given if name == "config"]:
            found = find_config(file, main.__module__.rpartition(".")[2])
            files[found] = _read(found)
        values: dict[str, Any] = reduce(merged, files.values(), {})
        for path, words in given:
            if path != "config":
                name, *keys = path.split(".")
                values[name] = _with(values.get(name), keys, _value(path, words, _kind_at(path, config_type)))
        return adapter.validate_python((values,))[0]
    except ValidationError as errors:
        problem = "; ".join(_problem(one, config_type, files) for one in errors.errors(include_url=False))
        raise ConfigError(f"Invalid configuration: {problem}. --help lists all settings.") from errors
    except (ValueError, OSError, YAMLError) as error:
        raise ConfigError(f"Invalid configuration: {error}; --help lists all settings.") from error


def _problem(error: Any, config_type: Any, files: dict[Path, dict[str, Any]]) -> str:
    """A sentence about a value that pydantic refuses, with the last file that gives it."""
    path = error["loc"][1:]
    value = error["input"]
    source = next((f" in {file}" for file, settings in reversed(files.items()) if _at(settings, path) is value), "")
    name = ".".join(map(str, path)) + source
    if error["type"] == "missing":
        return f"{name} is required"
    if error["type"] == "unexpected_keyword_argument":
        for part in path[:-1]:
            config_type = get_type_hints(config_type)[part]
        return f"{name} is unknown{did_you_mean(path[-1:], [item.name for item in fields(config_type)])}"
    return f"{name} is {value!r}: {error['msg']}"


def _at(settings: Any, path: Sequence[Any]) -> Any:
    """The value of a nested key; ``path`` itself if there is none."""
    try:
        return reduce(lambda inner, part: inner[part], path, settings)
    except (LookupError, TypeError):
        return path


def run(main: Callable[[Any], Any], args: Sequence[str]) -> None:
    """Parses the settings and calls ``main``; ``--help`` prints its help.

    The process exits with a message and status 2 on an :class:`AcqoError`, a missing package of an extra, or an output
    path that cannot be written, and with status 130 on an interrupt. Other exceptions propagate.
    """
    try:
        if {"-h", "--help"} & set(args):
            print(help_of(main))
        else:
            config = parse(main, args)
            check_used(config)
            main(config)
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
