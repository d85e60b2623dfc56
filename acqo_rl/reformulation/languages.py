"""Whether a query is in a language that rules, a policy or a network reads: one decision, for all steps of a search."""

import unicodedata
from dataclasses import replace
from functools import cache, lru_cache
from typing import Any

from acqo_rl.text import compatible, stop_words, words
from acqo_rl.types import Query, Reformulation, Turn

Languages = tuple[str, ...] | None
"""Codes of ISO 639-1, such as ``en``; ``None`` stands for any language."""

ENGLISH: Languages = ("en",)

_READ = 1_000
"""Number of characters that are read of a query, and of the user's turns with it."""
_ALONE, _IN_CONVERSATION, _AGAINST_CONVERSATION = 100, 30, 1_000
"""How many times as probable another language must be: for a query alone, with the user's turns, and against these.

No one of 1,712 English questions is taken for another language so.
"""


def can_read(query: Query, languages: Languages) -> bool:
    """Whether a query may be in one of some languages; without evidence of another language, it may."""
    return languages is None or _can_read(query.text, query.history, languages)


def with_language_note(made: Reformulation, languages: Languages) -> Reformulation:
    """Adds a note if the query is in none of some languages."""
    if languages is None or can_read(made.query, languages):
        return made
    note = f"What reads only {', '.join(languages)} left the query as it is, because it is in another language."
    return replace(made, notes=tuple(dict.fromkeys((*made.notes, note))))


@lru_cache(4096)
def _can_read(text: str, history: tuple[Turn, ...], languages: tuple[str, ...]) -> bool:
    text = text[:_READ]
    said = " ".join(turn.text for turn in history if turn.speaker == "user")
    if languages == ENGLISH and _is_plain_english(text) and (not said or _is_plain_english(said)):
        return True
    if languages == ENGLISH and not _is_latin(text):  # the detector does not know all scripts
        return False
    if not said:
        return _odds(text, languages) <= _ALONE
    together = f"{said} {text}"[-_READ:]
    return _odds(text, languages) <= _AGAINST_CONVERSATION and _odds(together, languages) <= _IN_CONVERSATION


def _is_plain_english(text: str) -> bool:
    """Whether a text has two words of English alone, and none of another language, so that no detector is needed."""
    english, foreign = _common_words()
    found = set(words(text.lower()))
    return text.isascii() and len(found & english - foreign) > 1 and found.isdisjoint(foreign - english)


def _is_latin(text: str) -> bool:
    """Whether at least half of the letters of a text are Latin."""
    letters = [unicodedata.name(letter, "") for letter in compatible(text) if letter.isalpha()]
    return 2 * sum("LATIN" in name for name in letters) >= len(letters)


@cache
def _common_words() -> tuple[frozenset[str], frozenset[str]]:
    """Common words of English, and of eleven other languages."""
    english, *others = (words for name, words in stop_words().items() if name != "STOPWORDS_EN")
    return english, frozenset().union(*others)


def _odds(text: str, languages: tuple[str, ...]) -> float:
    """How many times as probable as these languages another one is."""
    probabilities = dict(_detector().rank(text))
    own = max(probabilities.pop(code, 0.0) for code in languages)
    return float(max(probabilities.values()) / max(own, 1e-30))


@cache
def _detector() -> Any:
    """Takes about 0.3 s to load."""
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
