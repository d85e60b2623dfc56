"""The wording of questions: phrases for each attribute, and forms of questions."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

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


_POPULATION = Phrases(
    ("population", "number of inhabitants", "number of people"),
    (
        "how many people live in {}",
        "what is the population of {}",
        "how populous is {}",
        "how many inhabitants does {} have",
    ),
    ("which has more people", "who has the larger population", "which one is more populous"),
)
_CITIES = Phrases(
    ("largest cities", "biggest cities", "most populous cities"),
    ("what are the largest cities of {}", "which cities are the biggest in {}", "where do most city people live in {}"),
)
_TIMEZONES = Phrases(
    ("time zones", "local time zones"),
    ("which time zones does {} use", "what time zone applies in {}", "what time zones are clocks in {} set to"),
)
PHRASES: dict[tuple[str, str], Phrases] = {
    ("country", "capital"): Phrases(
        ("capital", "capital city", "seat of government"),
        ("what is the capital of {}", "which city is the capital of {}", "which city is the seat of government of {}"),
    ),
    ("country", "area"): Phrases(
        ("area", "land area", "size in square kilometres"),
        ("how large is {}", "how many square kilometres does {} cover", "what is the area of {}"),
        ("which covers more land", "which is larger by area", "which has the bigger territory"),
    ),
    ("country", "borders"): Phrases(
        ("neighbouring countries", "land borders", "bordering countries"),
        ("which countries border {}", "what countries are next to {}", "who are the neighbours of {}"),
        ("which has more land borders", "who has more neighbours"),
    ),
    ("country", "divisions"): Phrases(
        ("administrative divisions", "first-level divisions", "provinces or regions"),
        ("how is {} divided administratively", "what administrative divisions does {} have"),
    ),
    ("country", "timezones"): _TIMEZONES,
    ("country", "population"): _POPULATION,
    ("country", "currency"): Phrases(
        ("currency", "money", "legal tender"),
        ("what currency is used in {}", "what money do people pay with in {}", "which currency does {} have"),
    ),
    ("country", "languages"): Phrases(
        ("languages", "spoken languages", "languages people speak"),
        ("which languages are spoken in {}", "what do people speak in {}", "what languages does {} have"),
        ("which has more languages", "where are more languages spoken"),
    ),
    ("country", "phone"): Phrases(
        ("dialling code", "phone code", "country calling code"),
        ("how do I phone {} from abroad", "what is the dialling code of {}", "which prefix do calls to {} need"),
    ),
    ("country", "domain"): Phrases(
        ("internet domain", "top-level domain", "web address ending"),
        (
            "what is the internet domain of {}",
            "what do web addresses from {} end in",
            "which domain do sites in {} use",
        ),
    ),
    ("country", "codes"): Phrases(
        ("ISO codes", "two-letter and three-letter codes", "ISO country codes"),
        ("what are the ISO codes of {}", "how is {} abbreviated in ISO 3166", "which country codes stand for {}"),
    ),
    ("country", "cities"): _CITIES,
    ("city", "population"): _POPULATION,
    ("city", "position"): Phrases(
        ("coordinates", "latitude and longitude", "position on the map"),
        (
            "what are the coordinates of {}",
            "what are the latitude and longitude of {}",
            "is {} north or south of the equator",
        ),
        ("which lies further north", "which is closer to the equator", "which lies further east"),
    ),
    ("city", "timezone"): Phrases(
        ("time zone", "local time", "local time zone"),
        ("what time zone is {} in", "what is the local time zone of {}", "what time zone do clocks in {} follow"),
    ),
    ("city", "names"): Phrases(
        ("other names", "alternative names", "names in other languages"),
        ("what else is {} called", "what other names does {} have", "how is {} called in other languages"),
    ),
    ("city", "nearest"): Phrases(
        ("nearest large city", "closest city", "nearest city"),
        (
            "which large city is nearest to {}",
            "what is the closest city to {}",
            "how far is {} from the next large city",
        ),
    ),
    ("state", "codes"): Phrases(
        ("postal abbreviation", "postal code letters", "mail abbreviation"),
        ("what is the postal abbreviation of {}", "which letters stand for {} in the mail"),
    ),
    ("state", "counties"): Phrases(
        ("counties", "number of counties"),
        ("how many counties does {} have", "what counties are there in {}"),
        ("which has more counties", "where are there more counties"),
    ),
    ("state", "cities"): _CITIES,
    ("state", "timezones"): _TIMEZONES,
    ("language", "codes"): Phrases(
        ("language code", "ISO 639 codes", "code"),
        ("what is the ISO 639 code of {}", "what is the code for {}", "which code stands for {}"),
    ),
    ("language", "countries"): Phrases(
        ("speakers", "home countries", "countries with speakers"),
        ("where is {} spoken", "in which countries do people speak {}", "which countries have speakers of {}"),
        ("which is spoken in more countries", "which one has speakers in more places"),
    ),
    ("script", "codes"): Phrases(
        ("script code", "ISO 15924 code", "code"),
        ("what is the ISO 15924 code of {}", "what is the code for {}", "which code stands for {}"),
    ),
    ("currency", "codes"): Phrases(
        ("currency code", "ISO 4217 code", "three-letter code"),
        ("what is the ISO 4217 code of {}", "how do banks abbreviate {}", "what is the currency code of {}"),
    ),
    ("currency", "countries"): Phrases(
        ("countries of use", "circulation"),
        ("where is {} used", "which countries use {}", "in which countries can I pay with {}"),
        ("which is used in more countries", "which circulates in more places"),
    ),
}

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
    return PHRASES[entity.kind, attribute]


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
