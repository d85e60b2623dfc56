"""Removes kinds of wording before entries: "**Literal**: capital of Togo", "(Formal) capital of Togo"."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from acqo_rl.text import UNSPACED

_MARK = r"(?:[-*+\u2022]\s+|\(?\d{1,2}[.)]\s+)?"
_BOLD = r"\*\*(?P<bold>[^*]{1,40}?)[:\uff1a]?\*\*\s*[-\u2013\u2014:\uff1a]?"
_KIND = re.compile(
    rf"{_MARK}(?:{_BOLD}|\((?P<aside>[^()]{{1,40}})\)|(?P<plain>[^:\uff1a?]{{1,30}})[:\uff1a])\s*(?P<text>\S.*)"
)
_WORD = re.compile(r"[^\W\d_]{3,}")
_UNSPACED = re.compile(rf"{UNSPACED}{{2,}}")
_FEWEST_WORDS = 2


def without_kinds(lines: Sequence[str], read: str) -> list[str]:
    """Replaces what stands before each entry by a bullet, if it says how the entries differ.

    This is so if at least two lines begin in this way, no kind has a word of the text that the model read, and at least
    half of the entries have one. In "**Togo capital**: the seat of government", an explanation follows the entry.

    Args:
        lines: the lines of a reply; only the first and the last one may have no kind.
        read: the text that the model read; without it, nothing is removed.
    """
    filled = [place for place, line in enumerate(lines) if line.strip()]
    found = {place: match for place in filled if (match := _KIND.fullmatch(lines[place].strip()))}
    if not read or len(found) < 2 or not set(filled) - found.keys() <= {filled[0], filled[-1]}:
        return list(lines)
    known = words_of(read)
    kinds = [match["bold"] or match["aside"] or match["plain"] for match in found.values()]
    texts = [match["text"] for match in found.values()]
    shares = [bool(words_of(text) & known) for text in texts]
    if any(words_of(kind) & known for kind in kinds) or sum(shares) * 2 < len(shares) or len(set(texts)) < len(texts):
        return list(lines)
    if not any(match["plain"] for match in found.values()) or all(len(text.split()) >= _FEWEST_WORDS for text in texts):
        return [f"- {found[place]['text']}" if place in found else line for place, line in enumerate(lines)]
    return list(lines)


def words_of(text: str) -> set[str]:
    """The words of at least three letters, and the pairs of characters in scripts without spaces."""
    words = {word.casefold() for word in _WORD.findall(text)}
    return words | {pair for run in _UNSPACED.findall(text) for pair in map("".join, pairwise(run))}
