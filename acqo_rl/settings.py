"""Fields of the dataclasses of settings."""

import re
from collections.abc import Iterator
from copy import copy
from dataclasses import MISSING, Field, field, fields, is_dataclass
from typing import IO, Any

import yaml

from acqo_rl.errors import ConfigError

_SEPARATORS = re.compile(r"[=+:, ]+")
_BRACKETS = 100
"""Maximum number of brackets in YAML that are open at once."""


def setting(text: str, default: Any = MISSING, of: str | tuple[str, ...] = (), **metadata: Any) -> Any:
    """A field of a dataclass of settings.

    Args:
        text: of ``--help``.
        default: a value, a list or a mapping; without it, the setting is required.
        of: names of what uses the setting: values of other settings, or settings that must be given. The help begins
            with them, if they are a text (``ONE, OTHER``). See :func:`check_used`.
        metadata: ``positional=True`` for a list that is given without its name.
    """
    metadata |= {"help": f"{of}: {text}", "of": of.split(", ")} if isinstance(of, str) else {"help": text, "of": of}
    if isinstance(default, list | dict):
        return field(default_factory=lambda: copy(default), metadata=metadata)
    return field(default=default, metadata=metadata)


def group(text: str, settings: type, of: tuple[str, ...] = ()) -> Any:
    """A field that holds the settings of a dataclass, given as a mapping: ``--NAME.KEY VALUE``; the help lists them."""
    shown = ", ".join(item.name for item in fields(settings))
    return field(default_factory=settings, metadata={"help": f"{text} Keys: {shown}.", "of": of})


def check_used(settings: Any) -> None:
    """Checks that a run uses all settings that differ from their defaults.

    Raises:
        ConfigError: nothing that is named in ``of`` of a setting is given.
    """
    given = [*_given(settings)]
    names = {name for name, value, _ in given if value and not is_dataclass(value)}
    texts = [text for _, text, _ in given if isinstance(text, str)]
    texts += [str(one) for _, several, _ in given if isinstance(several, list) for one in several]
    names |= {part for text in texts for part in _SEPARATORS.split(text)}  # of NAME=MODEL or ONE+OTHER
    for name, value, item in given:
        of = item.metadata.get("of")
        if of and value != default_of(item) and names.isdisjoint(of):
            raise ConfigError(f"{name} is {value!r}, but this run does not use it; it is for {', '.join(of)}.")


def default_of(item: Field[Any]) -> Any:
    """The default of a setting; ``MISSING`` if it is required."""
    return item.default if item.default_factory is MISSING else item.default_factory()


def _given(settings: Any) -> Iterator[tuple[str, Any, Any]]:
    """Name, value and field of each setting, also of those in groups."""
    for item in fields(settings):
        value = getattr(settings, item.name)
        yield item.name, value, item
        if is_dataclass(value):
            yield from _given(value)


def read_yaml(content: str | IO[str], loader: Any) -> Any:
    """The value of YAML without aliases, because a few of them can make a value that is larger than the memory.

    A key that is there twice is an error, because only one of its values could be read.

    Args:
        content: a text or an open file, which errors name.
        loader: class of PyYAML.

    Raises:
        yaml.YAMLError: it is malformed, or has an alias or a key twice.
        ValueError: a value is none of its type, or it is nested too deeply.
    """

    class Loader(loader):  # type: ignore[misc]
        def fetch_flow_collection_start(self, token: Any) -> None:  # looks at all open brackets, at each of them
            if self.flow_level == _BRACKETS:
                raise ValueError(f"it is nested too deeply: more than {_BRACKETS} brackets are open")
            super().fetch_flow_collection_start(token)

        def compose_node(self, parent: Any, index: Any) -> Any:
            if self.check_event(yaml.AliasEvent):
                remedy = "aliases (*NAME) are not read; write the value itself"
                raise yaml.composer.ComposerError(None, None, remedy, self.peek_event().start_mark)
            return super().compose_node(parent, index)

        def compose_mapping_node(self, anchor: Any) -> Any:
            node = super().compose_mapping_node(anchor)
            keys = set()
            for key, _ in node.value:
                if str(key.value) in keys:
                    problem = f"the key {key.value!r} is there twice; keep one"
                    raise yaml.composer.ComposerError(None, None, problem, key.start_mark)
                keys.add(str(key.value))
            return node

    try:
        return yaml.load(content, Loader)
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error
