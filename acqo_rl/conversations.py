"""Reads the earlier turns of a conversation, given in one of five forms.

1. messages as in OpenAI's chat API: ``[{"role": "user", "content": ...}, {"role": "assistant", "content": ...}]``. The
   content is a text or a list of parts; only the parts of type text are read. System and tool messages are skipped.
2. pairs of question and answer: ``[["Where is Oslo?", "In Norway."], ...]``.
3. strings that alternate, starting with the user: ``["Where is Oslo?", "In Norway.", ...]``.
4. strings that begin with the speaker (``U:`` and ``S:``, or ``user:`` and ``assistant:``), or one text of such lines.
   A line without a speaker continues the turn before it.
5. LangChain messages, in :mod:`acqo_rl.integrations.langchain` only.

A history has one form throughout. The texts of turns are not interpreted. Reading takes time linear in their length.
"""

import re
import reprlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NoReturn

from acqo_rl.errors import ConversationError
from acqo_rl.types import Turn

FORMS = (
    "messages with role and content, as in OpenAI's chat API (system and tool messages are skipped); pairs of question"
    " and answer; strings that alternate, starting with the user; strings, or lines of one text, that begin with U: and"
    " S:, or user: and assistant:"
)
"""The forms, for schemas and error messages; LangChain messages are read only by their adapter."""

_CONTENT: dict[str, Any] = {
    "anyOf": [
        {"type": ["string", "null"]},
        {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {key: {"type": "string"} for key in ("type", "text", "refusal")},
                "required": ["type"],
            },
        },
    ]
}
_SKIPPED = ("system", "developer", "tool", "function")
_MESSAGE: dict[str, Any] = {
    "type": "object",
    "properties": {"role": {"enum": ["user", "assistant", *_SKIPPED]}, "content": _CONTENT},
    "required": ["role"],
    "anyOf": [{"required": ["content"]}, {"required": ["tool_calls"]}],
}
_PAIR: dict[str, Any] = {"type": "array", "items": {"type": ["string", "null"]}, "minItems": 2, "maxItems": 2}
HISTORY_SCHEMA: dict[str, Any] = {
    "description": f"Earlier turns, oldest first: {FORMS}.",
    "anyOf": [
        {"type": "string", "pattern": r"^\s*($|(U|S|[Uu]ser|[Aa]ssistant)\s*:)"},
        *({"type": "array", "items": items} for items in (_MESSAGE, _PAIR, {"type": "string"})),
    ],
}
"""JSON schema of a history."""

_MARK = re.compile(r"\A\s*(?:(?P<user>U|(?i:user))|S|(?i:assistant))\s*:")
_TEXT_KEYS = {"text": "text", "input_text": "text", "output_text": "text", "refusal": "refusal"}
"""Type of a part -> key of its text; parts of other types (images, reasoning, tool calls) are skipped."""


def read_history(history: object, query: str = "") -> tuple[Turn, ...]:
    """Reads a history, without turns that have no text.

    Args:
        history: a conversation in one of the forms above, or turns; ``None`` is an empty conversation.
        query: the query that follows. If the user's last turn repeats it, that turn is dropped, because chat clients
            send it with the other messages. Case, spacing and closing punctuation are ignored.

    Raises:
        ConversationError: the history has another form.
    """
    turns = [turn for turn in _read(history) if turn.text]
    key = _key(query)
    while key and turns and turns[-1].speaker == "user" and _key(turns[-1].text) == key:
        turns.pop()
    return tuple(turns)


def _read(history: object) -> Iterable[Turn]:
    if history is None:
        return ()
    if isinstance(history, str):
        return _of_text(history)
    if not isinstance(history, Sequence) or isinstance(history, bytes):
        _refuse("the history", history)
    for kind, read in ((Turn, iter), (str, _of_strings), (Mapping, _of_messages), ((list, tuple), _of_pairs)):
        if history and isinstance(history[0], kind):
            for number, one in enumerate(history, 1):
                if not isinstance(one, kind):
                    _refuse(f"item {number} of the history", one)
            return read(history)
    return _refuse("item 1 of the history", history[0]) if history else ()


def _of_text(text: str) -> Iterable[Turn]:
    turns: list[list[str]] = []
    for line in text.split("\n"):
        if _MARK.match(line):
            turns.append([line])
        elif turns:
            turns[-1].append(line)
        elif line.strip():
            _refuse("the first line of the history", line)
    return _of_strings(["\n".join(lines) for lines in turns])


def _of_strings(texts: Sequence[str]) -> Iterator[Turn]:
    """Reads strings; if the first one that is not empty begins with a speaker, all must."""
    if not _MARK.match(next(filter(str.strip, texts), "")):
        yield from (Turn("assistant" if number % 2 else "user", text.strip()) for number, text in enumerate(texts))
        return
    for number, text in enumerate(texts, 1):
        if mark := _MARK.match(text):
            yield Turn("user" if mark["user"] else "assistant", text[mark.end() :].strip())
        elif text.strip():
            _refuse(f"the speaker is missing in item {number} of the history, which", text)


def _of_pairs(pairs: Sequence[Sequence[object]]) -> Iterator[Turn]:
    for number, pair in enumerate(pairs, 1):
        texts = ["" if text is None else text for text in pair]
        if len(texts) != 2 or not all(isinstance(text, str) for text in texts) or texts[0] in ("user", "human"):
            _refuse(f"item {number} of the history", pair)
        yield Turn("user", str(texts[0]).strip())
        yield Turn("assistant", str(texts[1]).strip())


def _of_messages(messages: Sequence[Mapping[str, object]]) -> Iterator[Turn]:
    for number, message in enumerate(messages, 1):
        role = message.get("role")
        what = f"item {number} of the history"
        if role in ("user", "assistant") and ("content" in message or "tool_calls" in message):
            yield Turn("user" if role == "user" else "assistant", _content(message.get("content"), what).strip())
        elif role not in _SKIPPED:
            _refuse(what, message)


def _content(content: object, what: str) -> str:
    if content is None or isinstance(content, str):
        return content or ""
    if not isinstance(content, (list, tuple)):
        _refuse(f"the content of {what}", content)
    texts = []
    for part in content:
        kind = part.get("type") if isinstance(part, Mapping) else None
        text = part.get(_TEXT_KEYS[kind], "") if kind in _TEXT_KEYS else ""
        if not isinstance(kind, str) or not isinstance(text, str):
            _refuse(f"a part of {what}", part)
        texts.append(text)
    return "\n".join(filter(None, texts))


def _key(text: str) -> str:
    return " ".join(text.casefold().split()).rstrip(" ?.!\uff1f\u3002\uff01\u061f")


def _refuse(what: str, value: object) -> NoReturn:
    raise ConversationError(
        f"The conversation cannot be read: {what} is {reprlib.repr(value)}. Convert all of it to one of five forms: "
        f"{FORMS}; or LangChain messages, which the LangChain adapter reads."
    )
