"""Parses answers: prose without introductory phrases."""

from __future__ import annotations

import re

from acqo_rl.replies.boxes import without_boxes
from acqo_rl.replies.marks import bare
from acqo_rl.replies.wording import ANSWER_LABEL, HERE_ARE, SURE
from acqo_rl.text import normalised

_DRESSED_LABEL = re.compile(rf"^[*_#\s]*{ANSWER_LABEL}[*_\s]*", re.I)
_PREFACE = re.compile(
    rf"^\s*(?:(?:{SURE})(?:\s?(?:[,.!:]\s+|[\uff0c\u3002\uff01\u3001]\s*)(?:so,?\s+)?|\s+so,?\s+)|(?:so|well|hmm+),\s+"
    rf"|(?:here(?:'s| is| are)\b|below is\b|{HERE_ARE})[^.!?:\uff1a\u3002\uff01\n]{{0,80}}[:\uff1a]\s*)(?=\S)",
    re.I,
)
_AGAIN = re.compile(r"(\S[^\n]{3,100}?)(?:\s+\1){2,}")


def without_preface(text: str) -> str:
    """Removes introductory phrases such as "Sure!", "Here is the answer:" and "Answer:", in many languages."""
    before = ""
    while before != text:
        before, text = text, _DRESSED_LABEL.sub("", _PREFACE.sub("", text))
    return text


def read_answer(reply: str, question: str) -> str:
    """Returns the answer in a reply, without the question, which small models repeat, and without repeated lines.

    Lines with fewer than three words may be repeated. A phrase repeated at least three times in a row is kept once.
    """
    asked = normalised(question)
    lines: dict[str, str] = {}
    for number, line in enumerate(without_preface(_AGAIN.sub(r"\1", without_boxes(reply)).strip()).splitlines()):
        text = _DRESSED_LABEL.sub("", line)
        key = normalised(bare(text))
        if key != asked:
            lines.setdefault(key if len(key.split()) > 2 else f"{number}", text.rstrip())
    return "\n".join(lines.values()).strip()
