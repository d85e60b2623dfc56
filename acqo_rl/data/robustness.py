"""Queries with typos, which show how much a system loses with less careful users.

A seed makes the texts reproducible. The judgements remain valid. The conversation is not changed.
"""

import random
import re
from collections.abc import Sequence
from dataclasses import replace

from acqo_rl.types import Query

_WORD = re.compile(r"[^\W\d_]{4,}")
_WORDS_A_TYPO = 4


def mistype(queries: Sequence[Query], seed: int) -> list[Query]:
    """Adds a typo to every fourth word of at least four letters, and to at least one such word.

    A typo swaps two letters, or drops or doubles one. The first letter of a word is never changed.
    """
    return [replace(query, text=_mistype(query.text, random.Random(f"{seed} {query.id}"))) for query in queries]


def _mistype(text: str, chance: random.Random) -> str:
    words = list(_WORD.finditer(text))
    chosen = chance.sample(words, max(1, len(words) // _WORDS_A_TYPO)) if words else []
    for word in sorted(chosen, key=lambda match: -match.start()):
        text = f"{text[: word.start()]}{_misspell(word.group(), chance)}{text[word.end() :]}"
    return text


def _misspell(word: str, chance: random.Random) -> str:
    at = chance.randrange(1, len(word))
    ways = [word[:at] + word[at + 1 :], word[:at] + word[at] + word[at:]]
    ways += [word[:at] + word[at + 1] + word[at] + word[at + 2 :]] if at + 1 < len(word) else []
    return chance.choice([way for way in ways if way != word])
