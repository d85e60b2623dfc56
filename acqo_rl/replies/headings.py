"""Reads lists whose labels are on separate lines above the entries: "**Query 1:**", then the text."""

from __future__ import annotations

import re
from collections.abc import Sequence

from acqo_rl.replies.counts import are_labels, count_of
from acqo_rl.replies.kinds import words_of
from acqo_rl.replies.marks import is_marked, plain
from acqo_rl.replies.wording import LABEL, names_entries
from acqo_rl.text import one_line, unnumbered

_COUNT = re.compile(r"\(?(?:(\d{1,2})[.:)\uff1a]{1,2}|([\u2460-\u2468])|([A-Ha-h])[.:)]{1,2})")
_EMPHASISED = re.compile(r"#{1,6}\s+\S.*|(?:\*\*|__|<(?:b|strong)>)\S.*(?:\*\*|__|</(?:b|strong)>)", re.I)
_ASKS = re.compile(r".*[?\uff1f\u061f]|([\"'`]).*\1|>.*|\u201c.*\u201d|\u00ab.*\u00bb|\u300c.*\u300d")
_HEADING = re.compile(r"#{1,6}\s+|</?(?:b|strong)>", re.I)
_ASIDE = re.compile(r"\s*(?:\([^()]*\)|\uff08[^\uff08\uff09]*\uff09)$")
_LETTER = re.compile(r"\s*#?[A-Ha-h\d]$")
_COUNTED = re.compile(
    r"[\[(<{\u3010\u3014\uff08]?(?P<label>[^\d:.!?#]{2,30}?)\s*[#\u2116]?\s*(?P<number>\d{1,2})[\])>}\u3011\u3015\uff09]?"
)
_SENTENCE_ENDS = (".", "!", "\u3002", "\uff01", "\u0964")
_COLONS = (":", "\uff1a")


def under_labels(rows: Sequence[str], read: str = "") -> list[str]:
    """Replaces the rows below each label by bullets and removes the labels, if there are at least two of them.

    A label ends with a colon ("- **Population:**"), names the kind of entry ("### Query 1"), or gives a title, too
    ("### Query 1: Population"), above a question or quoted text, or above rows with words that the model read if the
    titles have none. Several rows below it are several entries, except
    sentences.

    Args:
        rows: the rows of a reply.
        read: the text that the model read; see :func:`are_labels`.
    """
    heads = {place for place, row in enumerate(rows) if _is_head(row)} or _titles(rows, read) or _series(rows, read)
    found = [_COUNT.fullmatch(_bare(rows[place])) for place in sorted(heads)]
    counts = [count_of(next(filter(None, number.groups()))) for number in found if number]
    if counts != list(range(1, len(counts) + 1)):
        return list(rows)
    heads = {place for place in heads if (below := _next_filled(rows, place)) and below not in heads}
    if len(heads) < 2:
        return list(rows)
    kept: list[str] = []
    waits = below = False  # for the first row below a label; for more of them, up to a blank row
    for place, row in enumerate(rows):
        if place in heads:
            waits = True
        elif not row.strip():
            below = False
            kept += [] if waits else [row]
        elif waits or (below and not row.rstrip().endswith(_SENTENCE_ENDS)):
            waits, below = False, True
            kept.append(f"- {unnumbered(row.strip().removeprefix('>').strip())}")
        else:
            kept.append(row)
    return kept


def _next_filled(rows: Sequence[str], place: int) -> int:
    """The place of the next row that is not blank; 0 if there is none."""
    return next((after for after in range(place + 1, len(rows)) if rows[after].strip()), 0)


def _titles(rows: Sequence[str], read: str) -> set[int]:
    """The places of emphasised labels with titles, if an entry follows each of them."""
    titled = {
        place
        for place, row in enumerate(rows)
        if _EMPHASISED.fullmatch(row.strip())
        and not _ASKS.fullmatch(text := _bare(row))
        and (LABEL.match(text) or unnumbered(text) != text)
    }
    below = {_next_filled(rows, place) for place in titled}
    if not below.isdisjoint({0, *titled}):
        return set()
    known, texts = words_of(read), [rows[place].strip() for place in below]
    are_asked = all(map(_ASKS.fullmatch, texts))
    are_about_it = all(words_of(text) & known and not text.endswith(_SENTENCE_ENDS) for text in texts)
    return titled if are_asked or (are_about_it and not any(words_of(rows[p]) & known for p in titled)) else set()


def _series(rows: Sequence[str], read: str) -> set[int]:
    """The places of rows that count from one with the same label, if another row follows each: "Шаг 1", "Шаг 2"."""
    counts = {place: m for place, row in enumerate(rows) if (m := _COUNTED.fullmatch(_bare(row)))}
    below = [_next_filled(rows, place) for place in counts]
    labels, numbers = {m["label"].casefold() for m in counts.values()}, [int(m["number"]) for m in counts.values()]
    if len(labels) != 1 or numbers != list(range(1, len(counts) + 1)) or not counts.keys().isdisjoint(below):
        return set()
    return set(counts) if all(below) and are_labels(labels.pop(), [rows[place] for place in below], read) else set()


def _bare(row: str) -> str:
    return plain(_HEADING.sub("", one_line(row)))


def _is_head(row: str) -> bool:
    text = _bare(row)
    if _COUNT.fullmatch(text):
        return True
    label = plain(unnumbered(text)).strip("*_ ").removesuffix(" -")
    if label.startswith("[") and label.endswith("]"):
        label = label[1:-1]
    if label.endswith(_COLONS):
        return is_marked(text) or LABEL.fullmatch(label) is not None
    label = _ASIDE.sub("", label) if _EMPHASISED.fullmatch(row.strip()) else label
    return len(label) < 40 and _LETTER.search(label) is not None and names_entries(_LETTER.sub("", label))
