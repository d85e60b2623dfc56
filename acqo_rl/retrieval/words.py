"""How BM25 splits a text into words: Unicode word segmentation by ICU, stop words, Snowball stems.

ICU (UAX #29, with dictionaries for Chinese, Japanese and Thai) keeps combining marks inside words, as Hindi needs. What
people search as a whole is kept whole and findable by its parts: ``snake_case.names``, hosts, acronyms, C++ and C#,
versions and dates.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from acqo_rl.errors import ConfigError
from acqo_rl.text import compatible, folded

VERSION = 3
"""Raised whenever a text is split differently: an index has to be searched with the words that it was built with."""

LANGUAGES = (
    "arabic", "catalan", "czech", "danish", "dutch", "english", "estonian", "finnish", "french", "german", "greek",
    "hindi", "hungarian", "indonesian", "italian", "lithuanian", "norwegian", "polish", "portuguese", "romanian",
    "russian", "spanish", "swedish", "turkish", "none",
)  # fmt: skip
"""Languages of the stemmer; ``none`` for scripts without inflection (Chinese, Japanese, Thai) and mixed corpora."""

_VOWEL_MARKS = re.compile("[\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u0640\u064b-\u065f\u0670]")
"""Hebrew points, Arabic vowel marks and the stroke that stretches a word: most texts leave them out."""
_NAME = re.compile(
    r"((?<![^\W_])[^\W\d_](?:\+\+|#)(?![^\W\d])|(?<![^\W_])[^\W_]{2,}\+{1,2}(?![\w+])|(?<![\w.])\.(?i:net)\b"
    r"|(?<=[^\W_]\s)[A-ZΑ-ΩА-Я](?![\w'’&]|[.-]\w|\s+[A-ZΑ-ΩА-Я]))"  # noqa: RUF001
)
"""C++, C#, Notepad++, Disney+, .NET, the A of "vitamin A deficiency", which begins no sentence as an article would."""
_ACRONYM = re.compile(r"(?:[^\W\d_]\.)+[^\W\d_]")
_THOUSANDS = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?")
_DOTTED_I, _DOTLESS_I = "i\u0307", "\u0131"
"""The small letters of the Turkish capital I with a dot, and without one."""
_TURKISH_CAPITALS = str.maketrans({"I": _DOTLESS_I, "\u0130": "i"})
_APOSTROPHE = re.compile("['\u2019]")
_HAN = "[\u3400-\u4dbf\u4e00-\u9fff]"
_PARTS = (
    re.compile(r"(?:[^_.,:\u00b7]|(?<=\d)[.,](?=\d))+"),
    re.compile(f"{_HAN}|[^{_HAN[1:-1]}]+"),
    re.compile(r"\d+(?:[.,]\d+)+|(?:\D|(?<=\d)\d|(?!\d+[.,]\d)\d)+"),
    re.compile(r"[^.,]+"),
)
"""Parts of a word, largest first: names between dots, Chinese characters, letters beside a version, its numbers."""
_VERSION = re.compile(r"\d+(?:[.,]\d+){2,4}")


def make_tokenizer(language: str) -> Callable[[str], list[str]]:
    """Splits a text into stems, without the language's stop words.

    A word in capitals in a text that has small letters is no stop word: the "IT" of "IT support", the "A" of "plan A".

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

    def key_of(word: str) -> str:
        cased = word.translate(_TURKISH_CAPITALS) if language == "turkish" else word
        return folded(cased).replace(_DOTTED_I, "i")

    def tokenize(text: str) -> list[str]:
        text = compatible(text)
        words = list(_words(text))
        shouted = len(words) > 1 and text.isupper()
        keys = [
            (key_of(word), is_name or (len(word) > 1 and word.isupper() and not shouted)) for word, is_name in words
        ]
        stems = stem([key for key, is_kept in keys if is_kept or key not in stop_words])
        return [one.replace(_DOTLESS_I, "i") for one in stems]

    return tokenize


def _words(text: str) -> Iterator[tuple[str, bool]]:
    """Words in the order of the text, and whether each is a name by its signs; a compound is followed by its parts."""
    from icu4py.breakers import WordBreaker

    between_names = _NAME.split(_VOWEL_MARKS.sub("", text))
    for place, piece in enumerate(between_names):
        if place % 2:
            yield piece, True
            if len(piece) > 2 and (word := piece.rstrip("+#")) != piece and len(word) > 1:
                yield word, False
            continue
        for segment in WordBreaker(piece, "en"):
            if segment.isalpha() and segment.isascii():  # most words, so asked first
                yield segment, False
            elif any(c.isalnum() for c in segment):
                yield from ((word, False) for word in _compound(segment.strip("_")))


def _compound(segment: str) -> Iterator[str]:
    if _ACRONYM.fullmatch(segment):
        yield segment.replace(".", "")
    elif _THOUSANDS.fullmatch(segment):
        yield segment.replace(",", "")
    elif _APOSTROPHE.search(segment):
        yield from filter(None, _APOSTROPHE.split(segment))
    else:
        yield from _with_parts(segment)


def _with_parts(word: str) -> Iterator[str]:
    """A word, its parts and theirs; the beginnings of a version too, so that 3.11 finds 3.11.4."""
    yield word
    if _VERSION.fullmatch(word):
        joints = [place for place, c in enumerate(word) if c in ".,"]
        yield from (word[:place] for place in joints[1:])
    for part in next((parts for pattern in _PARTS if len(parts := pattern.findall(word)) > 1), []):
        yield from _with_parts(part)
