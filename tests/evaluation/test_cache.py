"""What a comparison has paid for is not paid again."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing

import pytest
from stand_ins import ScriptedLanguageModel, ScriptedRetriever

from acqo_rl.conversations import read_history
from acqo_rl.errors import DataError
from acqo_rl.evaluation.cache import (
    Cache,
    CachedReformulator,
    CachedRetriever,
    hash_queries,
    reformulator_key,
)
from acqo_rl.reformulation.load import load_reformulator
from acqo_rl.reformulation.settings import StrategySettings
from acqo_rl.roles import Reformulator
from acqo_rl.types import Completion, FeedbackSpec, Passage, Query, Reformulation, Snippet, SubQuery


class CountingReformulator(Reformulator):
    """A stand-in that splits every query into its words, and keeps what it was asked."""

    name = "words"

    def __init__(self, failed_calls=0):
        self.calls = []
        self.failed_calls = failed_calls

    def reformulate(self, queries):
        self.calls.append(list(queries))
        return [self._split(query) for query in queries]

    def _split(self, query):
        words = tuple(SubQuery(word, "part", 0.5) for word in query.text.split())
        return Reformulation(query, "decompose", words, "words", "text", 3, "why", 2, self.failed_calls)


@pytest.fixture
def open_cache(tmp_path):
    """Opens the same file again and again, as several processes do one after the other."""
    opened = []

    def open_it():
        opened.append(Cache(tmp_path / "cache.sqlite"))
        return opened[-1]

    yield open_it
    for cache in opened:
        cache.close()


@pytest.fixture
def cache(open_cache):
    return open_cache()


def test_more_keys_than_one_statement_holds(open_cache):
    texts = [str(i) for i in range(2000)]
    scripted = ScriptedRetriever({text: (text,) for text in texts})
    for some in (texts[:1201], texts):
        retriever = CachedRetriever("first", scripted, "index", open_cache(), embeds=True)
        assert [ranking.doc_ids for ranking in retriever.search(some, 1)] == [(text,) for text in some]
    assert [len(call) for call in scripted.calls] == [1201, 799]


def test_a_file_that_is_no_cache_is_named(tmp_path):
    (tmp_path / "cache.sqlite").write_text("something else that is long enough to be looked at " * 50)
    with pytest.raises(DataError, match=r"cache\.sqlite"):
        Cache(tmp_path / "cache.sqlite")


def search(path, texts=("0",)):
    with closing(Cache(path)) as cache:
        scripted = ScriptedRetriever({str(i): ("d" * 500,) for i in range(100)})
        CachedRetriever("first", scripted, "index", cache, embeds=True).search(list(texts), 1)


def test_a_damaged_page_is_told_when_it_is_read(tmp_path):
    path = tmp_path / "cache.sqlite"
    search(path, map(str, range(100)))
    whole = path.read_bytes()
    path.write_bytes(whole[:4096] + b"\xff" * (len(whole) - 4096))  # the first page holds the schema alone
    with pytest.raises(DataError, match=r"cache\.sqlite"):
        search(path)


@pytest.mark.parametrize("cell", ['{"half": ', None, b"\xff", "[1]"])
def test_an_answer_of_another_form_is_told(tmp_path, cell):
    path = tmp_path / "cache.sqlite"
    search(path)
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("UPDATE answers SET answer = ?", (cell,))
    with pytest.raises(DataError, match=r"cache\.sqlite"):
        search(path)


def test_each_text_is_searched_once_whatever_depth_and_process(open_cache, cache):
    scripted = ScriptedRetriever({"x": ("a", "b", "c"), "y": ("b",)})
    retriever = CachedRetriever("first", scripted, "index", cache, embeds=True)
    got = retriever.search(["x", "y", "x"], 2)
    assert [ranking.doc_ids for ranking in got] == [("a", "b"), ("b",), ("a", "b")]
    assert [ranking.retriever for ranking in got] == ["first"] * 3
    assert retriever.search(["x", "none"], 3)[0].doc_ids == ("a", "b", "c")
    again = CachedRetriever("first", scripted, "index", open_cache(), embeds=True)
    assert again.search(["x", "y", "x"], 2) == got
    assert again.ms("x") == retriever.ms("x") > 0
    assert scripted.calls == [["x", "y"], ["none"]]


def test_a_passage_is_another_search_than_a_query_of_the_same_words(open_cache, cache):
    scripted = ScriptedRetriever({"x": ("a",)})
    for opened in (cache, open_cache()):
        retriever = CachedRetriever("dense", scripted, "index", opened, embeds=True)
        assert [r.doc_ids for r in retriever.search(["x", Passage("x"), "x"], 1)] == [("a",)] * 3
        assert retriever.ms(Passage("x")) > 0
    assert [[type(text) for text in call] for call in scripted.calls] == [[str, Passage]]


def test_another_index_is_searched_anew(cache):
    scripted = ScriptedRetriever({"x": ("a",)})
    for index in ("one", "other"):
        CachedRetriever("dense", scripted, index, cache, embeds=True).search(["x"], 1)
    assert scripted.calls == [["x"], ["x"]]


def test_each_query_is_reformulated_once_and_the_model_loaded_only_for_that(cache):
    counting, loaded = CountingReformulator(), []
    counting.feedback = FeedbackSpec(2, 9)

    def load():
        loaded.append(True)
        return counting

    first = CachedReformulator("words", load, "model", cache)
    queries = [Query("1", "one two"), Query("2", "three", history=read_history(("U: x",))), Query("3", "three")]
    made = first.reformulate(queries)
    assert made == counting.reformulate(queries)
    assert first.feedback == FeedbackSpec(2, 9)

    second = CachedReformulator("words", load, "model", cache)
    assert second.feedback == FeedbackSpec(2, 9)
    assert second.reformulate(queries[::-1]) == made[::-1]
    assert second.ms(queries[0]) == first.ms(queries[0]) > 0
    assert len(loaded) == 1
    assert counting.calls == [queries, queries]  # the second one is of this test


def test_two_queries_of_one_text_come_back_together_from_an_earlier_run(open_cache):
    queries = [Query(name, "Peru Chad", feedback=(Snippet("one", "two"),)) for name in ("1", "2")]
    answers = []
    for _ in range(2):
        asked = CachedReformulator("words", CountingReformulator, "1", open_cache())
        answers.append(asked.reformulate(queries))
    assert answers[0] == answers[1]
    assert [answer.query for answer in answers[1]] == queries


def test_the_same_question_under_another_id_is_known_but_not_with_other_feedback(cache):
    counting = CountingReformulator()
    reformulator = CachedReformulator("words", lambda: counting, "model", cache)
    reformulator.reformulate([Query("1", "one")])
    [made] = reformulator.reformulate([Query("typo of 1", "one")])
    assert made.query.id == "typo of 1"
    assert len(counting.calls) == 1
    reformulator.reformulate([Query("1", "one", feedback=(Snippet("t", "x"),)), Query("1", "One")])
    assert [len(call) for call in counting.calls] == [1, 2]


@pytest.mark.parametrize(("failed_calls", "asked_twice"), [(0, False), (1, True), (2, True)])
def test_an_answer_of_which_a_call_failed_is_asked_again_by_the_next_process_only(cache, failed_calls, asked_twice):
    down = CountingReformulator(failed_calls)
    query = Query("1", "one")
    for _ in range(2):
        reformulator = CachedReformulator("words", lambda: down, "model", cache)
        assert reformulator.reformulate([query]) == reformulator.reformulate([query])
    assert down.calls == [[query]] * (1 + asked_twice)


FAILED = Completion("", 0, finished=False, problem="server down")


@pytest.mark.parametrize(
    ("name", "completions", "asked_twice"),
    [
        ("multi_query+hyde", [FAILED], True),
        ("multi_query+hyde", [Completion("capital city", 2), FAILED], True),
        ("hyde", [Completion("", 1)], False),  # written, and not usable
        ("multi_query+hyde", [Completion("capital city", 2), Completion("", 1)], False),
        ("adaptive", [Completion("opening windows", 2), FAILED], True),  # multi_query+step_back
    ],
)
def test_what_of_a_combination_is_asked_again(open_cache, name, completions, asked_twice):
    model = ScriptedLanguageModel(*completions)

    def load():
        return load_reformulator(name, "scripted", language_model=model)

    calls = []
    for _ in range(2):
        CachedReformulator(name, load, "model", open_cache()).reformulate([Query("1", "How do I open a window?")])
        calls.append(len(model.calls))
    assert calls[1] == (1 + asked_twice) * calls[0] > 0


def test_answers_are_kept_for_the_same_reformulator_model_files_and_settings_that_it_reads(tmp_path):
    """A policy reads no settings of a strategy, and a strategy none of another."""
    (tmp_path / "weights").write_text("old")
    three, four = StrategySettings(num_variants=3), StrategySettings(num_variants=4)
    policy = reformulator_key("policy", str(tmp_path), three)
    assert policy == reformulator_key("policy", str(tmp_path), four)
    assert policy != reformulator_key("policy_with_rules", str(tmp_path), three)
    assert (
        reformulator_key("hyde", "m", three)
        == reformulator_key("hyde", "m", four)
        != reformulator_key("hyde", "n", three)
    )
    assert reformulator_key("multi_query", "m", three) != reformulator_key("multi_query", "m", four)
    changed = (tmp_path / "weights").stat().st_mtime_ns + 1_000_000
    (tmp_path / "weights").write_text("new")
    os.utime(tmp_path / "weights", ns=(changed, changed))
    assert policy != reformulator_key("policy", str(tmp_path), three)


def test_queries_have_the_same_hash_only_if_all_that_is_compared_is_the_same():
    query, qrels, metadata = (
        Query("1", "one", history=read_history(("U: x",))),
        {"1": {"a": 1, "b": 0}},
        {"1": {"kind": "compound"}},
    )
    same = hash_queries([query], qrels, metadata)
    assert same == hash_queries([query], {"1": {"b": 0, "a": 1}, "2": {}}, {"1": {"kind": "compound", "note": "x"}})
    others = [
        ([Query("1", "other", history=query.history)], qrels, metadata),
        ([Query("1", "one")], qrels, metadata),
        ([query], {"1": {"a": 1, "b": 1}}, metadata),
        ([query], qrels, {}),
        ([query, query], qrels, metadata),
    ]
    assert len({same, *(hash_queries(*other) for other in others)}) == 6
