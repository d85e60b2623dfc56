"""Reads the lists that language models write, however they are dressed."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence

from acqo_rl.reformulation.grammar import MAX_CHARACTERS
from acqo_rl.reformulation.remarks import is_refusal, is_remark
from acqo_rl.replies.thoughts import without_thoughts
from acqo_rl.text import normalised, one_line, unnumbered
from acqo_rl.types import Completion

_LABEL_WORDS = (
    r"(?:(?:sub|search|rewritten|step)?[ -]?(?:back )?)?(?:query|question)|sub|search|variant|part|answer|rewrite|q"
    r"|(?:such|teil)?(?:an)?frage|suche|antwort|(?:sous-)?requ\u00eate|recherche|r\u00e9ponse|(?:sub)?consulta|pregunta"
    r"|b\u00fasqueda|respuesta|domanda|ricerca|risposta|pergunta|pesquisa|resposta|zoekopdracht|zoekvraag|vraag|antwoord"
    r"|zapytanie|pytanie|wyszukiwanie|odpowied\u017a|\u0437\u0430\u043f\u0440\u043e\u0441|\u0432\u043e\u043f\u0440\u043e\u0441"
    r"|\u043f\u043e\u0438\u0441\u043a|\u043e\u0442\u0432\u0435\u0442"
    r"|first|second|third|fourth|fifth|fr\u00e5ga|sp\u00f8rgsm\u00e5l|kysymys|soru|sorgu|ot\u00e1zka|dotaz"
    r"|\u03b5\u03c1\u03ce\u03c4\u03b7\u03c3\u03b7|c\u00e2u h\u1ecfi|\uc9c8\ubb38|\uac80\uc0c9\uc5b4"
    r"|\u0633\u0624\u0627\u0644|\u092a\u094d\u0930\u0936\u094d\u0928"
)
_LABEL = re.compile(
    rf"^(?:(?:{_LABEL_WORDS})\s*(?:#?\d{{1,2}}\s*[:.)\uff1a]|[:\uff1a])"
    r"|\u7b2c[\d\u4e00-\u5341]{1,2}\s*[:\uff1a]"
    r"|(?:\u5b50?\u67e5\u8be2|\u5b50?\u95ee\u9898|\u641c\u7d22|\u7b54\u6848|\u691c\u7d22|\u30af\u30a8\u30ea|\u8cea\u554f)"
    r"\s*[\d\u4e00-\u5341]{0,2}\s*[:\uff1a])\s*",
    re.I,
)
_COUNTED = re.compile(
    r"(?P<begin>#|\(?|[^\W\d_][^\W\d_A-Z]*(?:[ -][^\W\d_A-Z]+){0,3}[ -]?|[A-Z]{1,4}[ -]?)"
    r"(?P<number>\d{1,2}|[a-hA-H]|[ivxIVX]{1,4})(?P<end>[:.)\uff1a]|\s*[-\u2013\u2014](?=\s)|(?<=#\d)(?=\s))\s*(?=\S)"
)
"""A count before an entry, with or without a label: "1: ", "#1 ", "a) ", "(ii) ", "Teilfrage 1: "."""
_ODD_COUNT = re.compile(
    r"^(?:#{1,6}\s+(?=\d{1,2}[.)]\s)|[-*+]\s+\[[ xX]\]\s+|\[\d{1,2}\][:.]?\s+|<\d{1,2}>\s+|\d\ufe0f?\u20e3\s*"
    r"|[\u2192\u2023\u25aa\u25cf\u25cb\u25ba\u27a4]\s+|\d{1,2}\.\)\s+|\d{1,2}\\[.)]\s+|\d{1,2}\u3002\s*"
    r"|([*_`])\d{1,2}[.):]?\1[.):]?\s+)(?=\S)"
)
"""Counts and bullets in other markup: "[1] ", "- [ ] ", "### 1. ", "1.) ", "*1.* "."""
_TAGGED = re.compile(r"^<(quer(?:y|ies)|q|li|item|search|question)>\s*(.*?)\s*</\1>$", re.I)
_TAG_ALONE = re.compile(r"^</?[a-z_]{1,12}>$", re.I)
_SENTENCE_ENDS = (".", "!", ":", "\u3002", "\uff01", "\uff1a")
_ROMAN = ("i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix", "x")
_COUNT_ALONE = re.compile(r"(?:\d{1,2}:\s+(?!\d)|[a-h]\)\s+|\((?:[a-h]|[ivx]{1,4})\)\s+)(?=\S)")
_EXPLAINED = re.compile(r"^(?P<text>\S.*?)(?:\s+\([^()]*\s[^()]*\)|\s+(?:[\u2013\u2014\u2192]|->|--)\s+\S.*)\.?$")
_QUOTED_FIRST = re.compile(
    r"^(?:\"([^\"]+)\"|\u201c([^\u201d]+)\u201d|\*\*([^*:]+)\*\*)\s*(?:[-\u2013\u2014:(\u2192]).*$"
)
_BOLD = re.compile(r"(?<![\w*])\*\*(?=[^\s*])([^*]+)(?<=\S)\*\*(?![\w*])")
_QUOTES = {
    **{'"': '"', "'": "'", "`": "`", "*": "*", "_": "_", "\u201c": "\u201d", "\u201e": "\u201c\u201d"},
    **{"\u00ab": "\u00bb", "\u00bb": "\u00ab", "\u2018": "\u2019", "\u300c": "\u300d", "\u300e": "\u300f"},
}
_JSON_BEGINS = re.compile(r"(?:^|```(?:json)?|[:.!\uff1a])[ \t]*(?=[\[{])", re.M | re.I)
_JSON_ENDS = re.compile(r"[ \t,;.]*(?:\n|```|\Z)")
_JSON_TEXT = re.compile(r'"((?:[^"\\\n]|\\.)*)"')
_JSON_FIELD = re.compile(r"quer|question|search|variant|term|text", re.I)


def read_text(completion: Completion) -> str:
    """What a completion says, without the thoughts that some models write before it; nothing if it ends in them."""
    return without_thoughts(completion.text)


def read_list(completion: Completion, most: int, longest: int = MAX_CHARACTERS) -> list[str]:
    """The distinct entries of a list, one a line or as JSON; none where the model refuses.

    Numbers, bullets, labels ("Query 1:"), quotation marks and remarks (:func:`is_remark`) are left out; a number that
    belongs to the text stays ("2008 financial crisis"), and so do short entries and those of any script.

    Args:
        completion: a last line that the token limit cut is left out, unless it is the only one.
        most: entries that are read.
        longest: characters; a longer entry is none.
    """
    text = read_text(completion)
    in_json = _read_json(text)
    entries = _read_lines(text) if in_json is None else [_undressed(one_line(entry)) for entry in in_json]
    if not completion.finished and in_json is None and len(entries) > 1:
        entries.pop()
    by_key = {key: entry for entry in reversed(entries) if len(entry) <= longest and (key := normalised(entry))}
    return list(reversed(by_key.values()))[:most]


def _read_lines(text: str) -> list[str]:
    lines = [line for line in map(one_line, text.splitlines()) if not line.startswith("```")]
    lines = _without_markup(lines)
    if is_refusal(next(filter(None, lines), "")) and all(unnumbered(line) == line for line in lines):
        return []
    lines = _explained(_without_framing(_uncounted(lines)))
    return [entry for entry in map(_undressed, lines) if entry and not is_remark(entry)]


def _without_markup(lines: Sequence[str]) -> list[str]:
    """The lines with plain bullets in place of tags and, where several have them, of counts in other markup."""
    lines = [_TAGGED.sub(r"- \2", line) for line in lines if not _TAG_ALONE.match(line)]
    if sum(bool(_ODD_COUNT.match(line)) for line in lines) < 2:
        return lines
    return [_ODD_COUNT.sub("" if line.startswith("#") else "- ", line) for line in lines]


def _without_framing(lines: Sequence[str]) -> list[str]:
    """The lines of the list without sentences around it, in any language.

    Where several lines have numbers, bullets or labels, one without is left out if it ends as a sentence does or a
    blank line is beside it. Elsewhere the first or last line is, if it alone ends as a sentence does and a blank line
    is beside it.
    """
    lines = [line for place, line in enumerate(lines) if line or (0 < place < len(lines) - 1)]
    if sum(map(_is_marked, lines)) > 1:
        padded = ["x", *lines, "x"]
        kept = [
            line
            for before, line, after in zip(padded, lines, padded[2:], strict=False)
            if _is_marked(line) or (before and after and not line.endswith(_SENTENCE_ENDS))
        ]
        return [_unmarked(line) for line in kept if line and not is_remark(line)]
    for place, beside in ((0, 1), (-1, -2)):
        others = [line for line in lines if line and line != lines[place]]
        if len(others) > 1 and not lines[beside] and _is_sentence(lines[place]) and not any(map(_is_sentence, others)):
            lines = [line for line in lines if line != lines[place]]
    return [_unmarked(line) for line in lines if line and not is_remark(line)]


def _unmarked(line: str) -> str:
    """The line without its number or bullet, which may be written in bold."""
    if (rest := unnumbered(line)) != line:
        return rest
    plain = _BOLD.sub(r"\1", line)
    return unnumbered(plain) if unnumbered(plain) != plain or _LABEL.match(plain) else line


def _is_marked(line: str) -> bool:
    plain = _BOLD.sub(r"\1", line)
    return bool(unnumbered(plain) != plain or _LABEL.match(plain))


def _is_sentence(line: str) -> bool:
    return line.endswith(_SENTENCE_ENDS) and (len(line.split()) > 3 or not line.endswith("."))


def _uncounted(lines: Sequence[str]) -> list[str]:
    """The lines with bullets in place of counts, if these go up from one under the same label or can be no text."""
    plain = [_BOLD.sub(r"\1", line) for line in lines]
    counts = {place: m for place, line in enumerate(plain) if (m := _COUNTED.match(line))}
    groups: dict[tuple[str, str], list[int]] = {}
    for place, m in counts.items():
        groups.setdefault((m["begin"].strip().casefold(), m["end"].strip()), []).append(place)
    bare = {place: m.end() for place, line in enumerate(plain) if (m := _COUNT_ALONE.match(line))}
    for places in groups.values():
        numbers = [counts[place]["number"].casefold() for place in places]
        orders = ([str(n) for n in range(1, len(places) + 1)], list("abcdefgh"), list(_ROMAN))
        if len(places) > 1 and any(numbers == order[: len(places)] for order in orders):
            bare |= {place: counts[place].end() for place in places}
    return [f"- {plain[place][bare[place] :]}" if place in bare else line for place, line in enumerate(lines)]


def _explained(lines: Sequence[str]) -> list[str]:
    """The lines without what explains them, where it stands behind a quoted entry, or behind every one of several."""
    quoted = [_QUOTED_FIRST.match(line) for line in lines]
    if lines and all(quoted):
        return [next(filter(None, m.groups())) for m in quoted if m]
    explained = [_EXPLAINED.match(line) for line in lines]
    if len(lines) > 1 and all(explained):
        return [m["text"] for m in explained if m]
    return list(lines)


def _read_json(text: str) -> list[str] | None:
    """The texts of the JSON values in a text, the whole ones of an array that is cut; ``None`` if it holds none."""
    found: list[str] | None = None
    end = 0
    for match in _JSON_BEGINS.finditer(text):
        begin = match.end()
        if begin < end:
            continue
        try:
            value, end = json.JSONDecoder().raw_decode(text, begin)
            texts = list(_texts(value))
        except (ValueError, RecursionError):
            cut = re.match(r'\[\s*"', text[begin:])
            return _JSON_TEXT.findall(text, begin) if cut and found is None else found
        if not _JSON_ENDS.match(text, end):
            return found
        found = [*(found or []), *texts]
    return found


def _texts(value: object) -> Iterator[str]:
    """The texts of a JSON value; of an object those of its fields that are named like queries, else all."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for one in value:
            yield from _texts(one)
    elif isinstance(value, dict):
        named = [one for key, one in value.items() if _JSON_FIELD.search(key)]
        yield from _texts(named or list(value.values()))


def _undressed(line: str) -> str:
    line = _unquoted(unnumbered(_BOLD.sub(r"\1", line)))
    return _unquoted(_LABEL.sub("", line))


def _unquoted(line: str) -> str:
    """The line without quotation marks or emphasis around the whole of it."""
    line = line.strip()
    if line.endswith((",", ";")) and len(line) > 2 and line[-2] in _QUOTES.get(line[0], ""):
        line = line[:-1]
    while len(line) > 1 and line[-1] in _QUOTES.get(line[0], "") and not {line[0], line[-1]} & set(line[1:-1]):
        line = line[1:-1].strip()
    return line
