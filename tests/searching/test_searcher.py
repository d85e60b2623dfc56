"""The front door: one path, in parallel, with limits, caches and a trace."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from stand_ins import BrokenRetriever, ScoredRetriever, ScriptedLanguageModel, ScriptedRetriever, ranking, strategy

from acqo_rl.conversations import read_history
from acqo_rl.errors import ConfigError, SearchError
from acqo_rl.fusion import RankScoreFusion, ReciprocalRankFusion
from acqo_rl.reformulation.heuristic import Heuristic
from acqo_rl.reformulation.pass_through import PassThrough
from acqo_rl.reformulation.prompted import Prompted
from acqo_rl.roles import Reformulator, Retriever
from acqo_rl.searching.path import add_feedback, search
from acqo_rl.searching.searcher import AdaptiveSearcher, Timeouts, cluster_by_sub_query
from acqo_rl.searching.sub_queries import RawQueryOnly
from acqo_rl.types import Document, FeedbackSpec, Query, Reformulation, SubQuery

CORPUS = {str(i): Document(str(i), f"title {i}", f"text of {i}") for i in range(10)}


class Scripted(Reformulator):
    """Writes the given sub-queries for every query, round after round."""

    name = "scripted"

    def __init__(self, *rounds, kind="part", route="decompose"):
        self.rounds, self.kind, self.route = rounds, kind, route
        self.asked = []

    def reformulate(self, queries):
        texts = self.rounds[min(len(self.asked), len(self.rounds) - 1)]
        self.asked.append(list(queries))
        subs = tuple(SubQuery(text, self.kind) for text in texts)
        return [Reformulation(query, self.route, subs, self.name, calls=1) for query in queries]


class Echo(Retriever):
    """Finds one document named after itself and the text; holds up some texts until it is released."""

    def __init__(self, name="echo", held=()):
        self.name, self.held = name, set(held)
        self.calls = []
        self.release = threading.Event()

    def search(self, texts, k):
        self.calls.append(list(texts))
        if self.held & set(texts):
            self.release.wait(60)
        return [ranking(f"{self.name}-{text}", retriever=self.name, query=text) for text in texts]


@pytest.fixture
def holding():
    """Makes retrievers that hold up some texts; lets their threads go in the end."""
    made = []

    def make(*held, name="echo"):
        made.append(Echo(name, held))
        return made[-1]

    yield make
    for retriever in made:
        retriever.release.set()


class Meeting(Retriever):
    """Answers a call only when so many are under way at the same time."""

    def __init__(self, calls, name):
        self.barrier = calls if isinstance(calls, threading.Barrier) else threading.Barrier(calls)
        self.name = name

    def search(self, texts, k):
        self.barrier.wait(60)
        return [ranking(f"{self.name}-{text}", retriever=self.name, query=text) for text in texts]


class Failing(Reformulator):
    name = "failing"

    def reformulate(self, queries):
        raise ConnectionError("the model server is down")


def searcher(reformulator, *retrievers, **settings):
    return AdaptiveSearcher(reformulator, retrievers, RankScoreFusion(), **settings)


def test_equals_the_one_path():
    retriever = ScriptedRetriever({"a": ("1", "2"), "b": ("2", "3")})
    reformulator = Scripted(("a", "b"))
    found = searcher(reformulator, retriever).search("q", k=2)
    [expected] = search(reformulator.reformulate([Query("query", "q")]), retriever, RankScoreFusion(), 2)
    assert (found.reformulation, found.rankings, found.fused) == (
        expected.reformulation,
        expected.rankings,
        expected.fused,
    )
    assert not found.failures
    assert [step.name for step in found.trace] == ["reformulation", "retrieval", "fusion"]
    assert all(step.ms >= 0 for step in found.trace)


@given(st.lists(st.text("abAB ?!", min_size=1).filter(str.strip), min_size=1, max_size=5))
def test_a_batch_equals_one_by_one(texts):
    found = {text: (f"d{i}", "x") for i, text in enumerate(dict.fromkeys(texts))}
    together = searcher(PassThrough(), ScriptedRetriever(found), cache_size=0).search_many(texts)
    alone = searcher(PassThrough(), ScriptedRetriever(found), cache_size=0)
    for text, one in zip(texts, together, strict=True):
        assert one.reformulation.query.text == text
        if len({t.casefold().strip(" ?!") for t in texts}) == len(texts):
            assert one.fused == alone.search(text).fused


class TestRetrieval:
    def test_one_call_a_retriever_for_the_whole_batch(self):
        """Every sub-query at every retriever; a retriever that batches is asked once."""
        dense, sparse = Echo("dense"), Echo("sparse")
        found = searcher(Scripted(("a", "b")), dense, sparse).search_many(["q", "r"])
        assert dense.calls == sparse.calls == [["a", "b"]]
        assert [(r.query, r.retriever) for r in found[0].rankings] == [
            ("a", "dense"),
            ("a", "sparse"),
            ("b", "dense"),
            ("b", "sparse"),
        ]

    def test_all_lists_are_in_flight_at_once(self):
        """Parallel, not a loop; five sub-queries at two retrievers, each its own call."""
        barrier = threading.Barrier(10)
        retrievers = Meeting(barrier, "dense"), Meeting(barrier, "sparse")
        found = searcher(Scripted(tuple("abcde")), *retrievers, timeouts=Timeouts(sub_query=60)).search("q")
        assert len(found.rankings) == 10

    def test_two_retrievers_at_once_without_a_limit(self):
        barrier = threading.Barrier(2)
        found = searcher(Scripted(("a", "b")), Meeting(barrier, "dense"), Meeting(barrier, "sparse")).search("q")
        assert len(found.rankings) == 4

    def test_partial_fusion_names_what_is_missing(self, holding):
        """A sub-query that is late is left out, and the fusion goes on."""
        found = searcher(Scripted(("a", "b", "c")), holding("b"), timeouts=Timeouts(sub_query=1)).search("q")
        assert found.fused.doc_ids == ("echo-a", "echo-c")
        [failure] = found.failures
        assert (failure.step, failure.retriever, failure.sub_query) == ("retrieval", "echo", "b")
        assert failure.reason == "TimeoutError: no answer within 1 s"

    def test_a_broken_retriever_leaves_the_other(self):
        found = searcher(Scripted(("a",)), BrokenRetriever(), ScriptedRetriever({"a": ("1",)})).search("q")
        assert found.fused.doc_ids == ("1",)
        assert found.failures[0].reason == "ConnectionError: the search server does not answer"

    def test_a_text_that_fails_leaves_the_others_of_its_batch(self):
        class Picky(Echo):
            def search(self, texts, k):
                if "b" in texts:
                    raise ValueError("no b")
                return super().search(texts, k)

        retriever = Picky()
        found = searcher(Scripted(("a", "b", "c")), retriever).search("q")
        assert set(found.fused.doc_ids) == {"echo-a", "echo-c"}
        assert [(f.sub_query, f.reason) for f in found.failures] == [("b", "ValueError: no b")]
        assert retriever.calls == [["a"], ["c"]]

    def test_a_total_limit_ends_all_waiting(self, holding):
        quick = ScriptedRetriever({"a": ("1",)})
        found = searcher(Scripted(("a",)), holding("a"), quick, timeouts=Timeouts(total=2)).search("q")
        assert (found.fused.doc_ids, [f.retriever for f in found.failures]) == (("1",), ["echo"])

    def test_nothing_back_is_an_error_and_not_an_empty_list(self, holding):
        with pytest.raises(SearchError, match=r"1 of 1 queries.*broken: ConnectionError"):
            searcher(Scripted(("a",)), BrokenRetriever()).search("q")
        with pytest.raises(SearchError):
            searcher(Scripted(("a",)), holding("a"), timeouts=Timeouts(total=0.1)).search("q")

    def test_finding_nothing_is_no_failure(self):
        """A list without documents takes no part."""
        found = searcher(Scripted(("a", "zzz")), ScriptedRetriever({"a": ("1",)})).search("q")
        assert (found.fused.doc_ids, found.failures) == (("1",), ())

    def test_a_retriever_owes_one_ranking_a_text(self):
        class Short(Retriever):
            name = "short"

            def search(self, texts, k):
                return []

        with pytest.raises(SearchError, match=r"0 .* 1 "):
            searcher(PassThrough(), Short()).search("q")


class TestSubQueries:
    def test_empty_and_repeated_ones_are_left_out(self):
        retriever = ScriptedRetriever({})
        searcher(Scripted(("a", " ", "A ?", "b")), retriever).search("q")
        assert retriever.calls == [["a", "b"]]

    @pytest.mark.parametrize("texts", [(), ("", "?")])
    def test_none_left_is_the_raw_query(self, texts):
        retriever = ScriptedRetriever({"q": ("1",)})
        found = searcher(Scripted(texts), retriever).search("q")
        assert (retriever.calls, found.reformulation.route) == ([["q"]], "pass")

    def test_a_decomposition_into_the_query_itself_is_the_simple_path(self):
        found = searcher(Scripted(("Q ?",)), ScriptedRetriever({})).search("q")
        assert found.reformulation.route == "pass"

    @pytest.mark.parametrize("kind", ["hypothetical", "reading", "part", "variant"])
    def test_one_may_be_long(self, kind):
        """A policy's are limited by its grammar; the last turns are as long as they are."""
        retriever = ScriptedRetriever({})
        searcher(Scripted(("x" * 900,), kind=kind), retriever).search("q")
        assert retriever.calls == [["x" * 900]]

    def test_readings_and_what_is_known_of_the_user(self):
        """20 a reading, 10 fused, the context at each reading; each reading keeps its order."""
        found = {
            f"python {r} for my zoo": tuple(f"{r}{i}" for i in range(30)) for r in ("programming language", "snake")
        }
        retriever = ScriptedRetriever(found)
        result = searcher(Heuristic(), retriever, depth=20).search("python", context="for my zoo")
        assert [len(r.doc_ids) for r in result.rankings] == [20, 20]
        assert len(result.fused.doc_ids) == 10
        clusters = cluster_by_sub_query(result)
        assert clusters["python snake for my zoo"] == tuple(f"snake{i}" for i in range(5))
        assert sum(map(len, clusters.values())) == 10

    def test_the_worked_example_of_a_crisis_and_its_bill(self):
        """A compound question searched in parts; one call of the library."""
        question = "What caused the 2008 financial crisis and how did regulators respond?"
        retriever = ScriptedRetriever({"What caused the 2008 financial crisis": ("causes",)})
        found = searcher(Heuristic(), retriever).search(question)
        assert found.reformulation.route == "decompose"
        assert len(retriever.calls[0]) == 2
        assert "causes" in found.fused.doc_ids

    def test_one_model_call_a_query_at_most(self):
        """Classification and decomposition together."""
        model = ScriptedLanguageModel('{"kind": "compound", "searches": ["a", "b"]}')
        searcher(Prompted(model, [strategy("prompted")]), ScriptedRetriever({})).search("a and b")
        assert len(model.calls) == 1 and len(model.calls[0]) == 1


class TestReformulation:
    @pytest.mark.parametrize("answers", [[], None])
    def test_one_that_owes_answers_has_failed(self, answers):
        class Careless(Reformulator):
            name = "careless"

            def reformulate(self, queries):
                return answers

        found = searcher(Careless(), Echo()).search("q")
        assert [s.text for s in found.reformulation.sub_queries] == ["q"]
        assert [failure.step for failure in found.failures] == ["reformulation"]

    def test_a_failure_falls_back_to_the_raw_query(self):
        found = searcher(Failing(), ScriptedRetriever({"q": ("1",)})).search("q")
        assert found.fused.doc_ids == ("1",)
        assert found.failures[0].step == "reformulation"
        assert found.reformulation.problem == "ConnectionError: the model server is down"

    def test_a_late_one_too(self):
        over = threading.Event()

        class Late(PassThrough):
            def reformulate(self, queries):
                over.wait(60)

        limits = Timeouts(total=30, reformulation=0.1)
        found = searcher(Late(), ScriptedRetriever({"q": ("1",)}), timeouts=limits).search("q")
        over.set()
        assert (found.fused.doc_ids, found.reformulation.route) == (("1",), "pass")

    def test_empty_queries_and_bad_settings_are_refused(self):
        with pytest.raises(ConfigError):
            searcher(PassThrough(), ScriptedRetriever({})).search(" \x00")
        with pytest.raises(ConfigError):
            searcher(PassThrough(), ScriptedRetriever({})).search("q", 0)
        with pytest.raises(ConfigError, match="scripted"):
            searcher(PassThrough(), ScriptedRetriever({}), ScriptedRetriever({}))
        with pytest.raises(ConfigError, match=r"1 results.* corpus"):
            searcher(PassThrough(), ScriptedRetriever({}), feedback=FeedbackSpec(1))


FOUND = {"q": ("1", "2"), "a": ("3",), "b": ("4",), "c": ("5",)}


def test_one_event_per_reformulation_without_its_text(caplog):
    front = searcher(Scripted(("secret part", "a")), ScriptedRetriever(FOUND))
    with caplog.at_level(logging.INFO, logger="acqo_rl"):
        front.search_many(["q", "other", "q"])
    events = [record for record in caplog.records if record.message == "query_rewriting_completed"]
    assert [(e.num_variants, e.original_query_length, e.failed) for e in events] == [(2, 1, False), (2, 5, False)]
    assert all(e.asked == e.strategy and e.rewriting_duration_ms >= 0 and e.model_calls == 1 for e in events)
    assert "secret" not in str([vars(e) for e in events])


class TestFeedback:
    def test_is_what_the_one_path_shows(self):
        reformulator, retriever = Scripted(("a",)), ScriptedRetriever(FOUND)
        searcher(reformulator, retriever, corpus=CORPUS, feedback=FeedbackSpec(2, 2)).search("q")
        [expected] = add_feedback([Query("query", "q")], retriever, RankScoreFusion(), CORPUS, FeedbackSpec(2, 2))
        assert reformulator.asked == [[expected]]

    def test_is_what_a_policy_was_trained_to_read(self):
        class Reads(Scripted):
            feedback = FeedbackSpec(2, 3)

        reformulator, retriever = Reads(("a",)), ScriptedRetriever(FOUND)
        searcher(reformulator, retriever, corpus=CORPUS).search("q")
        [expected] = add_feedback([Query("query", "q")], retriever, RankScoreFusion(), CORPUS, FeedbackSpec(2, 3))
        assert reformulator.asked == [[expected]]
        with pytest.raises(ConfigError, match=r"2 results.* corpus"):
            searcher(reformulator, retriever)
        searcher(reformulator, retriever, feedback=FeedbackSpec(0)).search("q")
        assert reformulator.asked[-1] == [Query("query", "q")]

    def test_the_first_list_is_not_searched_again(self):
        retriever = ScriptedRetriever(FOUND)
        settings = {"corpus": CORPUS, "feedback": FeedbackSpec(2)}
        found = searcher(PassThrough(), retriever, **settings).search("q")
        assert retriever.calls == [["q"]]
        assert [step.name for step in found.trace] == ["feedback", "reformulation", "retrieval", "fusion"]

    def test_a_reformulation_alone_is_that_of_a_search(self):
        settings = {"corpus": CORPUS, "feedback": FeedbackSpec(1)}
        alone = searcher(Scripted(("a", "b"), ("b", "c")), ScriptedRetriever(FOUND), **settings).reformulate("q")
        found = searcher(Scripted(("a", "b"), ("b", "c")), ScriptedRetriever(FOUND), **settings).search("q")
        assert alone == found.reformulation

    def test_a_first_list_that_failed_is_named_and_not_kept(self):
        """The policy did not see what it should have: its searches came back, and the result is still partial."""

        class OnceDown(ScriptedRetriever):
            def search(self, texts, k):
                if texts == ["q"] and not self.calls:
                    self.calls.append(texts)
                    raise ConnectionError("the index is down")
                return super().search(texts, k)

        front = searcher(Scripted(("a",)), OnceDown(FOUND), corpus=CORPUS, feedback=FeedbackSpec(1))
        found = front.search("q")
        assert (found.fused.doc_ids, [f.sub_query for f in found.failures]) == (("3",), ["q"])
        again = front.search("q")
        assert (again.cached, again.failures, len(again.reformulation.query.feedback)) == (False, (), 1)


class TestCache:
    def ask(self, *texts, **settings):
        retriever = ScriptedRetriever({text: (text,) for text in texts})
        front = searcher(PassThrough(), retriever, **settings)
        return [front.search(text) for text in texts], retriever

    @pytest.mark.parametrize(
        "texts",
        [("C++", "C", "C#"), ("10.5", "105"), ("-5", "5"), ("???", "!!!"), ("a b", "ab"), ("US?", "us?", "US ?")],
        ids=str,
    )
    def test_what_differs(self, texts):
        """An index finds other documents for another wording, if only by a little."""
        results, _ = self.ask(*texts)
        assert [r.fused.doc_ids for r in results] == [(text,) for text in texts]
        assert not any(r.cached for r in results)

    def test_the_same_text_is_searched_once(self):
        results, retriever = self.ask("What is FAISS?", "What is FAISS?")
        assert [r.cached for r in results] == [False, True]
        assert retriever.calls == [["What is FAISS?"]]

    def test_k_history_and_context_are_part_of_the_key(self):
        retriever = ScriptedRetriever({"q": ("1", "2")})
        front = searcher(PassThrough(), retriever)
        front.search("q", 1)
        assert len(front.search("q", 2).fused.doc_ids) == 2
        assert not front.search(Query("q", "q", history=read_history(("before",))), 1).cached
        assert not front.search("q", 1, context="x").cached
        assert front.search("q", 1).cached

    def test_another_index_is_another_result(self):
        retriever = ScriptedRetriever({"q": ("1",)})
        retriever.fingerprint = "first"
        front = searcher(PassThrough(), retriever)
        front.search("q")
        retriever.fingerprint = "second"
        assert not front.search("q").cached

    def test_the_reformulation_is_kept_for_another_k(self):
        reformulator = Scripted(("a",))
        front = searcher(reformulator, ScriptedRetriever({}))
        assert front.search("q", 1).reformulation.calls == 1
        assert front.search("q", 2).reformulation.calls == 0
        assert len(reformulator.asked) == 1

    def test_a_partial_result_is_not_kept(self, holding):
        retriever = holding("b")
        front = searcher(Scripted(("a", "b")), retriever, timeouts=Timeouts(sub_query=1))
        assert front.search("q").failures
        retriever.held = set()
        again = front.search("q")
        assert (again.cached, again.failures, len(again.rankings)) == (False, (), 2)

    def test_a_failed_reformulation_is_not_kept(self):
        front = searcher(Failing(), ScriptedRetriever({}))
        assert not any(front.search("q").cached for _ in range(2))

    def test_a_result_without_what_a_model_server_owes_is_named_and_not_kept(self):
        """A combination of which one call failed; a reply that cannot be used is kept."""

        class Half(Scripted):
            def reformulate(self, queries):
                [made] = super().reformulate(queries)
                return [replace(made, problem="hyde: InternalServerError: 500", failed_calls=self.failed)]

        for failed, kept in ((1, False), (0, True)):
            half = Half(("a",))
            half.failed = failed
            front = searcher(half, ScriptedRetriever({"a": ("1",)}))
            found = front.search("q")
            assert [f.reason for f in found.failures] == ["hyde: InternalServerError: 500"] * failed
            assert front.search("q").cached == kept

    def test_entries_grow_old_and_are_bounded(self):
        _, retriever = self.ask("a", "b", "a", cache_size=1)
        assert len(retriever.calls) == 3
        front = searcher(PassThrough(), retriever, cache_seconds=0.05)
        front.search("a")
        time.sleep(0.1)
        assert not front.search("a").cached

    def test_a_batch_searches_the_same_query_once(self):
        retriever = ScriptedRetriever({"q": ("1",)})
        results = searcher(PassThrough(), retriever).search_many([Query("1", "q"), Query("2", "q")])
        assert retriever.calls == [["q"]]
        assert [r.reformulation.query.id for r in results] == ["1", "2"]


class TestAtTheSameTime:
    def test_asearch_leaves_the_loop_free(self):
        front = searcher(PassThrough(), Meeting(8, "echo"), cache_size=0)

        async def ask():
            return await asyncio.gather(*(front.asearch(f"q{i}") for i in range(8)))

        assert [r.fused.doc_ids for r in asyncio.run(ask())] == [(f"echo-q{i}",) for i in range(8)]

    def test_many_threads_mix_nothing_up(self):
        front = searcher(PassThrough(), Echo("dense"), Echo("sparse"), cache_size=2, timeouts=Timeouts(sub_query=60))
        wrong = []

        def ask(number):
            for i in range(20):
                text = f"q{number}-{i % 3}"
                if set(front.search(text).fused.doc_ids) != {f"dense-{text}", f"sparse-{text}"}:
                    wrong.append(text)

        threads = [threading.Thread(target=ask, args=(n,)) for n in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not wrong

    def test_no_thread_is_started_for_a_query(self):
        before = set(threading.enumerate())
        front = searcher(Scripted(("a", "b")), Echo(), timeouts=Timeouts(sub_query=60), threads=2)
        for i in range(20):
            front.search(f"q{i}")
        assert len(set(threading.enumerate()) - before) <= 2
        front.close()


def test_another_fusion_and_weights():
    subs = (SubQuery("a", "original", 0.1), SubQuery("b", "part", 1.0))

    class Weighted(PassThrough):
        def reformulate(self, queries):
            return [Reformulation(q, "decompose", subs, "weighted") for q in queries]

    retriever = ScriptedRetriever({"a": ("1",), "b": ("2",)})
    found = AdaptiveSearcher(Weighted(), retriever, ReciprocalRankFusion()).search("q")
    assert found.fused.doc_ids == ("2", "1")


def test_real_parts():
    """Rules, BM25 and RSF over a real index: both halves of a compound question come back."""
    from acqo_rl.retrieval.bm25 import Bm25Retriever

    cities = {"Peru": "Lima", "Chad": "Ndjamena", "Norway": "Oslo", "Japan": "Tokyo"}
    documents = [Document(p, p, f"{city} is the capital of {p}.") for p, city in cities.items()]
    retriever = Bm25Retriever.build([d.text for d in documents], [d.id for d in documents])
    front = AdaptiveSearcher(Heuristic(), retriever, RankScoreFusion())
    found = front.search("what is the capital of Peru and what is the capital of Japan", k=2)
    assert set(found.fused.doc_ids) == {"Peru", "Japan"}
    assert {doc_id for ids in cluster_by_sub_query(found).values() for doc_id in ids} == {"Peru", "Japan"}


def test_a_searcher_leaves_out_what_is_less_similar_than_its_threshold_or_that_of_a_call():
    retriever = ScoredRetriever("dense", {"near": 0.6, "far": 0.2})
    searcher = AdaptiveSearcher(Scripted(["near", "far"]), retriever, RankScoreFusion(), score_threshold=0.5)
    assert searcher.search("q").fused.doc_ids == ("near",)
    assert searcher.search("q", score_threshold=0.1).fused.doc_ids == ("near", "far")
    nothing = searcher.search("q", score_threshold=0.9)
    assert (nothing.fused.doc_ids, nothing.failures, len(nothing.rankings)) == ((), (), 2)
    assert searcher.search("q").cached


def test_a_searcher_has_cosines_if_all_of_its_retrievers_have():
    words = ScoredRetriever("words", {})
    words.cosine = False
    dense = ScoredRetriever("dense", {})
    for retrievers, cosine in ((dense, True), ([dense, words], False), ([dense, RawQueryOnly(words)], False)):
        assert AdaptiveSearcher(PassThrough(), retrievers, RankScoreFusion()).cosine == cosine


def test_what_only_the_raw_query_finds_is_clustered_under_the_raw_query():
    dense, words = ScriptedRetriever({"part": ("a",)}), ScriptedRetriever({"q": ("b",)})
    words.name = "words"
    found = searcher(Scripted(("part",)), dense, RawQueryOnly(words)).search("q")
    assert cluster_by_sub_query(found) == {"part": ("a",), "q": ("b",)}


def test_a_searcher_without_cosines_refuses_a_threshold():
    words = ScoredRetriever("words", {})
    words.cosine = False
    with pytest.raises(ConfigError):
        AdaptiveSearcher(PassThrough(), words, RankScoreFusion(), score_threshold=0.5)
    with pytest.raises(ConfigError):
        AdaptiveSearcher(PassThrough(), words, RankScoreFusion()).search("q", score_threshold=0.5)
