"""Earlier turns of a conversation in one normal form, whatever shape they come in.

Read are lists (oldest turn first) of

- strings, with a mark of the speaker (see :mod:`acqo_rl.speaker_marks`) or without;
- messages with a role and a content: dictionaries, and the objects of OpenAI, LangChain, LlamaIndex, Haystack, MCP;
- pairs: ``{"question": ..., "answer": ...}``, ``("human", "text")``, ``("question", "answer")``;

and, in place of the list, one text that holds the whole conversation (a transcript, a chat template, JSON), an object
whose ``messages`` are one, or a table with a column of roles and one of contents.

Turns without a mark alternate, beginning with the user. Left out are empty turns, thoughts, calls of tools and their
results, and turns of the roles ``system``, ``developer``, ``tool`` and ``function``. A ``system`` that answers the user
in the assistant's place is the assistant.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal

from acqo_rl.errors import ConversationError
from acqo_rl.speaker_marks import Role, Said, is_letter, named_speakers, read_text, role_of, transcript
from acqo_rl.surrogates import well_formed
from acqo_rl.thoughts import outside_thoughts

Speaker = Literal["user", "assistant"]

ACCEPTED = (
    "Earlier turns, oldest first: strings, with a mark of the speaker (U: and S:, User: and Assistant:, ...) or"
    " without; messages with role and content, as chat protocols have them; pairs of question and answer; or one text"
    " or object that holds them all. Turns without a mark alternate, beginning with the user; system and tool messages"
    " are left out."
)
"""For schemas and pages: what a history may look like."""
_PART: dict[str, Any] = {"type": "object", "description": "A part of a message; its text is read."}
_CONTENT: dict[str, Any] = {
    "anyOf": [
        {"type": ["string", "null"]},
        _PART,
        {"type": "array", "items": {"anyOf": [{"type": ["string", "null"]}, _PART]}},
    ]
}
_TURNS: dict[str, Any] = {
    "type": "array",
    "items": {
        "anyOf": [
            {"type": ["string", "null"]},
            {"type": "object", "properties": {"role": {}, "content": _CONTENT}, "required": ["content"]},
            *(
                {"type": "object", "properties": {"question": _CONTENT, "answer": _CONTENT}, "required": [key]}
                for key in ("question", "answer")
            ),
            {"type": "array", "items": _CONTENT, "minItems": 2, "maxItems": 2},
        ]
    },
}
HISTORY_SCHEMA: dict[str, Any] = {
    "anyOf": [
        _TURNS,
        {"type": "string"},
        {"type": "object", "properties": {"messages": _TURNS}, "required": ["messages"]},
    ]
}
"""JSON schema of the usual shapes; :func:`read_history` reads others, too, and says what is wrong with a turn."""


@dataclass(frozen=True, slots=True)
class Turn:
    """One earlier turn of a conversation; ``str()`` writes it as prompts and BEIR folders do: "U: ..." or "S: ..."."""

    speaker: Speaker
    text: str

    def __str__(self) -> str:
        return f"{'U' if self.speaker == 'user' else 'S'}: {self.text}"


_LISTS = ("messages", "conversations", "conversation", "history", "chat_history", "turns")
_WHO = ("role", "speaker", "from", "author", "sender", "type")
_WHAT = ("content", "text", "value", "utterance", "message", "parts", "blocks", "data")
_WRAPPERS = ("message", "kwargs", "data")
_KINDS = ("type", "block_type", "content_type")
_NOT_SAID = re.compile(r"reason|think|thought|tool|function|search|file|image", re.I)
"""Kinds of parts and items that hold no words of a speaker: ``thinking``, ``tool_result``, ``function_call_output``."""
_WRITTEN_LIST = re.compile(r"\s*(?:\[\s*(?:[{\"']|\[\s*[\"'])|\{\s*[\"'])")
"""How a list of turns begins in JSON, or as Python writes it."""
_DEPTH = 8
"""Objects within objects that are looked into."""


def read_history(history: object) -> tuple[Turn, ...]:
    """The earlier turns in normal form; reading them again changes nothing.

    Args:
        history: a conversation in one of the shapes above; ``None`` is an empty one.

    Raises:
        ConversationError: a turn is of no such shape.
    """
    return tuple(turn for turn in read_turns(history) if turn.text)


def read_turns(history: object) -> list[Turn]:
    """As :func:`read_history`, with the turns whose text is empty.

    Raises:
        ConversationError: a turn is of no such shape.
    """
    items = list(_items(history))
    texts = [item for item in items if isinstance(item, str)]
    said = named_speakers(texts) if len(texts) == len(items) else []
    said = said or [part for item in items for part in _read(item)]
    marked = sum(one.role is not None for one in said)
    if 2 * marked <= len(said):
        said = [one if one.unmarked is None else Said(None, one.unmarked) for one in said]
    return list(_with_speakers(_of_two(said)))


def _of_two(said: Sequence[Said]) -> list[Said]:
    """Without the roles that are left out."""
    roles = [one.role for one in said]
    answers = "user" in roles and "assistant" not in roles and "system" in roles[roles.index("user") :]
    system: Role = "assistant" if answers else "left out"
    named = [Said(system, one.text) if one.role == "system" else one for one in said]
    return [one for one in named if one.role != "left out"]


def _with_speakers(said: Sequence[Said]) -> Iterator[Turn]:
    """A turn without a mark is the other speaker's than the one before; the first is told by the first mark."""
    first = next(((i, one.role) for i, one in enumerate(said) if one.role is not None), (0, "user"))
    before = "user" if (first[1] == "user") == (first[0] % 2 == 1) else "assistant"
    for one in said:
        speaker: Speaker = "assistant" if (one.role or _OTHER[before]) == "assistant" else "user"
        before = speaker
        text = outside_thoughts(one.text) if speaker == "assistant" else one.text
        yield Turn(speaker, well_formed(text.strip()))


_OTHER = {"user": "assistant", "assistant": "user"}


def _items(history: object, depth: int = _DEPTH) -> Iterable[object]:
    if history is None:
        return ()
    if isinstance(history, str):
        written = _parsed(history)
        return transcript(history) if written is None else _items(written)
    if callable(get_all := getattr(history, "get_all", None)):  # a memory of LlamaIndex
        return _items(get_all())
    if rows := _rows(history):
        return rows
    if isinstance(history, Turn) or _field(history, _WHO) is not None:
        return (history,)
    listed = _field(history, _LISTS)
    if depth and listed is not None and not isinstance(listed, str):
        return _items(listed, depth - 1)
    if isinstance(history, Mapping):
        return (history,)
    if isinstance(history, Iterable) and not isinstance(history, bytes):
        return history
    raise _unreadable(history)


def _parsed(text: str) -> Any:
    """What a text writes as JSON, as JSON lines or as Python does; ``None`` for a text that does not begin so."""
    if not _WRITTEN_LIST.match(text):
        return None
    for read in (json.loads, _json_lines, ast.literal_eval):
        with suppress(ValueError, SyntaxError, MemoryError, RecursionError):
            return read(text)
    raise _unreadable(text)


def _json_lines(text: str) -> list[Any]:
    return [json.loads(line) for line in text.splitlines() if line.strip()]


def _rows(table: Any) -> list[dict[str, Any]]:
    """The turns of a table that holds columns, such as a data frame; empty for what is no such table."""
    if not isinstance(table, Mapping) and not hasattr(table, "columns"):
        return []
    names = list(table if isinstance(table, Mapping) else table.columns)
    columns = {name: list(table[name]) for name in names if _is_list(table[name])}
    spoken = [name for name in columns if name in _WHO or name in _WHAT or role_of(name) is not None]
    if (
        len(spoken) < 2
        or len({len(columns[name]) for name in spoken}) > 1
        or any(name in _WHO and name not in columns for name in names)
    ):
        return []
    return [dict(zip(spoken, row, strict=True)) for row in zip(*(columns[name] for name in spoken), strict=True)]


def _is_list(value: object) -> bool:
    return isinstance(value, Iterable) and not isinstance(value, (str, bytes, Mapping))


def _read(item: object, depth: int = _DEPTH) -> list[Said]:
    if item is None:
        return [Said(None, "")]
    if isinstance(item, Turn):
        return [Said(item.speaker, item.text)]
    if isinstance(item, str):
        return _read_string(item)
    if isinstance(item, Sequence) and not isinstance(item, bytes) and len(item) == 2:
        role = role_of(item[0])
        if role is not None and not is_letter(item[0]):
            return _said(role, item[1])
        return [*_said("user", item[0]), *_said("assistant", item[1])]
    role, content = _role(_field(item, _WHO)), _field(item, _WHAT)
    if role is not None:
        if role == "user" and not _has(item, _WHAT):
            raise _unreadable(item)
        return _said(role, content)
    if depth and (inner := _field(item, _WRAPPERS)) is not None and _role(_field(inner, _WHO)) is not None:
        return _read(inner, depth - 1)
    if _is_unsaid(item):
        return []
    named = item if isinstance(item, Mapping) else getattr(item, "__dict__", {})
    if content is None and (pair := [(key, value) for key, value in named.items() if role_of(key) is not None]):
        return [one for key, value in pair for one in _said(role_of(key), value)]
    if content is None and (_has(item, _WHAT) or _kind(item)):
        return []  # a message without text, such as the call of a tool
    if content is None:
        raise _unreadable(item)
    text = _text(content)
    return [] if text is None else read_text(text)


def _read_string(text: str) -> list[Said]:
    """A string; one that is a message in JSON is that message."""
    with suppress(ConversationError):
        written = _parsed(text)
        if isinstance(written, Mapping) and _role(_field(written, _WHO)) and _has(written, _WHAT):
            return _read(written)
    return read_text(text)


def _said(role: Role | None, content: object) -> list[Said]:
    """A turn, if the content has a text, be it empty."""
    text = _text(content)
    return [] if text is None else [Said(role, text)]


def _role(name: object) -> Role | None:
    """Who speaks, by a name or by an author."""
    return role_of(name.get("role") if isinstance(name, Mapping) else name)


def _text(content: object, depth: int = 3) -> str | None:
    """The text of a message's content: a string, parts, or a part; images, thoughts and calls of tools have none."""
    if content is None:
        return None
    if isinstance(content, str):
        return str(content)
    if depth and isinstance(content, Sequence) and not isinstance(content, bytes):
        if any(isinstance(part, (list, tuple)) for part in content):
            raise _unreadable(content)
        texts = [text for part in content if (text := _text(part, depth - 1)) is not None]
        return "\n".join(filter(None, texts)) if texts or not content else None
    if depth and not isinstance(content, (bytes, int, float)):
        return None if _is_unsaid(content) else _text(_field(content, ("text", "value", "content", "parts")), depth - 1)
    raise _unreadable(content)


def _is_unsaid(part: object) -> bool:
    """Whether a part of a message, or an item beside messages, is a thought, a call of a tool or what a tool found."""
    return bool(_NOT_SAID.search(_kind(part)) or _field(part, ("thought",)))


def _kind(part: object) -> str:
    kind = _field(part, _KINDS)
    kind = getattr(kind, "value", kind)
    return kind if isinstance(kind, str) else ""


def _field(item: object, keys: Sequence[str]) -> Any:
    """The first of some keys or attributes that is there and not ``None``."""
    values = (item.get(key) if isinstance(item, Mapping) else getattr(item, key, None) for key in keys)
    return next((value for value in values if value is not None), None)


def _has(item: object, keys: Sequence[str]) -> bool:
    return any(key in item if isinstance(item, Mapping) else hasattr(item, key) for key in keys)


def _unreadable(value: object) -> ConversationError:
    seen = repr(value)
    return ConversationError(
        f"An earlier turn is {seen if len(seen) <= 80 else f'{seen[:77]}...'}; give a text, a message with role and"
        f" content, or a pair of question and answer."
    )
