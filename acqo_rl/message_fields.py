"""Reads the fields of messages, which are dictionaries or objects: the role, the name of the speaker, the content."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from acqo_rl.speaker_marks import Role, role_of

ROLE_KEYS = ("role", "speaker", "from", "author", "sender", "type", "kind")
TEXT_KEYS = ("content", "text", "value", "utterance", "message", "parts", "blocks", "items", "data")
_NAME_KEYS = ("role", "speaker", "from", "author", "sender", "name", "user", "username")
"""Fields with the name of a speaker."""
_KIND_KEYS = ("type", "block_type", "content_type", "part_kind")
_UNSPOKEN = re.compile(r"reason|think|thought|tool|function|search|file|image|system|retry", re.I)
"""Types of message parts that nobody said: ``thinking``, ``tool_result``, ``function_call_output``."""


def role_in(name: object) -> Role | None:
    """The role for a name or for an author object with a ``role`` or a ``label``."""
    return role_of(field(name, ("role", "label")) if isinstance(name, Mapping) else name)


def speaker_of(item: object) -> str:
    """The role or the name of the speaker of a message; empty if it has neither."""
    name = field(item, _NAME_KEYS)
    name = field(name, ("role", "label", "name")) if isinstance(name, Mapping) else getattr(name, "value", name)
    known = field(item, ROLE_KEYS)
    if role_in(known) is not None:
        name = getattr(known, "value", known if isinstance(known, str) else name)
    return str(name) if isinstance(name, (str, int)) else ""


def is_unspoken(part: object) -> bool:
    """Whether an item or a message part is a thought, a tool call, a tool result, a file or an image."""
    return bool(_UNSPOKEN.search(kind_of(part)) or field(part, ("thought",)))


def kind_of(part: object) -> str:
    """The type of a message or of a part; empty if it has none."""
    kind = field(part, _KIND_KEYS)
    kind = getattr(kind, "value", kind)
    return kind if isinstance(kind, str) else ""


def field(item: object, keys: Sequence[str]) -> Any:
    """The value of the first key or attribute that exists and is not ``None``; keys may be capitalised."""
    if isinstance(item, Mapping):
        values = (item.get(key, item.get(key.capitalize())) for key in keys)
    else:
        values = (getattr(item, key, None) for key in keys)
    return next((value for value in values if value is not None), None)


def content_of(item: object) -> Any:
    """The text of a message or the list of its parts; a blank one is skipped if another field has one."""
    first = field(item, TEXT_KEYS)
    if first and not (isinstance(first, str) and not first.strip()):
        return first
    audio = field(item, ("audio",))
    others = [*(field(item, (key,)) for key in (*TEXT_KEYS, "refusal")), audio and field(audio, ("transcript",))]
    return next((one for one in others if isinstance(one, (str, list)) and one and one != first), first)


def has_field(item: object, keys: Sequence[str]) -> bool:
    """Whether one of the keys or attributes exists, perhaps without a value."""
    if isinstance(item, Mapping):
        return any(key in item or key.capitalize() in item for key in keys)
    return any(hasattr(item, key) for key in keys)
