"""What a hop reads: the option to stop, and the names in the best results."""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial

import numpy as np
from numpy.typing import NDArray

from acqo_rl.networks.candidates import SOURCES, Candidate, best_candidates
from acqo_rl.networks.corpus_words import LEAD, CorpusWords, title_key, whole_and_lead
from acqo_rl.networks.features import FeatureTable, question_of, score_ratio, score_ratios
from acqo_rl.text import stems
from acqo_rl.types import Document, Ranking, Reformulation

READ = 5
"""Number of results whose text is read."""
MOST = 32
"""Maximum number of candidates per query."""
_NO_WORDS: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class HopOptions:
    """The options of one hop.

    Attributes:
        names: texts to search.
        features: float32[1 + names, features]; row 0 is the option to stop.
    """

    names: tuple[str, ...]
    features: NDArray[np.float32]


class _Asked:
    """A question, its searches so far and their results.

    Attributes:
        words: stemmed words of the question.
        rest: those that the first result does not contain.
        searched: stemmed words of the searches.
        texts: stemmed words of the results that are read.
        titles: stemmed words of their titles.
        read_shares: share of the words of the question in the first result, in the first two results, ...
    """

    def __init__(
        self,
        made: Reformulation,
        fused: Ranking,
        texts: Sequence[frozenset[str]],
        titles: Sequence[set[str]],
        candidates: int,
        known: CorpusWords,
    ) -> None:
        self.share = known.share
        self.weight = known.weight
        self.words = dict.fromkeys(stems(question_of(made)))
        self.rest = [word for word in self.words if not texts or word not in texts[0]]
        self.searches = len(made.sub_queries)
        self.searched = {word for sub_query in made.sub_queries for word in stems(sub_query.text)}
        self.has_conversation = bool(made.query.history)
        self.texts = texts
        self.titles = titles
        self.read_shares = [self.share(self.words, _NO_WORDS.union(*texts[:k])) for k in range(1, len(texts) + 1)]
        self.doc_ids = fused.doc_ids
        self.rank_of = {doc_id: rank for rank, doc_id in enumerate(fused.doc_ids, start=1)}
        self.scores = fused.similarities or fused.scores
        self.candidates = candidates
        self.has_titles = bool(known.titles)

    def read_share(self, k: int) -> float:
        return self.read_shares[min(k, len(self.read_shares)) - 1] if self.read_shares else 0.0


class _Name:
    """A candidate, or without a name the option to stop.

    Attributes:
        named: words of the document with this title that contains most of the question, and of its beginning.
        rank: of this document; 0 if there is none or no search returned it.
    """

    def __init__(
        self, asked: _Asked, candidate: Candidate, named: Mapping[str, tuple[frozenset[str], frozenset[str]]]
    ) -> None:
        self.share = asked.share
        self.question = asked.words
        self.rest = asked.rest
        self.searched = asked.searched
        self.scores = asked.scores
        self.candidate = candidate
        self.words = stems(candidate.name)
        self.weights = [asked.weight(word) for word in self.words]
        self.documents = len(named)
        best = max(named, key=lambda doc_id: asked.share(asked.words, named[doc_id][0]), default="")
        self.body, self.lead = named.get(best, (_NO_WORDS, _NO_WORDS))
        self.rank = asked.rank_of.get(best, 0) if named else 0
        self.source = asked.texts[candidate.rank - 1] if candidate.rank else _NO_WORDS
        self.added = self.body - self.source
        self.source_title: Collection[str] = asked.titles[candidate.rank - 1] if candidate.rank else ()
        self.others = [word for word in asked.words if word not in self.words]
        self.other_rest = [word for word in asked.rest if word not in self.words]


def _reciprocal(rank: int) -> float:
    return 1 / rank if rank else 0.0


def _minus_best_name(compared: NDArray[np.float64]) -> NDArray[np.float32]:
    """The option to stop has the best values themselves."""
    names = compared.astype(np.float32)
    best = names.max(axis=0)
    differences: NDArray[np.float32] = names - best
    differences[0] = best
    return differences


FEATURES = FeatureTable[_Asked, _Name](
    of_query={
        "question": {
            "log_number_of_question_words": lambda q: math.log1p(len(q.words)) / 4,
            "has_conversation": lambda q: float(q.has_conversation),
            "log_number_of_searches": lambda q: math.log(q.searches),
        },
        "results": {
            "share_of_question_words_not_in_first_result": lambda q: len(q.rest) / max(len(q.words), 1),
            **{f"share_of_question_words_in_top_{k}_results": partial(_Asked.read_share, k=k) for k in (1, 2, 3, READ)},
            "max_share_of_title_words_in_question": lambda q: max(
                (q.share(title, q.words) for title in q.titles), default=0.0
            ),
        },
        "scores": score_ratios("results", lambda q: q.scores),
        "candidates": {
            "number_of_candidates": lambda q: q.candidates / MOST,
            "corpus_has_titles": lambda q: float(q.has_titles),
        },
    },
    of_option={
        "stop": {"stops": lambda n: float(not n.candidate.name)},
        "source of the name": {
            f"is_{source}": partial(lambda n, source: float(n.candidate.source == source), source=source)
            for source in SOURCES
        },
    },
    compared={
        "place of the name": {
            "reciprocal_rank_of_result_with_name": lambda n: _reciprocal(n.candidate.rank),
            "share_of_results_with_name": lambda n: len(n.candidate.passages) / READ,
            "log_number_of_mentions": lambda n: math.log1p(n.candidate.mentions) / 2,
            "place_of_name_in_text": lambda n: n.candidate.place,
        },
        "words of the name": {
            "log_number_of_name_words": lambda n: math.log1p(len(n.words)),
            "mean_idf_of_name_words": lambda n: sum(n.weights) / max(len(n.words), 1),
            "max_idf_of_name_words": lambda n: max(n.weights, default=0.0),
            "share_of_name_words_in_question": lambda n: n.share(n.words, n.question),
            "share_of_name_words_in_searches": lambda n: n.share(n.words, n.searched),
        },
        "words around the name": {
            "share_of_question_words_around_name": lambda n: n.share(n.question, n.candidate.around),
            "share_of_question_words_not_in_name_around_name": lambda n: n.share(n.others, n.candidate.around),
            "share_of_question_words_not_in_name_nor_first_result_around_name": lambda n: n.share(
                n.other_rest, n.candidate.around
            ),
            "share_of_question_words_in_result_with_name": lambda n: n.share(n.question, n.source),
        },
        "rank of the named document": {
            "names_a_document": lambda n: float(n.documents > 0),
            "log_number_of_named_documents": lambda n: math.log1p(n.documents) / 2,
            "reciprocal_rank_of_named_document": lambda n: _reciprocal(n.rank),
            "named_document_is_behind_rank_10": lambda n: float(n.rank > 10),
            "ratio_of_score_of_named_document_to_top_score": lambda n: score_ratio(n.scores, n.rank),
            f"named_document_is_in_first_{READ}_results": lambda n: float(0 < n.rank <= READ),
        },
        "words of the named document": {
            "share_of_question_words_in_named_document": lambda n: n.share(n.question, n.body),
            "share_of_question_words_not_in_name_in_named_document": lambda n: n.share(n.others, n.body),
            "share_of_question_words_not_in_name_nor_first_result_in_named_document": lambda n: n.share(
                n.other_rest, n.body
            ),
            f"share_of_question_words_not_in_name_in_first_{LEAD}_words_of_named_document": lambda n: n.share(
                n.others, n.lead
            ),
            "share_of_question_words_in_named_document_or_result_with_name": lambda n: n.share(
                n.question, n.body | n.source
            ),
            "share_of_title_words_of_result_with_name_in_named_document": lambda n: n.share(n.source_title, n.body),
            "share_of_question_words_not_in_first_result_only_in_named_document": lambda n: n.share(
                n.rest, n.body - n.source
            ),
        },
    },
    differences={"_minus_best_name": _minus_best_name},
)


class HopReader:
    """Finds candidates in results, and reads their features."""

    def __init__(self, corpus: Mapping[str, Document], words: CorpusWords) -> None:
        """Creates a reader.

        Args:
            corpus: document id -> document; the documents with the titles of ``words`` are looked up.
            words: titles and word weights of the corpus.
        """
        self._corpus = corpus
        self._words = words
        self._stems = lru_cache(4096)(whole_and_lead)

    def read(self, made: Reformulation, fused: Ranking, documents: Mapping[str, Document]) -> HopOptions:
        """Returns the options of one query.

        Args:
            made: the searches so far, including those of earlier hops.
            fused: the fused results of these searches.
            documents: the first results; those that are missing are not read.
        """
        results = [documents[doc_id] for doc_id in fused.doc_ids[:READ] if doc_id in documents]
        searched = [title_key(text) for text in (made.query.text, *(s.text for s in made.sub_queries))]
        candidates = best_candidates(question_of(made), results, searched, self._words, MOST)
        texts = [self._stems(document)[0] for document in results]
        titles = [set(stems(document.title)) for document in results]
        asked = _Asked(made, fused, texts, titles, len(candidates), self._words)
        options = [_Name(asked, candidate, self._named(candidate)) for candidate in (Candidate(), *candidates)]
        return HopOptions(tuple(candidate.name for candidate in candidates), FEATURES.read(asked, options))

    def _named(self, candidate: Candidate) -> dict[str, tuple[frozenset[str], frozenset[str]]]:
        """The words of the documents with a title, and of their beginning."""
        doc_ids = self._words.titles.get(title_key(candidate.name), ())
        return {doc_id: self._stems(self._corpus[doc_id]) for doc_id in doc_ids}
