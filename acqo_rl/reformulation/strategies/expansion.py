"""Expansion: adds synonyms and technical terms to the query."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from acqo_rl.reformulation.strategies.strategy import Reading, ask, nothing_usable
from acqo_rl.replies.lists import read_list
from acqo_rl.text import normalised, one_line, text_of
from acqo_rl.types import Completion, Conversation, Query, SubQuery

_INSTRUCTIONS = """\
List at most {terms} synonyms, technical terms{for_domain} and spelled-out abbreviations that texts answering the last \
question would use and that it does not. In its language, one term a line, nothing else."""

_EXAMPLES = (("Question: heart attack signs in women", "myocardial infarction\nsymptoms\nchest pain\nfemale patients"),)

ExpansionForm = Literal["text", "sub_queries"]


@dataclass(frozen=True)
class Expansion:
    """Synonyms and domain terms.

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
    version = "7"

    def conversation(self, query: Query) -> Conversation:
        """Returns the prompt for the terms."""
        for_domain = f" of {self.domain}" if self.domain else ""
        return ask(_INSTRUCTIONS.format(for_domain=for_domain, terms=self.terms), _EXAMPLES, query)

    def read(self, query: Query, completion: Completion) -> Reading:
        """Reads one term per line, or several separated by commas; skips terms that are in the query."""
        lines = read_list(completion, self.terms, read=text_of(query))
        split = replace(
            completion, text="\n".join(term for line in lines for term in line.replace("\u3001", ",").split(","))
        )
        there = f" {normalised(query.text)} "
        read = read_list(split, self.terms, longest=60, read=text_of(query))
        terms = [term for term in read if f" {normalised(term)} " not in there]
        if not terms:
            return nothing_usable(completion)
        if self.form == "text":
            expanded = " ".join([one_line(query.text), *terms])
            return Reading((SubQuery(expanded, "expansion", self.weight),), "expand")
        weight = self.weight / len(terms)
        return Reading(tuple(SubQuery(term, "expansion", weight) for term in terms), "expand")
