"""How BM25 splits a text into words: Unicode word segmentation by ICU, stop words, Snowball stems.

ICU (UAX #29, with dictionaries for Chinese, Japanese and Thai) keeps combining marks inside words, as Hindi needs. What
people search as a whole is kept whole and findable by its parts: ``snake_case.names``, hosts, acronyms, C++ and C#,
versions and dates, numbers with units. Compounds are findable without their hyphens and dots as well (Wi-Fi, Node.js),
Korean words by pairs of their syllables.

Latin letters lose their accents, except those that are letters of the language's own alphabet.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from functools import cache

from acqo_rl.errors import ConfigError
from acqo_rl.text import compatible, folded

VERSION = 4
"""Raised whenever a text is split differently: an index has to be searched with the words that it was built with."""

LANGUAGES = (
    "arabic", "catalan", "czech", "danish", "dutch", "english", "estonian", "finnish", "french", "german", "greek",
    "hindi", "hungarian", "indonesian", "italian", "lithuanian", "norwegian", "polish", "portuguese", "romanian",
    "russian", "spanish", "swedish", "turkish", "none",
)  # fmt: skip
"""Languages of the stemmer; ``none`` for scripts without inflection (Chinese, Japanese, Thai) and mixed corpora."""

_OWN_LETTERS = {
    "czech": "áčďéěíňóřšťúůýž", "danish": "åæø", "estonian": "äõöüšž", "finnish": "åäö", "german": "äöü",
    "hungarian": "áéíóöőúüű", "lithuanian": "ąčęėįšųūž", "norwegian": "åæø", "polish": "ąćęłńóśźż",
    "romanian": "ăâîșțşţ", "spanish": "ñ", "swedish": "åäö", "turkish": "çğöşü",
}  # fmt: skip
"""Letters with marks in a language's alphabet: they tell words apart, and its stemmer reads them."""
_STEMMED_WITH_ACCENTS = frozenset(("catalan", "french", "italian", "portuguese", "spanish"))
"""Languages whose stemmers read accents that are not letters of the alphabet, as in French "-ée"."""
_PLAIN_LATIN = {"ø": "o", "ł": "l", "đ": "d", "ð": "d", "ħ": "h", "æ": "ae", "œ": "oe", "þ": "th"}
"""Latin letters that Unicode does not decompose."""
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
_SMALL = "\u00b2\u00b3\u00b9\u2070-\u2079\u2080-\u2089"
_SMALL_DIGITS = re.compile(rf"(?<![^\W\d_{_SMALL}])([^\W\d_{_SMALL}]++)([{_SMALL}]+)")
"""Raised or lowered digits behind letters: CO\u2082, km\u00b2, a footnote."""
_LATIN = r"[^\W_\u0590-\u1dff\u1f00-\U0010ffff]"
"""Letters of Latin, Greek and Cyrillic, and digits."""
_HYPHENATED = re.compile(rf"(?<!\w){_LATIN}+(?:[-\u2010]{_LATIN}+)+")
_HYPHEN = re.compile("[-\u2010]")
_INNER_SIGN = re.compile(r"[._](?=[^\W\d_])")
_LONG_NUMBER = 7  # digits; of fewer, "10-20" may be a range, and 1020 another number
_UNIT = r"(?!(?i:st|nd|rd|th|s)\Z)[^\W\d_]+\d?\Z"
_HAN = "[\u3400-\u4dbf\u4e00-\u9fff]"
_HANGUL = "[\uac00-\ud7a3]"
_PARTS = (
    re.compile(r"(?:[^_.,:\u00b7]|(?<=\d)[.,](?=\d))+"),
    re.compile(f"{_HAN}|[^{_HAN[1:-1]}]+"),
    re.compile(f"{_HANGUL}+|[^{_HANGUL[1:-1]}]+"),
    re.compile(f"(?=({_HANGUL}{{2}}))"),
    re.compile(r"\d+(?:[.,]\d+)+|(?:\D|(?<=\d)\d|(?!\d+[.,]\d)\d)+"),
    re.compile(r"[^.,]+"),
    re.compile(rf"\A\d+(?={_UNIT})|(?<=\d){_UNIT}"),
)
"""Parts of a word, largest first.

Names between dots, Chinese characters, Korean beside other scripts, pairs of its syllables (most particles have one),
letters beside a version, its numbers, a number and its unit.
"""
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
    own_letters = _OWN_LETTERS.get(language, "")
    try:
        stop_words = frozenset(_infer_stopwords(language)) if language != "none" else frozenset()
    except ValueError:
        stop_words = frozenset()

    def key_of(word: str) -> str:
        cased = word.translate(_TURKISH_CAPITALS) if language == "turkish" else word
        return folded(cased).replace(_DOTTED_I, "i")

    def stems_of(keys: Sequence[str]) -> list[str]:
        if language == "none":  # accents may tell words apart, so these come first and the others are found as well
            return [form for key in keys for form in dict.fromkeys((key, _without_accents(key)))]
        if language in _STEMMED_WITH_ACCENTS:
            return [_without_accents(one, own_letters) for one in stem(list(keys))]
        return stem([_without_accents(key, own_letters) for key in keys])

    def tokenize(text: str) -> list[str]:
        text = compatible(text)
        words = list(_words(text))
        shouted = len(words) > 1 and text.isupper()
        keys = [
            (key_of(word), is_name or (len(word) > 1 and word.isupper() and not shouted)) for word, is_name in words
        ]
        stems = stems_of([key for key, is_kept in keys if is_kept or key not in stop_words])
        return [one.replace(_DOTLESS_I, "i") for one in stems]

    return tokenize


def _without_accents(word: str, own_letters: str = "") -> str:
    if word.isascii():
        return word
    return "".join(c if c in own_letters else _without_accent(c) for c in word)


@cache
def _without_accent(character: str) -> str:
    """A Latin letter without its accent, nothing for a mark that makes no letter of its own; others stay."""
    if "\u0300" <= character <= "\u036f":
        return ""
    base = unicodedata.normalize("NFD", character)[0]
    return _PLAIN_LATIN.get(base, base if base.isascii() else character)


def _words(text: str) -> Iterator[tuple[str, bool]]:
    """Words and whether each is a name by its signs; a compound stands beside its parts."""
    from icu4py.breakers import WordBreaker

    if not text.isascii():
        text = _SMALL_DIGITS.sub(_plain_digits, _VOWEL_MARKS.sub("", text))
    between_names = _NAME.split(text)
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
        yield from ((word, False) for word in _without_hyphens(piece))


def _plain_digits(match: re.Match[str]) -> str:
    """CO2, followed by the letters alone unless others come behind the digits."""
    word = match[1] + unicodedata.normalize("NFKC", match[2])
    return word if match.string[match.end() : match.end() + 1].isalnum() else f"{word} {match[1]}"


def _without_hyphens(text: str) -> Iterator[str]:
    for match in _HYPHENATED.finditer(text):
        joined = _HYPHEN.sub("", match[0])
        if len(joined) >= _LONG_NUMBER or not joined.isdecimal():
            yield joined


def _compound(segment: str) -> Iterator[str]:
    if _ACRONYM.fullmatch(segment):
        yield segment.replace(".", "")
    elif _THOUSANDS.fullmatch(segment):
        yield segment.replace(",", "")
    elif _APOSTROPHE.search(segment):
        yield from filter(None, _APOSTROPHE.split(segment))
    else:
        yield from _with_parts(segment)
        if (joined := _INNER_SIGN.sub("", segment)) != segment:
            yield joined


def _with_parts(word: str) -> Iterator[str]:
    """A word, its parts and theirs; the beginnings of a version too, so that 3.11 finds 3.11.4."""
    yield word
    if _VERSION.fullmatch(word):
        joints = [place for place, c in enumerate(word) if c in ".,"]
        yield from (word[:place] for place in joints[1:])
    for part in next((parts for pattern in _PARTS if len(parts := pattern.findall(word)) > 1), []):
        yield from _with_parts(part)
