"""Removes the sentences and labels that open a reply: offers, thanks, and what announces a passage."""

from __future__ import annotations

import re

from acqo_rl.replies.answers import without_preface
from acqo_rl.replies.remarks import is_offer

_PASSAGE = r"(?:answer|passage|paragraph|excerpt|extract|snippet|summary|text|document)"
_YOUR_QUESTION = r"(?:your|the|this) (?:question|query|request)"
_OPENING = re.compile(
    r"(?:(?:many )?(?:thank you|thanks)(?: (?:so|very) much)? for (?:your|the|this|asking|reaching)\b"
    r"[^.!?:\n]{0,40}[.!:]"
    r"|(?:(?:vielen )?danke? für (?:ihre|deine|die) (?:frage|anfrage)|merci (?:beaucoup )?pour (?:votre|ta) question"
    r"|(?:muchas )?gracias por (?:tu|su) pregunta|grazie (?:mille )?per la (?:tua |sua )?domanda"
    r"|obrigad[oa] pela (?:sua )?pergunta|bedankt voor (?:je|uw) vraag)[.!:]"
    r"|(?:that(?:'s| is)|this is|what) an? (?:very |really )?(?:great|good|excellent|interesting) question[.!:]"
    rf"|(?:to answer|in (?:response|answer|reply) to|regarding) {_YOUR_QUESTION}\s?[:,]"
    rf"|below (?:is|are|follows|you(?:'ll| will| can) find) [^.!?:\n]{{0,60}}\b{_PASSAGE}\b[^.!?:\n]{{0,50}}[.!:]"
    rf"|(?:the|this|my) (?:\w+ )?{_PASSAGE}(?: (?:to|for) {_YOUR_QUESTION}| (?:that )?answers (?:it|{_YOUR_QUESTION}))?"
    r"(?: is| would be)?\s?:"
    rf"|[*_]*(?:(?:short|brief|quick|direct|simple|concise|possible|hypothetical) )?{_PASSAGE}[*_]*\s?[:\uff1a][*_]*)"
    r"\s+(?=\S)",
    re.I,
)
_FIRST_SENTENCE = re.compile(r"[^.!?\n]+[.!](?:\s+|\n)(?=\S)")


def without_openings(text: str) -> str:
    """The text without what opens it: "I'd be happy to help! Here is a passage:", "Thank you!", "Short answer:"."""
    before = ""
    while before != text:
        before = text
        first = _FIRST_SENTENCE.match(text)
        if first and is_offer(first[0]):
            text = text[first.end() :]
        text = without_preface(text)
        if opening := _OPENING.match(text):
            text = text[opening.end() :]
            text = text[0].upper() + text[1:]
    return text
