"""Reads exported conversations: subtitles (WebVTT, SRT), and messages with a header of name and time."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby, pairwise

from acqo_rl.speaker_marks import Role, Said, is_letter, role_of

_CUE_TIME = r"(?:\d{1,3}:)?\d{1,2}:\d{2}[.,]\d{1,3}"
_CUE = re.compile(
    rf"^[ \t]{{0,8}}{_CUE_TIME}[ \t]{{1,4}}-->[ \t]{{1,4}}{_CUE_TIME}[^\n]*\n"
    r"(?P<text>(?:[^\S\n]*+\S[^\n]*(?:\n|\Z))*+)",
    re.M,
)
_SUBTITLES = re.compile(rf"(?:WEBVTT\b|(?:[^\n]{{1,60}}\n)?[ \t]{{0,8}}{_CUE_TIME}[ \t]{{1,4}}-->)")
_VOICE = re.compile(
    r"\s*(?:<v(?:\.[\w.]+)?\s+(?P<voice>[^>]+)>|[\[(](?P<bracketed>[^\W\d_][\w .'-]{0,29})[\])]:?\s+"
    r"|(?:>>\s*)?(?P<named>[^\W\d_][\w.'-]*(?: [\w.'-]+){0,3}) ?:\s+)"
)
_NEW_SPEAKER = re.compile(r"\s*(?:>>|[-\u2013\u2014])\s*(?=\S)")
_TAG = re.compile(r"</?[a-z][^<>]{0,40}>|<\d[\d:.]+>", re.I)
_SENTENCE_END = (".", "?", "!", "\u2026", "\u3002", "\uff1f", "\uff01", '"', "\u201d")

_TIME = r"\d{1,2}[:.]\d{2}(?:[:.]\d{2})?(?:[ \u202f]?[ap]\.?m\.?)?"
_DATE = r"(?:\d{1,4}[./-]\d{1,2}[./-]\d{1,4}|(?:today|yesterday|[^\W\d_]{3,9})|\d{1,2} [^\W\d_]{3,9}(?: \d{4})?)"
_WHEN = rf"(?:{_DATE}(?:T|,?[ \u202f]{{1,3}}(?:at[ \u202f]{{1,3}})?))?{_TIME}(?:[.,]\d+)?(?:Z|[+-]\d{{2}}:?\d{{2}})?"
_NAME = r"[^\W\d_][^\n:<>\[\]\u2014\uff1a]{0,39}?"
_GAP = r"[ \u00a0]{0,3}\n?[ \u00a0]{0,3}"
_TAGGED = rf"(?:{_GAP}(?P<tag>BOT|APP|bot|app))?"
_HEADERS = [
    re.compile(shape, re.I | re.M)
    for shape in (
        rf"^(?P<name>{_NAME}){_TAGGED}{_GAP}\u2014 {{1,3}}{_WHEN}[ \t]{{0,4}}$",  # Ada — Today at 10:31
        # Ada  10:31 AM
        rf"^(?P<name>{_NAME}){_TAGGED}(?:[ \u00a0]{{2,4}}|\t|[ ]{{0,2}}\n[ ]{{1,4}}|,? \[)(?:{_WHEN})\]?[ \t]{{0,4}}$",
        rf"^[\[(]{_WHEN}[\])] {{0,3}}(?P<name>{_NAME}){_TAGGED}[ \t]{{0,4}}$",  # [10:31] Ada
        rf"^{_TIME} {{1,3}}From (?P<name>{_NAME})(?: to [^\n:]+)? {{0,2}}:",  # 10:31:05 From Ada to Everyone:
        rf"^\u200e?[\[(]{_WHEN}[\])] {{0,3}}(?P<name>{_NAME}) ?:\s",  # [26/11/2026, 10:31:05] Ada: ...
        rf"^\u200e?{_WHEN} {{1,3}}[-\u2013] {{1,3}}(?P<name>{_NAME}) ?:\s",  # 26/11/2026, 10:31 - Ada: ...
        rf"^{_WHEN} {{1,3}}(?:[-\u2013|] {{1,3}})?(?P<name>{_NAME}) ?:\s",  # 10:31 Ada: ...
        # Ada [10:31]: ... / Ada, 10:31: ... / Ada | 10:31 | ...
        rf"^(?P<name>{_NAME})(?:,? {{0,2}}[\[(]{_WHEN}[\])] ?:|,? {_WHEN} ?:| ?\| ?{_WHEN} ?[|:])\s",
        # 10:31 <Ada> ...
        rf"^(?:[\[(]?{_WHEN}[\])]? {{1,3}})?<[@+ ]?(?P<name>[^\W\d_][^\n<>\s]{{1,29}})> {{1,3}}(?=\S)",
    )
]
_NOTICE = re.compile(  # "26/11/2026, 10:30 - Ada left", or a text of WhatsApp, which begins with U+200E
    rf"^\u200e?(?:[\[(]{_WHEN}[\])]|{_WHEN} {{1,3}}[-\u2013]) {{1,3}}(?:(?!{_NAME} ?:\s)|{_NAME} ?: \u200e)"
    r"[^\n]*(?:\n|\Z)",
    re.I | re.M,
)
"""A line of an exported chat that nobody said."""
_CURSOR = re.compile(r"(?:# [^\n]*\n+)?_Exported on [^\n]*\bCursor\b[^\n]*_[ \t]*\n")
_CURSOR_TURN = re.compile(r"^---[ \t]*\n\s*\*\*(?P<name>User|Cursor)\*\*[ \t]*$", re.M)
_COPIED = re.compile(
    r"^(?:#{1,6} )?(?:(?P<you>You said|Du hast gesagt|Vous avez dit|Dijiste|Has dicho|Hai detto|Você disse)"
    r"|(?P<name>[^\W\d_][\w .-]{0,29}?) (?:said|hat gesagt|a dit|dijo|ha dicho|ha detto|disse))[ \u00a0]?:?[ \t]*\n",
    re.M,
)
"""The line above a turn in the page of a chat program, which screen readers read."""
_PERSON = r"(?P<name>[^\W\d_][\w .'-]{0,29}?)"
_DASHED = re.compile(rf"^{_PERSON}(?: {{1,3}}[-\u2013\u2014]| {{0,3}}(?:>{{1,2}}|\u00bb)) {{1,3}}(?=\S)", re.M)
_ALONE = re.compile(rf"^{_PERSON}[ \t]*\n(?=[^\S\n]*\S)", re.M)
_BOT = re.compile(r"bot\b|\bassistant\b|\bsupport\b|\bhelp ?desk\b", re.I)


def read_export(text: str) -> list[Said]:
    """Reads subtitles, or messages that start with a header; empty if a text is neither.

    The turns have roles: "assistant" for names of bots and of the other side, "user" for the first name. Subtitles
    without names have none.
    """
    text = text.replace("\r\n", "\n").lstrip()
    if _SUBTITLES.match(text):
        return _subtitles(text)
    if title := _CURSOR.match(text):
        spoken = _between(text, list(_CURSOR_TURN.finditer(text, title.end())))
        return _with_roles(spoken, ["Cursor"])
    if copied := _copied(text):
        return copied
    without_notices = _NOTICE.sub("", text)
    for said in dict.fromkeys((without_notices, text)):
        for header in _HEADERS:
            if header.match(said) and (found := _headed(said, list(header.finditer(said)))):
                return found
    return _dashed(text) or _below_names(text)


def _subtitles(text: str) -> list[Said]:
    """The turns of the cues; cues of one speaker, and cues of one sentence without a name, are joined."""
    spoken: list[tuple[str, str]] = []
    for cue in _CUE.finditer(text):
        for line in cue["text"].splitlines():
            voice = _VOICE.match(line)
            name = (voice["voice"] or voice["bracketed"] or voice["named"]).strip() if voice else ""
            said = " ".join(_TAG.sub("", line[voice.end() :] if voice else line).split())
            changes = not voice and _NEW_SPEAKER.match(said)
            before = spoken[-1] if spoken else ("", "")
            goes_on = spoken and not changes and (before[0] if not name else name == before[0])
            if goes_on or (spoken and not (name or changes) and not before[1].endswith(_SENTENCE_END)):
                spoken[-1] = (before[0], f"{before[1]} {said}".strip())
            else:
                spoken.append((name, _NEW_SPEAKER.sub("", said) if changes else said))
    if not any(name for name, _ in spoken):
        return [Said(None, said) for _, said in spoken]
    return _with_roles([(name, said) for name, said in spoken if said])


def _copied(text: str) -> list[Said]:
    """The turns of a copied page, if its first line is "You said" and one other name follows."""
    marks = list(_COPIED.finditer(text)) if (first := _COPIED.match(text)) and first["you"] else []
    bot = next((mark["name"] for mark in marks if mark["name"]), None)
    marks = [mark for mark in marks if mark["name"] in (None, bot)]
    ends = [*(mark.start() for mark in marks[1:]), len(text)]
    said = ((mark, text[mark.end() : end].strip()) for mark, end in zip(marks, ends, strict=True))
    return [Said("user" if mark["you"] else "assistant", turn) for mark, turn in said] if bot else []


def _headed(text: str, headers: Sequence[re.Match[str]]) -> list[Said]:
    """The messages between the headers, if there are several headers and the first one starts the text."""
    if len(headers) < 2 or text[: headers[0].start()].strip():
        return []
    if any(role_of(match["name"]) in ("system", "left out") for match in headers):
        return []
    tagged = {match["name"].strip() for match in headers if match.groupdict().get("tag")}
    return _with_roles(_between(text, headers), tagged)


def _dashed(text: str) -> list[Said]:
    """The turns of lines such as "Customer - ..." and "anna > ...": both roles, or two names that alternate twice."""
    lines = [line for line in text.splitlines() if line.strip()]
    marks = list(_DASHED.finditer(text)) if _DASHED.match(text) else []
    if len(marks) < 2 or len(marks) != len(lines):
        return []
    names = [match["name"].strip().casefold() for match in marks]
    roles = {role_of(name) for name in names}
    alternate = len(names) > 3 and len(set(names)) == 2 and all(a != b for a, b in pairwise(names))
    return _with_roles(_between(text, marks)) if roles == {"user", "assistant"} or (alternate and None in roles) else []


def _below_names(text: str) -> list[Said]:
    """The turns below two names that alternate at least twice, each on a line of its own."""
    lines = Counter(map(str.strip, text.split("\n")))
    names = [mark for mark in _ALONE.finditer(text) if lines[mark["name"]] > 1]
    speakers = [mark["name"] for mark in names]
    if len(names) < 4 or text[: names[0].start()] or len(set(speakers)) != 2:
        return []
    spoken = _between(text, names)
    if any(one == other for one, other in pairwise(speakers)) or not all(said for _, said in spoken):
        return []
    return _with_roles(spoken)


def _between(text: str, marks: Sequence[re.Match[str]]) -> list[tuple[str, str]]:
    ends = [*(mark.start() for mark in marks[1:]), len(text)]
    return [(mark["name"].strip(), text[mark.end() : end].strip()) for mark, end in zip(marks, ends, strict=True)]


def _with_roles(spoken: Iterable[tuple[str, str]], bots: Iterable[str] = ()) -> list[Said]:
    """Joins the messages that one speaker sends in a row; the first name that is no bot is the user."""
    joined = list(_joined(spoken))
    sides = sides_of([name for name, _ in joined], bots)
    return [Said(sides[name], said) for name, said in joined]


def sides_of(names: Sequence[str], bots: Iterable[str] = ()) -> dict[str, Role]:
    """The side of each speaker: of names that are neither roles nor bots, the first one is the user.

    If one of the names is the role of a user, all others are the assistant.
    """
    names = list(dict.fromkeys(names))
    answers = {name for name in names if role_of(name) == "assistant" and not is_letter(name)}
    others = {name for name in names if name in bots or name in answers or _BOT.search(name)}
    users = [name for name in names if role_of(name) == "user"] or [name for name in names if name not in others][:1]
    return {name: "user" if name in users else "assistant" for name in names}


def _joined(spoken: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    for name, messages in groupby(spoken, key=lambda one: one[0]):
        yield name, "\n".join(filter(None, (said for _, said in messages)))
