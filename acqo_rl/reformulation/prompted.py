"""A language model that was not trained for it: asked in words, with examples, in one call (S0-23, 24, 42)."""

from __future__ import annotations

import re
from collections.abc import Sequence

from acqo_rl.reformulation.grammar import MAX_CHARACTERS
from acqo_rl.reformulation.pass_through import pass_through
from acqo_rl.reformulation.prompt import untrusted
from acqo_rl.text import distinct, normalised, one_line, unnumbered
from acqo_rl.types import Completion, Conversation, LanguageModel, Query, Reformulation, Route, SubQuery, SubQueryKind

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
_LABEL = re.compile(rf"\b({'|'.join(_ROUTES)})\b", re.I)
_PREAMBLE = re.compile(r"[:\uff1a]$")


class Prompted:
    """Asks any language model; a reply that cannot be used falls back to the raw query and says why."""

    def __init__(
        self, model: LanguageModel, max_sub_queries: int = 3, history_turns: int = 6, name: str = "prompted"
    ) -> None:
        self.model = model
        self.max_sub_queries = max_sub_queries
        self.history_turns = history_turns
        self.name = name

    def reformulate(self, queries: Sequence[Query]) -> list[Reformulation]:
        """One reformulation a query, position for position, from one batched call of the model."""
        replies = self.model.generate([self._conversation(query) for query in queries])
        return [self._read(query, reply) for query, reply in zip(queries, replies, strict=True)]

    def _conversation(self, query: Query) -> Conversation:
        messages = [{"role": "system", "content": _INSTRUCTIONS.format(most=self.max_sub_queries)}]
        for question, answer in _EXAMPLES:
            messages += [{"role": "user", "content": question}, {"role": "assistant", "content": answer}]
        turns = [untrusted(turn)[:500] for turn in query.history[-self.history_turns :]]
        asked = "\n".join([*turns, f"Question: {untrusted(query.text)[:1000]}"])
        return [*messages, {"role": "user", "content": asked}]

    def _read(self, query: Query, reply: Completion) -> Reformulation:
        lines = [line for line in (one_line(line) for line in reply.text.splitlines()) if line]
        if lines and _PREAMBLE.search(lines[0]) and not _LABEL.search(lines[0]):
            del lines[0]
        route, kind, problem = _label(lines)
        if not reply.finished and len(lines) > 2:
            lines.pop()  # cut in the middle
        found = (unnumbered(line) for line in lines[1:] if not _PREAMBLE.search(line))
        usable = distinct(SubQuery(line, kind) for line in found if len(line) <= MAX_CHARACTERS)[: self.max_sub_queries]
        if route != "pass" and not usable:
            problem = f"no sub-query follows the label in {reply.text[:80]!r}"
        same = len(usable) == 1 and normalised(usable[0].text) == normalised(query.text)
        if route == "pass" or not usable or same:
            route, usable = "pass", pass_through(query, self.name).sub_queries
        return Reformulation(query, route, usable, self.name, reply.text, reply.tokens, problem)


def _label(lines: list[str]) -> tuple[Route, SubQueryKind, str | None]:
    """Reads the label however it is dressed: "Simple.", "compound query", "**Ambiguous**"."""
    match = _LABEL.search(lines[0]) if lines else None
    if match is None:
        seen = lines[0][:80] if lines else ""
        return "pass", "original", f"{seen!r} holds none of the labels {', '.join(_ROUTES)}"
    return *_ROUTES[match.group(1).lower()], None
