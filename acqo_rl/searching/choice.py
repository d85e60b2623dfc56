"""Chooses by their results which searches of a query are kept, with a small trained network.

A query is first searched in ways that cost no model call: as it is, with the last turn, with the last two turns, with
the first question of the conversation, and as the rules rewrite it. The network reads these results. It picks one of
them, two of them fused, or asks the language model. Then the model's searches are options too, and the network picks
once more.
"""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace

from acqo_rl.networks.choice import ARMS, READ, features_of
from acqo_rl.networks.corpus_words import CorpusWords
from acqo_rl.networks.scorer import NetworkStep, Scorer
from acqo_rl.reformulation.heuristic import Heuristic
from acqo_rl.reformulation.lexicon import Lexicon
from acqo_rl.reformulation.pass_through import FirstQuestion, PassThrough, RecentTurns
from acqo_rl.roles import Fusion, Reformulator, Vectors
from acqo_rl.searching.feedback import fetch
from acqo_rl.searching.sub_queries import DEPTH
from acqo_rl.text import distinct
from acqo_rl.types import Corpus, Ranking, Reformulation

OPTIONS = ((0,), (1,), (2,), (3,), (4,), (0, 1), (0, 2), (0, 3), (0, 4), (2, 4), (5,), (0, 5), (2, 5), (4, 5))
"""The arms whose rankings are fused."""

Search = Callable[[Sequence[Reformulation]], Sequence[Sequence[Ranking]]]
"""Returns the rankings of each reformulation."""


@dataclass(frozen=True, slots=True)
class Options:
    """The options of one query; the first one is the query as it is.

    Attributes:
        arms: the arms of each option. If the model may be asked, this is the last option, and it has no arms.
        searched: what each option searches.
        features: float32[options, features].
    """

    arms: tuple[tuple[int, ...], ...]
    searched: tuple[Reformulation, ...]
    features: Vectors


class Choice(NetworkStep):
    """Chooses what is searched first."""

    name = "auto"

    def __init__(self, scorer: Scorer | None, corpus: Corpus, words: CorpusWords, *, asks: bool = True) -> None:
        """Creates a choice.

        Args:
            scorer: scores the options; ``None`` to read options only.
            corpus: document id -> document.
            words: word weights of the corpus.
            asks: whether there is a model to ask.
        """
        super().__init__(scorer, corpus, words)
        self.asks = asks
        lexicon = Lexicon.of(corpus.values()) if words.titles else None
        self.reformulators: tuple[Reformulator, ...] = (
            PassThrough(),
            RecentTurns(1),
            RecentTurns(2, repeats=2),
            FirstQuestion(repeats=2),
            Heuristic(lexicon=lexicon),
        )

    def choose(
        self, made: Sequence[Sequence[Reformulation]], search: Search, fusion: Fusion, *, may_ask: bool
    ) -> list[Reformulation | None]:
        """Returns what is searched for each query, or ``None`` to ask the model, in input order.

        Args:
            made: one sequence per query, with the reformulation of each arm; that of the model may be missing.
            search: returns the rankings of reformulations.
            fusion: merges them.
            may_ask: whether asking the model is an option.
        """
        options = self.read(made, search, fusion, may_ask=may_ask)
        best = self._scorer.best([query.features for query in options])
        chosen: list[Reformulation | None] = []
        for query, place in zip(options, best, strict=True):
            if not query.arms[place]:
                chosen.append(None)
                continue
            reason = f"Chosen after reading results: {' and '.join(ARMS[arm] for arm in query.arms[place])}."
            answer = query.searched[place]
            chosen.append(replace(answer, made_by=self.name, reasoning=f"{reason} {answer.reasoning}".strip()))
        return chosen

    def read(
        self, made: Sequence[Sequence[Reformulation]], search: Search, fusion: Fusion, *, may_ask: bool
    ) -> list[Options]:
        """The options of each query; arguments as in :meth:`choose`."""
        arms = [_distinct_options(answers) for answers in made]
        searched = [
            _together([answers[arm] for arm in option])
            for answers, options in zip(made, arms, strict=True)
            for option in options
        ]
        lists = search(searched)
        fused = fusion.fuse(lists, DEPTH)
        documents = fetch(self._corpus, list(dict.fromkeys(d for ranking in fused for d in ranking.doc_ids[:READ])))
        results = zip(searched, lists, fused, strict=True)
        return [self._options([(option, *next(results)) for option in some], documents, may_ask) for some in arms]

    def _options(
        self,
        found: Sequence[tuple[tuple[int, ...], Reformulation, Sequence[Ranking], Ranking]],
        documents: Corpus,
        may_ask: bool,
    ) -> Options:
        features = features_of(found, self._words, documents, may_ask=may_ask)
        arms = [option for option, *_ in found]
        return Options((*arms, ()) if may_ask else tuple(arms), tuple(made for _, made, *_ in found), features)


def _distinct_options(made: Sequence[Reformulation]) -> list[tuple[int, ...]]:
    """The options whose arms are there; of those that search the same texts, the first."""
    options: dict[Hashable, tuple[int, ...]] = {}
    for arms in OPTIONS:
        if arms[-1] < len(made):
            searched = _together([made[arm] for arm in arms]).sub_queries
            if searched:
                options.setdefault(tuple(sorted((s.text, s.min_margin is None) for s in searched)), arms)
    return list(options.values())


def _together(made: Sequence[Reformulation]) -> Reformulation:
    """The searches of one or two arms; route, costs and problem are those of the last one."""
    if len(made) == 1:
        return made[0]
    return replace(made[-1], sub_queries=distinct([s for answer in made for s in answer.sub_queries]))
