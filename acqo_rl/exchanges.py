"""Finds the question and the answer in an object that has both, or a message and the replies to it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from acqo_rl.message_fields import field, speaker_of, words_of

_ASKED = ("queryText", "query_text", "inputTranscript")
_FULFILMENTS = ("fulfillmentText", "fulfillment_text", "messages", "responseMessages", "response_messages")
_QUESTION_KEYS = ("question", "query", "prompt", "instruction", "input")
_ALPACA = ("instruction", "input")
_ANSWER_KEYS = ("answer", "answers", "response", "reply", "output", "completion", "result", "generated_text", "outputs")
_QUESTION_WORDS = frozenset(("question", "query"))
_ANSWER_WORDS = frozenset(("answer", "response", "reply", "completion", "passage"))
_REPLIES = (("replies", 0), ("children", -1))
_FORMS = frozenset(("text", "str", "string", "content", "body", "message"))
"""Last words of the names of fields, which say nothing about their meaning: ``reply_text``, ``query_str``."""


def exchange_in(item: object) -> tuple[str, Any] | None:
    """The question and the answer in a response of Dialogflow or Lex; ``None`` if this is something else."""
    result = field(item, ("queryResult", "query_result"))
    asked = field(result, (*_ASKED, "text", "transcript")) or field(item, _ASKED)
    if not isinstance(asked, str):
        return None
    return asked, field(result or item, _FULFILMENTS)


def asked_in(item: object) -> Any:
    """The question of an exchange; in the format of Alpaca, the instruction and its input."""
    parts = [one for key in _ALPACA if isinstance(one := field(item, (key,)), str) and one.strip()]
    if len(parts) > 1:
        return "\n".join(parts)
    return asked if (asked := field(item, _QUESTION_KEYS)) is not None else question_in(item)


def question_in(item: object) -> str | None:
    """The text of a field whose name says that it is a question."""
    return _named(item, _QUESTION_WORDS)


def answer_in(item: object) -> Any:
    """The answer of an exchange; ``None`` if there is none."""
    return answer if (answer := field(item, _ANSWER_KEYS)) is not None else _named(item, _ANSWER_WORDS)


def chosen_in(item: object) -> object:
    """The chosen version of a message that has several; ``None`` if it has none."""
    versions, place = field(item, ("versions",)), field(item, ("currentlySelected",))
    if not isinstance(versions, list) or not versions:
        return None
    return versions[place if isinstance(place, int) and 0 <= place < len(versions) else -1]


def completion_in(item: object) -> object:
    """The first choice in a completion of OpenAI's protocol, or in a result of LangChain; ``None`` if there is none."""
    first = field(item, ("choices", "generations"))
    while isinstance(first, list):
        first = first[0] if first else None
    return first


def is_exchange(item: object) -> bool:
    """Whether a field has the name of a question or of an answer."""
    return _named(item, _QUESTION_WORDS | _ANSWER_WORDS) is not None


def with_replies(items: Iterable[object]) -> list[object]:
    """Messages, each followed by the replies to it in a tree of messages."""
    return [one for item in items for one in (item, *_replies_in(item))]


def _replies_in(item: object) -> list[object]:
    """A reply to a message in a tree of messages, a reply to that reply, and so on.

    It is the first of ``replies``, which may be ranked, and the last of ``children``, which are attempts.
    """
    found: list[object] = []
    while reply := next((one for key, place in _REPLIES if (one := _reply(item, key, place))), None):
        item = reply
        found.append(item)
    return found


def _reply(item: object, key: str, place: int) -> object:
    listed = field(item, (key,))
    replies = [one for one in listed if speaker_of(one)] if isinstance(listed, (list, tuple)) else []
    return replies[place] if replies else None


def _named(item: object, words: frozenset[str]) -> str | None:
    if not isinstance(item, Mapping):
        return None
    for key, value in item.items():
        *first, last = words_of(key) or [""]
        if isinstance(value, str) and value.strip() and (last in words or (last in _FORMS and words & {*first})):
            return value
    return None
