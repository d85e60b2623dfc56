"""Earlier turns of a conversation in one normal form, whatever shape they come in.

Read are lists (oldest turn first) of

- strings, with a mark of the speaker ("U:", "S:", "User:", "Assistant:", "Human:", "AI:", "Q:", "A:", "**Bot**:",
  "<|user|>", "[INST]", ...; in any case) or without;
- messages with a role and a content: dictionaries, and the objects of OpenAI, LangChain, LlamaIndex, Haystack, MCP;
- pairs: ``{"question": ..., "answer": ...}``, ``("human", "text")``, ``("question", "answer")``;

and, in place of the list, one text that holds the whole conversation or an object whose ``messages`` are one.

Turns without a mark alternate, beginning with the user. Left out are empty turns and those of the roles ``system``,
``developer``, ``tool`` and ``function``. A ``system`` that answers the user in the assistant's place is the assistant.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal

from acqo_rl.errors import ConversationError
from acqo_rl.surrogates import well_formed

Speaker = Literal["user", "assistant"]

ACCEPTED = (
    "Earlier turns, oldest first: strings, with a mark of the speaker (U: and S:, User: and Assistant:, ...) or"
    " without; messages with role and content; or pairs of question and answer. Turns without a mark alternate,"
    " beginning with the user; system and tool messages are left out."
)
"""For schemas and pages: what a history may look like."""


@dataclass(frozen=True, slots=True)
class Turn:
    """One earlier turn of a conversation; ``str()`` writes it as prompts and BEIR folders do: "U: ..." or "S: ..."."""

    speaker: Speaker
    text: str

    def __str__(self) -> str:
        return f"{'U' if self.speaker == 'user' else 'S'}: {self.text}"


_Role = Literal["user", "assistant", "system", "left out"]


@dataclass(frozen=True, slots=True)
class _Said:
    """A turn as it was read: ``role`` is None without a mark; ``unmarked`` is the text before a weak mark was cut."""

    role: _Role | None
    text: str
    unmarked: str | None = None


_STRONG: dict[str, _Role] = {
    **dict.fromkeys(("u", "q", "user", "human"), "user"),
    **dict.fromkeys(("s", "a", "assistant", "ai", "ai assistant", "bot", "chatbot", "chatgpt"), "assistant"),
}
_WEAK: dict[str, _Role] = {
    **dict.fromkeys(("h", "question", "customer", "client", "guest", "caller", "visitor", "you", "me"), "user"),
    **dict.fromkeys(("answer", "agent", "operator", "model"), "assistant"),
    "system": "system",
}
"""Names that begin ordinary sentences, too: marks only where most turns of the conversation have a mark."""
_ROLES: dict[str, _Role] = {
    **_STRONG,
    **_WEAK,
    **dict.fromkeys(("query", "input", "prompt", "prompter"), "user"),
    **dict.fromkeys(("response", "output", "completion", "gpt"), "assistant"),
    **dict.fromkeys(("developer", "tool", "function"), "left out"),
}

_LETTERS = {name for name in _ROLES if len(name) == 1}

_NAMES = "|".join(sorted((*_STRONG, *_WEAK), key=len, reverse=True))
_WORDS = "|".join(sorted((name for name in (*_STRONG, *_WEAK) if len(name) > 1), key=len, reverse=True))
_WRITTEN = re.compile(  # User: **User:** **User**: ### User: [User] <user>
    rf"[^\S\n]*(?:\#+\s*|>\s*)?(?:(?P<open>[*_]+|[\[(])?(?P<name>{_NAMES})(?:(?<=\w)[*_\])]+)?\s?[:\uff1a](?(open)[*_\])]*)"
    rf"(?![/\\])|[\[<](?P<bracketed>{_WORDS})[\]>])\s*",
    re.I,
)
_TEMPLATE = re.compile(  # <|im_start|>user <|start_header_id|>user<|end_header_id|> <|user|> <start_of_turn>user [INST]
    r"(?:<(?:s|bos|\|begin_of_text\|)>\s?)?(?:(?:<\|(?:im_start|start_header_id)\|>|<start_of_turn>)\s*(?P<named>\w+)"
    r"(?:<\|end_header_id\|>)?|<[|\uff5c](?P<token>user|human|assistant|system|tool|bot)[|\uff5c]>|(?P<inst>\[/?INST\]))\s*",
    re.I,
)
_TEMPLATE_END = re.compile(r"<\|(?:im_end|end|eot_id|endoftext|end_of_text)\|>|<end_of_turn>|</s>|<eos>", re.I)

_LISTS = ("messages", "conversations", "conversation", "history", "turns")
_WHO = ("role", "speaker", "from", "author", "sender", "type")
_WHAT = ("content", "text", "value", "utterance", "message", "parts", "blocks", "data")


def read_history(history: object) -> tuple[Turn, ...]:
    """The earlier turns in normal form; reading them again changes nothing.

    Args:
        history: a conversation in one of the shapes above; ``None`` is an empty one.

    Raises:
        ConversationError: a turn is of no such shape.
    """
    said = [part for item in _items(history) for part in _read(item)]
    marked = sum(one.role is not None for one in said)
    if 2 * marked <= len(said):
        said = [one if one.unmarked is None else _Said(None, one.unmarked) for one in said]
    return tuple(turn for turn in _with_speakers(_of_two(said)) if turn.text)


def _of_two(said: Sequence[_Said]) -> list[_Said]:
    """Without the roles that are left out."""
    roles = [one.role for one in said]
    answers = "user" in roles and "assistant" not in roles and "system" in roles[roles.index("user") :]
    system: _Role = "assistant" if answers else "left out"
    named = [_Said(system, one.text) if one.role == "system" else one for one in said]
    return [one for one in named if one.role != "left out"]


def _with_speakers(said: Sequence[_Said]) -> Iterator[Turn]:
    """A turn without a mark is the other speaker's than the one before; the first is told by the first mark."""
    first = next(((i, one.role) for i, one in enumerate(said) if one.role is not None), (0, "user"))
    before = "user" if (first[1] == "user") == (first[0] % 2 == 1) else "assistant"
    for one in said:
        speaker: Speaker = "assistant" if (one.role or _OTHER[before]) == "assistant" else "user"
        before = speaker
        yield Turn(speaker, well_formed(one.text.strip()))


_OTHER = {"user": "assistant", "assistant": "user"}


def _items(history: object) -> Iterable[object]:
    if history is None:
        return ()
    if isinstance(history, str):
        return _transcript(history)
    if isinstance(history, Turn) or _field(history, _WHO) is not None:
        return (history,)
    listed = _field(history, _LISTS)
    if listed is not None and not isinstance(listed, str):
        history = listed
    if isinstance(history, Mapping):
        return (history,)
    if isinstance(history, Iterable) and not isinstance(history, bytes):
        return history
    raise _unreadable(history)


def _transcript(text: str) -> list[str]:
    """One text, cut at the lines that begin with a mark."""
    if _TEMPLATE.search(text):
        return [text]
    starts = [match.start() for match in re.finditer(r"^", text, re.M) if _WRITTEN.match(text, match.start())]
    cuts = sorted({0, *starts, len(text)})
    return [text[start:end] for start, end in pairwise(cuts) if text[start:end].strip()]


def _read(item: object) -> list[_Said]:
    if isinstance(item, Turn):
        return [_Said(item.speaker, item.text)]
    if isinstance(item, str):
        return _read_text(item)
    if isinstance(item, Sequence) and not isinstance(item, bytes) and len(item) == 2:
        role = _role(item[0])
        if role is not None and str(item[0]).lower() not in _LETTERS:
            return [_Said(role, _text(item[1]))]
        return [_Said("user", _text(item[0])), _Said("assistant", _text(item[1]))]
    role, content = _role(_field(item, _WHO)), _field(item, _WHAT)
    if role is not None:
        if role == "user" and not _has(item, _WHAT):
            raise _unreadable(item)
        return [_Said(role, _text(content))]
    named = item if isinstance(item, Mapping) else getattr(item, "__dict__", {})
    if content is None and (pair := [(key, value) for key, value in named.items() if _role(key) is not None]):
        return [_Said(_role(key), _text(value)) for key, value in pair]
    if content is None and _has(item, _WHO) and _has(item, _WHAT):
        return []  # a message without text, such as the call of a tool
    if content is None:
        raise _unreadable(item)
    return _read_text(_text(content))


def _read_text(text: str) -> list[_Said]:
    """A string: one turn, or those that tokens of a chat template separate."""
    tokens = list(_TEMPLATE.finditer(text))
    if tokens and not text[: tokens[0].start()].strip():
        ends = [*(token.start() for token in tokens[1:]), len(text)]
        pieces = ((token, text[token.end() : end]) for token, end in zip(tokens, ends, strict=True))
        return [_Said(_role_of_token(token), _TEMPLATE_END.sub("", piece)) for token, piece in pieces]
    match = _WRITTEN.match(text.lstrip())
    if match is None:
        return [_Said(None, text)]
    name = (match["name"] or match["bracketed"]).lower()
    rest = text.strip()[match.end() :]
    if match["bracketed"] and rest.lower().endswith(f"</{name}>"):
        rest = rest[: -len(f"</{name}>")]
    return [_Said(_ROLES[name], rest, text if name in _WEAK else None)]


def _role_of_token(token: re.Match[str]) -> _Role:
    if token["inst"]:
        return "assistant" if "/" in token["inst"] else "user"
    return _role(token["named"] or token["token"]) or "left out"


def _role(name: object) -> _Role | None:
    """Who speaks, by a name, a member of an enumeration or an author; ``None`` for an unknown one."""
    if isinstance(name, Mapping):
        name = name.get("role")
    name = getattr(name, "value", name)
    return _ROLES.get(re.sub(r"message(?:chunk)?$", "", name.strip().lower())) if isinstance(name, str) else None


def _text(content: object, depth: int = 3) -> str:
    """The text of a message's content: a string, parts, or a part; images and calls of tools have none."""
    if content is None:
        return ""
    if isinstance(content, str):
        return str(content)
    if depth and isinstance(content, Sequence) and not isinstance(content, bytes):
        return "\n".join(filter(None, (_text(part, depth - 1) for part in content)))
    if depth and not isinstance(content, (bytes, int, float)):
        return _text(_field(content, ("text", "value", "content", "parts")), depth - 1)
    raise _unreadable(content)


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
