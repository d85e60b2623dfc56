"""Combines two reformulators: the second one handles the queries that the first one passes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from acqo_rl.reformulation.heuristic import Heuristic
from acqo_rl.reformulation.lexicon import Lexicon
from acqo_rl.types import Query, Reformulation, Reformulator, feedback_of


class Fallback:
    """Calls a second reformulator for the queries that the first one passes.

    ``made_by`` names the reformulator whose sub-queries are used. Calls, tokens and problems of both are added up. Both
    read the feedback of the first.
    """

    def __init__(self, first: Reformulator, second: Reformulator, name: str = "") -> None:
        """Combines two reformulators.

        Args:
            first: called for all queries.
            second: called for the queries that the first one passes.
            name: name of the combination; by default ``FIRST_else_SECOND``.
        """
        self.name = name or f"{first.name}_else_{second.name}"
        self.feedback = feedback_of(first)
        self._first = first
        self._second = second

    def reformulate(self, queries: Sequence[Query]) -> list[Reformulation]:
        """Returns one reformulation per query, in input order, from at most one call of each reformulator."""
        answers = list(self._first.reformulate(queries))
        passed = [i for i, answer in enumerate(answers) if answer.route == "pass"]
        if passed:
            for i, other in zip(passed, self._second.reformulate([queries[i] for i in passed]), strict=True):
                if other.route != "pass":
                    answers[i] = _after(answers[i], other)
        return answers


def else_rules(policy: Reformulator, lexicon: Lexicon | None, name: str = "") -> Fallback:
    """Combines a policy with the rules, in their more cautious form (``needs_reference``).

    Args:
        policy: called first.
        lexicon: names of the corpus for the rules.
        name: name of the combination; by default ``POLICY_else_rules``.
    """
    return Fallback(policy, Heuristic(lexicon=lexicon, needs_reference=True), name)


def _after(first: Reformulation, second: Reformulation) -> Reformulation:
    """The second reformulation, with the costs and problems of the first added."""
    return replace(
        second,
        completion=second.completion or first.completion,
        tokens=first.tokens + second.tokens,
        calls=first.calls + second.calls,
        failed_calls=first.failed_calls + second.failed_calls,
        problem="; ".join(filter(None, (first.problem, second.problem))) or None,
        reasoning=f"{first.made_by} passed the query, {second.made_by} rewrote it",
    )
