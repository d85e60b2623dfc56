"""Reads conversation histories of many shapes into a tuple of :class:`Turn`.

A history can be a list (oldest turn first) of

- strings, with or without a speaker mark (see :mod:`acqo_rl.speaker_marks`), or all with several marked turns;
- messages with a role and a content: dictionaries, or objects of OpenAI, LangChain, LlamaIndex, Haystack or MCP;
- pairs: ``{"question": ..., "answer": ...}``, ``("human", "text")``, ``("question", "answer")``.

Instead of a list it can be one text with the whole conversation (a transcript, an exported chat, subtitles, a rendered
chat template, JSON, CSV), an object with such a list (see :mod:`acqo_rl.message_lists`), or a table with a column of
roles and a column of contents.

Turns without a speaker mark alternate, starting with the user. If speakers have individual names, the first one that
is no bot is the user, and all turns with one name have the same speaker. The reader skips empty turns, thoughts, tool
calls and their results, and turns of the roles ``system``, ``developer``, ``tool`` and ``function``. If only ``system``
answers the user, it counts as the assistant.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any, Literal

from acqo_rl.chat_exports import read_export, sides_of
from acqo_rl.errors import ConversationError
from acqo_rl.exchanges import (
    answer_in,
    asked_in,
    chosen_in,
    completion_in,
    exchange_in,
    is_exchange,
    question_in,
    with_replies,
)
from acqo_rl.message_fields import (
    ROLE_KEYS,
    TEXT_KEYS,
    content_of,
    field,
    has_field,
    is_missing,
    is_thought,
    is_unspoken,
    kind_of,
    role_in,
    side_names,
    speaker_of,
    unreadable,
)
from acqo_rl.message_lists import inside, is_list, listed_in, messages_by_id, oldest_first
from acqo_rl.message_parts import PART_KEYS, as_turn, may_be_said, text_of
from acqo_rl.message_texts import printed_messages, without_html, written_value
from acqo_rl.speaker_marks import Role, Said, is_letter, named_speakers, read_text, role_of, transcript
from acqo_rl.surrogates import well_formed
from acqo_rl.thoughts import as_said

Speaker = Literal["user", "assistant"]


@dataclass(frozen=True, slots=True)
class Turn:
    """One earlier turn; ``str()`` gives the form used in prompts and BEIR folders: "U: ..." or "S: ..."."""

    speaker: Speaker
    text: str

    def __str__(self) -> str:
        return f"{'U' if self.speaker == 'user' else 'S'}: {self.text}"


_WRAPPER_KEYS = ("message", "kwargs", "data")
_WRITTEN_TURN = re.compile(r"[US]: ")
_ASKS = ("?", "\uff1f", "\u061f")
_PREAMBLE = re.compile(
    r"\s*(?:a|the following is a) (?:chat|conversation) between\b.{0,800}?\s"
    r"(?=(?:\#{3}\s*)?(?:USER|Human|User)\s?:)",
    re.S | re.I,
)
"""The system prompt that Vicuna's format writes before the first turn, without a mark."""
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
    items = with_replies(oldest_first(list(_items(history))))
    texts = [item for item in items if isinstance(item, str)]
    said = (_exported(texts) or named_speakers(texts)) if len(texts) == len(items) else []
    said = said or _by_name(items) or [part for item in items for part in _read(item)]
    roles = [one.role for one in said]
    if len(said) > 1 and roles == ["system", *[None] * (len(said) - 1)] and not said[0].text.endswith(_ASKS):
        said = said[1:]  # instructions, and turns without marks
    marked = sum(one.role is not None for one in said)
    if 2 * marked <= len(said):
        said = [one if one.unmarked is None else Said(None, one.unmarked) for one in said]
    return list(_with_speakers(_without_skipped(said)))


def _by_name(items: Sequence[object]) -> list[Said]:
    """Reads messages whose speakers have individual names; empty if there are none or if a message has no speaker."""
    if any(map(exchange_in, items)):
        return []
    pairs = [one for one in items if isinstance(one, (list, tuple)) and len(one) == 2]
    if len(pairs) == len(items) > 2:
        if len({str(name) for name, _ in pairs}) != 2 or any(role_of(name) is not None for name, _ in pairs):
            return []
        items = [{"speaker": name, "text": text} for name, text in pairs]
    spoken = [item for item in items if not is_missing(item) and not isinstance(item, (str, Turn)) and _says(item)]
    names = [speaker_of(item) for item in spoken]
    if len(spoken) < sum(is_missing(item) or _says(item) for item in items):
        return []
    has_sides = not any(names) and not any(map(is_exchange, spoken)) and bool(names := side_names(spoken))
    roles = [role_in(name) for name in names]
    if not all(names) or (None not in roles and not has_sides):
        return []
    roles = [None if is_letter(name) else role for name, role in zip(names, roles, strict=True)]
    sides = sides_of([name for name, role in zip(names, roles, strict=True) if role in (None, "user", "assistant")])
    return [
        one
        for item, name, role in zip(spoken, names, roles, strict=True)
        for one in as_turn(sides.get(name, role), content_of(item))
    ]


def _says(item: object) -> bool:
    return not is_unspoken(item) and bool(content_of(item))


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
        text = as_said(one.text) if speaker == "assistant" else one.text
        yield Turn(speaker, well_formed(text.strip()))


_OTHER = {"user": "assistant", "assistant": "user"}


def _items(history: object, depth: int = _MAX_NESTING) -> Iterable[object]:
    if is_missing(history):
        return ()
    if isinstance(history, str):
        if (written := written_value(history)) is not None:
            return _items(written)
        history = history[begin.end() :] if (begin := _PREAMBLE.match(history)) else history
        return printed_messages(history) or read_export(history) or transcript(history)
    if callable(get_all := getattr(history, "get_all", None)):  # a LlamaIndex memory
        return _items(get_all())
    if rows := _rows(history):
        return rows
    if isinstance(history, Turn) or _is_message(history):
        return (history,)
    if isinstance(asked := field(history, ("past_user_inputs",)), list):  # a conversation of transformers
        pairs = zip_longest(asked, field(history, ("generated_responses",)) or [])
        return [*({"question": q, "answer": a} for q, a in pairs), {"question": field(history, ("text",))}]
    listed = None if exchange_in(history) else listed_in(history)
    if depth and listed is not None:
        turns = [*_opening(history), *_items(listed, depth - 1)]
        return [*turns, *_after(history, turns[-1:])]
    if isinstance(history, Mapping):
        return by_id if (by_id := messages_by_id(history)) else (history,)
    if isinstance(history, Iterable) and not isinstance(history, bytes):
        items = list(history)
        only = items[0] if depth and len(items) == 1 else None
        is_wrapper = isinstance(only, Mapping) and not _is_message(only) and not isinstance(asked_in(only), str)
        return _items(only, depth - 1) if is_wrapper else _unfolded(items)
    raise unreadable(history)


def _opening(history: object) -> list[object]:
    """The first message of a conversation of Intercom, which is beside the list of the others."""
    source = field(history, ("source",))
    return [source] if _is_message(source) else []


def _after(history: object, last: Sequence[object]) -> list[object]:
    """The answer beside a list of earlier turns, with its question unless that is the last turn of the list."""
    if (answer := answer_in(history)) is None or (isinstance(answer, Mapping) and not may_be_said(answer)):
        return []
    asked = asked_in(history)
    is_listed = any(asked in (turn, content_of(turn)) for turn in last)
    question = [{"role": "user", "content": asked}] if isinstance(asked, str) and not is_listed else []
    has_text = not isinstance(answer, Mapping) or field(answer, PART_KEYS) is not None
    return [*question, {"role": "assistant", "content": answer} if has_text else answer]


def _unfolded(items: list[object]) -> list[object]:
    """The turns in the strings of a list, if each of these is a conversation; otherwise the strings."""
    turns: list[object] = []
    for item in items:
        inside = _turns_inside(item) if isinstance(item, str) else []
        if not inside:
            return items
        turns += inside
    return turns


def _turns_inside(text: str) -> list[Turn]:
    """The turns in a text that begins with the mark of a speaker; empty if only one side speaks.

    In a text that begins like ``str(turn)``, other marks are part of the turn, so that a history can be read back.
    """
    if _WRITTEN_TURN.match(text) and not all(map(_WRITTEN_TURN.match, transcript(text))):
        return []
    try:
        turns = read_turns(text)
    except ConversationError:
        return []
    is_marked = bool(turns) and not text.lstrip().startswith(turns[0].text)
    return turns if is_marked and len({turn.speaker for turn in turns}) > 1 else []


def _is_message(item: object) -> bool:
    """Whether an item has a role, or a speaker of another name and a text."""
    speaker = field(item, ROLE_KEYS)
    return role_in(speaker) is not None or (speaker is not None and isinstance(content_of(item), str))


def _rows(table: Any) -> list[dict[str, Any]]:
    """The turns of a table with columns, such as a data frame; empty if ``table`` is not one."""
    if not isinstance(table, Mapping) and not hasattr(table, "columns"):
        return []
    names = list(table if isinstance(table, Mapping) else table.columns)
    columns = {name: list(table[name]) for name in names if is_list(table[name])}
    columns = {name[:-1] if _is_plural(name) else name: values for name, values in columns.items()}
    spoken = [name for name in columns if name in ROLE_KEYS or name in TEXT_KEYS or role_of(name) is not None]
    if (
        len(spoken) < 2
        or len({len(columns[name]) for name in spoken}) > 1
        or any(name in ROLE_KEYS and name not in columns for name in names)
    ):
        return []
    return [dict(zip(spoken, row, strict=True)) for row in zip(*(columns[name] for name in spoken), strict=True)]


def _is_plural(name: object) -> bool:
    """Whether a name is one of "questions" and "answers"."""
    return isinstance(name, str) and name.endswith("s") and len(name) > 2 and role_of(name[:-1]) is not None


def _read_all(items: Iterable[object], depth: int = _MAX_NESTING) -> list[Said]:
    return [said for item in with_replies(items) for said in _read(item, depth)]


def _read(item: object, depth: int = _MAX_NESTING) -> list[Said]:
    if is_missing(item):
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
            return as_turn(role, item[1])
        return [*as_turn("user", item[0]), *as_turn("assistant", item[1])]
    if (exchange := exchange_in(item)) is not None:
        return [*as_turn("user", exchange[0]), *as_turn("assistant", exchange[1])]
    role, content = role_in(field(item, ROLE_KEYS)), content_of(item)
    if is_thought(item):
        return []
    if role is not None:
        if content is None and isinstance(written := answer_in(item), str):
            content = written
        if role == "user" and content is None and not has_field(item, TEXT_KEYS):
            raise unreadable(item)
        return as_turn(role, content)
    if depth and (inner := field(item, _WRAPPER_KEYS)) is not None:
        if role_in(field(inner, ROLE_KEYS)) is not None:
            return _read(inner, depth - 1)
        if (role := _role_of_class(item)) is not None:
            return as_turn(role, field(inner, TEXT_KEYS))
    if is_unspoken(item):
        return []
    if (completion := completion_in(item)) is not None:
        return as_turn("assistant", content_of(completion))
    if depth and content is None and (inner := inside(item) or chosen_in(item)) is not None:
        return _read(inner, depth - 1)
    named = item if isinstance(item, Mapping) else getattr(item, "__dict__", {})
    if content is None and (asked := asked_in(item)) is not None:
        first = as_turn("user", asked) if role_in(field(asked, ROLE_KEYS)) is None else _read_all([asked])
        return [*first, *as_turn("assistant", answer_in(item))]
    if depth and content is None and (listed := listed_in(item)) is not None:
        return _read_all(_items(listed, depth - 1), depth - 1)
    if content is None and (talk := [(key, value) for key, value in named.items() if role_of(key) is not None]):
        return [one for key, value in talk for one in as_turn(role_of(key), value)]
    if content is None and (
        has_field(item, TEXT_KEYS) or (kind_of(item) and not any(map(may_be_said, named.values())))
    ):
        return []  # a message without text, such as a tool call
    if content is None:
        raise unreadable(item)
    if (answer := answer_in(item)) is not None:
        return [*as_turn("user", content), *as_turn("assistant", answer)]
    if (question := question_in(item)) is not None:
        return [*as_turn("user", question), *as_turn("assistant", content)]
    text = text_of(content)
    return [] if text is None else read_text(without_html(text))


def _role_of_class(item: object) -> Role | None:
    """The role of a serialised LangChain message, whose id ends with the name of its class."""
    path = field(item, ("id",))
    return role_of(path[-1]) if isinstance(path, list) and path else None


def _read_string(text: str) -> list[Said]:
    """Reads a string: a message in JSON, or a text."""
    with suppress(ConversationError):
        written = written_value(text)
        if isinstance(written, Mapping) and role_in(field(written, ROLE_KEYS)) and has_field(written, TEXT_KEYS):
            return _read(written)
    return read_text(text)
