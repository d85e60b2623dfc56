"""A strategy makes the same searches and returns the same ranking in every interface.

Commands, service, adapters and indexes are real. Only the language models are stand-ins, whose completion depends on
the prompt alone.
"""

import asyncio
import hashlib
from functools import lru_cache

import httpx
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from shared import PLACES

from acqo_rl.cli import module_of
from acqo_rl.conversations import read_history
from acqo_rl.data.beir import read_corpus, write_beir
from acqo_rl.evaluation.indexes import open_retrievers
from acqo_rl.evaluation.systems import evaluate_systems, open_systems
from acqo_rl.reformulation.load import (
    REWRITE_RETRIEVE_READ,
    WITHOUT_MODEL,
)
from acqo_rl.reformulation.policy import Policy, PolicySettings, prompt_of
from acqo_rl.reformulation.settings import StrategySettings
from acqo_rl.retrieval.build import build_bm25_index, build_dense_index
from acqo_rl.retrieval.load import load_retriever
from acqo_rl.retrieval.settings import IndexSettings
from acqo_rl.roles import Encoder, LanguageModel
from acqo_rl.searching.assemble import load_searcher
from acqo_rl.serving.app import make_app
from acqo_rl.serving.limits import Limits
from acqo_rl.serving.load import ServiceSettings, load_service
from acqo_rl.text import normalised
from acqo_rl.types import Completion, Document, Query, Turn

SHOWN = 20
"""Maximum number of documents in a response of the service."""

NAMES = (
    *("rules", "raw", "turns", "policy", "auto", "prompted", "adaptive", "multi_query", "hyde"),
    *("step_back", "decomposition", "expansion", "rewrite", "multi_query+hyde", REWRITE_RETRIEVE_READ),
)
LONG = "the harbour and the bank of the old town by the river in the north of the country " * 4

OF_POLICY = ("pass", "resolve\nTokyo bank", "resolve\n=\nCuba", "split\ncapital\nmoney\nHavana", "resolve\n{asked}",
             "resolve\n=", "gibberish", "split\nLima\nlima ?\n= Peru", "", f"split\n{LONG}\nOslo")  # fmt: skip
OF_MODEL = (
    '["capital of Peru", "Capital of  Peru?"]',
    '{"kind": "compound", "searches": ["Oslo", "OSLO.", "{asked}"]}',
    '{"kind": "ambiguous", "searches": ["bank of Kenya"]}',
    f'["{LONG}", "money"]',
    '["Lima", "currency of Cuba"]',
    '"{asked}"',
    '["Lima is the capital of Peru.", "It lies by the sea."]',
    "Which city do you mean?",
    "???",
    "",
)


class ByPrompt(LanguageModel):
    """A language model whose completion depends only on its prompt; some completions repeat the query in capitals."""

    def __init__(self, completions):
        self.completions = completions

    def generate(self, conversations, schema=None):
        return [self._complete(conversation[-1]["content"]) for conversation in conversations]

    def _complete(self, prompt):
        chosen = self.completions[hashlib.sha256(prompt.encode()).digest()[0] % len(self.completions)]
        return Completion(chosen.replace("{asked}", prompt.rpartition("Question: ")[2].upper()), 3)


class ByWords(Encoder):
    """An encoder that sums one vector per word."""

    fingerprint = "by words"
    dim = 16

    def encode_queries(self, texts):
        rows = np.array([self._add(text.lower().split()) for text in texts], dtype=np.float32).reshape(-1, self.dim)
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)

    encode_passages = encode_queries

    def _add(self, words):
        digests = [hashlib.sha256(word.strip("?!.,").encode()).digest()[: self.dim] for word in ["", *words]]
        return [sum(byte - 127.5 for byte in bytes_) for bytes_ in zip(*digests, strict=True)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("ways")
    documents = [Document(f"{p}-capital", p, f"{city} is the capital of {p}.") for p, city in PLACES.items()]
    documents += [Document(f"{p}-money", p, f"The currency of {p} is printed by its own bank.") for p in PLACES]
    documents += [Document(f"mercury-{what}", f"Mercury ({what})", f"A {what} of old.") for what in ("planet", "god")]
    write_beir(folder / "data", documents, [Query("q", "Peru")], {"test": {"q": {"Peru-capital": 1}}})
    build_bm25_index(folder / "bm25", documents)
    build_dense_index(folder / "dense", documents, ByWords())
    return folder


class Ways:
    """All interfaces to one index and one fusion, opened once."""

    def __init__(self, folder, index, fusion):
        self.data = str(folder / "data")
        self.index = index
        self.fusion = fusion
        self.output = folder / "output"
        self.output.mkdir(exist_ok=True)
        self.corpus = read_corpus(self.data)
        self.evaluate = module_of("evaluate")
        models = [name if name in WITHOUT_MODEL else f"{name}=model" for name in NAMES]
        self.service = load_service(
            ServiceSettings([f"world={self.data},{index}"], strategies=models, fusion=fusion), StrategySettings()
        )
        self.app = make_app(self.service, Limits())
        self.scripts = {}

    def all(self, name, queries):
        """Interface -> the searches and results of each query."""
        yield "evaluate", self.by_evaluation(name, queries)
        yield "load_searcher", [self.by_script(name, query) for query in queries]
        yield "HTTP", asyncio.run(self.by_http(name, queries))

    def by_evaluation(self, name, queries):
        given = name if name in WITHOUT_MODEL else f"{name}=model"
        config = self.evaluate.EvaluateConfig(
            self.data, "test", [self.index], str(self.output), reformulator=[given], fusion=[self.fusion]
        )
        qrels = {query.id: {"Peru-capital": 1} for query in queries}
        file = self.output / "cache.sqlite"
        retrievers = open_retrievers(config.index, config, self.corpus, file)
        paths = config.paths(config.reformulator, config.strategy)
        systems = open_systems(paths, retrievers, config.fusion, self.corpus, file)
        [evaluation] = evaluate_systems(systems, queries, qrels, kinds={}, measures=["R@10"]).values()
        return [_seen(result, result.ranking) for result in evaluation.results]

    def by_script(self, name, query):
        if name not in self.scripts:
            self.scripts[name] = load_searcher(
                self.index, self.data, reformulator=name, model="model", fusion=self.fusion
            )
        return _seen(self.scripts[name].search(query, 100))

    async def by_http(self, name, queries):
        transport = httpx.ASGITransport(self.app)
        async with httpx.AsyncClient(transport=transport, base_url="http://service") as client:
            return [await self._post(client, name, query) for query in queries]

    async def _post(self, client, name, query):
        body = {"query": query.text, "history": [*map(str, query.history)], "rewriting_strategy": name, "limit": SHOWN}
        answer = await client.post("/v1/search", json=body)
        assert answer.status_code == 200, answer.text
        return _replied(answer.json())

    def close(self):
        self.service.close()


def _replied(reply):
    variants = [(v["text"], v["kind"], v["weight"], v["min_margin"]) for v in reply["query_rewrite_info"]["variants"]]
    return variants, [(row["document_id"], row["score"]) for row in reply["results"]]


def _seen(result, ranking=None):
    ranking = ranking or result.fused
    subs = [(s.text, s.kind, s.weight, s.min_margin) for s in result.reformulation.sub_queries]
    return subs, list(zip(ranking.doc_ids, ranking.scores, strict=True))


@pytest.fixture(scope="module")
def scripted():
    """Replaces all models by stand-ins; the policy reads two results of feedback and uses ``raw_query_margin``."""
    settings = PolicySettings(feedback_results=2, feedback_words=9, raw_query_margin=0.05)

    def load_policy(model, *, name, **_):
        return Policy(ByPrompt(OF_POLICY), prompt_of(settings, lambda text: len(text.split())), settings, name)

    @lru_cache
    def open_index(index):
        return load_retriever(index, encoder=ByWords())

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(IndexSettings, "open_index", lambda _, index, **__: open_index(index))
        patch.setattr(Policy, "from_pretrained", load_policy)
        patch.setattr("acqo_rl.reformulation.load.read_settings", lambda _: settings)
        patch.setattr("acqo_rl.language_models.load.load_language_model", lambda *_, **__: ByPrompt(OF_MODEL))
        yield


@pytest.fixture(scope="module", params=[("dense", "rsf"), ("bm25+dense", "combsum"), ("dense+bm25", "rrf")], ids=str)
def ways(folder, scripted, request):
    index, fusion = request.param
    ways = Ways(folder, "+".join(f"{folder}/{part}" for part in index.split("+")), fusion)
    yield ways
    ways.close()


PHRASES = st.sampled_from(
    ["Peru", "capital of Peru", "Compare Oslo and Lima", "compare the capital and the currency of Chad", "Mercury",
     "and its bank?", "Where is it", "How long does it take", "US", "polish food", "Polish food", "R&D", "C++", "???",
     "mer\u00adcury", "\u200bOslo", "caf\u00e9", "cafe\u0301", "\u6771\u4eac", "- x: y", LONG.strip()]
)  # fmt: skip
TEXTS = st.builds(
    lambda words, space, case, end: case(space.join(words) + end),
    st.lists(st.one_of(PHRASES, st.text(st.characters(codec="utf-8"), max_size=6)), min_size=1, max_size=4),
    st.sampled_from([" ", "  ", "\u00a0", "\n", " and ", ", "]),
    st.sampled_from([str, str.upper, str.lower]),
    st.sampled_from(["", "?", " ?", " ", "!"]),
).filter(lambda text: normalised(text) or text.strip() == "???")
CONVERSATIONS = st.lists(st.builds(Turn, st.sampled_from(["user", "assistant"]), TEXTS.map(str.strip)), max_size=8)


@given(st.sampled_from(NAMES), st.lists(st.tuples(TEXTS, CONVERSATIONS), min_size=1, max_size=3))
@example("turns", [("its bank", [Turn("assistant", LONG.strip())])])
@example("rules", [("polish food", []), ("Polish food", []), ("POLISH FOOD?", [])])
@example("raw", [("Oslo", []), ("  oslo  ?", [])])
@example("rules", [(f"Compare {LONG}in Peru and the {LONG}in Chad", [])])
@example("multi_query", [("Peru", []), ("peru", [])])
@example("raw", [(f"Peru \n{LONG * 50}", []), ("\ue000", [])])
@example("turns", [("its bank?", [Turn("user", f"Peru {LONG * 20}"), Turn("user", "\u200b")])])
@example("rules", [("Where is it?", [Turn("user", "Tell me about Lima.")] + [Turn("assistant", "no more")] * 55)])
@settings(max_examples=60)
def test_every_interface_makes_the_same_searches_and_returns_the_same_documents(ways, name, asked):
    queries = [Query(str(i), text, read_history(history, text)) for i, (text, history) in enumerate(asked)]
    seen = dict(ways.all(name, queries))
    evaluated = seen.pop("evaluate")
    for way, results in seen.items():
        for query, (searched, found), (subs, documents) in zip(queries, evaluated, results, strict=True):
            assert subs == searched, (way, query)
            assert len(documents) == len(found) or len(documents) == SHOWN < len(found), (way, query)
            assert documents == [(d, pytest.approx(score)) for d, score in found[: len(documents)]], (way, query)
