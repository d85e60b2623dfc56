"""A hop: one more search for a name in the results, chosen by a small trained network, or none.

The network scores the option to stop and each candidate (:mod:`acqo_rl.networks.candidates`). If a name is chosen, two
texts are searched: the name, and the question followed by it. All rankings are fused with the earlier ones.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from acqo_rl.errors import ConfigError
from acqo_rl.networks.features import question_of
from acqo_rl.networks.hop import READ, HopOptions, options_of
from acqo_rl.networks.scorer import NetworkStep
from acqo_rl.roles import Hop
from acqo_rl.searching.feedback import fetch
from acqo_rl.text import distinct
from acqo_rl.types import Ranking, Reformulation, SubQuery

MOST_HOPS = 3


@dataclass(frozen=True, slots=True)
class Hops:
    """The step between fusion and order.

    Attributes:
        hop: chooses a name in the results, or none.
        most: maximum number of hops, 1 to 3. Each reads the results of all searches before it.

    Raises:
        ConfigError: ``most`` is out of range.
    """

    hop: Hop
    most: int = 1

    def __post_init__(self) -> None:
        if not 1 <= self.most <= MOST_HOPS:
            raise ConfigError(f"hops is {self.most}; it must be between 1 and {MOST_HOPS}.")

    def added(
        self, made: Sequence[Reformulation], names: Callable[[Sequence[Reformulation]], Sequence[str | None]]
    ) -> list[Reformulation]:
        """Adds the searches of the hops; each reads the results of all searches before it.

        Args:
            made: the searches of each query so far.
            names: the name to search next for each of some searches, or ``None`` to stop.
        """
        after = list(made)
        going = list(range(len(made)))
        for _ in range(self.most):
            found = names([after[i] for i in going])
            chosen = {i: name for i, name in zip(going, found, strict=True) if name is not None}
            for i, name in chosen.items():
                after[i] = with_name(after[i], name)
            if not (going := list(chosen)):
                break
        return after


class LearnedHop(NetworkStep, Hop):
    """Chooses the next search by a trained scorer."""

    name = "learned"

    def choose(self, searched: Sequence[Reformulation], fused: Sequence[Ranking]) -> list[str | None]:
        """Returns the name to search next for each query, or ``None`` to stop; arguments as in :meth:`read`."""
        options = self.read(searched, fused)
        best = self._scorer.best([query.features for query in options])
        return [(None, *query.names)[place] for query, place in zip(options, best, strict=True)]

    def read(self, searched: Sequence[Reformulation], fused: Sequence[Ranking]) -> list[HopOptions]:
        """Returns the options of each query, in input order.

        Args:
            searched: the searches so far, including those of earlier hops.
            fused: the fused results of these searches.
        """
        documents = fetch(self._corpus, [doc_id for ranking in fused for doc_id in ranking.doc_ids[:READ]])
        return [
            options_of(made, best, documents, self._corpus, self._words)
            for made, best in zip(searched, fused, strict=True)
        ]


def with_name(made: Reformulation, name: str) -> Reformulation:
    """Adds the searches of a name: the name, and the question followed by the name."""
    more = (SubQuery(name, "hop"), SubQuery(f"{question_of(made)} {name}", "expansion"))
    return replace(made, sub_queries=distinct((*made.sub_queries, *more)))
