"""Tokenization for BM25: ICU word segmentation, stop words and Snowball stemming.

ICU (UAX #29, with dictionaries for Chinese, Japanese and Thai) keeps combining marks inside words, which Hindi needs.
Terms that people search as a whole give one token for the whole term and one for each part: ``snake_case.names``,
``camelCase``, hosts, acronyms, C++ and C#, versions and dates, words with a number (iPhone15), numbers with units.
Compounds also give a token without hyphens or dots (Wi-Fi, Node.js). Korean words also give pairs of their syllables.

Accents are removed from Latin and Greek letters, unless the accented letter belongs to the alphabet of the language.
Speakers of some languages often type their own letters without accents (Polish "Lodz" for "Łódź"). There, a
word with such letters gives two tokens, with and without accents: both spellings match, and the same one scores higher.
Digits of all scripts are the same, and so are the Arabic and Persian forms of a letter
(:mod:`acqo_rl.retrieval.letters`). Hindi nasals have one spelling.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from functools import cache

from acqo_rl.errors import ConfigError
from acqo_rl.retrieval.letters import one_form, with_anusvara, without_narrow_spaces
from acqo_rl.text import compatible, folded

_VERSION_OF_MOST, _VERSION_OF_SOME = 8, 9
"""Must be increased whenever the tokenization changes, because an index must be searched with the same tokenization."""

LANGUAGES = (
    "arabic", "catalan", "czech", "danish", "dutch", "english", "estonian", "finnish", "french", "german", "greek",
    "hindi", "hungarian", "indonesian", "italian", "lithuanian", "norwegian", "polish", "portuguese", "romanian",
    "russian", "spanish", "swedish", "turkish", "none",
)  # fmt: skip
"""Languages of the stemmer; ``none`` is for languages without inflection (Chinese, Thai) and for mixed corpora."""

_OWN_LETTERS = {
    "czech": "áčďéěíňóřšťúůýž", "danish": "åæø", "estonian": "äõöüšž", "finnish": "åäö", "german": "äöü",
    "hungarian": "áéíóöőúüű", "lithuanian": "ąčęėįšųūž", "norwegian": "åæø", "polish": "ąćęłńóśźż",
    "romanian": "ăâîșțşţ", "spanish": "ñ", "swedish": "åäö", "turkish": "çğöşü",
}  # fmt: skip
"""Accented letters of a language's alphabet; they distinguish words, and the stemmer uses them."""
_TYPED_WITHOUT_ACCENTS = frozenset(("czech", "hungarian", "lithuanian", "polish", "romanian", "turkish"))
"""Languages whose own letters are often typed without accents; both forms are kept."""
_STEMMED_WITH_ACCENTS = frozenset(("catalan", "french", "italian", "portuguese", "spanish"))
"""Languages whose stemmers use accents that are not letters of the alphabet, as in French "-ée"."""
_PLAIN_LATIN = {"ø": "o", "ł": "l", "đ": "d", "ð": "d", "ħ": "h", "æ": "ae", "œ": "oe", "þ": "th"}
"""Latin letters without a Unicode decomposition."""
_VOWEL_MARKS = re.compile("[\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u0640\u064b-\u065f\u0670]")
"""Hebrew points, Arabic vowel marks and the Arabic tatweel; most texts omit them."""
_NAME = re.compile(
    r"((?<![^\W_])[^\W\d_](?:\+\+|#)(?![^\W\d])|(?<![^\W_])[^\W_]{2,}\+{1,2}(?![\w+])|(?<![\w.])\.(?i:net)\b"
    r"|(?<![\w&])[^\W_]{1,4}(?:&[^\W_]{1,4})+(?![\w&;])"
    r"|(?<=[^\W_]\s)[A-ZΑ-ΩА-Я](?![\w'’&]|[.-]\w|\s+[A-ZΑ-ΩА-Я]))"  # noqa: RUF001
)
"""C++, C#, AT&T, Notepad++, Disney+, .NET, and the A of "vitamin A deficiency", which is not the article "a"."""
_BESIDE_PRONOUN = frozenset((
    *("is", "was", "isn", "wasn", "has", "had", "will", "would", "can", "could", "should", "may", "might", "must"),
    *("do", "does", "did", "s", "ll"),
))  # fmt: skip
"""Words beside "IT" that make it the pronoun in a text in capitals."""
_ACRONYM = re.compile(r"(?:[^\W\d_]\.)+[^\W\d_]")
_THOUSANDS = re.compile(r"\d{1,3}([,'\u2019])\d{3}(?:\1\d{3})*(?:\.\d+)?")
_DOTTED_I, _DOTLESS_I = "i\u0307", "\u0131"
"""Lower-case forms of the Turkish capital I with and without a dot."""
_TURKISH_CAPITALS = str.maketrans({"I": _DOTLESS_I, "\u0130": "i"})
_APOSTROPHE = re.compile("['\u2019]")
_MARK_IN_WORD = re.compile("[\u02b9-\u02bf\u2018]")
"""The \u02bbokina of Hawai\u02bbi and marks of transliterations, such as Qur\u02be\u0101n, which most texts omit."""
_SMALL = "\u00b2\u00b3\u00b9\u2070-\u2079\u2080-\u2089"
_SMALL_DIGITS = re.compile(rf"(?<![^\W\d_{_SMALL}])([^\W\d_{_SMALL}]++)([{_SMALL}]+)")
"""Superscript or subscript digits after letters: CO\u2082, km\u00b2, a footnote."""
_LATIN = r"[^\W_\u0590-\u1dff\u1f00-\U0010ffff]"
"""Latin, Greek and Cyrillic letters, and digits."""
_HYPHENATED = re.compile(rf"(?<!\w){_LATIN}+(?:[-\u2010]{_LATIN}+)+")
_HYPHEN = re.compile("[-\u2010]")
_DOT_NET = re.compile(r"\w+\.NET|(?:asp|ado|vb|ml)\.net", re.A)
"""Names that contain .NET; "example.net" is a host."""
_INNER_SIGN = re.compile(r"[._](?=[^\W\d_])")
_HUMP = re.compile("[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
"""A part of a name such as getUserById or HTTPServer."""
_SHORTEST_HUMP = 3  # letters; shorter parts, as in McAdam and LaTeX, are no words
_LONG_NUMBER = 7  # digits; with fewer digits, "10-20" may be a range, and 1020 is a different number
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
    re.compile(r"\A[^\W\d_]{3,}(?=\d+\Z)|(?<=[^\W\d_]{3})\d+\Z"),
)
"""Patterns that split a word into parts; the first one that finds several parts is used.

In order: names separated by dots or underscores, Chinese characters, Korean next to other scripts, pairs of Korean
syllables (most particles have one syllable), letters next to a version, numbers of a version, a number and its unit,
a word and the number after it.
"""
_VERSION = re.compile(r"\d+(?:[.,]\d+){2,4}")


def version_of(language: str) -> int:
    """The version of the tokenization of a language."""
    return _VERSION_OF_SOME if language in (*_TYPED_WITHOUT_ACCENTS, "hindi") else _VERSION_OF_MOST


def make_tokenizer(language: str) -> Callable[[str], list[str]]:
    """Creates a function that splits a text into stems and drops stop words.

    A word in capitals is not a stop word ("IT support", "plan A"). If the whole text is in capitals, only "IT" and the
    parts of names such as "AT&T" are not.

    Args:
        language: one of ``LANGUAGES``. Stop words come from bm25s, which has none for some languages.

    Raises:
        ConfigError: the language is not supported.
    """
    import Stemmer
    from bm25s.tokenization import _infer_stopwords

    if language not in LANGUAGES:
        raise ConfigError(f"BM25 does not support the language {language!r}; choose one of: {', '.join(LANGUAGES)}.")
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
        if language == "none":  # accents may distinguish words, so both forms are kept
            return [form for key in keys for form in dict.fromkeys((key, _without_accents(key)))]
        if language in _STEMMED_WITH_ACCENTS:
            return [_without_accents(one, own_letters) for one in stem(list(keys))]
        own = [_without_accents(key, own_letters) for key in keys]
        if language not in _TYPED_WITHOUT_ACCENTS:
            return stem(own)
        typed = stem([_without_accents(key) for key in keys])
        return [form for both in zip(stem(own), typed, strict=True) for form in dict.fromkeys(both)]

    def tokenize(text: str) -> list[str]:
        text = one_form(compatible(without_narrow_spaces(text)))
        text = with_anusvara(text) if language == "hindi" else text
        words = list(_words(text))
        shouted = len(words) > 1 and text.isupper()
        keys = [key_of(word) for word, _ in words]
        kept = [
            is_name or key not in stop_words or (len(word) > 1 and word.isupper() and (not shouted or _is_it(keys, i)))
            for i, ((word, is_name), key) in enumerate(zip(words, keys, strict=True))
        ]
        stems = stems_of([key for key, is_kept in zip(keys, kept, strict=True) if is_kept])
        return [one.replace(_DOTLESS_I, "i") for one in stems]

    return tokenize


def _is_it(keys: Sequence[str], place: int) -> bool:
    """Whether a word of a text in capitals is "IT" (information technology), not the pronoun: no verb is beside it."""
    return keys[place] == "it" and _BESIDE_PRONOUN.isdisjoint(keys[max(0, place - 1) : place + 2])


def _without_accents(word: str, own_letters: str = "") -> str:
    if word.isascii():
        return word
    return "".join(c if c in own_letters else _without_accent(c) for c in word)


@cache
def _without_accent(character: str) -> str:
    """A Latin or Greek letter without its accent; an empty string for a combining accent; others unchanged."""
    if "\u0300" <= character <= "\u036f":
        return ""
    base = unicodedata.normalize("NFD", character)[0]
    return _PLAIN_LATIN.get(base, base if base.isascii() or "\u0370" <= base <= "\u03ff" else character)


def _words(text: str) -> Iterator[tuple[str, bool]]:
    """Yields each word, and whether its signs mark it as a name (C++, .NET); a compound is followed by its parts."""
    from icu4py.breakers import WordBreaker

    if not text.isascii():
        text = _SMALL_DIGITS.sub(_plain_digits, _VOWEL_MARKS.sub("", text))
    between_names = _NAME.split(text)
    for place, piece in enumerate(between_names):
        if place % 2:
            yield from ((part, True) for part in piece.split("&"))
            if len(piece) > 2 and (word := piece.rstrip("+#")) != piece and len(word) > 1:
                yield word, False
            continue
        for segment in WordBreaker(piece, "en"):
            if segment.isalpha() and segment.isascii():  # the most common case
                yield segment, False
                if not (segment.islower() or segment.istitle() or segment.isupper()):
                    yield from ((part, False) for part in _HUMP.findall(segment) if len(part) >= _SHORTEST_HUMP)
            elif any(c.isalnum() for c in segment):
                yield from ((word, False) for word in _compound(segment.strip("_")))
        yield from ((word, False) for word in _without_hyphens(piece))


def _plain_digits(match: re.Match[str]) -> str:
    """The word with plain digits (CO2), and then its letters alone, unless another letter follows the digits."""
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
    elif thousands := _THOUSANDS.fullmatch(segment):
        yield segment.replace(thousands[1], "")
    elif _MARK_IN_WORD.search(segment):
        joined = _MARK_IN_WORD.sub("", segment)
        yield joined
        yield from (part for part in _MARK_IN_WORD.split(segment) if part not in ("", joined))
    elif _APOSTROPHE.search(segment):
        yield from filter(None, _APOSTROPHE.split(segment))
    else:
        yield from _with_parts(segment)
        if _DOT_NET.fullmatch(segment):
            yield ".net"
        if (joined := _INNER_SIGN.sub("", segment)) != segment:
            yield joined


def _with_parts(word: str) -> Iterator[str]:
    """Yields a word, its parts and their parts; for a version also its prefixes, so that 3.11 finds 3.11.4."""
    yield word
    if _VERSION.fullmatch(word):
        joints = [place for place, c in enumerate(word) if c in ".,"]
        yield from (word[:place] for place in joints[1:])
    for part in next((parts for pattern in _PARTS if len(parts := pattern.findall(word)) > 1), []):
        yield from _with_parts(part)
