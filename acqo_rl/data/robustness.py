"""Queries changed by rules: with typos, or with another opening.

They show how much a system loses with less careful users. Rules and a seed make the texts reproducible. The judgements
remain valid, because the meaning does not change. The conversation is not changed.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from dataclasses import replace

from acqo_rl.errors import ConfigError
from acqo_rl.types import Query

_WORD = re.compile(r"[^\W\d_]{4,}")
_WORDS_A_TYPO = 4
_ROWS = ("qwertyuiop", "asdfghjkl", "zxcvbnm")

_OPENINGS = (
    (r"what is the difference between (.+?) and ([^?]+)", r"how do \1 and \2 differ"),
    (r"compare (.+?) and ([^?]+)", r"how do \1 and \2 differ"),
    (r"what(?:'s| is) the (\w+) of", r"tell me the \1 of"),
    (r"what (is|are|was|were|does|do|did)", r"can you tell me what \1"),
    (r"who (?:is|are)", r"give me the name of"),
    (r"who", r"which person"),
    (r"where (?:is|are)", r"in which place is"),
    (r"where", r"in which place"),
    (r"when", r"at what time"),
    (r"how many", r"what number of"),
    (r"how much", r"what amount of"),
    (r"how (?:do|can|should) (?:i|you|we)", r"what is the way to"),
    (r"why", r"for what reason"),
    (r"which", r"what"),
    (r"(?:can|could) you (?:please )?(?:tell|give) me", r"i need to know"),
    (r"(?:give|tell|show) me", r"i am looking for"),
)
_RULES = tuple((re.compile(rf"^{pattern}(?!\w)", re.I), replacement) for pattern, replacement in _OPENINGS)


def query_set_named(name: str) -> Callable[[Sequence[Query], int], list[Query]]:
    """The function that changes queries, given queries and a seed.

    Raises:
        ConfigError: the name is neither ``typos`` nor ``paraphrases``.
    """
    known = {"typos": mistype, "paraphrases": paraphrase}
    if name not in known:
        raise ConfigError(f"There is no robustness set {name!r}; choose {', '.join(known)}.")
    return known[name]


def mistype(queries: Sequence[Query], seed: int) -> list[Query]:
    """Adds a typo to every fourth word of at least four letters, and to at least one such word.

    A typo swaps two letters, drops or doubles one, or replaces it by its neighbour on the keyboard. The first letter of
    a word is never changed.
    """
    return [replace(query, text=_mistype(query.text, random.Random(f"{seed} {query.id}"))) for query in queries]


def paraphrase(queries: Sequence[Query], seed: int) -> list[Query]:
    """Replaces the opening of each query by another one with the same meaning.

    Args:
        queries: if no rule matches, as in other languages than English, "I would like to know:" is put before the text.
        seed: not used; the rules are deterministic.
    """
    del seed
    return [replace(query, text=_paraphrase(query.text)) for query in queries]


def _mistype(text: str, chance: random.Random) -> str:
    words = list(_WORD.finditer(text))
    chosen = chance.sample(words, max(1, len(words) // _WORDS_A_TYPO)) if words else []
    for word in sorted(chosen, key=lambda match: -match.start()):
        text = f"{text[: word.start()]}{_misspell(word.group(), chance)}{text[word.end() :]}"
    return text


def _misspell(word: str, chance: random.Random) -> str:
    at = chance.randrange(1, len(word))
    neighbours = _neighbours(word[at])
    ways = [word[:at] + word[at + 1 :], word[:at] + word[at] + word[at:]]
    ways += [word[:at] + word[at + 1] + word[at] + word[at + 2 :]] if at + 1 < len(word) else []
    ways += [word[:at] + chance.choice(neighbours) + word[at + 1 :]] if neighbours else []
    return chance.choice([way for way in ways if way != word])


def _neighbours(letter: str) -> str:
    """The lower-case letters left and right on a QWERTY keyboard; empty for other scripts."""
    for row in _ROWS:
        at = row.find(letter.lower())
        if at >= 0:
            return row[max(0, at - 1) : at] + row[at + 1 : at + 2]
    return ""


def _paraphrase(text: str) -> str:
    for pattern, replacement in _RULES:
        changed, count = pattern.subn(replacement, text, count=1)
        if count:
            return changed[:1].upper() + changed[1:] if text[:1].isupper() else changed
    return f"I would like to know: {text}"
