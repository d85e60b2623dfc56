"""Five documents, four queries, a retriever that counts shared words and a reformulator with given replies."""

from acqo_rl.conversations import read_history
from acqo_rl.evaluation.run import evaluate
from acqo_rl.fusion import RankScoreFusion
from acqo_rl.roles import Reformulator, Retriever
from acqo_rl.searching.path import SearchPath
from acqo_rl.types import Document, Query, Ranking, Reformulation, SubQuery

CORPUS = {
    document.id: document
    for document in (
        Document("peru", "Peru", "capital of peru is lima"),
        Document("chad", "Chad", "capital of chad is ndjamena"),
        Document("chad-money", "Chad money", "money of chad is the franc"),
        Document("python-snake", "Python", "python snake"),
        Document("python-language", "Python", "python language"),
    )
}
QUERIES = [
    Query("simple", "capital of peru"),
    Query("compound", "capital of peru and money of chad"),
    Query("ambiguous", "and its capital", history=read_history(("U: what is chad", "S: a country"))),
    Query("unjudged", "franc"),
]
QRELS = {
    "simple": {"peru": 1},
    "compound": {"peru": 1, "chad-money": 1, "chad": 0},
    "ambiguous": {"chad": 1},
    "unjudged": {"chad": 0},
}
KINDS = {kind: kind for kind in ("simple", "compound", "ambiguous")}
GOOD = {
    "compound": ("decompose", "capital of peru", "money of chad"),
    "ambiguous": ("disambiguate", "capital of chad", "and its capital"),
}


class WordRetriever(Retriever):
    """Documents that share words with the text, most first, ties by id; counts its calls."""

    name = "words"
    cosine = True

    def __init__(self):
        self.calls = []

    def search(self, texts, k):
        self.calls.append(list(texts))
        return [self._search(text, k) for text in texts]

    def _search(self, text, k):
        words = set(text.lower().split())
        shared = {d.id: len(words & set(d.text.split())) for d in CORPUS.values()}
        found = sorted((-count, doc_id) for doc_id, count in shared.items() if count)[:k]
        return Ranking(tuple(d for _, d in found), tuple(float(-c) for c, _ in found), self.name, text)


class Scripted(Reformulator):
    """Answers each query by id with a route and texts; every other one passes."""

    name = "scripted"

    def __init__(self, answers, problems=()):
        self.answers = answers
        self.problems = problems

    def reformulate(self, queries):
        return [self._answer(query) for query in queries]

    def _answer(self, query):
        route, *texts = self.answers.get(query.id, ("pass", query.text))
        subs = tuple(SubQuery(text, "original" if text == query.text else "part") for text in texts)
        problem = "no tag" if query.id in self.problems else None
        return Reformulation(query, route, subs, self.name, "text", 4, problem, calls=1)


def evaluated(
    reformulator, queries=QUERIES, qrels=QRELS, *, retriever=None, fusion=None, feedback=None, name="", **settings
):
    """The evaluation of a reformulator on the one path."""
    path = SearchPath(reformulator, retriever or WordRetriever(), fusion or RankScoreFusion(), CORPUS, feedback)
    return evaluate(path, queries, qrels, name=name or reformulator.name, kinds=KINDS, **settings)
