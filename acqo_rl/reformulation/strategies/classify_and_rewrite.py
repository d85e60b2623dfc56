"""Classifies a query and rewrites it accordingly, in one call."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from acqo_rl.reformulation.strategies.strategy import Reading, ask
from acqo_rl.replies.labelled_thoughts import without_labelled_thoughts
from acqo_rl.replies.lists import read_list
from acqo_rl.text import one_line, text_of
from acqo_rl.thoughts import without_thoughts
from acqo_rl.types import Completion, Conversation, Query, Route, SubQuery, SubQueryKind

_INSTRUCTIONS = """\
Classify the last question, then write what to search for. First line, one word:
simple - one need, clear as it stands
ambiguous - it leans on the conversation or a name has several meanings; then one complete search a line
compound - it asks several things; then one complete search a line, at most {most}
Write nothing else."""

_EXAMPLES = (
    ("Question: How tall is the Eiffel Tower?", "simple"),
    ("U: Who painted Guernica?\nS: Pablo Picasso painted it.\nQuestion: Where was he born?",
     "ambiguous\nPablo Picasso birthplace"),
    ("Question: Compare the moons of Mars and Jupiter", "compound\nmoons of Mars\nmoons of Jupiter"),
)  # fmt: skip

_ROUTES: dict[str, tuple[Route, SubQueryKind]] = {
    "simple": ("pass", "original"),
    "ambiguous": ("disambiguate", "reading"),
    "compound": ("decompose", "part"),
}
_LABEL = re.compile(rf"(?<!\bnot )\b({'|'.join(_ROUTES)})\b", re.I)
_ONE_LINE = re.compile(r"[^\w:\uff1a]*\w+[^\w:\uff1a]*[:\uff1a]\W{0,3}?\s*(?P<search>[\w\"'\u201c].*[^.\u3002])")
"""Label and search in one line: "ambiguous: moons of Mars"; a sentence with a full stop is an explanation."""
_FENCE = re.compile(r"```\w*")


@dataclass(frozen=True)
class ClassifyAndRewrite:
    """Prompts for one of the routes ``pass``, ``disambiguate`` and ``decompose``.

    Attributes:
        most: maximum number of sub-queries.
        history_turns: number of last turns in the prompt.
        original_weight: weight of the raw query on the other routes; 0 drops it.
    """

    most: int = 3
    history_turns: int = 6
    original_weight: float = 0.0

    name = "prompted"
    version = "9"

    def conversation(self, query: Query) -> Conversation:
        """Returns the prompt for the label and the sub-queries."""
        return ask(_INSTRUCTIONS.format(most=self.most), _EXAMPLES, query, self.history_turns)

    def read(self, query: Query, completion: Completion) -> Reading:
        """Reads the label in any format ("Simple.", "**Ambiguous**", in JSON), then one sub-query per line."""
        text = without_labelled_thoughts(without_thoughts(completion.text))
        rows = (one_line(row) for row in text.splitlines())
        lines = [row for row in rows if row and not _FENCE.fullmatch(row)]
        if lines and lines[0].endswith((":", "\uff1a")) and not _LABEL.search(lines[0]):
            del lines[0]
        in_json = bool(lines) and lines[0].startswith("{")
        match = _LABEL.search(" ".join(lines) if in_json else lines[0]) if lines else None
        if match is None:
            seen = lines[0][:80] if lines else ""
            return Reading((), "pass", f"{seen!r} contains none of the labels {', '.join(_ROUTES)}")
        route, kind = _ROUTES[match.group(1).lower()]
        if route == "pass":
            return Reading((), "pass")
        rest = lines if in_json else lines[1:]
        if not rest and (one := _ONE_LINE.fullmatch(lines[0])):
            rest = [one["search"]]
        searches = read_list(replace(completion, text="\n".join(rest)), self.most, read=text_of(query))
        if not searches:
            return Reading((), "pass", f"there is no sub-query after the label in {completion.text[:80]!r}")
        return Reading(tuple(SubQuery(line, kind) for line in searches), route)
