"""An index behind a real server against the same index in this process."""

from __future__ import annotations

import json
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx
import pytest
from serving_stand_ins import running
from shared import in_thread
from stand_ins import ScriptedRetriever

from acqo_rl.data.beir import corpus_hash, write_beir
from acqo_rl.errors import IndexMismatchError, SearchError
from acqo_rl.fusion import RankScoreFusion
from acqo_rl.retrieval.build import build_bm25_index, build_dense_index
from acqo_rl.retrieval.encoder import SentenceTransformerEncoder
from acqo_rl.retrieval.http_calls import CircuitBreaker, Server
from acqo_rl.retrieval.load import load_retriever
from acqo_rl.retrieval.remote import RemoteRetriever, describe
from acqo_rl.serving.limits import Limits
from acqo_rl.serving.metrics import Metrics
from acqo_rl.serving.retriever_app import make_retriever_app
from acqo_rl.time_limit import TimeLimit, limited
from acqo_rl.types import Document, Passage

DOCUMENTS = [
    Document(f"d{i}", f"Title {i}", f"passage {i} about {w}") for i, w in enumerate(["red", "green", "blue"] * 9)
]
TEXTS = ["about red", "passage 7", "", "nothing of this", "about red", "caf\u00e9 \ud800 \U0001f600"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("remote")
    write_beir(folder, DOCUMENTS, [], {})
    build_bm25_index(folder / "index", DOCUMENTS)
    return folder


@pytest.fixture(scope="module")
def url(folder):
    index = str(folder / "index")
    app = make_retriever_app(load_retriever(index), describe(index), Metrics(), Limits(body_bytes=100_000))
    with running(app) as url:
        yield url


@pytest.fixture
def connect():
    """Makes clients that do not wait long."""
    made = []

    def connected(url, **settings):
        made.append(RemoteRetriever(url, longest_pause=0.01, **settings))
        return made[-1]

    yield connected
    for retriever in made:
        retriever.close()


@pytest.fixture
def scripted():
    """A server that answers each call with the next status, again and again with the last one, and counts."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            self.do_POST()

        def do_POST(self):
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            self.server.calls += 1
            status, body = self.server.script.pop(0) if len(self.server.script) > 1 else self.server.script[0]
            if status == 0:  # hang up
                return
            if status == 1:  # stall
                self.server.stalled.wait(5)
                return
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.calls, server.script, server.stalled = 0, [], threading.Event()
    server.url = f"http://127.0.0.1:{server.server_port}"
    with in_thread(server, server.stalled):
        yield server


GOOD = (200, b'{"rankings": [{"doc_ids": ["a"], "scores": [0.1]}], "fingerprint": "one"}')


class TestSameAsInProcess:
    def test_rankings_are_equal_position_for_position(self, folder, url):
        """Ids, scores to the last bit, names and texts."""
        local = load_retriever(folder / "index")
        behind = load_retriever(url, expected_corpus_hash=corpus_hash(DOCUMENTS))
        for k in (1, 5, 100):
            assert behind.search(TEXTS, k) == local.search(TEXTS, k)
        assert (behind.cosine, local.cosine) == (False, False)
        assert behind.search([], 5) == []
        behind.close()

    def test_a_position_is_any_whole_number_of_json(self, url):
        body = {"texts": ["about red"], "k": 1}
        statuses = [httpx.post(f"{url}/search", json={**body, "passages": [p]}).status_code for p in (0, 0.0, 0.5, -1)]
        assert statuses == [200, 200, 422, 422]

    def test_passages_arrive_as_such(self, url, connect):
        """HyDE by way of a server; one who sends none asks as before."""
        index = ScriptedRetriever({"b": ("d1",)})
        info = connect(url).info()
        with running(make_retriever_app(index, info, Metrics(), Limits())) as address:
            found = connect(address).search(["a", Passage("b")], 3)
            connect(address).search(["a"], 3)
        assert [[type(text) for text in call] for call in index.calls] == [[str, Passage], [str]]
        assert [r.doc_ids for r in found] == [(), ("d1",)]

    def test_so_are_rewards(self, folder, url):
        from acqo_rl.reformulation.heuristic import Heuristic
        from acqo_rl.searching.path import search
        from acqo_rl.types import Query

        made = Heuristic().reformulate([Query("1", "Compare red and green"), Query("2", "passage 4")])
        behind = load_retriever(url)
        found = [
            search(made, retriever, RankScoreFusion(), 10) for retriever in (load_retriever(folder / "index"), behind)
        ]
        assert found[0] == found[1]
        behind.close()

    @pytest.mark.slow
    def test_so_are_those_of_a_real_encoder_asked_at_once(self, tmp_path):
        """Up to the rounding of an encoder on several threads."""
        build_dense_index(tmp_path / "dense", DOCUMENTS, SentenceTransformerEncoder("embedded:minilm"))
        local = load_retriever(tmp_path / "dense")
        calls = [[f"passage {i} about {word}" for word in ("red", "blue")[: 1 + i % 2]] for i in range(8)]
        wanted = [local.search(texts, 10) for texts in calls]
        app = make_retriever_app(local, describe(str(tmp_path / "dense")), Metrics(), Limits(concurrency=1))
        with running(app) as url, ThreadPoolExecutor(8) as pool:
            behind = load_retriever(url)
            found = list(pool.map(lambda texts: behind.search(texts, 10), calls))
            behind.close()
        for local_rankings, rankings in zip(wanted, found, strict=True):
            assert [(r.query, r.doc_ids) for r in rankings] == [(r.query, r.doc_ids) for r in local_rankings]
            for one, other in zip(rankings, local_rankings, strict=True):
                assert one.scores == pytest.approx(other.scores, abs=1e-6)

    def test_another_corpus_is_refused(self, folder, url):
        assert describe(url) == describe(str(folder / "index"))
        with pytest.raises(IndexMismatchError, match=r"expected 0{8}[)]"):
            load_retriever(url, expected_corpus_hash="0" * 64)


class TestFailures:
    @pytest.mark.parametrize("passing", [(503, b""), (429, b""), (500, b""), (0, b"")])
    def test_what_may_pass_is_tried_again(self, connect, scripted, passing):
        scripted.script = [passing, passing, GOOD]
        [ranking] = connect(scripted.url).search(["x"], 1)
        assert (ranking.doc_ids, ranking.scores, scripted.calls) == (("a",), (0.1,), 3)

    def test_a_refusal_is_not(self, connect, scripted):
        scripted.script = [(422, b"no such thing")]
        with pytest.raises(SearchError, match="422: no such thing"):
            connect(scripted.url).search(["x"], 1)
        assert scripted.calls == 1

    def test_after_the_last_attempt_it_is_raised_and_is_no_empty_result(self, connect, scripted):
        scripted.script = [(503, b"down")]
        with pytest.raises(SearchError, match="503"):
            connect(scripted.url, attempts=3).search(["x"], 1)
        assert scripted.calls == 3

    def test_without_a_limit_of_time_it_outlives_a_restart(self, url, scripted):
        """As long as a training run needs: thirty calls, of which the breaker cuts none off."""
        info = asdict(describe(url))
        answer = json.dumps({"rankings": [{"doc_ids": ["a"], "scores": [0.1]}], "fingerprint": info["fingerprint"]})
        scripted.script = [(200, json.dumps(info).encode()), *[(503, b"")] * 20, (200, answer.encode())]
        retriever = load_retriever(scripted.url)
        retriever._server._retrying.sleep = lambda _: None
        for _ in range(40):
            retriever._server._breaker.record(success=False)  # other threads wait for the server too
        assert retriever.search(["x"], 1)[0].doc_ids == ("a",)
        retriever.close()

    def test_a_stall_ends(self, connect, scripted):
        scripted.script = [(1, b"")]
        with pytest.raises(SearchError, match="ReadTimeout"):
            connect(scripted.url, timeout=0.1, attempts=2).search(["x"], 1)
        assert scripted.calls == 2

    def test_all_attempts_together_have_a_time(self, connect, scripted):
        """A stall ends with the search's time, not with that of a call; what passes quickly is still tried again."""
        scripted.script = [(503, b""), (1, b"")]
        begin = time.monotonic()
        with pytest.raises(SearchError, match="ReadTimeout"):
            connect(scripted.url, timeout=30, seconds=0.2).search(["x"], 1)
        assert time.monotonic() - begin < 2
        assert scripted.calls == 2

    def test_another_index_behind_the_same_url_is_refused(self, connect, scripted):
        scripted.script = [GOOD]
        assert connect(scripted.url, fingerprint="one").search(["x"], 1)
        with pytest.raises(SearchError, match=r"\(one, .*other\)"):
            connect(scripted.url, fingerprint="other").search(["x"], 1)
        assert scripted.calls == 2

    @pytest.mark.parametrize(
        "body",
        [
            b"{}",
            b"[]",
            b"no json",
            b'{"rankings": [], "fingerprint": ""}',
            b'{"rankings": [{"doc_ids": ["a"]}], "fingerprint": ""}',
            b'{"rankings": [{"doc_ids": ["a"], "scores": ["0.1"]}], "fingerprint": ""}',
            b'{"rankings": [{"doc_ids": ["a"], "scores": [NaN]}], "fingerprint": ""}',
            b'{"rankings": [{"doc_ids": [1], "scores": [0.1]}], "fingerprint": ""}',
            b'{"rankings": [{"doc_ids": ["a", "b"], "scores": [0.1]}], "fingerprint": ""}',
        ],
    )
    def test_an_answer_of_another_form(self, connect, scripted, body):
        scripted.script = [(200, body)]
        with pytest.raises(SearchError):
            connect(scripted.url).search(["x"], 1)

    def test_too_much_at_once(self, connect, url):
        with pytest.raises(SearchError, match="413"):
            connect(url, attempts=1).search(["x" * 99_000, "y" * 99_000], 1)
        with pytest.raises(SearchError, match="422"):
            connect(url).search(["x"], 0)

    def test_the_server_says_how_long_to_wait(self):
        import httpx

        class Outcome:
            def exception(self):
                response = httpx.Response(429, headers={"Retry-After": "7"}, request=httpx.Request("POST", "http://a"))
                return httpx.HTTPStatusError("", request=response.request, response=response)

        class State:
            outcome, attempt_number = Outcome(), 1

        for longest, waited in ((10.0, 7), (5.0, 5)):
            server = Server("http://a", "A server", None, longest_pause=0.1, longest_retry_after=longest)
            assert server._retrying.wait(State()) == waited

    def test_the_key_is_sent(self, folder, connect, monkeypatch):
        index = str(folder / "index")
        app = make_retriever_app(load_retriever(index), describe(index), Metrics(), Limits(keys=("secret",)))
        with running(app) as url:
            with pytest.raises(SearchError, match="401"):
                connect(url).search(["x"], 1)
            monkeypatch.setenv("ACQO_RETRIEVER_KEY", "secret")
            assert len(connect(url).search(["about red"], 3)[0].doc_ids) == 3


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_a_server_on_this_machine_is_not_asked_through_a_proxy(dead_proxy, url, connect, host):
    retriever = connect(url.replace("127.0.0.1", host), attempts=1)
    assert len(retriever.search(["about red"], 3)[0].doc_ids) == 3


def test_a_call_ends_with_the_time_limit_of_the_request(connect, scripted):
    scripted.script = [(1, b"")]
    begin = time.monotonic()
    with pytest.raises(SearchError), limited(TimeLimit(0.2)):
        connect(scripted.url, attempts=1).search(["x"], 1)
    assert time.monotonic() - begin < 4


class TestCircuitBreaker:
    def test_a_server_that_is_down_is_left_alone_then_tried_once(self, connect, scripted):
        now = [0.0]
        breaker = CircuitBreaker(failures=3, seconds=10, clock=lambda: now[0])
        retriever = connect(scripted.url, attempts=1, breaker=breaker)
        scripted.script = [(503, b"")]
        for _ in range(5):
            with pytest.raises(SearchError):
                retriever.search(["x"], 1)
        assert scripted.calls == 3
        now[0] = 10.0
        with pytest.raises(SearchError, match="503"):
            retriever.search(["x"], 1)
        with pytest.raises(SearchError, match="paused"):
            retriever.search(["x"], 1)
        assert scripted.calls == 4
        now[0], scripted.script = 20.0, [GOOD]
        assert [len(retriever.search(["x"], 1)) for _ in range(3)] == [1, 1, 1]

    def test_busy_is_not_down(self, connect, scripted):
        scripted.script = [(429, b"")] * 5 + [GOOD]
        retriever = connect(scripted.url, attempts=6, breaker=CircuitBreaker(failures=2))
        assert retriever.search(["x"], 1)[0].doc_ids == ("a",)
