"""Reads conversation histories of many shapes into a tuple of :class:`Turn`.

A history can be a list (oldest turn first) of

- strings, with or without a speaker mark (see :mod:`acqo_rl.speaker_marks`);
- messages with a role and a content: dictionaries, or objects of OpenAI, LangChain, LlamaIndex, Haystack or MCP;
- pairs: ``{"question": ..., "answer": ...}``, ``("human", "text")``, ``("question", "answer")``.

Instead of a list it can be one text with the whole conversation (a transcript, an exported chat, subtitles, a rendered
chat template, JSON), an object with such a list in ``messages``, or a table with a column of roles and a column of
contents.

Turns without a speaker mark alternate, starting with the user. The reader skips empty turns, thoughts, tool calls and
their results, and turns of the roles ``system``, ``developer``, ``tool`` and ``function``. If only ``system`` answers
the user, it counts as the assistant.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal

from acqo_rl.chat_exports import read_export
from acqo_rl.errors import ConversationError
from acqo_rl.speaker_marks import Role, Said, is_letter, named_speakers, read_text, role_of, transcript
from acqo_rl.surrogates import well_formed
from acqo_rl.thoughts import outside_thoughts

Speaker = Literal["user", "assistant"]

ACCEPTED = (
    "Earlier turns, oldest first. Each turn is a string, with or without a speaker mark (U: and S:, User: and"
    " Assistant:, ...), or a chat message with role and content. Pairs of question and answer, or one text or object"
    " with the whole conversation, are also accepted. Turns without a mark alternate, starting with the user; system"
    " and tool messages are skipped."
)
"""Description of the accepted shapes, for schemas and web pages."""
_PART: dict[str, Any] = {"type": "object", "description": "A part of a message; only its text is used."}
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
"""JSON schema of the common shapes. :func:`read_history` accepts more, and its errors name the invalid turn."""


@dataclass(frozen=True, slots=True)
class Turn:
    """One earlier turn; ``str()`` gives the form used in prompts and BEIR folders: "U: ..." or "S: ..."."""

    speaker: Speaker
    text: str

    def __str__(self) -> str:
        return f"{'U' if self.speaker == 'user' else 'S'}: {self.text}"


_LIST_KEYS = ("messages", "conversations", "conversation", "history", "chat_history", "turns", "contents", "input")
_ROLE_KEYS = ("role", "speaker", "from", "author", "sender", "type", "kind")
_TEXT_KEYS = ("content", "text", "value", "utterance", "message", "parts", "blocks", "items", "data")
_ANSWER_KEYS = ("answer", "response", "reply", "output", "completion")
_PART_KEYS = ("text", "value", "content", "parts")
_WRAPPER_KEYS = ("message", "kwargs", "data")
_KIND_KEYS = ("type", "block_type", "content_type", "part_kind")
_UNSPOKEN = re.compile(r"reason|think|thought|tool|function|search|file|image|system|retry", re.I)
"""Types of message parts that nobody said: ``thinking``, ``tool_result``, ``function_call_output``."""
_SERIALISED_LIST = re.compile(r"\s*(?:\[\s*(?:[{\"']|\[\s*[\"'])|\{\s*[\"'])")
"""The beginning of a list of turns in JSON or in Python syntax."""
_YAML_LIST = re.compile(r"\s*- (?:role|speaker|from|author|content|text): ")
_MAX_NESTING = 8
"""Maximum nesting depth of objects."""


def read_history(history: object) -> tuple[Turn, ...]:
    """Reads a history and drops empty turns. The function is idempotent.

    Args:
        history: a conversation in one of the shapes above; ``None`` is an empty conversation.

    Raises:
        ConversationError: a turn has an unsupported shape.
    """
    return tuple(turn for turn in read_turns(history) if turn.text)


def read_turns(history: object) -> list[Turn]:
    """Like :func:`read_history`, but keeps turns whose text is empty.

    Raises:
        ConversationError: a turn has an unsupported shape.
    """
    items = list(_items(history))
    texts = [item for item in items if isinstance(item, str)]
    said = (_exported(texts) or named_speakers(texts)) if len(texts) == len(items) else []
    said = said or [part for item in items for part in _read(item)]
    marked = sum(one.role is not None for one in said)
    if 2 * marked <= len(said):
        said = [one if one.unmarked is None else Said(None, one.unmarked) for one in said]
    return list(_with_speakers(_without_skipped(said)))


def _exported(texts: Sequence[str]) -> list[Said]:
    """Reads strings that are the messages of an export, each with its header; empty if they are something else."""
    said = read_export("\n".join(text.strip() for text in texts)) if len(texts) > 1 else []
    return said if len(said) == len(texts) else []


def _without_skipped(said: Sequence[Said]) -> list[Said]:
    """Drops turns of skipped roles; ``system`` becomes the assistant if only it answers the user."""
    roles = [one.role for one in said]
    answers = "user" in roles and "assistant" not in roles and "system" in roles[roles.index("user") :]
    system: Role = "assistant" if answers else "left out"
    named = [Said(system, one.text) if one.role == "system" else one for one in said]
    return [one for one in named if one.role != "left out"]


def _with_speakers(said: Sequence[Said]) -> Iterator[Turn]:
    """Assigns speakers: a turn without a mark has another speaker than the turn before it.

    If the first turns have no mark, their speakers alternate backwards from the first turn that has one.
    """
    first = next(((i, one.role) for i, one in enumerate(said) if one.role is not None), (0, "user"))
    before = "user" if (first[1] == "user") == (first[0] % 2 == 1) else "assistant"
    for one in said:
        speaker: Speaker = "assistant" if (one.role or _OTHER[before]) == "assistant" else "user"
        before = speaker
        text = outside_thoughts(one.text) if speaker == "assistant" else one.text
        yield Turn(speaker, well_formed(text.strip()))


_OTHER = {"user": "assistant", "assistant": "user"}


def _items(history: object, depth: int = _MAX_NESTING) -> Iterable[object]:
    if history is None:
        return ()
    if isinstance(history, str):
        if (written := _parsed(history)) is not None:
            return _items(written)
        return read_export(history) or transcript(history)
    if callable(get_all := getattr(history, "get_all", None)):  # a LlamaIndex memory
        return _items(get_all())
    if rows := _rows(history):
        return rows
    if isinstance(history, Turn) or _field(history, _ROLE_KEYS) is not None:
        return (history,)
    listed = _field(history, _LIST_KEYS)
    if depth and listed is not None and not isinstance(listed, str):
        answer = _field(history, _ANSWER_KEYS)
        answered = [] if answer is None else [{"role": "assistant", "content": answer}]
        return [*_items(listed, depth - 1), *answered]
    if isinstance(history, Mapping):
        return by_id if (by_id := _messages_by_id(history)) else (history,)
    if isinstance(history, Iterable) and not isinstance(history, bytes):
        return history
    raise _unreadable(history)


def _messages_by_id(history: Mapping[Any, Any]) -> list[Any]:
    """The messages of a mapping from ids to messages; empty if it is something else."""
    messages = list(history.values())
    return messages if all(_role(_field(message, _ROLE_KEYS)) for message in messages) else []


def _parsed(text: str) -> Any:
    """The value of a text in JSON, JSON lines or Python syntax; ``None`` if the text does not start like a list."""
    if _YAML_LIST.match(text):
        raise _unreadable(text)
    if not _SERIALISED_LIST.match(text):
        return None
    for read in (json.loads, _json_lines, ast.literal_eval):
        with suppress(ValueError, SyntaxError, MemoryError, RecursionError):
            return read(text)
    raise _unreadable(text)


def _json_lines(text: str) -> list[Any]:
    return [json.loads(line) for line in text.splitlines() if line.strip()]


def _rows(table: Any) -> list[dict[str, Any]]:
    """The turns of a table with columns, such as a data frame; empty if ``table`` is not one."""
    if not isinstance(table, Mapping) and not hasattr(table, "columns"):
        return []
    names = list(table if isinstance(table, Mapping) else table.columns)
    columns = {name: list(table[name]) for name in names if _is_list(table[name])}
    spoken = [name for name in columns if name in _ROLE_KEYS or name in _TEXT_KEYS or role_of(name) is not None]
    if (
        len(spoken) < 2
        or len({len(columns[name]) for name in spoken}) > 1
        or any(name in _ROLE_KEYS and name not in columns for name in names)
    ):
        return []
    return [dict(zip(spoken, row, strict=True)) for row in zip(*(columns[name] for name in spoken), strict=True)]


def _is_list(value: object) -> bool:
    return isinstance(value, Iterable) and not isinstance(value, (str, bytes, Mapping))


def _read(item: object, depth: int = _MAX_NESTING) -> list[Said]:
    if item is None:
        return [Said(None, "")]
    if isinstance(item, Said):
        return [item]
    if isinstance(item, Turn):
        return [Said(item.speaker, item.text)]
    if isinstance(item, str):
        return _read_string(item)
    if isinstance(item, Sequence) and not isinstance(item, bytes) and len(item) == 2:
        role = role_of(item[0])
        if role is not None and not is_letter(item[0]):
            return _said(role, item[1])
        return [*_said("user", item[0]), *_said("assistant", item[1])]
    role, content = _role(_field(item, _ROLE_KEYS)), _field(item, _TEXT_KEYS)
    if role is not None:
        if role == "user" and not _has(item, _TEXT_KEYS):
            raise _unreadable(item)
        return _said(role, content)
    if depth and (inner := _field(item, _WRAPPER_KEYS)) is not None:
        if _role(_field(inner, _ROLE_KEYS)) is not None:
            return _read(inner, depth - 1)
        if (role := _role_of_class(item)) is not None:
            return _said(role, _field(inner, _TEXT_KEYS))
    if _is_unspoken(item):
        return []
    named = item if isinstance(item, Mapping) else getattr(item, "__dict__", {})
    if content is None and (pair := [(key, value) for key, value in named.items() if role_of(key) is not None]):
        return [one for key, value in pair for one in _said(role_of(key), value)]
    if content is None and (_has(item, _TEXT_KEYS) or _kind(item)):
        return []  # a message without text, such as a tool call
    if content is None:
        raise _unreadable(item)
    if (answer := _field(item, _ANSWER_KEYS)) is not None:
        return [*_said("user", content), *_said("assistant", answer)]
    text = _text(content)
    return [] if text is None else read_text(text)


def _role_of_class(item: object) -> Role | None:
    """The role of a serialised LangChain message, whose id ends with the name of its class."""
    path = _field(item, ("id",))
    return role_of(path[-1]) if isinstance(path, list) and path else None


def _read_string(text: str) -> list[Said]:
    """Reads a string: a message in JSON, or a text."""
    with suppress(ConversationError):
        written = _parsed(text)
        if isinstance(written, Mapping) and _role(_field(written, _ROLE_KEYS)) and _has(written, _TEXT_KEYS):
            return _read(written)
    return read_text(text)


def _said(role: Role | None, content: object) -> list[Said]:
    """A turn; nothing if the content has no text. An empty text is a turn."""
    if content and isinstance(content, Mapping) and not _kind(content) and not _has(content, _PART_KEYS):
        raise _unreadable(content)
    text = _text(content)
    return [] if text is None else [Said(role, text)]


def _role(name: object) -> Role | None:
    """The role for a name or for an author object with a ``role`` or a ``label``."""
    return role_of(_field(name, ("role", "label")) if isinstance(name, Mapping) else name)


def _text(content: object, depth: int = 3) -> str | None:
    """The text of a string, a part or a list of parts; ``None`` for images, thoughts and tool calls."""
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
        return None if _is_unspoken(content) else _text(_field(content, _PART_KEYS), depth - 1)
    raise _unreadable(content)


def _is_unspoken(part: object) -> bool:
    """Whether an item or a message part is a thought, a tool call, a tool result, a file or an image."""
    return bool(_UNSPOKEN.search(_kind(part)) or _field(part, ("thought",)))


def _kind(part: object) -> str:
    kind = _field(part, _KIND_KEYS)
    kind = getattr(kind, "value", kind)
    return kind if isinstance(kind, str) else ""


def _field(item: object, keys: Sequence[str]) -> Any:
    """The value of the first key or attribute that exists and is not ``None``; keys may be capitalised."""
    if isinstance(item, Mapping):
        values = (item.get(key, item.get(key.capitalize())) for key in keys)
    else:
        values = (getattr(item, key, None) for key in keys)
    return next((value for value in values if value is not None), None)


def _has(item: object, keys: Sequence[str]) -> bool:
    if isinstance(item, Mapping):
        return any(key in item or key.capitalize() in item for key in keys)
    return any(hasattr(item, key) for key in keys)


def _unreadable(value: object) -> ConversationError:
    seen = repr(value)
    return ConversationError(
        f"An earlier turn has an unsupported shape: {seen if len(seen) <= 80 else f'{seen[:77]}...'}; give a text, a"
        " message with role and content, or a pair of question and answer."
    )
