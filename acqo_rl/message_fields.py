"""Reads the fields of messages, which are dictionaries or objects: the role, the name of the speaker, the content."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from acqo_rl.errors import ConversationError
from acqo_rl.speaker_marks import Role, role_of

ROLE_KEYS = ("role", "speaker", "from", "author", "sender", "type", "kind", "event")
TEXT_KEYS = (
    "content",
    "text",
    "value",
    "utterance",
    "message",
    "parts",
    "blocks",
    "items",
    "data",
    "body",
    "msg",
    "payload",
    "steps",
)
_NAME_KEYS = ("role", "speaker", "from", "author", "sender", "name", "user", "username")
"""Fields with the name of a speaker."""
_KIND_KEYS = ("type", "block_type", "content_type", "part_kind", "kind")
_UNSPOKEN = re.compile(
    r"reason|think|thought|tool|function|search|file|image|system|retry|code_?(?:exec|inter)|executable"
    r"|mcp_|(?:computer|shell|patch)_call|^summary$",
    re.I,
)
"""Types of message parts that nobody said: ``thinking``, ``tool_result``, ``function_call_output``."""


_UNSAID_ROLE = re.compile(
    r"(?:tool|function)[ _-]?(?:calls?|uses?|results?|returns?)|observations?|ipython|thoughts?|think(?:ing)?"
    r"|reasoning",
    re.I,
)
"""Roles of messages that nobody said, in the formats of LLaMA-Factory, Llama and agents."""
_THOUGHT_TITLE = re.compile(r"\W*(?:think(?:ing)?|thoughts?|reasoning|(?:used )?tools?)\b", re.I)
"""The beginning of the title under which Gradio folds a message."""
_SPEECH = re.compile(r"message|utterance|text|chat|said|post", re.I)
_TEXT_WORDS = frozenset(("text", "body", "message", "content", "utterance", "msg", "transcript", "sentence"))
"""Last words of the names of fields with a text: ``messageText``, ``text_content``."""
_SIDE_WORDS = frozenset(("from", "sender", "author", "speaker", "participant", "side", "incoming", "outgoing"))
_RELATIVE = frozenset(("me", "mine", "self", "own", "sent"))
"""Words for the side that exported a conversation, which may be the user or a service."""
_DIRECTIONS = (("inbound", "user"), ("incoming", "user"), ("outbound", "assistant"), ("outgoing", "assistant"))


def role_in(name: object) -> Role | None:
    """The role for a name or for an author object with a ``role``, a ``label`` or a ``type``."""
    name = field(name, ("role", "label", "type")) if isinstance(name, Mapping) else name
    name = getattr(name, "value", name)
    return "left out" if isinstance(name, str) and _UNSAID_ROLE.fullmatch(name.strip()) else role_of(name)


def speaker_of(item: object) -> str:
    """The role or the name of the speaker of a message; empty if it has neither."""
    name = field(item, _NAME_KEYS)
    name = _author(name) if isinstance(name, Mapping) else getattr(name, "value", name)
    known = field(item, ROLE_KEYS)
    if role_in(known) is not None:
        name = getattr(known, "value", known if isinstance(known, str) else name)
    return str(name) if isinstance(name, (str, int)) else ""


def _author(author: Mapping[Any, Any]) -> Any:
    """The role or the name in an author object, or in the only object in it: ``{"user": {"displayName": "Ada"}}``."""
    if (name := field(author, ("role", "label", "name"))) is not None:
        return name
    inner = [(key, one) for key, one in author.items() if isinstance(one, Mapping)]
    if len(inner) != 1:
        return None
    [(key, person)] = inner
    return "assistant" if key == "application" else field(person, ("displayName", "name"))


def words_of(key: object) -> list[str]:
    """The words of a field's name in lower case: ``chatLog``, ``chat_log`` and ``chat-log`` have two."""
    return re.findall(r"[a-z]+", re.sub(r"(?<=[a-z])(?=[A-Z])", "_", str(key)).lower())


def side_names(items: Sequence[object]) -> list[str]:
    """The speakers of messages that have a field such as ``fromMe``, ``is_bot`` or ``sender_id``; empty if none has.

    A field with a role in its name, such as ``is_bot``, gives the role; other fields give a name for each value.
    """
    fields = [_scalars(item) for item in items]
    found: list[str] = []
    for key in dict.fromkeys(key for one in fields for key in one):
        values = [one.get(key) for one in fields]
        if True in values and all(isinstance(value, bool) or value is None for value in values):
            if sides := _sides(words_of(key), values):
                return sides
        elif not found and len(set(values)) > 1 and None not in values:
            directions = [_direction(value) for value in values]
            words = words_of(key)
            if all(directions) or not _SIDE_WORDS.isdisjoint(words) or any(map(_role_in_words, words)):
                found = directions if all(directions) else [str(value) for value in values]
    return found


def _sides(words: Sequence[str], values: Sequence[object]) -> list[str]:
    """The speakers for the truth values of a field; empty if its name has no word for a side."""
    if not _RELATIVE.isdisjoint(words):
        return ["one side" if value else "other side" for value in values]
    roles = [role for word in words if (role := _role_in_words(word))]
    if not roles:
        return []
    yes, no = ("assistant", "user") if roles[-1] == "assistant" else ("user", "assistant")
    return [yes if value else no for value in values]


def _role_in_words(word: str) -> str | None:
    """The role that a word in a field's name has; letters are no roles there."""
    return _direction(word) or (role_of(word) if len(word) > 1 else None)


def _direction(value: object) -> str:
    """The role for a direction: a service receives the messages of users."""
    found = (role for begin, role in _DIRECTIONS if isinstance(value, str) and value.lower().startswith(begin))
    return next(found, "")


def _scalars(item: object) -> dict[str, str | int | bool]:
    """The fields of an item, and those of the objects in it, that have a text, a number or a truth value."""
    if not isinstance(item, Mapping):
        return {}
    inner = {
        f"{key}_{name}": value for key, one in item.items() if isinstance(one, Mapping) for name, value in one.items()
    }
    return {str(key): value for key, value in {**item, **inner}.items() if isinstance(value, (str, int))}


def is_unspoken(part: object) -> bool:
    """Whether an item or a message part is a thought, a tool call, a tool result, a file, an image or another event."""
    event = field(part, ("event",))
    if isinstance(event, str) and role_of(event) is None and not _SPEECH.search(event):
        return True
    kinds = (kind_of(part), kind_of(field(part, ("style",))))
    return any(map(_UNSPOKEN.search, kinds)) or is_thought(part)


def is_thought(item: object) -> bool:
    """Whether a message or a part has a flag or a title that says that it is a thought, whoever sent it."""
    title = field(field(item, ("metadata",)), ("title",))
    folded = isinstance(title, str) and _THOUGHT_TITLE.match(title)
    return bool(folded) or field(item, ("thought", "isThought", "is_thought")) is True


def is_unspoken_name(name: object) -> bool:
    """Whether the name of a part's only field says the same: ``functionCall``, ``toolUse``, ``image``, ``path``."""
    return bool(_UNSPOKEN.search(str(name))) or name == "path"


def kind_of(part: object) -> str:
    """The type of a message or of a part; empty if it has none."""
    kind = field(part, _KIND_KEYS)
    kind = getattr(kind, "value", kind)
    return kind if isinstance(kind, str) else ""


def is_missing(value: object) -> bool:
    """Whether a value is ``None`` or NaN, the null of pandas."""
    return value is None or (isinstance(value, float) and math.isnan(value))


def field(item: object, keys: Sequence[str]) -> Any:
    """The value of the first key or attribute that exists and is not missing; keys may be capitalised."""
    if isinstance(item, str):
        return None
    if isinstance(item, Mapping):
        values = (item.get(key, item.get(key.capitalize())) for key in keys)
    else:
        values = (getattr(item, key, None) for key in keys)
    return next((value for value in values if not is_missing(value)), None)


def content_of(item: object) -> Any:
    """The text of a message or the list of its parts; a blank one is skipped if another field has one."""
    first = field(item, TEXT_KEYS)
    if isinstance(item, Mapping):
        if isinstance(first, Mapping) and first is item.get("data") and "text" in item:
            return None  # an event of Rasa without text
        if first is None and not any(map(role_of, item)):
            first = next((value for key, value in item.items() if _names_text(key) and isinstance(value, str)), None)
    if first and not (isinstance(first, str) and not first.strip()):
        return first
    audio = field(item, ("audio",))
    others = [*(field(item, (key,)) for key in (*TEXT_KEYS, "refusal")), audio and field(audio, ("transcript",))]
    return next((one for one in others if isinstance(one, (str, list)) and one and one != first), first)


def _names_text(key: object) -> bool:
    words = words_of(key)
    return bool(words) and words[-1] in _TEXT_WORDS and not any(map(role_of, words[:-1]))


def unreadable(value: object) -> ConversationError:
    """The error for a turn of an unsupported shape."""
    seen = repr(value)
    return ConversationError(
        f"An earlier turn has an unsupported shape: {seen if len(seen) <= 80 else f'{seen[:77]}...'}; give a text, a"
        " message with role and content, or a pair of question and answer."
    )


def has_field(item: object, keys: Sequence[str]) -> bool:
    """Whether one of the keys or attributes exists, perhaps without a value."""
    if isinstance(item, Mapping):
        return any(key in item or key.capitalize() in item for key in keys)
    return any(hasattr(item, key) for key in keys)
