"""Rule-based reformulation: a baseline without model calls, and a source of candidates for the warm start."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from acqo_rl.reformulation.antecedents import antecedents
from acqo_rl.reformulation.classify import readable, route_of
from acqo_rl.reformulation.comparisons import asks_for_relation
from acqo_rl.reformulation.dummy_pronouns import without_dummies
from acqo_rl.reformulation.ellipsis import completed
from acqo_rl.reformulation.lexicon import Lexicon, common_lexicon
from acqo_rl.reformulation.pass_through import pass_through
from acqo_rl.reformulation.query_types import query_type_of
from acqo_rl.reformulation.signals import STRONG_REFERENCE
from acqo_rl.reformulation.small_talk import past_small_talk
from acqo_rl.reformulation.splitting import parts_of
from acqo_rl.roles import Reformulator
from acqo_rl.text import distinct, normalised, one_line
from acqo_rl.types import Query, Reformulation, Route, SubQuery, Turn


def rewrite(query: Query, route: Route, lexicon: Lexicon | None = None) -> tuple[SubQuery, ...]:
    """Returns self-contained sub-queries for a route; the raw query if the rules find none.

    Args:
        query: the query.
        route: the route.
        lexicon: names of the corpus; by default a list of common names.
    """
    lexicon = lexicon or common_lexicon()
    original = SubQuery(query.text, "original")
    text = one_line(query.text)
    if route == "disambiguate":
        return (
            _completed(text, query.history, lexicon)
            or _readings(text, query.history, lexicon)
            or _with_names(text, query.history, lexicon)
            or (original,)
        )
    if route == "decompose":
        split = distinct(SubQuery(part, "part") for part in parts_of(text, lexicon))
        if len(split) < 2:
            return (original,)
        return (*split, original) if asks_for_relation(text) else split
    return (original,)


class Heuristic(Reformulator):
    """Classifies and rewrites queries by rules, without a model."""

    name = "rules"

    def __init__(
        self, max_sub_queries: int = 3, lexicon: Lexicon | None = None, *, needs_reference: bool = False
    ) -> None:
        """Creates the reformulator.

        Args:
            max_sub_queries: maximum number of sub-queries per query.
            lexicon: names of the corpus; by default a list of common names.
            needs_reference: add names of the conversation only if the question has a pronoun such as "it" or "her";
                otherwise they are added to every question without a name.
        """
        self._needs_reference = needs_reference
        self.max_sub_queries = max_sub_queries
        self._lexicon = lexicon or common_lexicon()

    def reformulate(self, queries: Sequence[Query]) -> list[Reformulation]:
        """One reformulation per query, in input order, with query type and reasoning; small talk passes."""
        answers = past_small_talk(queries, lambda asked: [self._reformulate(query) for query in asked], self.name)
        return [self._explained(answer) for answer in answers]

    def _reformulate(self, query: Query) -> Reformulation:
        route = route_of(query, self._lexicon)
        if self._needs_reference and route == "disambiguate" and not self._is_sure(query):
            return pass_through(query, self.name)
        sub_queries = rewrite(query, route, self._lexicon)[: self.max_sub_queries]
        if normalised(sub_queries[0].text) == normalised(query.text):
            return pass_through(query, self.name)
        return Reformulation(query, route, sub_queries, self.name)

    def _explained(self, answer: Reformulation) -> Reformulation:
        query, number = answer.query, len(answer.sub_queries)
        if answer.route == "pass":
            reasoning = "No rule applies, so the raw query is searched"
        elif answer.route == "decompose":
            number -= answer.sub_queries[-1].kind == "original"
            reasoning = f"Asks for {number} things, each with a search of its own"
        elif answer.sub_queries[0].kind == "expansion":
            added = answer.sub_queries[0].text.removeprefix(one_line(query.text)).strip()
            reasoning = f"Depends on the conversation, from which {added!r} is added"
        elif completed(one_line(query.text), query.history, self._lexicon):
            reasoning = "Continues the last question of the conversation, which is asked again"
        else:
            reasoning = f"A name with several meanings, of which {number} are searched"
        return replace(answer, query_type=query_type_of(readable(query)), reasoning=reasoning)

    def _is_sure(self, query: Query) -> bool:
        return bool(
            STRONG_REFERENCE.search(without_dummies(query.text))
            or self._lexicon.readings_asked(query.text)
            or completed(query.text, query.history, self._lexicon)
        )


def _completed(text: str, history: Sequence[Turn], lexicon: Lexicon) -> tuple[SubQuery, ...]:
    question = completed(text, history, lexicon)
    return (SubQuery(question, "reading"),) if question else ()


def _readings(text: str, history: Sequence[Turn], lexicon: Lexicon) -> tuple[SubQuery, ...]:
    """One sub-query per meaning; meanings that the conversation mentions come first and get twice the weight."""
    asked = text.rstrip(" ?!.")
    talk = " ".join(turn.text for turn in history).lower()
    known = lexicon.readings_asked(text)
    spoken_of = {r for r in known if any(re.search(rf"\b{re.escape(word.lower())}", talk) for word in r.split())}
    return distinct(
        SubQuery(
            f"{asked} {reading}".strip(),
            "reading" if reading else "original",
            0.5 if spoken_of and reading not in spoken_of else 1.0,
        )
        for reading in sorted(known, key=lambda reading: reading not in spoken_of)
    )


def _with_names(text: str, history: Sequence[Turn], lexicon: Lexicon) -> tuple[SubQuery, ...]:
    """Appends the names of the conversation that the question refers to."""
    behind = antecedents(text, history, lexicon)
    return (SubQuery(" ".join([text, *behind]), "expansion"),) if behind else ()


def kinds_of(queries: Sequence[Query], metadata: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """The kind of each query: ``kind`` in its metadata, otherwise the route that the rules choose.

    Args:
        queries: queries.
        metadata: query id -> metadata from the BEIR folder.
    """
    given = {query.id: metadata.get(query.id, {}).get("kind") for query in queries}
    unknown = [query for query in queries if not given[query.id]]
    routes = {answer.query.id: answer.route for answer in Heuristic().reformulate(unknown)} if unknown else {}
    return {query_id: str(kind or routes[query_id]) for query_id, kind in given.items()}
