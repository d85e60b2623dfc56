"""Tokens of BM25: ICU word segmentation, stop words of bm25s and Snowball stemming.

ICU (UAX #29) has dictionaries for Chinese, Japanese and Thai. Names that people write in several ways give more tokens:

- a word of several runs of letters or digits also gives each run: ``load_user``, ``iPhone15``, ``getUser``;
- a version also gives its beginnings: ``3.11`` of ``3.11.4``;
- what stands between two spaces also gives one token without its signs: ``Wi-Fi`` and ``wifi``;
- a number with commas between thousands only gives the number without them;
- ``+`` and ``#`` are no signs: ``C++``, ``C#``;
- a word with accents or vowel points also gives the word without them: ``Zürich`` and ``Zurich``;
- Chinese words also give their characters, Korean words pairs of syllables, because particles follow without a space.

A word has at most 255 characters; a longer one is split. The time is linear in the length of a text.
"""

import re
import unicodedata
from collections.abc import Callable, Iterator

from acqo_rl.errors import ConfigError
from acqo_rl.text import compatible, folded

VERSION = 12
"""Must be increased whenever the tokens change, because an index must be searched with the same tokens."""

_APOSTROPHE = re.compile("['\u2019]")
_POINT = re.compile("[.,]")
_THOUSANDS = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?")
_HAN, _HANGUL = "\u3400-\u9fff", "\uac00-\ud7a3"
_NUMBER = r"\d+(?:[.,]\d+)*"
_ASCII_RUN = re.compile(f"{_NUMBER}|[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_RUN = re.compile(rf"{_NUMBER}|(?=([{_HANGUL}]{{2}}))|[{_HAN}]|[^\d{_HAN}{_HANGUL}_.,:]+")
_MOST_PARTS = 4  # of a version whose beginnings are tokens
_LONGEST = 255  # characters of a word
_MOST_JOINED = 6  # words; more are a sentence of a script without spaces
_MARKS = frozenset((7, *range(10, 36), *range(200, 241)))
"""Canonical combining classes of accents, Hebrew and Arabic points, and the nukta of Hindi; others are letters."""


def languages() -> list[str]:
    """Languages of the stemmer; ``none`` is for languages without inflection (Chinese, Thai) and for mixed corpora."""
    import Stemmer

    return [*Stemmer.algorithms(), "none"]


def make_tokenizer(language: str) -> Callable[[str], list[str]]:
    """Creates a function that splits a text into stems and drops stop words, except those in capitals ("IT support").

    Args:
        language: one of :func:`languages`. bm25s has no stop words for some of them.

    Raises:
        ConfigError: the language is not supported.
    """
    import Stemmer
    from bm25s.tokenization import Tokenizer

    if language not in languages():
        raise ConfigError(f"BM25 does not support the language {language!r}; choose one of: {', '.join(languages())}.")
    stem: Callable[[str], str] = str if language == "none" else Stemmer.Stemmer(language).stemWord
    try:
        stop_words = frozenset(Tokenizer(stopwords=None if language == "none" else language).stopwords)
    except ValueError:
        stop_words = frozenset()

    def stems(forms: list[str]) -> Iterator[str]:
        for form in forms:
            key = _key(form)
            if key not in stop_words or (len(form) > 1 and form.isupper()):
                yield stem(key)
                if not key.isascii():
                    yield stem(_without_accents(key))

    def tokenize(text: str) -> list[str]:
        tokens: list[str] = []
        for chunk in _chunks(compatible(text)):
            tokens += dict.fromkeys(filter(None, stems(_forms(chunk))))
        return tokens

    return tokenize


def _chunks(text: str) -> Iterator[list[str]]:
    """The segments between white space."""
    from icu4py.breakers import WordBreaker

    chunk: list[str] = []
    for segment in WordBreaker(text, "en"):
        if segment.isspace():
            yield chunk
            chunk = []
        else:
            chunk += [segment[start : start + _LONGEST] for start in range(0, len(segment), _LONGEST)]
    yield chunk


def _forms(chunk: list[str]) -> list[str]:
    """The words of a chunk, their runs, and the chunk without its signs; words are split at apostrophes."""
    parts = [part for segment in chunk for part in _APOSTROPHE.split(segment.strip("_"))]
    words = [part for part in parts if any(map(str.isalnum, part))]
    forms: list[str] = []
    for word in words:
        if _THOUSANDS.fullmatch(word):
            word = word.replace(",", "")
        forms.append(word)
        if not (word.isascii() and word.isalpha() and (word.islower() or word.istitle())):
            forms += _runs(word)
    if 0 < len(words) <= _MOST_JOINED and len(parts) == len(chunk):
        joined = "".join(c for part in parts for c in part if c in "+#" or unicodedata.category(c)[0] in "LMN")
        forms.append(joined[:_LONGEST])
    return forms


def _runs(word: str) -> list[str]:
    """The runs of a word; of a version or a number with a comma also its beginnings and its parts."""
    found = _ASCII_RUN.findall(word) if word.isascii() else [run[1] or run[0] for run in _RUN.finditer(word)]
    runs = [*found] if len(found) > 1 else []
    for parts in (_POINT.split(run) for run in found):
        if len(parts) > 1:
            runs += parts + [".".join(parts[:end]) for end in range(2, min(len(parts), _MOST_PARTS) + 1)]
    return runs


def _key(word: str) -> str:
    """The word in lower case, with ASCII digits."""
    if word.isascii():
        return word.lower()
    return "".join(str(unicodedata.decimal(c)) if c.isdecimal() else c for c in folded(word))


def _without_accents(word: str) -> str:
    plain = (c for c in unicodedata.normalize("NFD", word) if unicodedata.combining(c) not in _MARKS)
    return unicodedata.normalize("NFC", "".join(plain))
