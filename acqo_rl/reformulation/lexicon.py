"""Names that the rules need to know: names with an "and" or an "or", and names with several meanings.

Both are read from the corpus. "Romeo and Juliet" is one name if it is a title, or if one of its words rarely occurs
without the other. The same holds for "Truth or Dare". Titles such as "Mercury (planet)" and "Mercury (element)" give
the meanings of "Mercury". Without a corpus, a list of common names is used.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import islice

from acqo_rl.reformulation.signals import bare_name
from acqo_rl.text import one_line
from acqo_rl.types import Document

_MOST_READ = 100_000
"""Maximum number of documents that are read, which takes a few seconds."""
_LEAST = 3
_SHARE = 0.5
"""Two words joined by "and" or "or" are one name if at least ``_LEAST`` documents contain the pair, and at least
``_SHARE`` of the documents with the rarer word."""
_TITLE_WORDS = 8

_WORD = r"\w[\w'\u2019-]*"
_JOINED = re.compile(rf"(?<![\w'\u2019-])({_WORD}),? (and|&|n'?|or) (?:the |an? )?(?=({_WORD}))", re.I)
_JOINED_NAMES = re.compile(r"(?<![\w'\u2019-])([A-Z][\w'\u2019-]*) (and|&|or) (?:the )?([A-Z][\w'\u2019-]*)")
_JOINS = re.compile(r" (?:and|&|or|vs\.?|versus) ")
_CAPITALISED = re.compile(r"[A-Z][\w'\u2019-]*")
_WHO_OR_WHAT = re.compile(r"\W*(?:[a-z ]*\b)?(who|what)\b", re.I)
_PERSON = re.compile(
    r"\b(?!(?:border|chapter|color|computer|cover|factor|flower|letter|motor|number|order|paper|power|river|sector|theater"
    r"|tower|vector|water|weather)\b)(?:\w{2,}(?:er|or|ist|ian|ess)|born|god|king|poet|president|queen|saint)\b",
    re.I,
)
"""A meaning that is a person: a noun for a doer, such as "painter", or a title."""
_WITH_READING = re.compile(r"(.+?)(?: \(([^()]+)\)|, ([A-Z][\w.'\u2019-]*(?: [A-Z][\w.'\u2019-]*){0,2}))")

_COMMON_NAMES = """
abbott costello, abercrombie fitch, adam eve, andaman nicobar, angels demons, antigua barbuda, antony cleopatra,
argyll bute, arm hammer, arts crafts, bang olufsen, barking dagenham, barnes noble, bath wells, batman robin, beauty
beast, bed breakfast, black decker, black white, bonnie clyde, bosnia herzegovina, brighton hove, cain abel, calvin
hobbes, castile leon, cause effect, cheech chong, chip dale, cloak dagger, cops robbers, crabtree evelyn, crate
barrel, crime punishment, crosse blackwell, currier ives, cut paste, david goliath, deloitte touche, dolce gabbana,
dos don'ts, drum bass, dumfries galloway, dun bradstreet, dungeons dragons, ernst young, faber faber, fast furious,
fear loathing, fire fury, fish chips, flora fauna, food drink, foot mouth, fortnum mason, funk wagnalls, gilbert
sullivan, gin tonic, guys dolls, hall oates, hammer sickle, hammersmith fulham, hansel gretel, harper row, health
safety, heard mcdonald, heckler koch, hide seek, hit run, holland barrett, ins outs, jammu kashmir, jekyll hyde,
johnson johnson, kensington chelsea, kitts nevis, latitude longitude, law order, lewis clark, life death, lilo stitch,
lost found, mac cheese, marks spencer, name address, newfoundland labrador, nuneaton bedworth, nuts bolts, odds ends,
parks recreation, penn teller, perth kinross, pierre miquelon, pratt whitney, pride prejudice, procter gamble, profit
loss, pros cons, q a, r b, r d, ratchet clank, redcar cleveland, research development, rhythm blues, rice beans, rise
fall, rock roll, rodgers hammerstein, romeo juliet, rosencrantz guildenstern, ross cromarty, s p, salt pepper, samson
delilah, search rescue, sense sensibility, simon garfunkel, slaughter may, smith wesson, snakes ladders, sodom
gomorrah, sonny cher, sons lovers, standard poor's, starsky hutch, strunk white, supply demand, surf turf, sweet sour,
tate lyle, taylor francis, terms conditions, thelma louise, tom jerry, tom\u00e9 pr\u00edncipe, tome principe, track
field, trial error, trinidad tobago, tristan isolde, turks caicos, tyne wear, vincent grenadines, wallis futuna, war
peace, wear tear, william mary, windsor maidenhead, yin yang
"""
"""Pairs of words around "and" that are one name in any corpus."""

_COMMON_CHOICES = """
all nothing, boom bust, change die, dead alive, deal no, do die, double nothing, fact fiction, feast famine, fight
flight, free die, friend foe, have have, heads tails, hit miss, it leave, kill be, live die, make break, march die,
naughty nice, now never, physiology medicine, publish perish, ready not, sink swim, trick treat, truth consequences,
truth dare, win lose
"""
"""Pairs of words around "or" that are one name or one expression in any corpus."""

_COMMON_READINGS = """
amazon: company, river; apple: company, fruit; bark: tree, dog; bass: fish, guitar; bat: animal, baseball; bond:
finance, chemistry; bow: weapon, ship; buffalo: animal, city in New York; cobra: snake, car; cologne: city, perfume;
columbia: university, river; congo: country, river; cricket: sport, insect; delta: airline, river; dolphin: animal,
emulator; eclipse: astronomy, software; falcon: bird, rocket; georgia: country, U.S. state; iris: eye, flower; jaguar:
animal, car; java: programming language, island; jordan: country, basketball player; jupiter: planet, mythology; kiwi:
fruit, bird; lotus: flower, car; mars: planet, mythology; memphis: Tennessee, Egypt; mercury: planet, element,
mythology; mole: animal, chemistry, skin; mouse: animal, computer; mustang: horse, car; nirvana: band, Buddhism;
oracle: company, prophecy; orange: fruit, color, company; orion: constellation, spacecraft; phoenix: city, mythology;
pitch: music, sports field; plasma: physics, blood; polo: sport, shirt; python: programming language, snake; ram:
computer memory, animal; ruby: programming language, gemstone; rust: programming language, corrosion; saturn: planet,
mythology; seal: animal, stamp; shell: company, sea animal, command line; spring: season, water, metal; squash: sport,
vegetable; swift: programming language, bird; titan: moon, mythology; tesla: company, inventor; turkey: country, bird;
venus: planet, mythology; virus: biology, computer; vulcan: mythology, Star Trek; washington: state, president, city
"""
"""Names with several meanings in any corpus."""


@dataclass(frozen=True)
class Lexicon:
    """Known names; all keys are in lower case.

    Attributes:
        joined: the words before and after an "and" or "or" that is part of a name, with that word between them.
        readings: name -> words that distinguish its meanings; "" for a meaning without such words.
        titles: titles of the corpus's documents, without the words that distinguish meanings.
    """

    joined: frozenset[tuple[str, str, str]] = frozenset()
    readings: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    titles: frozenset[str] = frozenset()

    @classmethod
    def of(cls, documents: Iterable[Document]) -> Lexicon:
        """Reads the names of a corpus and adds the common ones; takes about two seconds for 35,000 passages."""
        titles: dict[str, None] = {}
        pairs: Counter[tuple[str, str, str]] = Counter()
        words: Counter[str] = Counter()
        for document in islice(documents, _MOST_READ):
            titles.setdefault(one_line(document.title))
            text = f"{document.title}\n{document.text}"
            words.update(set(_CAPITALISED.findall(text)))
            pairs.update(set(_JOINED_NAMES.findall(text)))
        bound = {
            _joined(before, word, after)
            for (before, word, after), number in pairs.items()
            if number >= max(_LEAST, _SHARE * min(words[before], words[after]))
        }
        names = {title for title in titles if title and len(title.split()) <= _TITLE_WORDS}
        joined = {pair for name in names if (pair := _pair_of(name))}
        common = common_lexicon()
        return cls(
            common.joined | bound | joined,
            {**common.readings, **_readings_of(names)},
            frozenset(form.lower() for name in names for form in (_without_reading(name), _without_place(name))),
        )

    def readings_of(self, name: str) -> tuple[str, ...]:
        """The words that distinguish the meanings of a name; empty if it has only one meaning."""
        return self.readings.get(name.lower(), ())

    def readings_asked(self, text: str) -> tuple[str, ...]:
        """The meanings of a text that contains only an ambiguous name: persons for "who is", things for "what is".

        Empty if fewer than two meanings fit.
        """
        known = self.readings_of(bare_name(text))
        asked = _WHO_OR_WHAT.match(text) if known else None
        if asked:
            wanted = asked[1].lower() == "who"
            known = tuple(r for r in known if not r or r == "mythology" or wanted == bool(_PERSON.search(r)))
        return known if len(known) > 1 else ()

    def is_joined(self, before: str, word: str, after: str) -> bool:
        """Whether two words, joined by "and", "&" or "or", are one name."""
        return _joined(before, word, after) in self.joined

    def mark_names(self, text: str, mark: str) -> str:
        """Replaces spaces inside names by ``mark``: in titles, and around an "and" or "or" that is part of a name."""
        text = self._mark_titles(text, mark)
        return _JOINED.sub(lambda m: m[0].replace(" ", mark) if self.is_joined(*m.groups()) else m[0], text)

    def _mark_titles(self, text: str, mark: str) -> str:
        """Marks capitalised titles of several words, the longest first.

        Only a title with a word that joins, such as "Roe versus Wade", may start at the first word, because that word
        is capitalised in any question.
        """
        words = text.split(" ")
        marked, place = [], 0
        while place < len(words):
            end = self._end_of_title(words, place)
            marked.append(mark.join(words[place:end]))
            place = end
        return " ".join(marked)

    def _end_of_title(self, words: Sequence[str], place: int) -> int:
        """The place behind the longest title that starts at a place; behind one word if there is none."""
        ends = range(min(len(words), place + _TITLE_WORDS), place + 1, -1) if words[place][:1].isupper() else ()
        for end in ends:
            title = " ".join(words[place:end]).lower()
            if not self.titles.isdisjoint((title, title.rstrip(",.?!;:"))) and (place or _JOINS.search(title)):
                return end
        return place + 1


@cache
def common_lexicon() -> Lexicon:
    """The common names, which are known without a corpus."""
    pairs = {(pair[-2], "and", pair[-1]) for pair in map(str.split, _COMMON_NAMES.split(","))}
    choices = {(before, "or", after) for before, after in map(str.split, _COMMON_CHOICES.split(","))}
    readings = (entry.split(":") for entry in _COMMON_READINGS.split(";"))
    return Lexicon(
        frozenset(pairs | choices),
        {name.strip(): tuple(" ".join(r.split()) for r in listed.split(",")) for name, listed in readings},
    )


def _without_reading(title: str) -> str:
    match = _WITH_READING.fullmatch(title)
    return match[1] if match and match[2] else title


def _without_place(title: str) -> str:
    """A joined name without the place behind it: "Truth or Consequences" for "Truth or Consequences, New Mexico"."""
    match = _WITH_READING.fullmatch(title)
    return match[1] if match and match[3] and _JOINS.search(match[1]) else _without_reading(title)


def _joined(before: str, word: str, after: str) -> tuple[str, str, str]:
    return before.lower(), "or" if word.lower() == "or" else "and", after.lower()


def _pair_of(title: str) -> tuple[str, str, str] | None:
    """The words around the "and" or "or" of a short title that is a name; ``None`` for "Origin and history"."""
    name = _without_reading(title)
    pairs = _JOINED_NAMES.findall(name)
    if len(pairs) != 1 or len(name.split()) > 5 or re.search(r"[,:]|(?: (?:and|&|or) .*){2}", name):
        return None
    return _joined(*pairs[0])


def _readings_of(titles: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """The meanings of each name with several titles; a plain title counts as a meaning if there is only one other."""
    found: dict[str, dict[str, None]] = defaultdict(dict)
    plain = set()
    for title in titles:
        match = _WITH_READING.fullmatch(title)
        if match is None:
            plain.add(title.lower())
        elif (reading := match[2] or match[3]) != "disambiguation":
            found[match[1].lower()].setdefault(reading)
    readings = {name: tuple(sorted(of_name)) for name, of_name in found.items()}
    alone = {name: (*of_name, "") for name, of_name in readings.items() if len(of_name) == 1 and name in plain}
    return {name: of_name for name, of_name in readings.items() if len(of_name) > 1} | alone
