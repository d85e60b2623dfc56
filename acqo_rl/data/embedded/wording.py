"""The wording of questions: phrases for each attribute, and forms of questions."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from acqo_rl.data.embedded.drafts import templates
from acqo_rl.data.embedded.facts import plain
from acqo_rl.data.embedded.passages import Entity


@dataclass(frozen=True, slots=True)
class Phrases:
    """Ways to ask for one attribute.

    Attributes:
        nouns: names of the attribute; the first is the most common one.
        questions: questions with ``{}`` for the entity.
        comparisons: comparative questions to be followed by two entities ("which is bigger"); may be empty.
    """

    nouns: tuple[str, ...]
    questions: tuple[str, ...]
    comparisons: tuple[str, ...] = ()


_OPENINGS = (
    "could you tell me",
    "please tell me",
    "can you look up",
    "I'd like to know",
    "tell me",
    "quick question:",
    "I need to know",
    "do you know",
)
_ASIDES = (
    "I'm filling in a form,",
    "for my geography homework:",
    "hi there,",
    "my friend keeps asking,",
    "sorry to bother you,",
    "we are planning a trip,",
    "settle a bet for us:",
    "hello,",
)
_ENDINGS = ("please", "thanks", "thank you", "by any chance", "if you know")
TYPO_RATE = 0.05


def phrases(entity: Entity, attribute: str) -> Phrases:
    """The phrases for an attribute of the entity."""
    template = templates()[entity.kind][attribute]
    return Phrases(*(tuple(template.get(part, ())) for part in ("nouns", "questions", "comparisons")))


def common_phrases(entities: Sequence[Entity], attribute: str) -> Phrases:
    """The phrases for an attribute that are valid for all the entities, even if their kinds differ."""
    first, *others = (phrases(entity, attribute) for entity in entities)
    return Phrases(
        tuple(noun for noun in first.nouns if all(noun in other.nouns for other in others)),
        tuple(question for question in first.questions if all(question in other.questions for other in others)),
    )


def mention(entity: Entity, rng: random.Random, *, alone: bool = True) -> str:
    """The name of an entity in a question.

    Args:
        entity: the entity.
        rng: chooses the form, and whether accents are kept.
        alone: the entity has no namesakes, so that a city needs no region and a language not the word "language".
    """
    name = plain(entity.name) if rng.random() < 0.5 else entity.name
    if entity.kind in ("language", "script"):
        return name if alone and rng.random() < 0.3 else f"the {name} {entity.kind}"
    if entity.kind == "currency":
        return f"the {name}"
    if entity.kind in ("country", "state") and not alone:
        return f"the {entity.kind} of {name}"
    if entity.kind == "city" and not (alone and rng.random() < 0.6):
        return rng.choice([f"{name} in {entity.reading}", f"{name}, {entity.reading}", f"{name} ({entity.reading})"])
    return name


def ask(attribute: Phrases, name: str, rng: random.Random, *, reference: bool = False) -> str:
    """One clause: a question, or a noun phrase with the name before or after it. Some clauses contain a typo.

    Args:
        attribute: phrases of the attribute.
        name: name of the entity.
        rng: chooses the words.
        reference: ``name`` is a pronoun or a similar reference, which cannot come before a noun.
    """
    noun = rng.choice(attribute.nouns)
    shape = rng.random()
    if shape < 0.55:
        return _mistype(rng.choice(attribute.questions), rng).format(name)
    if reference or shape < 0.75:
        return f"the {_mistype(noun, rng)} of {name}"
    return f"{name.removeprefix('the ')} {_mistype(noun, rng)}"


def plainest(attribute: Phrases, name: str) -> str:
    """A short self-contained sub-query for one need."""
    return f"{attribute.nouns[0]} of {name}"


def enumerate_names(names: Sequence[str], rng: random.Random) -> str:
    """Names joined as a list: with "and", "as well as", "&", or commas only."""
    last = rng.choice([" and ", " and ", ", and ", " as well as ", " & ", ", "])
    return f"{', '.join(names[:-1])}{last}{names[-1]}"


def dress(clause: str, rng: random.Random, *, elliptic: bool = False) -> str:
    """Adds an aside, an opening ("please tell me"), an ending, punctuation and capitals at random.

    An elliptic clause gets no opening.
    """
    words = [
        rng.choice(_ASIDES) if rng.random() < 0.15 else "",
        rng.choice(_OPENINGS) if rng.random() < 0.25 and not elliptic else "",
        clause,
        rng.choice(_ENDINGS) if rng.random() < 0.1 else "",
    ]
    text = " ".join(word for word in words if word)
    if rng.random() < 0.55:
        text = text[0].upper() + text[1:]
    if rng.random() < 0.55:
        text += "?" if rng.random() < 0.85 else "."
    if rng.random() < 0.12:
        text = text.lower()
    return text


def _mistype(phrase: str, rng: random.Random) -> str:
    """Swaps two letters inside one of the longer words with probability ``TYPO_RATE``; names are not changed."""
    words = phrase.split(" ")
    long = [place for place, word in enumerate(words) if word.isalpha() and len(word) > 5]
    if long and rng.random() < TYPO_RATE:
        place = rng.choice(long)
        word, cut = words[place], rng.randrange(1, len(words[place]) - 2)
        words[place] = word[:cut] + word[cut + 1] + word[cut] + word[cut + 2 :]
    return " ".join(words)
