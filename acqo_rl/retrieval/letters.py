"""Gives one form to letters, digits and marks of other scripts that people write in several ways."""

from __future__ import annotations

import re
import sys
import unicodedata
from functools import cache

_SAME = {
    **dict.fromkeys("\u06cc\u0649\u06d2\u06d0", "\u064a"),  # Persian, dotless and Urdu yeh
    **dict.fromkeys("\u06a9\u06aa", "\u0643"),  # Persian kaf
    **dict.fromkeys("\u0622\u0623\u0625\u0671\u0672\u0673", "\u0627"),  # alef with hamza, madda or wasla
    **dict.fromkeys("\u06c0\u06c1\u06c2\u06d5", "\u0647"),  # Persian and Urdu heh
    **{"\u0624": "\u0648", "\u0626": "\u064a"},  # hamza on waw and on yeh
    **{"\u0451": "\u0435", "\u0401": "\u0415"},  # Russian yo, which most texts write as ye
    "\u093c": "",  # Devanagari nukta, which most texts omit
    **{"\u05f4": '"', "\u05f3": "'"},  # Hebrew gershayim and geresh
    "\u02bc": "'",  # the apostrophe of Ukrainian, a letter in Unicode
}
_GERSHAYIM = re.compile("(?<=[\u05d0-\u05ea])[\u201c\u201d\u201e](?=[\u05d0-\u05ea](?![\u05d0-\u05ea]))")
"""A quotation mark before the last letter of a Hebrew word, which marks an abbreviation."""
_NARROW_SPACES = "\u2007\u2009\u202f"
_SPACED_THOUSANDS = re.compile(
    rf"(?<![\d{_NARROW_SPACES}])\d{{1,3}}(?:[{_NARROW_SPACES}]\d{{3}})+(?![{_NARROW_SPACES}]?\d)"
)
_SARA_AM = re.compile("\u0e4d([\u0e48-\u0e4b]?)\u0e32|([\u0e48-\u0e4b])\u0e4d\u0e32")
_TONE_FIRST = re.compile("([\u0e48-\u0e4c])([\u0e31\u0e34-\u0e3a\u0e47])")
"""A Thai tone mark typed before the vowel above or below the same consonant."""

_NASALS = re.compile(
    "\u0901|\u0919\u094d(?=[\u0915-\u0918])|\u091e\u094d(?=[\u091a-\u091d])|\u0923\u094d(?=[\u091f-\u0922])"
    "|\u0928\u094d(?=[\u0924-\u0927])|\u092e\u094d(?=[\u092a-\u092d])"
)
"""The candrabindu, and a nasal without a vowel before a consonant of its class."""


def with_anusvara(text: str) -> str:
    """Writes Hindi nasals as an anusvara, because both spellings of a word such as "Hindi" are common."""
    return _NASALS.sub("\u0902", text)


def one_form(text: str) -> str:
    """Returns the text with ASCII digits and one form of each letter.

    Arabic, Persian and Urdu forms of alef, yeh, kaf and heh become the same letter. Thai marks get the usual order, and
    the nukta of Devanagari is removed. The marks of Hebrew abbreviations become plain quotation marks.

    Args:
        text: a text that ``acqo_rl.text.compatible`` returned.
    """
    if text.isascii():
        return text
    text = text.translate(_table())
    text = _SARA_AM.sub("\\1\\2\u0e33", text)
    return _TONE_FIRST.sub(r"\2\1", _GERSHAYIM.sub('"', text)).replace("\u0e40\u0e40", "\u0e41")


def without_narrow_spaces(text: str) -> str:
    """Removes the narrow spaces between the groups of a number, of which ``compatible`` would make plain spaces."""
    if text.isascii():
        return text
    return _SPACED_THOUSANDS.sub(lambda match: re.sub(f"[{_NARROW_SPACES}]", "", match[0]), text)


@cache
def _table() -> dict[int, str]:
    """Maps digits of all scripts to ASCII digits, and letters to their common form."""
    digits = {
        code: str(unicodedata.decimal(chr(code)))
        for code in range(0x80, sys.maxunicode + 1)
        if unicodedata.category(chr(code)) == "Nd"
    }
    return digits | {ord(letter): same for letter, same in _SAME.items()}
