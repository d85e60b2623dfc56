"""Asks several reformulators one after another, such as a policy and then the rules."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from acqo_rl.reformulation.heuristic import Heuristic
from acqo_rl.reformulation.names import Lexicon
from acqo_rl.roles import Reformulator
from acqo_rl.types import Query, Reformulation


class InTurn(Reformulator):
    """Each reformulator gets the queries that all reformulators before it passed.

    ``made_by`` names the reformulator whose sub-queries are searched. The costs and problems of those before it are
    added to the result.
    """

    def __init__(self, reformulators: Sequence[Reformulator], name: str) -> None:
        """Creates the reformulator.

        Args:
            reformulators: at least one; at most one of them reads feedback.
            name: of the combination.
        """
        self.name = name
        self.feedback = max((one.feedback for one in reformulators), key=lambda feedback: feedback.results)
        self._reformulators = reformulators

    def reformulate(self, queries: Sequence[Query]) -> list[Reformulation]:
        """Returns one reformulation per query, in input order, from at most one call of each reformulator."""
        answers: dict[int, Reformulation] = {}
        for reformulator in self._reformulators:
            passed = [i for i in range(len(queries)) if i not in answers or answers[i].route == "pass"]
            made = reformulator.reformulate([queries[i] for i in passed]) if passed else []
            for i, one in zip(passed, made, strict=True):
                before = answers.get(i)
                if before is None or one.route != "pass" or one.calls:
                    answers[i] = with_costs(one, before) if before else one
        return [answers[i] for i in range(len(queries))]


def with_rules(policy: Reformulator, lexicon: Lexicon | None, name: str = "") -> InTurn:
    """The rules split compound questions without a conversation, the policy gets all others, then the rules again.

    There the rules split better than a small policy, and the model call is saved; yes-or-no questions ("Are both A and
    B ...") are left to the policy. Of what it passes, the rules rewrite only questions with a pronoun.

    Args:
        policy: the policy; its feedback is that of the combination.
        lexicon: names of the corpus for the rules.
        name: name of the combination; by default ``POLICY_with_rules``.
    """
    splits = Heuristic(lexicon=lexicon, splits_only=True)
    rules = Heuristic(lexicon=lexicon, needs_reference=True)
    return InTurn([splits, policy, rules], name or f"{policy.name}_with_rules")


def with_costs(answer: Reformulation, before: Reformulation) -> Reformulation:
    """A reformulation with the costs and problems of the one made before it."""
    return replace(
        answer,
        completion=answer.completion or before.completion,
        tokens=before.tokens + answer.tokens,
        calls=before.calls + answer.calls,
        failed_calls=before.failed_calls + answer.failed_calls,
        problem="; ".join(filter(None, (before.problem, answer.problem))) or None,
    )
