"""Scripted stand-ins for the roles; they return what a test defines, and record their calls."""

import json
import threading
from dataclasses import replace
from itertools import pairwise

import numpy as np

from acqo_rl.networks.hop import FEATURES
from acqo_rl.networks.scorer import Scorer
from acqo_rl.reformulation.pass_through import Given
from acqo_rl.reformulation.prompted import strategies_for
from acqo_rl.reformulation.settings import StrategySettings
from acqo_rl.roles import Hop, LanguageModel, Reformulator, Retriever
from acqo_rl.searching.concurrent import ConcurrentSearch
from acqo_rl.searching.path import SearchPath
from acqo_rl.searching.sub_queries import normalise_sub_queries, split_retrievers
from acqo_rl.types import Completion, Ranking, Reformulation, SubQuery


def ranking(*doc_ids, scores=None, retriever="dense", query="", weight=1.0, spans=()):
    """A ranking of these documents; the default scores decrease from 1."""
    given = scores if scores is not None else [1.0 - i / 1000 for i in range(len(doc_ids))]
    return Ranking(tuple(doc_ids), tuple(float(s) for s in given), retriever, query, weight, spans=dict(spans))


def strategy(name, **settings):
    """A prompted strategy."""
    return strategies_for(StrategySettings(**settings))[name]


class ScriptedRetriever(Retriever):
    """Returns the given documents for each text, and no documents for other texts."""

    name = "scripted"
    cosine = True

    def __init__(self, found, spans=()):
        self.found = found
        self.spans = spans
        self.calls = []

    def search(self, texts, k):
        self.calls.append(list(texts))
        return [
            ranking(*self.found.get(text, ())[:k], retriever=self.name, query=text, spans=self.spans) for text in texts
        ]


class ScoredRetriever(Retriever):
    """Text -> document -> score; other texts find nothing."""

    def __init__(self, found, name="dense", cosine=True):
        self.found = found
        self.name = name
        self.cosine = cosine

    def search(self, texts, k):
        rows = [sorted(self.found.get(text, {}).items(), key=lambda item: -item[1])[:k] for text in texts]
        return [
            ranking(*(d for d, _ in row), scores=[s for _, s in row], retriever=self.name, query=text)
            for row, text in zip(rows, texts, strict=True)
        ]


class BrokenRetriever(Retriever):
    """Raises the error of a search server that is down."""

    name = "broken"
    cosine = True

    def search(self, texts, k):
        raise ConnectionError("the search server does not answer")


class ScriptedReformulator(Reformulator):
    """Writes the given sub-queries for every query, or raises an error; records the queries."""

    name = "scripted"
    max_calls = 1

    def __init__(self, *texts, kind="part", route="decompose", error=None, **costs):
        self.texts = texts
        self.kind = kind
        self.route = route
        self.error = error
        self.costs = {"calls": 1, **costs}
        self.asked = []

    def reformulate(self, queries):
        self.asked += queries
        if self.error:
            raise self.error
        subs = tuple(SubQuery(text, self.kind) for text in self.texts)
        return [Reformulation(query, self.route, subs, self.name, **self.costs) for query in queries]


class ScriptedLanguageModel(LanguageModel):
    """Returns the given completions in turn, repeatedly; strategies of one query call it from several threads."""

    def __init__(self, *completions):
        self.completions = [c if isinstance(c, Completion) else Completion(c, len(c.split())) for c in completions]
        self.calls = []
        self.lock = threading.Lock()

    def generate(self, conversations, schema=None):
        with self.lock:
            begin = sum(map(len, self.calls))
            self.calls.append(list(conversations))
        return [self.completions[(begin + i) % len(self.completions)] for i in range(len(conversations))]


class BySchema(LanguageModel):
    """Returns the reply for the first field of the schema, and records the schemas."""

    def __init__(self, **replies):
        self.replies = replies
        self.schemas = []

    def generate(self, conversations, schema=None):
        self.schemas.append(schema)
        reply = self.replies[next(iter(schema["properties"]))]
        reply = reply if isinstance(reply, Completion) else Completion(reply, len(reply.split()))
        return [reply] * len(conversations)


WORDS = ("one", "two", "three", "four", "five", "six")


class Obedient(LanguageModel):
    """Writes a reply that matches any schema, with the texts of WORDS, and records its calls and schemas."""

    def __init__(self):
        self.calls = []
        self.schemas = []

    def generate(self, conversations, schema=None):
        self.calls.append(list(conversations))
        self.schemas.append(schema)
        self.parts = (schema or {}).get("$defs")
        reply = json.dumps(self._value(schema)) if schema else WORDS[0]
        return [Completion(reply, 7) for _ in conversations]

    def _value(self, schema, place=0):
        schema = schema["anyOf"][0] if "anyOf" in schema else schema
        if "$ref" in schema:
            schema = self.parts[schema["$ref"].rpartition("/")[2]]
        if "enum" in schema:
            return schema["enum"][0]
        if schema["type"] == "object":
            return {name: self._value(field) for name, field in schema["properties"].items()}
        if schema["type"] == "array":
            return [self._value(schema["items"], place) for place in range(min(schema["maxItems"], len(WORDS)))]
        return {"string": WORDS[place], "integer": place, "boolean": True}[schema["type"]]


class ScriptedHop(Hop):
    """Chooses the given names in turn, then stops; records the searches and results that it reads."""

    name = "scripted"

    def __init__(self, *names):
        self.names = names
        self.read = []

    def choose(self, searched, fused):
        self.read.append([[s.text for s in searched[0].sub_queries], fused[0].doc_ids])
        return [self.names[len(self.read) - 1] if len(self.read) <= len(self.names) else None] * len(searched)


def random_scorer(seed=0, networks=2, table=FEATURES):
    """A scorer with random weights."""
    generator = np.random.default_rng(seed)
    sizes = (len(table.names), 8, 4, 1)
    layers = tuple(
        (generator.normal(size=(networks, one, two)).astype(np.float32), np.zeros((networks, 1, two), np.float32))
        for one, two in pairwise(sizes)
    )
    return plain_scorer(table, layers)


def eager_scorer():
    """A scorer that never stops; it prefers names that many words of the question surround."""
    return linear_scorer(FEATURES, stops=-100.0, share_of_question_words_in_around_name=1.0)


def linear_scorer(table, **weights):
    """A scorer that adds up some features, each with its weight."""
    weight = np.zeros((1, len(table.names), 1), np.float32)
    for name, value in weights.items():
        weight[0, table.names.index(name)] = value
    return plain_scorer(table, ((weight, np.zeros((1, 1, 1), np.float32)),))


def plain_scorer(table, layers):
    """A scorer that does not standardise the features."""
    size = len(table.names)
    return Scorer(table.names, np.zeros(size, np.float32), np.ones(size, np.float32), layers)


def read_in_short(network, table, features):
    """One number for what a network of the package reads of each option; it changes with each feature."""
    columns = list(Scorer.load(f"trained:{network}", table).columns)
    return (features[:, columns] @ np.cos(np.arange(len(columns)))).tolist()


def search_reformulations(reformulations, retriever, depth=100):
    """The rankings of each reformulation: one per distinct sub-query and retriever."""
    asked, _ = split_retrievers(retriever)
    return ConcurrentSearch(retriever, depth).rankings(normalise_sub_queries(reformulations, asked))


def search_given(reformulations, retriever, fusion, k=10, **path):
    """The results of given reformulations on the search path."""
    made = [replace(one, query=replace(one.query, id=str(i))) for i, one in enumerate(reformulations)]
    return SearchPath(Given(made), retriever, fusion, **path).search([one.query for one in made], k)
