"""Parses lists that language models write, in any formatting."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from acqo_rl.replies.announcements import with_label, without_courtesy
from acqo_rl.replies.boxes import boxed_or_all
from acqo_rl.replies.counts import uncounted
from acqo_rl.replies.explanations import without_explanations
from acqo_rl.replies.kinds import without_kinds, words_of
from acqo_rl.replies.labelled_thoughts import without_labelled_thoughts
from acqo_rl.replies.layout import rows_of
from acqo_rl.replies.marks import (
    is_marked,
    plain,
    undressed,
    unquoted,
    with_colon,
    without_marks,
    without_markup,
)
from acqo_rl.replies.only_entry import without_label
from acqo_rl.replies.ordinals import without_counting_labels
from acqo_rl.replies.refusals import is_refusal
from acqo_rl.replies.remarks import is_remark
from acqo_rl.replies.values import arguments_of, cut_value, value_at
from acqo_rl.replies.wording import LABEL, NONE, names_queries
from acqo_rl.text import MAX_CHARACTERS, UNSPACED, normalised, one_line, unnumbered
from acqo_rl.thoughts import without_thoughts
from acqo_rl.types import Completion

_ANNOUNCES = (":", "\uff1a")
_SENTENCE_ENDS = (".", "!", "\u3002", "\uff01", "\u0964", *_ANNOUNCES)
_ASIDE = re.compile(r"(?<=[?\uff1f\u061f])\s*(?:\([^()]+\)|\uff08[^\uff08\uff09]+\uff09)$")
_EXPLAINED = re.compile(
    r"^(?P<text>\S.*?)(?:\s+\([^()]*\s[^()]*\)|\s+\[[^\[\]]*\s[^\[\]]*\]|\s*\uff08[^\uff08\uff09]{4,}\uff09"
    r"|\s+(?:[\u2013\u2014\u2192]{1,2}|->|--)\s+\S.*|\s*\u2014\u2014\s*\S.*"
    r"|\s+-\s+(?:[^\W\d_A-Z]\S*(?:\s+\S+){2,}|(?=.*\.$)[^\W\d_]\S*(?:\s+\S+){3,}|[\u3040-\u30ff\u4e00-\u9fff].{3,}))"
    r"[.\u3002]?$"
)
_QUOTED = (
    r"(?:\"[^\"]+\"|\u201c[^\u201d]+\u201d|\u201e[^\u201c\u201d]+[\u201c\u201d]|\u00ab[^\u00bb]+\u00bb"
    r"|\u300c[^\u300d]+\u300d)"
)
_QUOTED_OR_BOLD = rf"(?:{_QUOTED}|\*\*[^*:]+\*\*)"
_HEADED = re.compile(
    rf"(?:(?P<head>{_QUOTED_OR_BOLD})\s*[-\u2013\u2014:\uff1a]|(?P<plain>[^:\uff1a]{{1,30}})[:\uff1a])\s*(?P<text>\S.*)$"
)
_PRONOUN = re.compile(r"\b(?:it|its|he|she|his|her|they|their|there)\b")
_HEAD_WORDS, _HEAD_CHARACTERS = 2, 4
"""Maximum number of words of a head, and of characters if its script has no spaces."""
_LONGEST_PARTICLE = 3
"""Maximum number of characters of words that titles write without capitals: "The Lord of the Rings"."""
_QUOTED_FIRST = re.compile(rf"({_QUOTED_OR_BOLD})\s*((?:[-\u2013\u2014:\uff1a(\uff08\u2192].*)?)$")
_IN_A_ROW = rf"(?:{_QUOTED}|(?<!\w)'[^']+'(?!\w)|`[^`]+`|\*\*[^*]+\*\*)"
_COMMA, _AND = r"\s*[,;\u3001\uff0c]\s*", r"[^\W\d_]{1,4}\s*"
_ROW = re.compile(rf"{_IN_A_ROW}(?:{_COMMA}(?:{_AND})?{_IN_A_ROW})+(?:\s*{_AND}{_IN_A_ROW})?[.\u3002!]?")
_ROW_AFTER = re.compile(
    rf"(?P<before>[^\"'`*\u201c\u201e\u00ab\u300c]*)(?:[:\uff1a!.]\s*|\s(?=.*[.\u3002]$))"
    rf"(?P<row>{_IN_A_ROW}(?:(?:{_COMMA}|\s+)(?:{_AND})?{_IN_A_ROW})+)[.\u3002!]?"
)
"""Quoted texts in one line, alone or after an announcement: 'Here are two queries: "a" and "b".'."""
_JSON_BEGINS = re.compile(r"(?:^|```(?:json)?|[:=.!\uff1a])[ \t]*(?=[\[{])", re.M | re.I)
_JSON_ENDS = re.compile(r"[ \t,;.]*(?:\n|```|\Z)")
_JSON_GOES_ON = re.compile(r"\.?[\w\[(]", re.A)  # a method call or an index, in a question about code
_JSON_OBJECT = re.compile(r"(?:\[\s*)?\{\s*\"")
_JSON_STRINGS = re.compile(r"\[\s*\"")
_JSON_TEXT = re.compile(r'"((?:[^"\\\n]|\\.)*)"')
_UNSPACED = re.compile(UNSPACED)
_CODE = re.compile(r"[{}=<>\\$]|\w\(|\s-\w")
_SEPARATORS = ",;\uff0c\uff1b\u3001"
_SEMICOLON = re.compile(r"\s*(?:;\s|\uff1b)\s*")


def read_list(completion: Completion, most: int, longest: int = MAX_CHARACTERS, read: str = "") -> list[str]:
    """Returns the distinct entries of a list, one per line or in JSON; empty if the model refuses.

    Removes numbers, bullets, labels ("Query 1:"), quotation marks and remarks (:func:`is_remark`). Keeps numbers that
    belong to the text ("2008 financial crisis"). Entries may be short and in any script.

    Args:
        completion: the completion; a last line that the token limit truncated is dropped unless it is the only one.
        most: maximum number of entries.
        longest: maximum number of characters; longer entries are dropped.
        read: the text that the model read; labels and numbers in it belong to the entries.
    """
    text, is_cut = without_labelled_thoughts(without_thoughts(completion.text)), not completion.finished
    return entries_of(text, longest, read, is_cut=is_cut, in_a_row=most > 1)[:most]


def entries_of(
    text: str, longest: int = MAX_CHARACTERS, read: str = "", *, is_cut: bool = False, in_a_row: bool = False
) -> list[str]:
    """The distinct entries of a list; see :func:`read_list`. One line "a; b; c" has three if ``in_a_row``."""
    text = text if "\\boxed" in read else boxed_or_all(text)
    in_json = _read_json(text)
    entries = (
        _read_lines(text, read, in_a_row=in_a_row)
        if in_json is None
        else list(map(undressed, without_marks(in_json, read)))
    )
    if is_cut and in_json is None and len(entries) > 1:
        entries.pop()
    by_key = {key: entry for entry in reversed(entries) if len(entry) <= longest and (key := normalised(entry))}
    return list(reversed(by_key.values()))


def _read_lines(text: str, read: str, *, in_a_row: bool) -> list[str]:
    rows = [with_label(with_colon(one_line(row))) for row in rows_of(text, read)]
    rows = [_after_courtesy(row, read) if place == 0 else row for place, row in enumerate(rows)]
    has_one_label = sum(LABEL.match(row) is not None for row in rows) == 1
    rows = without_counting_labels(rows, read)
    lines = without_markup([part for row in rows for part in _apart(row, read, at_semicolons=has_one_label)])
    first = next(filter(None, lines), "")
    if is_refusal(first) and not first.endswith(_ANNOUNCES) and all(unnumbered(line) == line for line in lines):
        return []
    lines = _without_framing(uncounted(without_kinds(lines, read), read), read)
    if len(lines) == 1:
        lines = _in_a_row(without_label(lines[0], read), read) if in_a_row else [without_label(lines[0], read)]
    lines = without_explanations(_explained(lines, read), read)
    if len(lines) > 1 and all(line.endswith(tuple(_SEPARATORS)) for line in lines[:-1]):
        lines = [line.rstrip(_SEPARATORS) for line in lines]
    entries = [_ASIDE.sub("", entry) for entry in map(undressed, lines) if entry]
    return [] if {entry.casefold().rstrip(".!\u3002") for entry in entries} <= NONE else entries


def _after_courtesy(row: str, read: str) -> str:
    """The first row without a courtesy, if what follows is neither a remark nor a statement."""
    rest = without_courtesy(row, read)
    return row if is_remark(rest) or rest.endswith((".", "!", *_ANNOUNCES)) else rest


def _apart(line: str, read: str, *, at_semicolons: bool) -> list[str]:
    """Splits a line with several entries: quoted ones separated by commas, "1. ... 2. ...", "Queries: a; b"."""
    if _ROW.fullmatch(row := line.strip("[]")):
        return re.findall(_IN_A_ROW, row)
    label, in_a_row = LABEL.match(line), _ROW_AFTER.fullmatch(line)
    if in_a_row and (label or in_a_row["before"].casefold() not in read.casefold()):
        return re.findall(_IN_A_ROW, in_a_row["row"])
    rest = line[label.end() :] if label else line
    parts = re.split(r"[,;]?\s+(?=(?:\d[.)]|\(\d\))\s)", rest)
    if len(parts) > 2 and parts[0].endswith((*_ANNOUNCES, "!")):  # "Here you go: 1. ... 2. ..."
        parts = parts[1:]
    counts = [part.removeprefix("(")[:1] for part in parts]
    if len(parts) > 1 and counts == list(map(str, range(1, len(parts) + 1))) and all(" " in part for part in parts):
        return parts
    if label and at_semicolons and names_queries(label[0]) and not any(map(str.isdigit, label[0])):
        return _SEMICOLON.split(rest)
    return [line]


def _in_a_row(line: str, read: str) -> list[str]:
    """Splits "a b; c d; e f" and "a b | c d", unless the model read the sign, or the parts are no queries but code."""
    for sign in (";", "\uff1b", " | "):
        parts = [part.strip() for part in line.strip().rstrip(".").split(sign) if part.strip()]
        if len(parts) > 1 and sign.strip() not in read and all(map(_is_query, parts)):
            return parts
    return [line]


def _is_query(part: str) -> bool:
    return (" " in part or _UNSPACED.search(part) is not None) and not _CODE.search(part)


def _without_framing(lines: Sequence[str], read: str) -> list[str]:
    """Removes marks, and sentences before and after the list, in any language.

    If several lines have numbers, bullets or labels, a line without them is dropped if it ends like a sentence or is
    next to a blank line. Otherwise the first or last line is dropped if no other line ends like a sentence, and it is
    next to a blank line or is long.
    """
    lines = [line for place, line in enumerate(lines) if line or (0 < place < len(lines) - 1)]
    if sum(map(is_marked, lines)) > 1:
        padded = ["x", *lines, "x"]
        kept = [
            line
            for before, line, after in zip(padded, lines, padded[2:], strict=False)
            if is_marked(line) or (before and after and not line.endswith(_SENTENCE_ENDS))
        ]
        kept = [line for line in kept if line and not is_remark(line)]
        texts = without_marks(kept, read)
        return [
            text
            for line, text in zip(kept, texts, strict=True)
            if not is_remark(undressed(text)) or (is_marked(line) and not text.endswith(_SENTENCE_ENDS))
        ]
    for place, beside in ((0, 1), (-1, -2)):
        others = [line for line in lines if line and line != lines[place]]
        if not others or not _is_sentence(lines[place]) or any(map(_is_sentence, others)):
            continue
        if not lines[beside] or (len(others) > 1 and _is_long(lines[place])):
            lines = [line for line in lines if line != lines[place]]
    kept = [line for line in lines if line and not is_remark(line)]
    return [text for text in without_marks(kept, read) if not is_remark(undressed(text))]


def _is_sentence(line: str) -> bool:
    line = line.rstrip("*_")
    return line.endswith(_SENTENCE_ENDS) and (len(line.split()) > 3 or not line.endswith("."))


def _is_long(line: str) -> bool:
    return len(line.split()) > 3 or (len(line) > 8 and not line.isascii() and " " not in line)


def _explained(lines: Sequence[str], read: str) -> list[str]:
    """Removes explanations after the entries, if every entry has one or every entry is quoted.

    What follows a topic or a title is no explanation: "**Rust**: lifetimes".
    """
    headed = [match for line in lines if (match := _HEADED.match(line))]
    if len(headed) == len(lines) > 1 and all(map(_is_below, headed)):
        return [f"{_head(m)} {m['text']}" if _PRONOUN.search(m["text"]) else m["text"] for m in headed]
    matches = [match for line in lines if (match := _QUOTED_FIRST.match(line))]
    quoted = [unquoted(plain(match[1])) for match in matches]
    if lines and len(set(quoted)) == len(lines) and not any(_is_topic(match, read) for match in matches):
        return quoted
    explained = [m["text"] for line in lines if (m := _EXPLAINED.match(line)) and not _joins(m)]
    return explained if len(set(explained)) == len(lines) > 1 else list(lines)


def _head(headed: re.Match[str]) -> str:
    return unquoted(plain(headed["head"] or headed["plain"]))


def _is_below(headed: re.Match[str]) -> bool:
    """Whether the text after a head is the entry, and not an explanation: "**Oslo**: population of Oslo"."""
    marked = headed["head"]
    head, text = _head(headed).casefold(), headed["text"].casefold()
    if marked and (names_queries(head) or text.endswith(("?", "\uff1f", "\u061f"))):
        return True
    return _is_short(head) and head != text and all(word in text for word in head.split())


def _is_topic(quoted: re.Match[str], read: str) -> bool:
    """Whether quoted words before a colon are not a query: a few words that the model read, or a title.

    What follows a title has other words that the model read: "**The Lord of the Rings**: cast".
    """
    head, rest = unquoted(plain(quoted[1])), quoted[2]
    if not rest.startswith(_ANNOUNCES) or rest.endswith(_SENTENCE_ENDS):
        return False
    is_title = all(word[0].isupper() for word in head.split() if len(word) > _LONGEST_PARTICLE)
    known, own = words_of(read), words_of(head)
    return (_is_short(head) and (not read or own <= known)) or (is_title and not words_of(rest) & known <= own)


def _is_short(head: str) -> bool:
    return len(head) <= _HEAD_CHARACTERS if _UNSPACED.search(head) else len(head.split()) <= _HEAD_WORDS


def _joins(explained: re.Match[str]) -> bool:
    """Whether a dash or an arrow joins two words or names: "Paris \u2013 London train time", "JPG -> PNG"."""
    text, rest = explained["text"], explained[0][explained.end("text") :].lstrip()
    after = rest.lstrip("-\u2013\u2014\u2192> ")
    if after == rest:
        return False
    if " " not in text:
        return len(text) < 4 or not _UNSPACED.search(text)
    return (
        not any(word[0].islower() or not word[0].isalnum() for word in (*text.split(), after)) and text.lower() != text
    )


def _read_json(text: str) -> list[str] | None:
    """The texts of the JSON values in a text (of a truncated value the complete ones); ``None`` if there are none."""
    found: list[str] | None = None
    end = 0
    for match in _JSON_BEGINS.finditer(text):
        begin = match.end()
        if begin < end:
            continue
        read = value_at(text, begin)
        if read is None:
            return _read_broken_json(text, begin) if found is None else found
        value, end = read
        texts = list(_texts(value))
        if not _JSON_ENDS.match(text, end) and (not texts or _JSON_GOES_ON.match(text, end)):
            return found
        found = [*(found or []), *texts]
    return found


def _read_broken_json(text: str, begin: int) -> list[str] | None:
    """The complete texts of a truncated value or an invalid array; ``None`` if there is neither."""
    in_array = _JSON_STRINGS.match(text, begin)
    if not in_array and not _JSON_OBJECT.match(text, begin):
        return None
    value = cut_value(text, begin)
    if value is None:
        return _JSON_TEXT.findall(text, begin) if in_array else None
    return list(_texts(value))


def _texts(value: object) -> Iterator[str]:
    """The texts of a JSON value; for an object, of fields named like queries, else of lists, else of all fields."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for one in value:
            yield from _texts(one)
    elif isinstance(value, dict) and (given := arguments_of(value)) is not None:
        yield from _texts(given)
    elif isinstance(value, dict):
        named = [one for key, one in value.items() if names_queries(str(key))]
        lists = [one for one in value.values() if isinstance(one, list)]
        yield from _texts(named or lists or list(value.values()))
