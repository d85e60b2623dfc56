"""Removes the label before the only entry of a reply: "Reformulation : ...", "**Capital:** What is the capital?"."""

from __future__ import annotations

import re

from acqo_rl.replies.marks import plain, unquoted
from acqo_rl.replies.wording import names_entries

_LABELLED = re.compile(r"(?P<label>[^\W\d_][^:\uff1a?!.]{1,39}?)\s?(?:[#(]?\d{1,2}\)?)?\s?[:\uff1a]\s*(?P<text>\S.*)")
_BOLD = re.compile(r"(?:\*\*|__)[^*_]+[:\uff1a]?(?:\*\*|__)")
_REWRITTEN = re.compile(
    r"(?:re|um|ri|her|om)-?formul|\b(?:re-?(?:word|phras|writ)|paraphras|umgeschrieb|réécri|reescri|riscri|par[aá]fras"
    r"|herschr|omskriv|przeformuł|parafraz|перефраз|переформул|переписан|yeniden (?:yaz|ifade|düzen))"
    r"|改写|改寫|重写|重寫|重述|書き換|言い換|リライト|재구성|재작성|바꿔|صياغة|पुनर्ले|पुनर्लि",
    re.I,
)
"""Beginnings of words for a rewritten text."""
_MOST_WORDS = 4
"""Maximum number of words of a label; it is a title if the text repeats them."""


def without_label(line: str, read: str) -> str:
    """The only entry of a reply without its label.

    Words before a colon are a label if the model did not read them and they say that the text is rewritten, or name a
    kind of entry. They are a label too if the text is a question, or they are bold, and the text repeats all of them.
    So "Alien: Covenant" and "C++: what is a pointer?" stay.

    Args:
        line: the entry.
        read: the text that the model read; if it is unknown, names of kinds stay.
    """
    found = _LABELLED.fullmatch(plain(line))
    if found is None or len(found["label"].split()) > _MOST_WORDS:
        return line
    label, text = found["label"].casefold(), unquoted(found["text"])
    if label not in read.casefold() and (_REWRITTEN.search(label) or (read and names_entries(label))):
        return text
    is_title = text.endswith(("?", "\uff1f", "\u061f")) or _BOLD.match(line)
    return text if is_title and _words(label) <= _words(text.casefold()) else line


def _words(text: str) -> set[str]:
    return set(re.findall(r"\w\S*(?<![?!.,;])", text))
