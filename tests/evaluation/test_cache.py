"""What a comparison has paid for is not paid again."""

import os
import sqlite3
from contextlib import closing
from dataclasses import replace

import pytest
from stand_ins import ScriptedLanguageModel, ScriptedRetriever

from acqo_rl.conversations import read_history
from acqo_rl.errors import DataError
from acqo_rl.evaluation.cache import (
    CachedReformulator,
    CachedReranker,
    CachedRetriever,
    reformulator_key,
)
from acqo_rl.reformulation.load import load_reformulator
from acqo_rl.reformulation.settings import StrategySettings
from acqo_rl.roles import Reformulator, Reranker, Retriever
from acqo_rl.types import Completion, FeedbackSpec, Passage, Query, Ranking, Reformulation, Snippet, SubQuery

TEXTS = ["one two", "three", Passage("three")]
HISTORY = read_history(("U: x",))
QUERIES = [
    *(Query("1", "one two"), Query("2", "three", HISTORY), Query("3", "three"), Query("4", "Three")),
    Query("5", "three", feedback=(Snippet("t", "x"),)),
]
PAIRS = [("one", "two"), ("three", "four")]


class Counting(Retriever, Reformulator, Reranker):
    """A stand-in for each role: answers depend on the text, and the calls are kept."""

    name = "counting"
    cosine = True
    feedback = FeedbackSpec(2, 9)

    def __init__(self, failed_calls=0):
        self.calls = []
        self.loaded = 0
        self.failed_calls = failed_calls

    def load(self):
        self.loaded += 1
        return self

    def search(self, texts, k):
        self.calls.append(list(texts))
        return [Ranking(tuple(text.split()), tuple(range(len(text.split()), 0, -1)), "x", text) for text in texts]

    def reformulate(self, queries):
        self.calls.append(list(queries))
        return [self._split(query) for query in queries]

    def _split(self, query):
        words = tuple(SubQuery(word, "part", 0.5) for word in query.text.split())
        return Reformulation(query, "decompose", words, "words", "text", 3, "why", 2, self.failed_calls)

    def score(self, pairs):
        self.calls.append(list(pairs))
        return [float(len(query)) for query, _ in pairs]


def cached(role, inner, file, key="key"):
    """The cached role and its method."""
    if role == "retriever":
        made = CachedRetriever("first", inner, key, file, embeds=True)
        return made, lambda texts: made.search(texts, 9)
    kind = {"reformulator": CachedReformulator, "reranker": CachedReranker}[role]
    made = kind(role, inner.load, key, file)
    return made, made.reformulate if role == "reformulator" else made.score


def plain(role, items):
    """The answers without a cache."""
    if role == "retriever":
        return [replace(ranking, retriever="first") for ranking in Counting().search(items, 9)]
    return Counting().reformulate(items) if role == "reformulator" else Counting().score(items)


@pytest.fixture
def file(tmp_path):
    return tmp_path / "cache.sqlite"


@pytest.mark.parametrize(
    ("role", "items"), [("retriever", TEXTS), ("reformulator", QUERIES), ("reranker", PAIRS)], ids=lambda v: str(v)[:12]
)
def test_each_item_is_computed_once_and_keeps_its_time(file, role, items):
    """Also for the next process, which loads no model; with another key, everything is computed anew."""
    inner = Counting()
    first, ask = cached(role, inner, file)
    answers = ask(items)
    assert answers == plain(role, items)
    assert ask([*items, *items]) == [*answers, *answers]
    again, ask_again = cached(role, inner, file)
    assert ask_again(items[::-1]) == answers[::-1]
    assert again.ms(items[0]) == first.ms(items[0]) > 0
    assert inner.calls == [items]
    assert inner.loaded == (role != "retriever")
    cached(role, inner, file, key="other")[1](items)
    assert inner.calls == [items] * 2


def test_a_reformulator_keeps_its_feedback_and_knows_a_question_under_another_id(file):
    for _ in range(2):
        reformulator, _ = cached("reformulator", counting := Counting(), file)
        assert reformulator.feedback == FeedbackSpec(2, 9)
    made = reformulator.reformulate([Query("1", "one"), Query("typo of 1", "one")])
    assert [one.query.id for one in made] == ["1", "typo of 1"]
    assert [len(call) for call in counting.calls] == [1]


def search(path, texts=("0",)):
    scripted = ScriptedRetriever({str(i): ("d" * 500,) for i in range(100)})
    CachedRetriever("first", scripted, "index", path, embeds=True).search(list(texts), 1)


def test_a_file_that_cannot_be_used_is_named(tmp_path):
    """It is no cache, an answer has another form, or the pages after the first one (the schema) are damaged."""
    other, odd, path = (tmp_path / f"{name}.sqlite" for name in ("other", "odd", "cache"))
    other.write_text("something else that is long enough to be looked at " * 50)
    search(odd)
    with closing(sqlite3.connect(odd)) as database, database:
        database.execute("UPDATE answers SET answer = '[1]'")
    search(path, map(str, range(100)))
    whole = path.read_bytes()
    path.write_bytes(whole[:4096] + b"\xff" * (len(whole) - 4096))
    for damaged in (other, odd, path):
        with pytest.raises(DataError, match=damaged.name):
            search(damaged)


FAILED = Completion("", 0, finished=False, problem="server down")


@pytest.mark.parametrize(
    ("name", "completions", "asked_twice"),
    [
        ("multi_query+hyde", [Completion("capital city", 2), FAILED], True),
        ("hyde", [Completion("", 1)], False),  # written, and not usable
    ],
)
def test_an_answer_of_which_a_call_failed_is_asked_again_by_the_next_process(file, name, completions, asked_twice):
    model = ScriptedLanguageModel(*completions)
    query = Query("1", "How do I open a window?")
    calls = []
    for _ in range(2):
        load = lambda: load_reformulator(name, "scripted", language_model=model)  # noqa: E731
        reformulator = CachedReformulator(name, load, "model", file)
        assert reformulator.reformulate([query]) == reformulator.reformulate([query])
        calls.append(len(model.calls))
    assert calls[1] == (1 + asked_twice) * calls[0] > 0


def test_answers_are_kept_for_the_same_reformulator_model_files_and_settings_that_it_reads(tmp_path):
    """A policy reads no settings of a strategy, and a strategy none of another."""
    (tmp_path / "weights").write_text("old")
    three = StrategySettings(num_variants=3)
    four = StrategySettings(num_variants=4)
    policy = reformulator_key("policy", str(tmp_path), three)
    assert policy == reformulator_key("policy", str(tmp_path), four)
    hyde = reformulator_key("hyde", "m", three)
    assert hyde == reformulator_key("hyde", "m", four) != reformulator_key("hyde", "n", three)
    assert reformulator_key("multi_query", "m", three) != reformulator_key("multi_query", "m", four)
    changed = (tmp_path / "weights").stat().st_mtime_ns + 1_000_000
    (tmp_path / "weights").write_text("new")
    os.utime(tmp_path / "weights", ns=(changed, changed))
    assert policy != reformulator_key("policy", str(tmp_path), three)
