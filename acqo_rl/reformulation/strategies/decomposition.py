"""Decomposition: one self-contained sub-query per fact that a question needs."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from acqo_rl.reformulation.strategies.strategy import Reading, ask, nothing_usable
from acqo_rl.replies.lists import read_list
from acqo_rl.replies.sub_questions import one_field_a_line
from acqo_rl.text import text_of
from acqo_rl.types import Completion, Conversation, Query, SubQuery

_INSTRUCTIONS = """\
Split the last question into the searches{for_domain} that its answer needs, at most {parts}, one a line, \
nothing else. Each asks one thing and is complete in itself: repeat names, times and places in it. \
Keep the language. A question that asks one thing is repeated as it is."""

_EXAMPLES = (
    (
        "Question: Compare rent and wages in Vienna and Graz in 2020",
        "average rent in Vienna in 2020\naverage rent in Graz in 2020\naverage wages in Vienna in 2020\n"
        "average wages in Graz in 2020",
    ),
    ("Question: How tall is the Eiffel Tower?", "How tall is the Eiffel Tower?"),
)
_WORD = re.compile(r"[\u3040-\u30ff\u4e00-\u9fff]|[^\W_]+")


@dataclass(frozen=True)
class Decomposition:
    """Atomic sub-queries.

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
    version = "7"

    def conversation(self, query: Query) -> Conversation:
        """Returns the prompt for the sub-queries."""
        for_domain = f" of {self.domain}" if self.domain else ""
        return ask(_INSTRUCTIONS.format(for_domain=for_domain, parts=self.parts), _EXAMPLES, query)

    def read(self, query: Query, completion: Completion) -> Reading:
        """Reads one sub-query per line."""
        one_by_one = replace(completion, text=one_field_a_line(completion.text))
        lines = read_list(one_by_one, self.parts, read=text_of(query))
        if not lines or (len(lines) == 1 and _is_about_the_question(lines[0], query)):
            return nothing_usable(completion)
        return Reading(tuple(SubQuery(line, "part", self.weight) for line in lines), "decompose")


def _is_about_the_question(line: str, query: Query) -> bool:
    """Whether the only line is a remark that shares no content word with the query: "No decomposition needed."."""
    if not line.endswith((".", "!", "\u3002", "\uff01", "\u0964")):
        return False
    from bm25s.stopwords import STOPWORDS_EN_PLUS

    said, asked = (set(_WORD.findall(text.casefold())) for text in (line, text_of(query)))
    return said & asked <= set(STOPWORDS_EN_PLUS)
