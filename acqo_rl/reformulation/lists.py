"""Reads the lists that language models write, however they are dressed."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from acqo_rl.reformulation.grammar import MAX_CHARACTERS
from acqo_rl.reformulation.remarks import is_refusal, is_remark
from acqo_rl.text import normalised, one_line, unnumbered
from acqo_rl.types import Completion

_THOUGHT = re.compile(
    r"^.*(?:</(?:think|thinking|thought|thoughts|reasoning|reflection)>|\[/THINK\]|\u25c1/think\u25b7|<\|end_of_thought\|>)"
    r"|^\s*(?:<(?:think|thinking|thought|thoughts|reasoning|reflection)>|\[THINK\]|\u25c1think\u25b7|<\|begin_of_thought\|>).*",
    re.S,
)
_LABEL = re.compile(
    r"^(?:(?:(?:sub-?|search )?(?:query|question)|search|variant|part|q)\s*\d{1,2}\s*[:.)\uff1a]"
    r"|(?:(?:sub-?|search |rewritten |step-back )?(?:query|question)|answer|rewrite)\s*[:\uff1a]"
    r"|(?:\u5b50?\u67e5\u8be2|\u5b50?\u95ee\u9898|\u641c\u7d22|\u7b54\u6848)\s*[\d\u4e00-\u5341]{0,2}\s*[:\uff1a])\s*",
    re.I,
)
_BOLD = re.compile(r"(?<![\w*])\*\*(?=[^\s*])([^*]+)(?<=\S)\*\*(?![\w*])")
_QUOTES = {'"': '"', "`": "`", "*": "*", "_": "_", "\u201c": "\u201d", "\u201e": "\u201c", "\u300c": "\u300d"}
_JSON_BEGINS = re.compile(r"(?:^|```(?:json)?|[:.!\uff1a])[ \t]*(?=[\[{])", re.M | re.I)
_JSON_ENDS = re.compile(r"[ \t,;.]*(?:\n|```|\Z)")
_JSON_TEXT = re.compile(r'"((?:[^"\\\n]|\\.)*)"')
_JSON_FIELD = re.compile(r"quer|question|search|variant|term|text", re.I)


def read_text(completion: Completion) -> str:
    """What a completion says, without the thoughts that some models write before it; nothing if it ends in them."""
    return _THOUGHT.sub("", completion.text)


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
    lines = [line for line in map(one_line, text.splitlines()) if line and not line.startswith("```")]
    if lines and is_refusal(lines[0]) and all(unnumbered(line) == line for line in lines):
        return []
    entries = (_undressed(line) for line in lines if not is_remark(line))
    return [entry for entry in entries if entry and not is_remark(entry)]


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
    while len(line) > 1 and _QUOTES.get(line[0]) == line[-1] and not {line[0], line[-1]} & set(line[1:-1]):
        line = line[1:-1].strip()
    return line
