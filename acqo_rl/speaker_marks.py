"""Finds speaker marks in texts: "User:", "**Bot**:", tokens of chat templates, or two alternating names."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

Role = Literal["user", "assistant", "system", "left out"]


@dataclass(frozen=True, slots=True)
class Said:
    """A turn as it was read.

    Attributes:
        role: ``None`` if the turn has no mark.
        text: the text without its mark.
        unmarked: the text including a weak mark (see ``_WEAK``); ``None`` if there is no weak mark.
    """

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
    **dict.fromkeys(("ai", "agent", "operator", "model", "gpt", "llm", "claude", "gemini", "copilot"), "assistant"),
    **dict.fromkeys(("frage", "pregunta", "domanda", "pergunta", "vraag", "pytanie", "вопрос"), "user"),
    **dict.fromkeys(("问", "問", "質問", "질문", "\U0001f464", "\U0001f9d1", "\U0001f64b"), "user"),
    **dict.fromkeys(("antwort", "réponse", "respuesta", "risposta", "resposta", "antwoord"), "assistant"),
    **dict.fromkeys(("odpowiedź", "ответ", "答", "回答", "답변", "ki", "ia", "\U0001f916"), "assistant"),
    **dict.fromkeys(("nutzer", "benutzer", "utilisateur", "usuario", "usuário", "utente", "gebruiker"), "user"),
    **dict.fromkeys(
        ("użytkownik", "användare", "пользователь", "kullanici", "用户", "用戶", "ユーザー", "사용자", "المستخدم"),
        "user",
    ),
    **dict.fromkeys(("kunde", "kundin", "cliente", "klant", "klient", "клиент", "müşteri", "客户", "고객"), "user"),
    **dict.fromkeys(("berater", "beraterin", "agente", "conseiller", "оператор", "客服", "상담원"), "assistant"),
    **dict.fromkeys(("assistent", "asistente", "assistente", "asystent", "ассистент", "asistan"), "assistant"),
    **dict.fromkeys(("người dùng", "користувач", "pengguna", "उपयोगकर्ता"), "user"),
    **dict.fromkeys(("trợ lý", "помічник", "asisten", "सहायक"), "assistant"),
    **dict.fromkeys(("助手", "助理", "アシスタント", "어시스턴트", "المساعد"), "assistant"),
    "system": "system",
}
"""Words that can also start an ordinary sentence; they count as marks only if most turns have a mark."""
_ROLES: dict[str, Role] = {
    **_STRONG,
    **_WEAK,
    "request": "user",
    **dict.fromkeys(("developer", "tool", "function"), "left out"),
}
_KIND = re.compile(
    r"(?<=.)[ _-]?"
    r"(?:message(?:chunk)?|content|turn|utterance|input|prompt|query|question|response|reply|answer|output)$"
)
"""Suffixes after the role in field and class names: ``user_message``, ``AIMessageChunk``."""


def _any(names: Sequence[str]) -> str:
    return "|".join(sorted(names, key=len, reverse=True))


_NAMES = (*_STRONG, *_WEAK)
_NUMBERED = [name for name in _NAMES if name not in ("u", "s")]
_WORDS = [name for name in _NAMES if len(name) > 1]
_JOBS = ("agent", "operator", "customer", "client", "caller", "visitor", "guest", "berater", "beraterin", "kunde")
_EMOJI = "[\u2600-\u27bf\U0001f300-\U0001faff]\ufe0f?"
_OPENS = (  # ### User: - User: 1. User: Turn 1 (User): [12:03] User: 12/03/2024, 12:03 - Anna: **User:** [User]:
    r"[^\S\n]*+(?:\#{1,6}\s*|>\s*|[-\u2022]\s+|\d{1,3}[.)]\s+|(?:turn|message|round)\s\d{1,3}(?:\s?[:-])?\s+"
    r"|[\[(]?\d[\d:.,/TZ+-]{3,24}(?:[ T]\d[\d:.]{3,12})?(?:\s?[ap]m)?[\])]?\s+(?:[-\u2013]\s+)?)?"
    rf"(?:{_EMOJI}\s+)?(?:(?P<open>[*_]{{1,3}}|[\[(]|<(?:b|strong)>)?"
)
_CLOSES = (
    r"(?:(?<=[\w)])(?:[*_\])]{1,4}|</(?:b|strong)>))?\s?[:\uff1a](?(open)(?:</(?:b|strong)>|[*_\])]{0,4}))(?![/\\])"
)
_SAYS = (
    r"(?: (?:said|says|asked|asks|wrote|writes|answered|answers|replied|replies|responded|responds|turn|message|query"
    r"|question|input|response|answer|reply|output))?"
)
_WRITTEN = re.compile(  # User: User (Anna): User [10:02]: Agent Anna: Anna (User): Q1: You said: [User]
    rf"{_OPENS}(?:(?P<name>{_any(_NAMES)})|(?P<numbered>{_any(_NUMBERED)})\s?\d{{1,3}}"
    rf"|(?P<job>{_any(_JOBS)})(?-i:(?:\s[A-Z]\w{{1,20}}){{1,2}})"
    rf"|[^\W\d_][\w .'-]{{0,29}}?\s?[(\[](?P<titled>{_any(_WORDS)})[)\]])"
    rf"(?:\s?\([^()\n]{{1,40}}\)|\s?\[[^\[\]\n]{{1,40}}\]|\s\d{{1,2}}:\d{{2}}(?::\d{{2}})?)?{_SAYS}{_CLOSES}"
    rf"|[\[<](?P<bracketed>{_any(_WORDS)})[\]>](?:\s?[:\uff1a])?)\s*"
    rf"|[^\S\n]*+(?P<around>\#{{1,6}}\s|={{2,6}}\s?|\*{{2}})?(?:{_EMOJI}\s)?"  # ## User\n **User** User\n
    rf"(?P<alone>{_any(_WORDS)})"
    r"(?:(?(around)[ =*]{0,7})[^\S\n]*\n|(?(around)\*{2}|[>|])[^\S\n]+)\s*",
    re.I,
)
_TEMPLATE = re.compile(
    # <|im_user|>user<|im_middle|>
    r"<\|im_(?:user|assistant|system)\|>(?P<middle>\w+)<\|im_middle\|>\s*"
    # <|user|> <|USER_TOKEN|> <|hy_User|>
    r"|[<\[][|\uff5c](?:[a-z]{1,9}_)?(?P<token>user|human|assistant|system|tool|bot|chatbot)(?:_token)?[|\uff5c][>\]]\s*"
    # <message role="user">
    r"|<(?:message|turn) (?:role|speaker)=[\"'](?P<attribute>\w+)[\"']>\s*"
    # <|im_start|>user <|start_header_id|>user<|end_header_id|> <|start|>assistant<|channel|>final<|message|>
    # <|im_start|>user<|im_sep|> <|turn>user <seed:bos>user ]~b]user
    r"|(?:<[|\uff5c]\w{0,20}start\w{0,20}[|\uff5c]>|<start_of_turn>|<\|turn>|<\w{1,20}:bos>|\]~b\])\s*(?P<named>\w+)"
    r"(?:<\|channel\|>(?P<channel>\w+)[^<\n]{0,40})?(?:<\|(?:end_header_id|end_of_role|message|im_sep)\|>)?\s*"
    r"|(?P<inst>\[/?INST\])\s*"
    # <user>hi</user><assistant>hello</assistant>
    r"|<(?P<element>user|human|assistant|system)>\s*(?=[^<]*(?:<(?!/?(?:user|human|assistant|system)>)[^<]*)*</(?P=element)>)"
    # USER: hi ASSISTANT: hello</s>USER: ...
    r"|(?-i:(?:\A|(?<=\s)|(?<=</s>))(?P<capitals>USER|ASSISTANT):(?=\s|\Z))\s*",
    re.I,
)
_BETWEEN = re.compile(
    r"<[|\uff5c][^<>|\uff5c\s]{0,30}(?:begin|start|end|eot|return)[^<>|\uff5c\s]{0,30}[|\uff5c]>"
    r"|<end_of_turn>|<turn\|>|</?s>|<(?:\w{1,20}:)?[be]os(?:_token)?>|\]~!b\[|\[e~\[|\[gMASK\]|<sop>|\[\|endofturn\|\]|</(?:message|turn|user|human|assistant|system)>"
    r"|</?(?:conversation|chat|dialogue|messages|history)>",
    re.I,
)
"""Tokens between turns that do not name a speaker."""
_FIRST_TOKEN = re.compile(r"\s*<[|\uff5c][^<>|\uff5c\s]{0,30}(?:begin|start)[^<>|\uff5c\s]{0,30}[|\uff5c]>", re.I)
_FRONT_MATTER = r"\A\s*---[ \t]*\n(?:[^\n]*\n){0,30}?---[ \t]*\n\s*"
_TITLES = [
    re.compile(_FRONT_MATTER),
    re.compile(rf"(?:{_FRONT_MATTER}|\A\s*)[^\n]{{0,80}}[^\s.?!:,\u2026\u3002\uff1f\uff01\uff1a][ \t]*\n\s*"),
]
"""YAML front matter, and a line above a conversation: "# Chat", "Conversation of 12 May"."""
_RULE = re.compile(r"-{3,}|[*]{3,}|_{3,}|={3,}")
_NAMED = re.compile(rf"{_OPENS}(?P<name>[^\W\d_][^\n:\uff1a]{{0,29}}?){_CLOSES})\s*")


def _key(name: str) -> str:
    """The case-folded name, with both Turkish forms of I as "i", because ``re.IGNORECASE`` matches them with "i"."""
    return name.casefold().replace("i\u0307", "i").replace("\u0131", "i")


def role_of(name: object) -> Role | None:
    """The role for a speaker's name, an enum member or a field name; ``None`` if it is unknown."""
    name = getattr(name, "value", name)
    if not isinstance(name, str):
        return None
    plain = _key(name.strip())
    return _ROLES.get(plain) or _ROLES.get(_KIND.sub("", plain))


def is_letter(name: object) -> bool:
    """Whether a name is a single character, which may be a role ("U") or an ordinary letter."""
    return isinstance(name, str) and len(name) == 1


_PERSONS = frozenset((
    *_JOBS,
    *("user", "assistant", "bot", "kundin", "nutzer", "benutzer", "cliente", "klant", "klient", "agente", "conseiller"),
))  # fmt: skip
_NUMBERED_PERSONS = frozenset(("speaker", "person", "participant", "human", "party", "voice", "sprecher", "persona"))
_NOT_NAMES = frozenset((
    *("note", "ps", "todo", "hint", "tip", "error", "source", "example", "warning", "update", "re", "subject", "time"),
    *("date", "name", "email", "phone", "address", "order", "title", "version", "status", "result", "summary", "topic"),
    *("url", "product", "price", "number", "problem", "issue", "reason", "location", "hinweis", "notiz"),
))  # fmt: skip
"""Words before a colon that name no speaker, although another line begins with the role of a person."""


_STEM = re.compile(r"[ _#-]*(?:\d{1,3}|(?<=[ _#-])[a-e])$")


def _are_numbered(names: Iterable[str]) -> bool:
    """Whether several names are those of numbered persons: "user1" and "user2", "person a" and "person b"."""
    names = set(names)
    stems = {_STEM.sub("", name) for name in names}
    return len(names) > 1 and len(stems) == 1 and stems <= _PERSONS | _NUMBERED_PERSONS and names.isdisjoint(stems)


def _person_and_name(named: Sequence[tuple[int, str]], text: str) -> bool:
    """Whether lines begin with the role of a person and with one capitalised name: "Visitor: ...", "Pekka: ...".

    Numbered persons count as well: "User1: ...", "User2: ...".
    """
    if _are_numbered(name for _, name in named):
        return True
    roles = {name for _, name in named if name in _PERSONS}
    others = {name for _, name in named if name not in _PERSONS}
    if len(roles) != 1 or len(others) != 1 or not others.isdisjoint(_NOT_NAMES | _ROLES.keys()):
        return False
    return all(text[start:].lstrip("*[_ ")[:1].isupper() for start, name in named if name in others)


def transcript(text: str) -> list[str]:
    """Splits a text at the lines that start with a mark or with one of two alternating names."""
    if _by_template(text):
        return [text]
    text = _without_title(_without_tokens(text))
    lines = [match.start() for match in re.finditer(r"^(?=.)", text, re.M)]
    starts = _lines_of_two_speakers(text, lines) or _marked_lines(text, lines)
    cuts = sorted({0, *starts, len(text)})
    return [_without_rule(text[start:end]) for start, end in pairwise(cuts) if text[start:end].strip()]


def _without_rule(text: str) -> str:
    """The text without a horizontal rule in its last line."""
    before, end, last = text.rstrip().rpartition("\n")
    return before if end and _RULE.fullmatch(last.strip()) else text


def _without_tokens(text: str) -> str:
    """The text with line ends for tokens, if one starts it and a mark follows: "<|begin_of_sentence|>User: ..."."""
    without = _BETWEEN.sub("\n", text).strip() if _FIRST_TOKEN.match(text) else text
    return without if read_text(without)[0].role is not None else text


def _without_title(text: str) -> str:
    """The text without front matter, and without a line before the user's first turn that is no sentence."""
    if read_text(text)[0].role is not None:
        return text
    without = (title.sub("", text) for title in _TITLES)
    return next((rest for rest in without if rest != text and read_text(rest)[0].role == "user"), text)


def _marked_lines(text: str, lines: Sequence[int]) -> list[int]:
    """Start positions of the lines with a mark; a mark that is a line of its own counts if one starts the text."""
    marks = [(start, match) for start in lines if (match := _WRITTEN.match(text, start))]
    is_first = bool(marks) and not text[: marks[0][0]].strip()
    return [start for start, match in marks if is_first or not match["alone"]]


def _lines_of_two_speakers(text: str, lines: Sequence[int]) -> list[int]:
    """Start positions of the turns of two alternating names, if the first name starts the text; otherwise empty.

    If both are names of roles, the result is empty too, because the speaker marks cover them.
    """
    named = [(start, _key(match["name"])) for start in lines if (match := _NAMED.match(text, start))]
    if not named or text[: named[0][0]].strip():
        return []
    if _person_and_name(named, text):
        return [start for start, _ in named]
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
    """Reads a string as one turn, or as several turns if it is a rendered chat template."""
    if by_template := _by_template(text):
        return by_template
    match = _WRITTEN.match(text.lstrip())
    if match is None:
        return [Said(None, text)]
    groups = ("name", "numbered", "job", "titled", "bracketed", "alone")
    name = _key(next(match[group] for group in groups if match[group]))
    rest = text.strip()[match.end() :]
    if match["bracketed"] and _key(rest).endswith(f"</{name}>"):
        rest = rest[: -len(f"</{name}>")]
    is_weak = name in _WEAK or match["numbered"] or match["job"] or match["titled"] or match["alone"]
    return [Said(_ROLES[name], rest, text if is_weak else None)]


def _by_template(text: str) -> list[Said]:
    """The turns of a rendered chat template, without the system prompt; empty if the text is not one."""
    tokens = list(_TEMPLATE.finditer(text))
    if not any(token["inst"] or role_of(_named(token)) for token in tokens):
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
    return role_of(_named(token)) or "left out"


def _named(token: re.Match[str]) -> str | None:
    groups = ("named", "token", "middle", "attribute", "capitals", "element")
    return next((token[group] for group in groups if token[group]), None)


def _without_system_prompt(text: str) -> str:
    """Removes the system prompt, which Llama 2 puts into the first turn."""
    begin, end, rest = text.partition("<</SYS>>")
    return rest if end and begin.lstrip().startswith("<<SYS>>") else text


def _role_of_speaker(name: str) -> Role | None:
    """The role for a name or for a job with a name ("agent anna").

    ``None`` for single letters other than U and S, which may abbreviate any name.
    """
    job = name.partition(" ")[0]
    known = job if job in _JOBS else name
    return _ROLES.get(known) if known in "us" or len(known) > 1 else None


def named_speakers(texts: Sequence[str]) -> list[Said]:
    """Reads texts that each start with one of two names; returns nothing for other texts.

    The first name is the user, unless one of the two names is a role name. Two texts are enough if both names have the
    same role ("Me", "You").
    """
    matches = [_NAMED.match(text) for text in texts]
    names = [_key(match["name"]) for match in matches if match]
    first, *others = dict.fromkeys(names) or ("",)
    if len(names) < len(texts) or not (len(others) == 1 or _are_numbered(names)):
        return []
    roles = [_role_of_speaker(name) for name in (first, others[0])]
    is_one_side = roles[0] is not None and roles[0] == roles[1]
    initials = "".join(text[0] for text in texts)
    if len(texts) < 3 and not (is_one_side or _person_and_name(list(zip(range(2), names, strict=True)), initials)):
        return []
    if (None not in roles and not is_one_side) or not {"system", "left out"}.isdisjoint(roles):
        return []
    is_user = is_one_side or roles[0] == "user" or (roles[0] is None and roles[1] != "user")
    return [
        Said("user" if (name == first) == is_user else "assistant", text[match.end() :])
        for name, match, text in zip(names, matches, texts, strict=True)
        if match
    ]
