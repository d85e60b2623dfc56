"""Reads the lists that language models write, however they are dressed."""

from __future__ import annotations

import json
import re

from acqo_rl.reformulation.grammar import MAX_CHARACTERS
from acqo_rl.text import normalised, one_line, unnumbered
from acqo_rl.types import Completion

_THOUGHT = re.compile(r"^.*</think>", re.S)
_LABEL = re.compile(r"^(?:(?:sub-?|search )?(?:query|question)|search|variant|part)\s*\d{1,2}\s*[:.)\uff1a]\s*", re.I)
_PREAMBLE = re.compile(
    r"[:\uff1a]$|^(?:sure|certainly|of course|okay)(?:[,.!:]| here\b)"
    r"|^(?:here (?:are|is)|below are|the following are|i hope)\b"
    r"|^(?:hier sind|aqu\u00ed (?:est\u00e1n|tiene)|voici)\b|^\u4ee5\u4e0b\u662f",
    re.I,
)
_DRESS = ' \t"`*_\u201c\u201d\u201e\u300c\u300d'


def read_text(completion: Completion) -> str:
    """What a completion says, without the thoughts that some models write before it."""
    return _THOUGHT.sub("", completion.text)


def read_list(completion: Completion, most: int, longest: int = MAX_CHARACTERS) -> list[str]:
    """The distinct entries of a list, one a line or as a JSON array.

    Numbers, bullets, labels ("Query 1:"), quotation marks and lines that only announce the list are left out; a number
    that belongs to the text stays ("2008 financial crisis"), and so do short entries and those of any script.

    Args:
        completion: a last line that the token limit cut is left out, unless it is the only one.
        most: entries that are read.
        longest: characters; a longer entry is none.
    """
    lines = _lines(read_text(completion))
    entries = [line for line in map(_undressed, lines) if line and not _PREAMBLE.search(line)]
    if not completion.finished and len(entries) > 1:
        entries.pop()
    by_key = {key: entry for entry in reversed(entries) if len(entry) <= longest and (key := normalised(entry))}
    return list(reversed(by_key.values()))[:most]


def _lines(text: str) -> list[str]:
    try:
        array = json.loads(text)
    except ValueError:
        array = None
    if isinstance(array, list):
        return [one_line(entry) for entry in array if isinstance(entry, str)]
    return [one_line(line) for line in text.splitlines() if not line.lstrip().startswith("```")]


def _undressed(line: str) -> str:
    return _LABEL.sub("", unnumbered(line).strip(_DRESS)).strip(_DRESS)
