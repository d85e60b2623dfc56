"""Finds the messages in an object that contains a conversation: in a list, in a transcript or in a tree of replies."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from email.utils import parsedate_to_datetime
from itertools import pairwise
from typing import Any

from acqo_rl.chat_exports import read_export
from acqo_rl.exchanges import answer_in, asked_in
from acqo_rl.message_fields import ROLE_KEYS, content_of, field, is_unspoken, role_in, speaker_of, words_of
from acqo_rl.speaker_marks import is_letter, role_of, transcript

LIST_KEYS = (
    *("messages", "conversations", "conversation", "history", "chat_history", "turns", "utterances", "dialogue"),
    *("dialog", "contents", "input"),
)
_OF_A_CONVERSATION = re.compile(
    "messages?|conversations?|histor(?:y|ies)|turns?|utterances?|dialog(?:ue)?s?|chats?|transcripts?|threads?|log"
    "|events?|exchanges?|interactions?|context|comments?|requests?"
)
"""Words in the names of fields with a conversation: ``previous_turns``, ``chatLog``."""
_TIMES = (
    *(
        "created_at",
        "createdAt",
        "createdDateTime",
        "create_at",
        "timestamp",
        "timestamp_ms",
        "ts",
        "sent_at",
        "sentAt",
    ),
    *("date_sent", "dateSent", "date_created", "dateCreated", "time", "date"),
)
_TIME = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d\S*|\d{9,13}(?:\.\d+)?")
"""A point in time, of which a later one is greater as a text: ISO 8601, or seconds since 1970."""
_MAIL_TIME = re.compile(r"[A-Z][a-z]{2}, \d{1,2} [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d [+-]\d{4}")
_MAX_NESTING = 4
"""Maximum number of objects around a conversation."""


def listed_in(history: object, depth: int = _MAX_NESTING) -> object:
    """The conversation in an object; ``None`` if there is none.

    It is in a field with a usual name, else in the only list of messages, else in a tree of replies, else in the only
    field whose name says that it has a conversation. Objects in the object are searched last.
    """
    listed = field(history, LIST_KEYS)
    values = list(history.values()) if isinstance(history, Mapping) else []
    is_title = _is_flat(listed) and any(is_list(one) and one for one in values)
    if listed is not None and not isinstance(listed, str) and not is_title:
        return listed
    if not isinstance(history, Mapping):
        return None
    lists = [one for one in values if is_list(one) and one and all(map(_is_turn, one))]
    lists += [one for one in values if isinstance(one, Mapping) and is_list(field(one, LIST_KEYS))]
    if len(lists) == 1:
        return lists[0]
    if trees := [tree for one in values if (tree := _thread(one, field(history, ("current_node", "currentId"))))]:
        return trees[0]
    if by_id := [messages for one in values if isinstance(one, Mapping) and (messages := _by_own_id(one))]:
        return by_id[0]
    named = [value for key, value in history.items() if any(map(_OF_A_CONVERSATION.fullmatch, words_of(key)))]
    found = [one for one in named if (is_list(one) and one) or _is_transcript(one)]
    if not found and depth and not _has_sides(history):
        inner = [listed_in(one, depth - 1) for one in values if _may_hold(one)]
        found = [one for one in inner if one is not None]
    return found[0] if len(found) == 1 else None


def messages_by_id(history: Mapping[Any, Any]) -> list[Any]:
    """The messages of a mapping from ids to messages; empty if it is something else."""
    if thread := _thread(history, None):
        return thread
    if messages := _by_own_id(history):
        return messages
    messages = list(history.values())
    return messages if all(role_in(field(message, ROLE_KEYS)) for message in messages) else []


def _by_own_id(history: Mapping[Any, Any]) -> list[Any]:
    """The messages of a mapping whose keys are also the ids in the messages, by time; empty if this is none."""
    messages = list(history.values())
    if not all(isinstance(one, Mapping) and one.get("id") == key for key, one in history.items()):
        return []
    if not all(content_of(one) and field(one, ("parent", "parentId")) is None for one in messages):
        return []
    times = _times(messages)
    return [messages[place] for place in sorted(range(len(times)), key=times.__getitem__)] if times else messages


def oldest_first(items: list[Any]) -> list[Any]:
    """Reverses messages that were listed newest first, as chat services do: all have a time, none a later one."""
    times = _times(items)
    is_reversed = bool(times) and times[0] > times[-1] and all(time >= after for time, after in pairwise(times))
    return items[::-1] if is_reversed else items


def _times(items: Sequence[object]) -> list[Any]:
    """The times of messages, which can be compared; empty if one has none."""
    times = [_comparable(field(item, _TIMES)) for item in items if not isinstance(item, str)]
    is_known = len(times) == len(items) and (
        all(isinstance(time, (int, float)) for time in times) or all(isinstance(time, str) for time in times)
    )
    return times if is_known else []


def _comparable(time: object) -> float | str | None:
    if isinstance(time, str) and _MAIL_TIME.fullmatch(time):
        with suppress(ValueError, OverflowError):
            return parsedate_to_datetime(time).timestamp()
    is_time = isinstance(time, (int, float)) or (isinstance(time, str) and _TIME.fullmatch(time))
    return time if is_time else None  # type: ignore[return-value]


def is_list(value: object) -> bool:
    """Whether a value has items that are not those of a text or of a mapping."""
    return isinstance(value, Iterable) and not isinstance(value, (str, bytes, Mapping))


def inside(item: object) -> object:
    """The only message or pair in an object around it: ``{"item": {"role": ..., "content": ...}, "id": ...}``."""
    values = item.values() if isinstance(item, Mapping) else ()
    found = [one for one in values if isinstance(one, Mapping) and _is_talk(one)]
    return found[0] if len(found) == 1 else None


def _is_talk(item: Mapping[Any, Any]) -> bool:
    return role_in(field(item, ROLE_KEYS)) is not None or _has_sides(item)


def _has_sides(item: Mapping[Any, Any]) -> bool:
    """Whether an object has a field for each side: ``{"human": ..., "ai": ...}``."""
    return {role_of(key) for key in item if not is_letter(key)} >= {"user", "assistant"}


def _is_turn(item: object) -> bool:
    if speaker_of(item) or _is_exchange(item):
        return True
    inner = inside(item)
    return inner is not None and bool(speaker_of(inner))


def _is_exchange(item: object) -> bool:
    return asked_in(item) is not None and answer_in(item) is not None and not is_unspoken(item)


def _is_flat(value: object) -> bool:
    """Whether a value is an object with nothing but texts, numbers and truth values."""
    return isinstance(value, Mapping) and not any(isinstance(one, Mapping) or is_list(one) for one in value.values())


def _may_hold(value: object) -> bool:
    return isinstance(value, Mapping) and role_in(field(value, ROLE_KEYS)) is None


def _is_transcript(value: object) -> bool:
    return isinstance(value, str) and (len(read_export(value)) > 1 or len(transcript(value)) > 1)


def _thread(nodes: object, last: object) -> list[Any]:
    """The messages from the root of a tree to one leaf, as ChatGPT exports them; empty if this is no such tree.

    Args:
        nodes: id -> node with ``parent`` and ``children``, and a message that may be ``None``.
        last: id of the leaf; if it is unknown, the last reply to each message is followed.
    """
    if not isinstance(nodes, Mapping) or not nodes:
        return []
    if not all(isinstance(node, Mapping) and ("parent" in node or "parentId" in node) for node in nodes.values()):
        return []
    parents = {key: field(node, ("parent", "parentId")) for key, node in nodes.items()}
    if not all(parent is None or isinstance(parent, (str, int)) for parent in parents.values()):
        return []
    path: list[Any] = []
    leaf = last if isinstance(last, str) and last in parents else _last_leaf(nodes, parents)
    while leaf in parents and leaf not in path:
        path.append(leaf)
        leaf = parents[leaf]
    messages = [nodes[key]["message"] if "message" in nodes[key] else nodes[key] for key in reversed(path)]
    return [one for one in messages if one is not None and not _is_hidden(one)]


def _last_leaf(nodes: Mapping[Any, Any], parents: Mapping[Any, Any]) -> Any:
    """The leaf that is reached from the root by the last reply to each message; ``None`` if there is no root."""
    replies: dict[Any, list[Any]] = {}
    for key, parent in parents.items():
        replies.setdefault(parent, []).append(key)
    leaf = next((key for key, parent in parents.items() if parent not in parents), None)
    while known := replies.get(leaf):
        order = field(nodes[leaf], ("children", "childrenIds"))
        order = order if isinstance(order, list) else []
        leaf = max(known, key=lambda key: (order.index(key) if key in order else len(order), known.index(key)))
    return leaf


def _is_hidden(message: object) -> bool:
    """Whether a message is a call of a tool, or is not shown."""
    if not isinstance(message, Mapping):
        return False
    metadata = message.get("metadata")
    hidden = isinstance(metadata, Mapping) and metadata.get("is_visually_hidden_from_conversation")
    return bool(hidden) or message.get("recipient") not in (None, "all")
