"""Extracts the rows of a list from Markdown or XML: tables, tags, groups, and notes below entries."""

from __future__ import annotations

import re
from collections.abc import Sequence

from acqo_rl.replies.headings import under_labels
from acqo_rl.replies.marks import is_marked, plain, with_colon
from acqo_rl.replies.wording import EXPLAINS, LABEL, names_queries
from acqo_rl.text import UNSPACED, unnumbered

_RULE = re.compile(r"\s*\|?\s*:?-{2,}[-|:\s]*")
_BETWEEN_TAGS = re.compile(r"(?<=>)\s*(?=</?[a-z][\w-]{0,20}(?:\s[^<>]*)?>)", re.I)
_BOLD_ROW = re.compile(r"\s*\*\*[^*]+\*\*:?\s*")
_LABELLED = re.compile(r"\s*(?:[^\W\d_]+\s){0,2}[^\W\d_]+\s?[:\uff1a]\s*\S")
_KEYED = re.compile(r"\s*(?P<item>-\s+)?(?P<key>[a-z][\w-]{0,30}):(?:\s+(?P<value>\S.*))?", re.A)
_TEXT_KEY = re.compile(
    r"(?:(?:search|sub|rewritten|new|standalone)[_-]?)?(?:query|question|search|text|term|q)[_-]?\d*"
)
_FIELD = re.compile(
    r"(?P<bullet>(?P<number>\d{1,2}[.)])\s+|[-*\u2022]\s+)?(?P<key>[^\W\d_][\w-]*(?: [\w-]+)?)\s?[:\uff1a=]\s*"
    rf"(?!\S*{UNSPACED}{{4}})[\w.+-]+\s?%?(?P<more> [\w.+-]+)?(?:\s*\([^()]*\))?"
)
_CODED_LIST = re.compile(
    r"^\s*(?:(?:\\\[\s*)?\\begin\{(?:itemize|enumerate|description)\}|\[(?:list|ul|ol)\])", re.M | re.I
)
_AROUND = re.compile(r"\\(?:begin|end)\{\w+\}(?:\[[^\]\n]*\])?|\\[\[\]]|\[/?(?:list|ul|ol)\]", re.I)
_ITEM = re.compile(r"\s*(?:\\item(?:\s*\[[^\]\n]*\])?|\[\*\])\s*")
_COMMAND = re.compile(r"\\[a-z]{2,10}\{([^{}]*)\}|``((?:(?!``|'').)+)''")
_BREAK = re.compile(r"\s*(?:([-*_=\u2014\u2500\u2550])\s?(?:\1\s?){2,}|\u2e3b\s*)")
_ITALIC = re.compile(r"\s*(?:\*(?![*\s])[^*]+\*|_(?![_\s])[^_]+_)[.!]?\s*")
_QUOTE = re.compile(r"^\s*>\s+(?=[^\W\d]|[\"'*_\u00ab\u201c\u201e\u300c])")
_LINE_BREAK = re.compile(r"<br\s*/?>", re.I)
_ARGUMENT = r"\(\s*(?:\w+\s*=\s*)?(?:\"[^\"]+\"|'[^']+')"
_CALL = rf"(?:\w+_)?(?:search|retrieve|query|lookup)(?:_\w+)?{_ARGUMENT}(?:\s*,\s*\w+\s*=\s*[\w.]+)*\s*\)"
_CALLS = re.compile(rf"\s*(?:[-*]\s+|\d{{1,2}}[.)]\s+)?\[?{_CALL}(?:\s*,\s*{_CALL})*\]?;?\s*", re.I)
_EXPLANATION = re.compile(
    r"\s*(?:[*_]{1,2}|#{1,6}\s)?(?:(?P<why>why(?: (?:this|these|it|that)(?: \w+){0,2})?)\s?[:\uff1a]"
    rf"|{EXPLAINS})[*_\s]*",
    re.I,
)
_ENDS = (".", "!", "\u3002", "\uff01", "\u0964")


def rows_of(text: str, read: str = "") -> list[str]:
    """The rows of a reply that may contain entries: cells of a table's query column, one XML element per row.

    Args:
        text: the reply.
        read: the text that the model read; fields about its words stay.
    """
    text = text if "<br" in read.lower() else _LINE_BREAK.sub("\n", text)
    rows = [part for row in _without_list_code(text).splitlines() for part in _BETWEEN_TAGS.split(row)]
    rows = [part for row in rows for part in _called(row, read)]
    rows = _without_closing_note([row for row in rows if not row.lstrip().startswith("```")])
    rows = _without_explanations(rows)
    rows = _without_fields(["" if _BREAK.fullmatch(row) else row for row in rows], read)
    rows = _without_table(under_labels(_without_keys(rows), read))
    if ">" not in read and sum(_QUOTE.match(row) is not None for row in rows) == 1:
        rows = [_QUOTE.sub("", row) for row in rows]
    return _without_notes(_without_groups(rows))


def _called(row: str, read: str) -> list[str]:
    """The texts in a row of calls of a search function, such as ``[search(query="a"), search(query="b")]``."""
    if not _CALLS.fullmatch(row) or row.partition("(")[0].strip("-*[ ") in read:
        return [row]
    return [f"- {argument[0].rstrip()[:-1].partition(argument[0][-1])[2]}" for argument in re.finditer(_ARGUMENT, row)]


def _without_explanations(rows: Sequence[str]) -> list[str]:
    """Removes labelled explanations below an entry: "**Why:** it names the city.".

    Below a label on a line of its own, all rows are part of the explanation, unless entries follow: they have labels,
    or bullets and no entry without a bullet stands above the label.
    """
    kept: list[str] = []
    has_entry = False
    for place, row in enumerate(rows):
        is_heading = _BOLD_ROW.fullmatch(row) and not rows[place - 1].strip()
        text = f"{plain(row).strip().rstrip(':')}:" if is_heading else plain(row).strip()
        label = _EXPLANATION.match(text) if any(map(str.strip, kept)) else None
        if label is None or (label["why"] and not text.endswith((*_ENDS, ":", "\uff1a"))):
            kept.append(row)
            has_entry |= bool(text) and unnumbered(text) == text and not text.endswith((*_ENDS, ":", "\uff1a"))
            continue
        below = [plain(row).strip() for row in rows[place + 1 :]]
        entries = [row for row in below if LABEL.match(unnumbered(row)) or (unnumbered(row) != row and not has_entry)]
        if label.end() == len(text) and not entries:
            break
    return kept


def _without_list_code(text: str) -> str:
    """Replaces the items of a LaTeX or BBCode list by bullets, and removes the commands around their texts."""
    if not _CODED_LIST.search(text):
        return text
    text = _ITEM.sub("\n- ", _AROUND.sub("\n", text))
    return _COMMAND.sub(lambda command: command[1] or command[2], text)


def _without_fields(rows: Sequence[str], read: str) -> list[str]:
    """Removes fields about the reply, such as "confidence: high", beside labelled entries, or above and below others.

    A field that has a word of the other rows or of the text that the model read is an entry: "Rust: lifetimes".
    """
    filled = [place for place, row in enumerate(rows) if row.strip()]
    labelled = {place for place in filled if LABEL.match(with_colon(plain(unnumbered(rows[place].strip()))))}
    fields = {p: m for p in filled if p not in labelled and (m := _FIELD.fullmatch(plain(rows[p].strip())))}
    if labelled:
        fields = {p: m for p, m in fields.items() if p > min(labelled) and not m["number"]}
    else:
        inner = [place for place in filled if place not in fields]
        if not inner or any(inner[0] < place < inner[-1] or m["number"] for place, m in fields.items()):
            return list(rows)
        fields = {p: m for p, m in fields.items() if not m["more"] or (read and not m["bullet"])}
        fields = {p: m for p, m in fields.items() if not m["bullet"] or (read and p == filled[-1])}
    said = "\n".join([read, *(rows[place] for place in filled if place not in fields)]).casefold()
    about = {p for p, m in fields.items() if not any(word in said for word in m["key"].casefold().split())}
    return [row for place, row in enumerate(rows) if place not in about]


def _without_keys(rows: Sequence[str]) -> list[str]:
    """Replaces YAML such as "- text: rent in Oslo" by bullets, without the other keys of the entries.

    One key alone is read only in an item of a list or with "_", because "text: a definition" may be an entry.
    """
    keyed = {place: m for place, row in enumerate(rows) if (m := _KEYED.fullmatch(row))}
    values = [m for m in keyed.values() if m["value"] and _TEXT_KEY.fullmatch(m["key"])]
    others = [
        row
        for place, row in enumerate(rows)
        if place not in keyed and row.strip() and not row.rstrip().endswith((*_ENDS, ":", "\uff1a"))
    ]
    if others or not (len(values) > 1 or any(m["item"] or "_" in m["key"] for m in values)):
        return list(rows)
    return [f"- {m['value']}" for m in values]


def _without_table(rows: Sequence[str]) -> list[str]:
    """Replaces each row of a table by a bullet and the cell of the query column."""
    rule = next((place for place, row in enumerate(rows) if "|" in row and _RULE.fullmatch(row)), 0)
    if not rule:
        return list(rows)
    end = next((place for place in range(rule, len(rows)) if "|" not in rows[place]), len(rows))
    header, _, *body = ([cell.strip() for cell in row.strip().strip("|").split("|")] for row in rows[rule - 1 : end])
    named = (column for column, name in enumerate(header) if names_queries(name))
    texts = (column for row in body[:1] for column, cell in enumerate(row) if not cell.isdecimal())
    column = next(named, next(texts, 0))
    return [*rows[: rule - 1], *(f"- {row[column]}" for row in body if len(row) > column), *rows[end:]]


def _without_groups(rows: Sequence[str]) -> list[str]:
    """Removes bold rows above groups of marked entries; keeps only the bold rows if the other rows explain them."""
    filled = [row for row in rows if row.strip()]
    bold = {row for row in filled if _BOLD_ROW.fullmatch(row) and not is_marked(row.strip())}
    others = [row for row in filled if row not in bold]
    if not bold or not others:
        return list(rows)
    if sum(is_marked(row.strip()) for row in others) > 1:
        return [row for row in rows if row not in bold]
    if len(bold) > 1 and all(row.rstrip().endswith(_ENDS) for row in others):
        return [row for row in rows if row in bold]
    return list(rows)


def _without_closing_note(rows: Sequence[str]) -> list[str]:
    """Removes the rows in italics after the last rule, if no other row is in italics and there is an entry above."""
    rule = max((place for place, row in enumerate(rows) if _BREAK.fullmatch(row)), default=0)
    above, below = (list(filter(str.strip, part)) for part in (rows[:rule], rows[rule + 1 :]))
    has_entry = any(not row.rstrip().endswith((*_ENDS, ":", "\uff1a")) for row in above)
    is_note = below and all(map(_ITALIC.fullmatch, below)) and not any(map(_ITALIC.fullmatch, above))
    return list(rows[:rule]) if has_entry and is_note else list(rows)


def _without_notes(rows: Sequence[str]) -> list[str]:
    """Removes notes below the entries, at most one per entry: rows with deeper indentation or a label."""
    depths = [len(row.expandtabs()) - len(row.expandtabs().lstrip()) for row in rows]
    marked = [place for place, row in enumerate(rows) if is_marked(row.strip())]
    top = min((depths[place] for place in marked), default=0)
    entries = [place for place in marked if depths[place] <= top + 1]
    notes = {place for place in marked if depths[place] > top + 1}
    below = {place + 1 for place in entries if place + 1 < len(rows) and place + 1 not in marked}
    if len(below) == len(entries) and all(depths[p] > top + 1 or _LABELLED.match(rows[p]) for p in below):
        notes |= below
    if len(entries) < 2 or any(place - 1 in notes or place < entries[0] for place in notes):
        return list(rows)
    return [row for place, row in enumerate(rows) if place not in notes]
