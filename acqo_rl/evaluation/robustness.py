"""The same questions, mistyped or said otherwise: how much does a system lose when users are less careful?

Both are made by rules and a seed, so that everyone measures the same texts. Judgements stay what they are: a typo or
another opening does not change what a question is about. The conversation before a question stays as it was.
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
    """What makes the set of queries that a setting names, from queries and a seed.

    Raises:
        ConfigError: it is neither ``typos`` nor ``paraphrases``.
    """
    known = {"typos": mistype, "paraphrases": paraphrase}
    if name not in known:
        raise ConfigError(f"There is no robustness set {name!r}; choose {', '.join(known)}.")
    return known[name]


def mistype(queries: Sequence[Query], seed: int) -> list[Query]:
    """The queries with a typo in every fourth word of four letters or more, and at least one where there is any.

    A typo swaps two letters, drops one, doubles one, or hits a neighbour on the keyboard; never the first letter.
    """
    return [replace(query, text=_mistype(query.text, random.Random(f"{seed} {query.id}"))) for query in queries]


def paraphrase(queries: Sequence[Query], seed: int) -> list[Query]:
    """The queries with another opening that asks the same; a frame around those that no rule fits.

    Args:
        queries: of any language; the rules know English, so others get the frame.
        seed: not used: the rules leave nothing to chance.
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
    """Letters left and right on a QWERTY keyboard, small; empty for other scripts."""
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
