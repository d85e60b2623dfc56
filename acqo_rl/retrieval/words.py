"""How BM25 splits a text into words: Unicode word segmentation by ICU, stop words, Snowball stems.

ICU (UAX #29, with dictionaries for Chinese, Japanese and Thai) keeps combining marks inside words, as Hindi needs. What
people search as a whole is kept whole and findable by its parts: ``snake_case.names``, hosts, acronyms, C++ and C#.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from acqo_rl.errors import ConfigError
from acqo_rl.text import compatible, folded

VERSION = 2
"""Raised whenever a text is split differently: an index has to be searched with the words that it was built with."""

LANGUAGES = (
    "arabic", "catalan", "czech", "danish", "dutch", "english", "estonian", "finnish", "french", "german", "greek",
    "hindi", "hungarian", "indonesian", "italian", "lithuanian", "norwegian", "polish", "portuguese", "romanian",
    "russian", "spanish", "swedish", "turkish", "none",
)  # fmt: skip
"""Languages of the stemmer; ``none`` for scripts without inflection (Chinese, Japanese, Thai) and mixed corpora."""

_VOWEL_MARKS = re.compile("[\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u0640\u064b-\u065f\u0670]")
"""Hebrew points, Arabic vowel marks and the stroke that stretches a word: most texts leave them out."""
_NAMED_BY_SIGNS = re.compile(r"((?<![^\W_])[^\W\d_](?:\+\+|#)(?!\w)|(?<![\w.])\.net\b)", re.I)
"""C++, C#, F#, .NET."""
_ACRONYM = re.compile(r"(?:[^\W\d_]\.)+[^\W\d_]")
_THOUSANDS = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?")
_NUMBER = re.compile(r"[\d.,]+")
_DOTTED_I = "i\u0307"
"""What the Turkish capital I with a dot becomes in small letters."""
_APOSTROPHE = re.compile("['\u2019]")
_JOINT = re.compile("[_.,:\u00b7]")
_HAN = re.compile("[\u3400-\u4dbf\u4e00-\u9fff]")
_HAN_OR_RUN = re.compile(f"{_HAN.pattern}|[^{_HAN.pattern[1:-1]}]+")


def make_tokenizer(language: str) -> Callable[[str], list[str]]:
    """Splits a text into stems, without the language's stop words.

    A word in capitals in a text that has small letters is no stop word: the "IT" of "IT support".

    Args:
        language: one of ``LANGUAGES``; its stop words are those of bm25s, which has none for some.

    Raises:
        ConfigError: the language is not offered.
    """
    import Stemmer
    from bm25s.tokenization import _infer_stopwords

    if language not in LANGUAGES:
        raise ConfigError(f"There is no BM25 for the language {language!r}; choose one of: {', '.join(LANGUAGES)}.")
    stem: Callable[[list[str]], list[str]] = list if language == "none" else Stemmer.Stemmer(language).stemWords
    try:
        stop_words = frozenset(_infer_stopwords(language)) if language != "none" else frozenset()
    except ValueError:
        stop_words = frozenset()

    def tokenize(text: str) -> list[str]:
        text = compatible(text)
        words = list(_words(text))
        shouted = len(words) > 1 and text.isupper()
        keys = [
            (folded(word).replace(_DOTTED_I, "i"), len(word) > 1 and word.isupper() and not shouted) for word in words
        ]
        return stem([key for key, in_capitals in keys if in_capitals or key not in stop_words])

    return tokenize


def _words(text: str) -> Iterator[str]:
    """Words in the order of the text; a compound is followed by its parts."""
    from icu4py.breakers import WordBreaker

    between_names = _NAMED_BY_SIGNS.split(_VOWEL_MARKS.sub("", text))
    for place, piece in enumerate(between_names):
        if place % 2:
            yield piece
            continue
        for segment in WordBreaker(piece, "en"):
            if segment.isalpha() and segment.isascii():  # most words, so asked first
                yield segment
            elif any(c.isalnum() for c in segment):
                yield from _compound(segment)


def _compound(segment: str) -> Iterator[str]:
    segment = segment.strip("_")
    if _ACRONYM.fullmatch(segment):
        yield segment.replace(".", "")
    elif _THOUSANDS.fullmatch(segment):
        yield segment.replace(",", "")
    elif _APOSTROPHE.search(segment):
        yield from filter(None, _APOSTROPHE.split(segment))
    else:
        yield segment
        if _HAN.search(segment):
            parts = _HAN_OR_RUN.findall(segment)
        elif _JOINT.search(segment) and not _NUMBER.fullmatch(segment):
            parts = [part for part in _JOINT.split(segment) if part]
        else:
            return
        if len(parts) > 1:
            yield from parts
