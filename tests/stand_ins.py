"""Scripted stand-ins for the roles: they answer what a test told them to, and keep what they were asked."""

from __future__ import annotations

from acqo_rl.types import Completion, Ranking


def ranking(*doc_ids, scores=None, retriever="dense", query="", weight=1.0):
    """A ranking of these documents; scores fall from 1 where none are given."""
    given = scores if scores is not None else [1.0 - i / 1000 for i in range(len(doc_ids))]
    return Ranking(tuple(doc_ids), tuple(float(s) for s in given), retriever, query, weight)


class ScriptedRetriever:
    """Answers each text with the documents that it was told; every other text finds nothing."""

    name = "scripted"
    cosine = True

    def __init__(self, found):
        self.found = found
        self.calls = []

    def search(self, texts, k):
        self.calls.append(list(texts))
        return [ranking(*self.found.get(text, ())[:k], retriever=self.name, query=text) for text in texts]


class ScoredRetriever:
    """Each text that it knows finds the document of that name, with the score that it was told."""

    cosine = True

    def __init__(self, name, scores):
        self.name, self.scores = name, scores

    def search(self, texts, k):
        found = {text: ranking(text, scores=[score], retriever=self.name) for text, score in self.scores.items()}
        return [found.get(text, ranking(retriever=self.name)) for text in texts]


class BrokenRetriever:
    """Fails as a search server that is down does."""

    name = "broken"
    cosine = True

    def search(self, texts, k):
        raise ConnectionError("the search server does not answer")


class ScriptedLanguageModel:
    """Writes the given completions in turn, again from the first when they are used up."""

    def __init__(self, *completions):
        self.completions = [c if isinstance(c, Completion) else Completion(c, len(c.split())) for c in completions]
        self.calls = []

    def generate(self, conversations):
        begin = sum(map(len, self.calls))
        self.calls.append(list(conversations))
        return [self.completions[(begin + i) % len(self.completions)] for i in range(len(conversations))]
