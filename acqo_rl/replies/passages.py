"""Parses passages: the prose of a reply, without formatting and remarks."""

from __future__ import annotations

import re
from collections.abc import Iterator

from acqo_rl.replies.answers import without_preface
from acqo_rl.replies.labelled_thoughts import without_labelled_thoughts
from acqo_rl.replies.marks import plain, unquoted
from acqo_rl.replies.openings import without_openings
from acqo_rl.replies.refusals import is_refusal
from acqo_rl.replies.remarks import is_offer, is_remark
from acqo_rl.replies.values import value_at
from acqo_rl.replies.wording import ANSWERED, ASKED, NONE, WISHES
from acqo_rl.text import normalised, one_line

_WRAPPED = re.compile(r"\A\s*<([a-z][\w-]*)(?:\s[^<>]*)?>(.*?)(?:</\1>\s*)?\Z", re.I | re.S)
_NO_PROSE = re.compile(
    r"\s*(?:#{1,6}\s.*|(?:`{3}|~{3})\w*|[-*_=]{3,}|\*\*[^*]+\*\*:?|\[[^\]]*\]"
    rf"|\W{{0,2}}(?:{ASKED}|title|topic|source|tit[eu]lo?|titre|título|titolo)\W{{0,2}}[:\uff1a].*)\s*",
    re.I,
)
_LABEL = re.compile(
    rf"^\s*(?:\[(?:{ANSWERED})\]|(?:(?:hypothetical )?(?:text|document)|texte?|texto|testo|content|a)\s*[:\uff1a])\s*",
    re.I,
)
_FENCES = re.compile(r"\A`{3}(?:json)?\s*|\s*`{3}\Z", re.I)
_PASSAGE_FIELD = re.compile(rf"{ANSWERED}|text|document|content|paragraph", re.I)
_EXCLAMATION = re.compile(r"^(?!\w+ (?:is|are)\b)[^\W\d_]+(?:[ ,]+[^\W\d_]+){0,2}[!\uff01]\s+(?=\S)")
_ANNOUNCED = re.compile(r"^(?:(?:sure|certainly|of course)\b|here (?:is|are)\b)?[^.!?\n]{0,80}:\s*(?:\n|\Z)", re.I)
_ANNOUNCES = re.compile(
    r"^(?:here(?:'s| is| are) (?:an?|the|my|your)|the (?:following|passage|text|paragraph) (?:below )?"
    r"(?:(?:\w+ )?(?:passage|text|paragraph|document) )?(?:answers|provides))\b"
    r".{0,40}\b(?:passage|document|answer|paragraph|query|question|text)[^.!?]{0,30}[.!]$",
    re.I,
)
_ANSWERS_IT = re.compile(
    r"^the following (?:\w+ )?(?:passage|text|paragraph|document) answers (?:it|this|that|the (?:question|query))[.:!]"
    r"(?:\s+|$)",
    re.I,
)
_DASHED_LABEL = re.compile(r"^(?:hypothetical )?(?:answer|passage|document)\s+[-\u2013\u2014]\s+", re.I)
_DISCLAIMER = re.compile(
    r"\b(?:i(?:'m| am) (?:sorry|not sure|unable)"
    r"|i (?:do not|don't|cannot|can't|am not|could not) (?:have|know|access|provide|sure|able))\b",
    re.I,
)
_BUT = re.compile(r",? but |,? however,? |,? though |; | [\u2013\u2014] |\u2014", re.I)
_CONTRAST = re.compile(r"^(?:however|but|that said|still|nevertheless|nonetheless|having said that),? ", re.I)
_OF_SPEAKERS = re.compile(
    r"(?:(?:here|perhaps|maybe|generally|hopefully),? )?(?:i|you|we|please|feel free|let me)\b|\W*$",
    re.I,
)
_WISH = re.compile(rf"^(?:(?:i )?hope (?:this|that|it) helps\b|{WISHES})", re.I)
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|(?<=[\u3002\uff01\uff1f])")


def read_passage(reply: str, question: str, longest: int) -> str:
    """Returns the sentences of a passage on one line; empty for "none", "N/A" and similar replies.

    Removes headings, fences, tags, labels, quotation marks, announcements, offers, disclaimers and wishes. Removes also
    the question, which small models repeat.

    Args:
        reply: the reply without thoughts.
        question: the question.
        longest: maximum number of characters.
    """
    text = _from_json(without_labelled_thoughts(reply)).strip().replace("\u2019", "'")
    text = _EXCLAMATION.sub("", _prose(text, question))
    text = _ANSWERS_IT.sub("", _ANNOUNCED.sub("", without_openings(text)))
    text = _DASHED_LABEL.sub("", _LABEL.sub("", without_preface(_prose(text, question))))
    sentences = _SENTENCE_END.split(unquoted(one_line(plain(text)))[:longest])
    kept = [s for s in _without_disclaimers(sentences) if not _WISH.search(s)]
    while kept and (is_remark(kept[0]) or is_offer(kept[0]) or _ANNOUNCES.match(kept[0])):
        kept.pop(0)
    while kept and (is_remark(kept[-1]) or _ANSWERS_IT.match(kept[-1])):
        kept.pop()
    passage = " ".join(kept).strip()
    return "" if passage.casefold().rstrip(".!\u3002") in NONE else passage


def _from_json(reply: str) -> str:
    """The passage in a reply that is a JSON value, which may be cut; the reply if it is something else."""
    text = _FENCES.sub("", reply.strip())
    if text[:1] not in ("{", "["):
        return reply
    found = value_at(text, 0) or value_at(text + '"}', 0)
    if found is None or found[1] < len(text):
        return reply
    value = found[0][0] if isinstance(found[0], list) and found[0] else found[0]
    fields = value if isinstance(value, dict) else {"": value}
    texts = {key: text for key, text in fields.items() if isinstance(text, str)}
    named = [text for key, text in texts.items() if _PASSAGE_FIELD.search(key)]
    return max(named or texts.values(), key=len, default=reply)


def _without_disclaimers(sentences: list[str]) -> Iterator[str]:
    """The sentences without disclaimers; of "I have no live data, but Oslo is large", the second half is kept."""
    cut = False
    for sentence in sentences:
        rest = _CONTRAST.sub("", sentence) if cut else sentence
        cut = False
        while is_refusal(rest) or _DISCLAIMER.search(rest):
            cut = True
            said, _, rest = _BUT.sub("\n", rest, count=1).partition("\n")
            if not (is_refusal(said) or _DISCLAIMER.search(said)):  # the disclaimer is in the second half
                rest = f"{said}."
                break
        if rest and not (cut and _OF_SPEAKERS.match(rest)):
            yield rest[0].upper() + rest[1:] if cut or rest != sentence else rest


def _prose(text: str, question: str) -> str:
    """The lines without markup and headings; all lines if no other lines remain."""
    wrapped = _WRAPPED.match(text)
    lines = (wrapped[2] if wrapped else text).splitlines()
    asked = normalised(question)
    prose = [line for line in lines if not _NO_PROSE.fullmatch(line) and normalised(line) != asked]
    return "\n".join(prose if any(map(normalised, prose)) else lines).strip()
