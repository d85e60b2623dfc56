"""Combines a policy with the rules."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from acqo_rl.reformulation.heuristic import Heuristic
from acqo_rl.reformulation.names import Lexicon
from acqo_rl.roles import Reformulator
from acqo_rl.types import Query, Reformulation


class WithRules(Reformulator):
    """The rules split compound questions, a policy reformulates all others, and the rules handle those that it passes.

    The rules only split questions without a conversation before the policy is asked; there they split better than a
    small policy, and the model call is saved. ``made_by`` names the reformulator whose sub-queries are used. The costs
    and problems of a policy that passed are kept.
    """

    def __init__(self, policy: Reformulator, rules: Reformulator, name: str = "") -> None:
        """Combines a policy and rules.

        Args:
            policy: the policy; its feedback is that of the combination.
            rules: called for all queries, and therefore without a model.
            name: name of the combination; by default ``POLICY_with_rules``.
        """
        self.name = name or f"{policy.name}_with_{rules.name}"
        self.feedback = policy.feedback
        self._policy = policy
        self._rules = rules

    def reformulate(self, queries: Sequence[Query]) -> list[Reformulation]:
        """Returns one reformulation per query, in input order, from at most one call of each reformulator."""
        answers = list(self._rules.reformulate(queries))
        asked = [i for i, answer in enumerate(answers) if queries[i].history or answer.route != "decompose"]
        if asked:
            for i, written in zip(asked, self._policy.reformulate([queries[i] for i in asked]), strict=True):
                passed = written.route == "pass"
                answers[i] = _after(written, answers[i]) if passed and answers[i].route != "pass" else written
        return answers


def with_rules(policy: Reformulator, lexicon: Lexicon | None, name: str = "") -> WithRules:
    """Combines a policy with the rules, in their more cautious form (``needs_reference``).

    Args:
        policy: see :class:`WithRules`.
        lexicon: names of the corpus for the rules.
        name: name of the combination; by default ``POLICY_with_rules``.
    """
    return WithRules(policy, Heuristic(lexicon=lexicon, needs_reference=True), name)


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
