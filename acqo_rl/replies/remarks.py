"""Detects remarks of language models: announcements, headings, good wishes and refusals."""

from __future__ import annotations

import re

from acqo_rl.replies.announcements import needs_no_change
from acqo_rl.replies.refusals import is_refusal, misses_conversation
from acqo_rl.replies.wording import (
    ASKS_MORE,
    CLOSES,
    EXPLAINS,
    GREETS,
    HERE_ARE,
    OFFERS,
    SURE,
    WISHES,
    here_listed,
    these_listed,
)

_LISTED = (
    r"(?:quer(?:y|ies)|search(?:es)?|questions?|lists?|variants?|variations?|versions?|rewrit\w+|rewordings?|parts?"
    r"|terms?|synonyms?|alternatives?|suggestions?|passages?|answers?|ones?)\b"
)
_INTERROGATIVE = r"(?:what|who|whom|whose|which|when|where|why|how|is|are|was|were|do|does|did|can|should)\b"
_REMARK = re.compile(
    rf"^(?!{_INTERROGATIVE}).*[:\uff1a]$"
    rf"|^(?:{SURE})(?:\s?[,.!:\uff01\u3002\uff0c\uff1a\u3001]| here\b)"
    rf"|^(?:{HERE_ARE}).*[.!\u3002\uff01]$"
    rf"|^(?:{WISHES}).*[.!\u3002\uff01]$"
    rf"|^here(?: are| is|'s)\b.*\b{_LISTED}|^here (?:are|is)\b.*[:\uff1a]$"
    r"|^(?:below are|the following are)\b"
    r"|^(?:i )?hope (?:this|these|that|it)\b|^let me know (?:if|whether)\b|^feel free to\b"
    rf"|^(?:(?:all|each) of )?(?:these|those|this|the above|they|each)\b.*\b(?:{_LISTED}|they|each) ?"
    r"(?:\w+ ){0,2}(?:covers?|capture|address|focus|explore|aim|help|should|will|provide|target|ensure"
    r"|are designed|reflect)\b"
    rf"|^{CLOSES}$|^{GREETS}$|^{ASKS_MORE}|^\((?:[^\s()]+\s){{2,}}[^()]+\)$"
    r"|^(?:each|all|both) of (?:these|those|them|the (?:above|queries|searches|questions|variants))\b"
    r"|^depends(?: on)?\s*[:=]"
    rf"|^{EXPLAINS}|^(?:please )?note that\b"
    r"|^#{1,6}\s|^\|.*\|$|^[-=*_|:\s]{3,}$"
    r"|^(?:(?:search |rewritten |alternative )?quer(?:y|ies)|sub-?quer(?:y|ies)|\u5b50?\u67e5\u8be2)$",
    re.I,
)
_ENDS = (".", "!", "\u3002", "\uff01", "\u0964")
_OFFER = re.compile(OFFERS, re.I)


def is_remark(line: str) -> bool:
    """Whether a line is a remark about the answer: "Here are three queries:", "## Queries", or a refusal.

    Lines that only start like a remark are not: "Here is Where band", "What is SQL injection:".
    """
    text = _plain(line)
    return (
        bool(_REMARK.search(text))
        or here_listed(text)
        or is_refusal(text)
        or misses_conversation(text)
        or needs_no_change(text)
        or (text.endswith(_ENDS) and these_listed(text))
    )


def is_offer(sentence: str) -> bool:
    """Whether a sentence announces what the model will do: "I'd be happy to help!"."""
    return bool(_OFFER.match(_plain(sentence)))


def _plain(line: str) -> str:
    return line.strip().replace("\u2019", "'")
