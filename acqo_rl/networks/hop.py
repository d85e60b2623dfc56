"""What a hop reads: the option to stop, and the names in the best results."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from acqo_rl.networks.candidates import SOURCES, Candidate, CandidateFinder
from acqo_rl.networks.corpus_words import CorpusWords, title_key, whole_and_lead
from acqo_rl.networks.features import FeatureTable, Matrix, View, mean, question_of, score_ratio, score_ratios, shares
from acqo_rl.roles import Vectors
from acqo_rl.text import stems
from acqo_rl.types import Corpus, Document, Ranking, Reformulation

READ = 5
"""Number of results whose text is read."""
MOST = 32
"""Maximum number of candidates per query."""
_TOP = (1, 2, 3, READ)
"""Numbers of results whose words are compared with the question."""
_NO_WORDS: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class HopOptions:
    """The options of one hop.

    Attributes:
        names: texts to search.
        features: float32[1 + names, features]; row 0 is the option to stop.
    """

    names: tuple[str, ...]
    features: Vectors


class _Asked(View):
    """A question, its searches so far and their results; *missing* words are not in the first result."""

    def __init__(
        self,
        made: Reformulation,
        fused: Ranking,
        results: Sequence[Document],
        candidates: int,
        known: CorpusWords,
    ) -> None:
        texts = [whole_and_lead(document)[0] for document in results]
        question = dict.fromkeys(stems(question_of(made)))
        super().__init__(
            known,
            question=question,
            missing_question=[word for word in question if not texts or word not in texts[0]],
            searches={word for sub_query in made.sub_queries for word in stems(sub_query.text)},
            **{f"top_{k}_results": _NO_WORDS.union(*texts[:k]) for k in _TOP},
        )
        self.made = made
        self.texts = texts
        self.titles = [set(stems(document.title)) for document in results]
        self.ranks = fused.ranks
        self.scores = fused.similarities or fused.scores
        self.candidates = candidates


class _Name(View):
    """A candidate, or without a name the option to stop; *other* words of the question are not in the name.

    Attributes:
        documents: number of documents with this title. The named document is that with most words of the question.
        rank: of the named document; 0 if there is none or no search returned it.
    """

    def __init__(self, asked: _Asked, candidate: Candidate, named: Mapping[str, Sequence[frozenset[str]]]) -> None:
        question, missing = asked.words["question"], asked.words["missing_question"]
        words = stems(candidate.name)
        best = max(named, key=lambda doc_id: asked.known.share(question, named[doc_id][0]), default="")
        body, lead = named.get(best, (_NO_WORDS, _NO_WORDS))
        source = asked.texts[candidate.rank - 1] if candidate.rank else _NO_WORDS
        self.candidate = candidate
        self.documents = len(named)
        self.rank = asked.ranks.get(best, 0) if named else 0
        self.scores = asked.scores
        super().__init__(
            asked.known,
            **asked.words,
            name=words,
            around_name=candidate.around,
            other_question=[word for word in question if word not in words],
            other_missing_question=[word for word in missing if word not in words],
            result_with_name=source,
            result_title=asked.titles[candidate.rank - 1] if candidate.rank else (),
            named_document=body,
            first_words_of_named_document=lead,
            either_document=body | source,
            only_named_document=body - source,
        )


def _minus_best_name(rows: Matrix) -> Matrix:
    """The option to stop has the best values themselves."""
    best = rows.max(axis=0)
    return np.concatenate([best[None], rows[1:] - best])


FEATURES = FeatureTable(
    of_query={
        "question": {
            "log_number_of_question_words": lambda q: math.log1p(len(q.words["question"])) / 4,
            "has_conversation": lambda q: bool(q.made.query.history),
            "log_number_of_searches": lambda q: math.log(len(q.made.sub_queries)),
        },
        "results": {
            "share_of_question_words_not_in_first_result": lambda q: (
                len(q.words["missing_question"]) / max(len(q.words["question"]), 1)
            ),
            **shares(*(("question", f"top_{k}_results") for k in _TOP)),
            "max_share_of_title_words_in_question": lambda q: max(
                (q.known.share(title, q.words["question"]) for title in q.titles), default=0.0
            ),
        },
        "scores": score_ratios("results", lambda q: q.scores),
        "candidates": {
            "number_of_candidates": lambda q: q.candidates / MOST,
            "corpus_has_titles": lambda q: bool(q.known.titles),
        },
    },
    of_option={
        "stop": {"stops": lambda n: not n.candidate.name},
        "source of the name": {
            f"is_{source}": partial(lambda n, source: n.candidate.source == source, source=source) for source in SOURCES
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
            "log_number_of_name_words": lambda n: math.log1p(len(n.words["name"])),
            "mean_idf_of_name_words": lambda n: mean(n.idfs("name")),
            "max_idf_of_name_words": lambda n: max(n.idfs("name")),
            **shares(("name", "question"), ("name", "searches")),
        },
        "words around the name": shares(
            ("question", "around_name"),
            ("other_question", "around_name"),
            ("other_missing_question", "around_name"),
            ("question", "result_with_name"),
        ),
        "rank of the named document": {
            "names_a_document": lambda n: n.documents > 0,
            "log_number_of_named_documents": lambda n: math.log1p(n.documents) / 2,
            "reciprocal_rank_of_named_document": lambda n: _reciprocal(n.rank),
            "named_document_is_behind_rank_10": lambda n: n.rank > 10,
            "ratio_of_score_of_named_document_to_top_score": lambda n: score_ratio(n.scores, n.rank),
            "named_document_is_in_first_results": lambda n: 0 < n.rank <= READ,
        },
        "words of the named document": shares(
            ("question", "named_document"),
            ("other_question", "named_document"),
            ("other_missing_question", "named_document"),
            ("other_question", "first_words_of_named_document"),
            ("question", "either_document"),
            ("result_title", "named_document"),
            ("missing_question", "only_named_document"),
        ),
    },
    differences={"_minus_best_name": _minus_best_name},
)


def _reciprocal(rank: int) -> float:
    return 1 / rank if rank else 0.0


def options_of(
    made: Reformulation,
    fused: Ranking,
    documents: Corpus,
    corpus: Corpus,
    known: CorpusWords,
) -> HopOptions:
    """The options of one query.

    Args:
        made: the searches so far, including those of earlier hops.
        fused: the fused results of these searches.
        documents: the first results; those that are missing are not read.
        corpus: document id -> document; the documents with the title of a candidate are looked up.
        known: titles and word weights of the corpus.
    """
    results = [documents[doc_id] for doc_id in fused.doc_ids[:READ] if doc_id in documents]
    searched = [title_key(text) for text in (made.query.text, *(s.text for s in made.sub_queries))]
    candidates = CandidateFinder(question_of(made), known).best(results, searched, MOST)
    asked = _Asked(made, fused, results, len(candidates), known)
    options = []
    for candidate in (Candidate(), *candidates):
        doc_ids = known.titles.get(title_key(candidate.name), ())
        options.append(_Name(asked, candidate, {doc_id: whole_and_lead(corpus[doc_id]) for doc_id in doc_ids}))
    return HopOptions(tuple(candidate.name for candidate in candidates), FEATURES.read(asked, options))
