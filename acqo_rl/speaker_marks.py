"""Marks of the speaker in texts: "User:", "**Bot**:", tokens of chat templates, two names that alternate."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

Role = Literal["user", "assistant", "system", "left out"]


@dataclass(frozen=True, slots=True)
class Said:
    """A turn as it was read: ``role`` is None without a mark; ``unmarked`` is the text before a weak mark was cut."""

    role: Role | None
    text: str
    unmarked: str | None = None


_STRONG: dict[str, Role] = {
    **dict.fromkeys(("u", "user", "human"), "user"),
    **dict.fromkeys(("s", "assistant", "ai assistant", "bot", "chatbot", "chatgpt"), "assistant"),
}
_WEAK: dict[str, Role] = {
    **dict.fromkeys(("q", "question", "query", "input", "prompt", "prompter", "instruction"), "user"),
    **dict.fromkeys(("h", "customer", "client", "guest", "caller", "visitor", "you", "me"), "user"),
    **dict.fromkeys(("a", "answer", "response", "output", "completion", "reply"), "assistant"),
    **dict.fromkeys(("ai", "agent", "operator", "model", "gpt"), "assistant"),
    **dict.fromkeys(("nutzer", "benutzer", "utilisateur", "usuario", "usuário", "utente", "gebruiker"), "user"),
    **dict.fromkeys(
        ("użytkownik", "användare", "пользователь", "kullanici", "用户", "用戶", "ユーザー", "사용자", "المستخدم"),
        "user",
    ),
    **dict.fromkeys(("assistent", "asistente", "assistente", "asystent", "ассистент", "asistan"), "assistant"),
    **dict.fromkeys(("助手", "助理", "アシスタント", "어시스턴트", "المساعد"), "assistant"),
    "system": "system",
}
"""Names that begin ordinary sentences, too: marks only where most turns of the conversation have a mark."""
_ROLES: dict[str, Role] = {**_STRONG, **_WEAK, **dict.fromkeys(("developer", "tool", "function"), "left out")}
_KIND = re.compile(r"(?<=.)[ _-]?(?:message(?:chunk)?|content|turn|utterance|input|response|output)$")
"""What may follow who speaks in the name of a field or class: ``user_message``, ``AIMessageChunk``."""


def _any(names: Sequence[str]) -> str:
    return "|".join(sorted(names, key=len, reverse=True))


_NAMES = (*_STRONG, *_WEAK)
_NUMBERED = [name for name in _NAMES if name not in ("u", "s")]
_WORDS = [name for name in _NAMES if len(name) > 1]
_OPENS = (  # ### User: - User: 1. User: [12:03] User: **User:** [User]:
    r"[^\S\n]*+(?:\#{1,6}\s*|>\s*|[-\u2022]\s+|\d{1,3}[.)]\s+"
    r"|[\[(]?\d[\d:.,/T+-]{3,24}(?:[ T]\d[\d:.]{3,12})?[\])]?\s+)?(?:(?P<open>[*_]{1,3}|[\[(])?"
)
_CLOSES = r"(?:(?<=[\w)])[*_\])]{1,4})?\s?[:\uff1a](?(open)[*_\])]{0,4})(?![/\\])"
_WRITTEN = re.compile(  # User: User (Anna): Q1: You said: [User]
    rf"{_OPENS}(?:(?P<name>{_any(_NAMES)})|(?P<numbered>{_any(_NUMBERED)})\s?\d{{1,3}})"
    rf"(?:\s?\([^()\n]{{1,40}}\))?(?: said)?{_CLOSES}"
    rf"|[\[<](?P<bracketed>{_any(_WORDS)})[\]>](?:\s?[:\uff1a])?)\s*",
    re.I,
)
_TEMPLATE = re.compile(
    # <|user|> <|USER_TOKEN|>
    r"<[|\uff5c](?P<token>user|human|assistant|system|tool|bot|chatbot)(?:_token)?[|\uff5c]>\s*"
    # <|im_start|>user <|start_header_id|>user<|end_header_id|> <|start|>assistant<|channel|>final<|message|>
    r"|(?:<[|\uff5c]\w{0,20}start\w{0,20}[|\uff5c]>|<start_of_turn>)\s*(?P<named>\w+)"
    r"(?:<\|channel\|>(?P<channel>\w+)[^<\n]{0,40})?(?:<\|(?:end_header_id|end_of_role|message)\|>)?\s*"
    r"|(?P<inst>\[/?INST\])\s*"
    # USER: hi ASSISTANT: hello</s>USER: ...
    r"|(?-i:(?:\A|(?<=\s)|(?<=</s>))(?P<capitals>USER|ASSISTANT):(?=\s))\s*",
    re.I,
)
_BETWEEN = re.compile(
    r"<[|\uff5c][^<>|\uff5c\s]{0,30}(?:begin|start|end|eot|return)[^<>|\uff5c\s]{0,30}[|\uff5c]>"
    r"|<end_of_turn>|</?s>|<[be]os(?:_token)?>",
    re.I,
)
"""Tokens between turns that name no speaker."""
_NAMED = re.compile(rf"{_OPENS}(?P<name>[^\W\d_][^\n:\uff1a]{{0,29}}?){_CLOSES})\s*")


def _key(name: str) -> str:
    """A name in small letters; expressions that ignore case take the Turkish ones of I for the same letter."""
    return name.casefold().replace("i\u0307", "i").replace("\u0131", "i")


def role_of(name: object) -> Role | None:
    """Who speaks, by a name, a member of an enumeration or the name of a field; ``None`` for an unknown one."""
    name = getattr(name, "value", name)
    if not isinstance(name, str):
        return None
    plain = _key(name.strip())
    return _ROLES.get(plain) or _ROLES.get(_KIND.sub("", plain))


def is_letter(name: object) -> bool:
    """Whether a name is that of a role, but also a letter of the alphabet."""
    return isinstance(name, str) and len(name) == 1


def transcript(text: str) -> list[str]:
    """One text, cut at the lines that begin with a mark, or with one of two names that take turns."""
    if _by_template(text):
        return [text]
    lines = [match.start() for match in re.finditer(r"^(?=.)", text, re.M)]
    starts = _of_two_names(text, lines) or [start for start in lines if _WRITTEN.match(text, start)]
    cuts = sorted({0, *starts, len(text)})
    return [text[start:end] for start, end in pairwise(cuts) if text[start:end].strip()]


def _of_two_names(text: str, lines: Sequence[int]) -> list[int]:
    """The lines that begin with the first line's name or with another, in turn and twice each at least; else none.

    Names that both tell a role are left to the marks of roles.
    """
    named = [(start, _key(match["name"])) for start in lines if (match := _NAMED.match(text, start))]
    if not named or text[: named[0][0]].strip():
        return []
    first = named[0][1]
    after_first: list[Counter[str]] = []
    for _, name in named:
        if name == first:
            after_first.append(Counter())
        else:
            after_first[-1][name] += 1
    *answered, last = after_first
    others = (name for name in after_first[0] if all(one[name] == 1 for one in answered) and last[name] <= 1)
    other = next((name for name in others if answered and len(answered) + last[name] > 1), None)
    if other is None or None not in (_role_of_speaker(first), _role_of_speaker(other)):
        return []
    return [start for start, name in named if name in (first, other)]


def read_text(text: str) -> list[Said]:
    """A string: one turn, or those that tokens of a chat template separate."""
    if by_template := _by_template(text):
        return by_template
    match = _WRITTEN.match(text.lstrip())
    if match is None:
        return [Said(None, text)]
    name = _key(match["name"] or match["numbered"] or match["bracketed"])
    rest = text.strip()[match.end() :]
    if match["bracketed"] and _key(rest).endswith(f"</{name}>"):
        rest = rest[: -len(f"</{name}>")]
    return [Said(_ROLES[name], rest, text if name in _WEAK or match["numbered"] else None)]


def _by_template(text: str) -> list[Said]:
    """The turns of a text that begins as a chat template does; a system prompt before the first is left out."""
    tokens = list(_TEMPLATE.finditer(text))
    if not tokens:
        return []
    before = text[: tokens[0].start()].strip()
    if before and not _BETWEEN.match(before):
        return []
    ends = [*(token.start() for token in tokens[1:]), len(text)]
    pieces = ((token, text[token.end() : end]) for token, end in zip(tokens, ends, strict=True))
    return [Said(_speaker(token), _BETWEEN.sub("", _without_system_prompt(piece))) for token, piece in pieces]


def _speaker(token: re.Match[str]) -> Role:
    if token["inst"]:
        return "assistant" if "/" in token["inst"] else "user"
    if token["channel"] and token["channel"].lower() != "final":
        return "left out"
    return role_of(token["named"] or token["token"] or token["capitals"]) or "left out"


def _without_system_prompt(text: str) -> str:
    """Llama 2 puts it into the first turn."""
    begin, end, rest = text.partition("<</SYS>>")
    return rest if end and begin.lstrip().startswith("<<SYS>>") else text


def _role_of_speaker(name: str) -> Role | None:
    """The role that a name tells; letters other than U and S may be short for anybody."""
    return _ROLES.get(name) if name in "us" or len(name) > 1 else None


def named_speakers(texts: Sequence[str]) -> list[Said]:
    """The turns of three texts or more that begin with one of two names each, whatever the names; else none.

    The first name is the user's, unless one of the two tells a role.
    """
    matches = [_NAMED.match(text) for text in texts]
    names = [_key(match["name"]) for match in matches if match]
    first, *others = dict.fromkeys(names) or ("",)
    if len(texts) < 3 or len(names) < len(texts) or len(others) != 1:
        return []
    roles = [_role_of_speaker(name) for name in (first, *others)]
    if None not in roles or not {"system", "left out"}.isdisjoint(roles):
        return []
    is_user = roles[0] == "user" or (roles[0] is None and roles[1] != "user")
    return [
        Said("user" if (name == first) == is_user else "assistant", text[match.end() :])
        for name, match, text in zip(names, matches, texts, strict=True)
        if match
    ]
