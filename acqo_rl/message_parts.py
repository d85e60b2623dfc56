"""Reads the content of a message: a text, a part, or a list of parts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from acqo_rl.message_fields import field, has_field, is_missing, is_unspoken, is_unspoken_name, kind_of, unreadable
from acqo_rl.message_lists import is_list
from acqo_rl.message_texts import without_html
from acqo_rl.speaker_marks import Role, Said

PART_KEYS = (
    *("text", "value", "content", "parts", "transcript", "refusal", "conversation", "body", "input_text", "children"),
    *("payload", "message"),
)
_MAX_NESTING = 8
"""Maximum nesting depth of objects."""


def may_be_said(value: object, depth: int = _MAX_NESTING) -> bool:
    """Whether a field of an unknown name has several words or several items, or is nested too deeply to know."""
    if isinstance(value, Mapping):
        return not depth or any(may_be_said(one, depth - 1) for one in value.values())
    return is_list(value) or (isinstance(value, str) and " " in value.strip())


def as_turn(role: Role | None, content: object) -> list[Said]:
    """A turn; nothing if the content has no text. An empty text is a turn."""
    content = _unwrapped(content)
    if content and isinstance(content, Mapping) and not kind_of(content) and not has_field(content, PART_KEYS):
        if not any(map(is_unspoken_name, content)):
            raise unreadable(content)
        return []
    text = text_of(content)
    return [] if text is None else [Said(role, without_html(text))]


def _unwrapped(content: object) -> object:
    """The content in objects of one field around it."""
    while isinstance(content, Mapping) and len(content) == 1:
        [(name, inner)] = content.items()
        if is_unspoken_name(name) or not isinstance(inner, (Mapping, list)):
            break
        content = inner
    return content


def text_of(content: object, depth: int = _MAX_NESTING) -> str | None:
    """The text of a string, a part or a list of parts; ``None`` for images, thoughts and tool calls."""
    if is_missing(content):
        return None
    if isinstance(content, str):
        return str(content)
    if depth and isinstance(content, Sequence) and not isinstance(content, bytes):
        if any(isinstance(part, (list, tuple)) for part in content):
            raise unreadable(content)
        texts = [text for part in content if (text := text_of(part, depth - 1)) is not None]
        return ("" if _is_rich(content) else "\n").join(filter(None, texts)) if texts or not content else None
    if depth and not isinstance(content, (bytes, int, float)):
        if is_unspoken(content):
            return None
        inner = field(content, PART_KEYS)
        if inner is None and isinstance(content, Mapping) and not kind_of(content):
            if may_be_said(content) and not any(map(is_unspoken_name, content)):
                raise unreadable(content)
            return None
        return text_of(inner, depth - 1)
    raise unreadable(content)


def _is_rich(parts: Sequence[object]) -> bool:
    """Whether a list is one text with formatted words: ``["It is ", {"type": "bold", "text": "big"}]``."""
    kinds = {kind_of(part) for part in parts if isinstance(part, Mapping)}
    has_strings = any(isinstance(part, str) for part in parts)
    return has_strings and bool(kinds) and not any("text" in kind for kind in kinds - {"text_link"})
