"""Strategies for prompting a language model: each is a prompt, the schema of the reply, and what its fields search."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Protocol

from acqo_rl.language_models.structured import example, fields, one_of, several, text
from acqo_rl.reformulation.prompt import untrusted, with_examples
from acqo_rl.text import normalised, one_line
from acqo_rl.types import Conversation, Query, Route, Schema, SubQuery, SubQueryKind


class Reading(NamedTuple):
    """The sub-queries in a reply, without the raw query."""

    sub_queries: tuple[SubQuery, ...]
    route: Route


class Strategy(Protocol):
    """A strategy for prompting a language model; implemented as a frozen dataclass of its settings."""

    @property
    def name(self) -> str:
        """Name in results and on the command line."""
        ...

    @property
    def version(self) -> str:
        """Version of prompt and schema, part of the cache key; must be increased whenever either changes."""
        ...

    @property
    def original_weight(self) -> float:
        """Weight of the raw query; 0 drops it."""
        ...

    @property
    def schema(self) -> Schema:
        """Schema of the reply; see :mod:`acqo_rl.language_models.structured`."""
        ...

    def conversation(self, query: Query) -> Conversation:
        """Returns the prompt."""
        ...

    def read(self, query: Query, reply: dict[str, Any]) -> Reading:
        """Returns the sub-queries in a reply that matches the schema."""
        ...


def ask(
    instructions: str, examples: Mapping[str, Mapping[str, Any]], query: Query, history_turns: int = 6
) -> Conversation:
    """Builds a prompt: instructions, worked examples, then turns, feedback and query without special tokens.

    Args:
        instructions: the task; they say that the reply is JSON.
        examples: question, perhaps after earlier turns -> fields of its reply.
        query: the query.
        history_turns: maximum number of earlier turns.
    """
    turns = [untrusted(str(turn))[:500] for turn in query.history[-history_turns:]]
    found = [f"- {untrusted(s.title)[:200]}: {untrusted(s.text)[:500]}" for s in query.feedback]
    asked = "\n".join([*turns, *found, f"Question: {untrusted(query.text)[:1000]}"])
    return with_examples(instructions, [(content, example(**reply)) for content, reply in examples.items()], asked)


def _read(texts: Sequence[str], kind: SubQueryKind, weight: float, route: Route = "expand") -> Reading:
    return Reading(tuple(SubQuery(one, kind, weight) for one in texts), route)


@dataclass(frozen=True)
class MultiQuery:
    """Several wordings of one need, so that the result depends less on one wording (RAG-Fusion).

    Attributes:
        variants: maximum number of sub-queries.
        domain: topic of the corpus, in words ("a chemical plant's safety manuals"); part of the prompt.
        translate_to: language of the last variant; empty for no translation.
        original_weight: weight of the raw query; 0 drops it.
        weight: weight of each variant.
    """

    variants: int = 3
    domain: str = ""
    translate_to: str = ""
    original_weight: float = 1.0
    weight: float = 0.8

    name = "multi_query"
    version = "8"

    @property
    def schema(self) -> Schema:
        """The variants."""
        return fields(searches=several(text(), self.variants))

    def conversation(self, query: Query) -> Conversation:
        """Returns the prompt for the variants."""
        return ask(
            f"You write search queries{_of(self.domain, 'for')}. Write {self.variants} searches for the last question, "
            "as JSON. Keep its meaning and its language. Each is complete in itself and takes another angle: other "
            "words, a property or number that the answer would state, the situation it arises in."
            + (f" Write the last one in {self.translate_to}." if self.translate_to else ""),
            {
                "Question: Which bike for a hilly commute?": {
                    "searches": [
                        "lightweight commuter bicycle with low gears",
                        "best bicycle for steep hills in the city",
                        "electric bike hill climbing range and motor torque",
                    ]
                }
            },
            query,
        )

    def read(self, query: Query, reply: dict[str, Any]) -> Reading:
        """Returns one sub-query per variant."""
        return _read(reply["searches"], "variant", self.weight)


@dataclass(frozen=True)
class HyDE:
    """Searches a hypothetical answer passage (Gao et al. 2022, arXiv 2212.10496).

    Encoders with a passage prompt embed it as a passage.

    Attributes:
        domain: topic of the corpus, in words; part of the prompt.
        original_weight: weight of the raw query; 0 drops it.
        weight: weight of the hypothetical answer.
    """

    domain: str = ""
    original_weight: float = 0.5
    weight: float = 1.5

    name = "hyde"
    version = "8"

    @property
    def schema(self) -> Schema:
        """The sentences of the passage."""
        return fields(sentences=several(text(500), 4))

    def conversation(self, query: Query) -> Conversation:
        """Returns the prompt for the passage."""
        return ask(
            f"Write the passage of a reference work{_of(self.domain, 'about')} that answers the last question, in its "
            "language: 2 to 4 plain sentences that state facts, as JSON. No introduction, no advice, no doubt.",
            {
                "Question: Why do leaves turn red in autumn?": {
                    "sentences": [
                        "In autumn leaves stop producing chlorophyll and its green colour fades.",
                        "Many trees then form anthocyanins from the sugars left in the leaf.",
                        "These pigments are red, and they protect the leaf from light on cold days.",
                    ]
                }
            },
            query,
        )

    def read(self, query: Query, reply: dict[str, Any]) -> Reading:
        """Returns the passage as one sub-query."""
        return _read([" ".join(reply["sentences"])], "hypothetical", self.weight)


@dataclass(frozen=True)
class StepBack:
    """Searches a more general query, which finds background (Zheng et al. 2023, arXiv 2310.06117).

    Attributes:
        domain: topic of the corpus, in words; part of the prompt.
        original_weight: weight of the raw query; 0 drops it.
        weight: weight of the general query.
    """

    domain: str = ""
    original_weight: float = 1.0
    weight: float = 0.8

    name = "step_back"
    version = "8"
    schema = fields(search=text())

    def conversation(self, query: Query) -> Conversation:
        """Returns the prompt for the general query."""
        return ask(
            f"Write one search{_of(self.domain)} that is more general than the last question, in its language, "
            "as JSON: the principle, the mechanism or the wider topic that an answer rests on.",
            {
                "Question: Why does my sourdough collapse after a night at 28 degrees?": {
                    "search": "temperature and dough fermentation"
                },
                "Question: Could Bach have met Vivaldi in Venice?": {"search": "travels of Johann Sebastian Bach"},
            },
            query,
        )

    def read(self, query: Query, reply: dict[str, Any]) -> Reading:
        """Returns the general query."""
        return _read([reply["search"]], "step_back", self.weight)


@dataclass(frozen=True)
class Rewrite:
    """Replaces the raw query by a better one, using feedback if there is any (Ma et al. 2023, arXiv 2305.14283).

    Attributes:
        domain: topic of the corpus, in words; part of the prompt.
        original_weight: weight of the raw query; 0 drops it.
        weight: weight of the rewritten query.
    """

    domain: str = ""
    original_weight: float = 0.0
    weight: float = 1.0

    name = "rewrite"
    version = "8"
    schema = fields(search=text())

    def conversation(self, query: Query) -> Conversation:
        """Returns the prompt for the rewritten query."""
        return ask(
            f"Write the one search{_of(self.domain)} that finds what the last question asks for, in its language, as "
            "JSON. Correct its spelling, and take names and words that fit from what stands before it: earlier turns, "
            "and lines that a first search found.",
            {
                "Question: whats that brige in frisco, the red one": {"search": "Golden Gate Bridge San Francisco"},
                "- Gustav Klimt: painter, born near Vienna in 1862\nQuestion: home town of The Kiss' painter": {
                    "search": "Gustav Klimt birthplace"
                },
            },
            query,
        )

    def read(self, query: Query, reply: dict[str, Any]) -> Reading:
        """Returns the rewritten query."""
        return _read([reply["search"]], "variant", self.weight)


@dataclass(frozen=True)
class Decomposition:
    """One self-contained sub-query per fact that a question needs.

    Attributes:
        parts: maximum number of sub-queries.
        domain: topic of the corpus, in words; part of the prompt.
        original_weight: weight of the raw query; 0 drops it.
        weight: weight of each sub-query.
    """

    parts: int = 4
    domain: str = ""
    original_weight: float = 1.0
    weight: float = 1.0

    name = "decomposition"
    version = "8"

    @property
    def schema(self) -> Schema:
        """The sub-queries."""
        return fields(searches=several(text(), self.parts))

    def conversation(self, query: Query) -> Conversation:
        """Returns the prompt for the sub-queries."""
        return ask(
            f"Split the last question into the searches{_of(self.domain)} that its answer needs, at most {self.parts}, "
            "as JSON. Each asks one thing and is complete in itself: repeat names, times and places in it. Keep the "
            "language. A question that asks one thing is repeated as it is.",
            {
                "Question: Compare rent and wages in Vienna and Graz in 2020": {
                    "searches": [
                        "average rent in Vienna in 2020",
                        "average rent in Graz in 2020",
                        "average wages in Vienna in 2020",
                        "average wages in Graz in 2020",
                    ]
                },
                "Question: How tall is the Eiffel Tower?": {"searches": ["How tall is the Eiffel Tower?"]},
            },
            query,
        )

    def read(self, query: Query, reply: dict[str, Any]) -> Reading:
        """Returns one sub-query per part."""
        return _read(reply["searches"], "part", self.weight, "decompose")


ExpansionForm = Literal["text", "sub_queries"]


@dataclass(frozen=True)
class Expansion:
    """Adds synonyms and technical terms to the query.

    Attributes:
        terms: maximum number of terms.
        form: ``text`` appends the terms to the query, as one sub-query; ``sub_queries`` searches each term separately.
        domain: topic of the corpus, in words; part of the prompt.
        original_weight: weight of the raw query; 0 drops it.
        weight: weight of the expanded query, or of all terms together.
    """

    terms: int = 6
    form: ExpansionForm = "text"
    domain: str = ""
    original_weight: float = 1.0
    weight: float = 0.8

    name = "expansion"
    version = "8"

    @property
    def schema(self) -> Schema:
        """The terms."""
        return fields(terms=several(text(60), self.terms))

    def conversation(self, query: Query) -> Conversation:
        """Returns the prompt for the terms."""
        return ask(
            f"List at most {self.terms} synonyms, technical terms{_of(self.domain)} and spelled-out abbreviations that "
            "texts answering the last question would use and that it does not. In its language, as JSON.",
            {
                "Question: heart attack signs in women": {
                    "terms": ["myocardial infarction", "symptoms", "chest pain", "female patients"]
                }
            },
            query,
        )

    def read(self, query: Query, reply: dict[str, Any]) -> Reading:
        """Returns the expanded query, or one sub-query per term; skips terms that are in the query."""
        there = f" {normalised(query.text)} "
        terms = [term for term in reply["terms"] if f" {normalised(term)} " not in there]
        if self.form == "text" and terms:
            return _read([" ".join([one_line(query.text), *terms])], "expansion", self.weight)
        return _read(terms, "expansion", self.weight / max(len(terms), 1))


_ROUTES: dict[str, tuple[Route, SubQueryKind]] = {
    "simple": ("pass", "original"),
    "ambiguous": ("disambiguate", "reading"),
    "compound": ("decompose", "part"),
}


@dataclass(frozen=True)
class ClassifyAndRewrite:
    """Classifies a query and rewrites it accordingly, in one call.

    Attributes:
        most: maximum number of sub-queries.
        history_turns: number of last turns in the prompt.
        original_weight: weight of the raw query on the routes other than ``pass``; 0 drops it.
    """

    most: int = 3
    history_turns: int = 6
    original_weight: float = 0.0

    name = "prompted"
    version = "10"

    @property
    def schema(self) -> Schema:
        """The kind of question and its searches."""
        return fields(kind=one_of(*_ROUTES), searches=several(text(), self.most, least=0))

    def conversation(self, query: Query) -> Conversation:
        """Returns the prompt for kind and sub-queries."""
        return ask(
            "Classify the last question, then write what to search for, as JSON.\n"
            "simple - one need, clear as it stands; no searches\n"
            "ambiguous - it leans on the conversation or a name has several meanings; complete searches\n"
            f"compound - it asks several things; one complete search for each, at most {self.most}",
            {
                "Question: How tall is the Eiffel Tower?": {"kind": "simple", "searches": []},
                "U: Who painted Guernica?\nS: Pablo Picasso painted it.\nQuestion: Where was he born?": {
                    "kind": "ambiguous",
                    "searches": ["Pablo Picasso birthplace"],
                },
                "Question: Compare the moons of Mars and Jupiter": {
                    "kind": "compound",
                    "searches": ["moons of Mars", "moons of Jupiter"],
                },
            },
            query,
            self.history_turns,
        )

    def read(self, query: Query, reply: dict[str, Any]) -> Reading:
        """Returns the sub-queries of the route; none for a simple question."""
        route, kind = _ROUTES[reply["kind"]]
        return Reading((), route) if route == "pass" else _read(reply["searches"], kind, 1.0, route)


def _of(domain: str, preposition: str = "of") -> str:
    return f" {preposition} {domain}" if domain else ""
