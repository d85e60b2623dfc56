"""A strategy makes the same searches and returns the same ranking over HTTP as in Python.

Service and index are real. Only the language models are stand-ins, whose completion depends on the prompt alone.
"""

import hashlib

import numpy as np
import pytest
from fastapi.testclient import TestClient
from hypothesis import example, given, settings
from hypothesis import strategies as st
from shared import PLACES

from acqo_rl.conversations import read_history
from acqo_rl.data.beir import write_beir
from acqo_rl.reformulation.load import WITHOUT_MODEL
from acqo_rl.reformulation.policy import Policy, PolicySettings, prompt_of
from acqo_rl.reformulation.settings import StrategySettings
from acqo_rl.retrieval.build import build_dense_index
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
    *("step_back", "decomposition", "expansion", "rewrite", "multi_query+hyde"),
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


@pytest.fixture(scope="module", params=["rsf", "rrf", "combsum"])
def ways(tmp_path_factory, request):
    """A client of a service, and searchers by their names; the policy reads two results of feedback."""
    policy_settings = PolicySettings(feedback_results=2, feedback_words=9, raw_query_margin=0.05)

    def load_policy(model, *, name, **_):
        prompt = prompt_of(policy_settings, lambda text: len(text.split()))
        return Policy(ByPrompt(OF_POLICY), prompt, policy_settings, name)

    folder = tmp_path_factory.mktemp("ways")
    documents = [Document(f"{p}-capital", p, f"{city} is the capital of {p}.") for p, city in PLACES.items()]
    documents += [Document(f"{p}-money", p, f"The currency of {p} is printed by its own bank.") for p in PLACES]
    documents += [Document(f"mercury-{what}", f"Mercury ({what})", f"A {what} of old.") for what in ("planet", "god")]
    write_beir(folder, documents, [], {})
    build_dense_index(folder / "index", documents, ByWords())
    strategies = [name if name in WITHOUT_MODEL else f"{name}=model" for name in NAMES]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            IndexSettings, "open_index", lambda _, index, **__: load_retriever(f"{folder}/index", encoder=ByWords())
        )
        patch.setattr(Policy, "from_pretrained", load_policy)
        patch.setattr("acqo_rl.reformulation.load.read_settings", lambda _: policy_settings)
        patch.setattr("acqo_rl.language_models.load.load_language_model", lambda *_, **__: ByPrompt(OF_MODEL))
        service = load_service(
            ServiceSettings([f"world={folder},{folder}/index"], strategies=strategies, fusion=request.param),
            StrategySettings(),
        )
        settings = {"model": "model", "fusion": request.param}
        searchers = {n: load_searcher(f"{folder}/index", str(folder), reformulator=n, **settings) for n in NAMES}
        with TestClient(make_app(service, Limits()), "http://localhost") as client:
            yield client, searchers
        service.close()


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
def test_the_service_makes_the_same_searches_and_returns_the_same_documents(ways, name, asked):
    client, searchers = ways
    for text, history in asked:
        found = searchers[name].search(Query("q", text, read_history(history, text)), 100)
        body = {"query": text, "history": [*map(str, history)], "rewriting_strategy": name, "limit": SHOWN}
        reply = client.post("/v1/search", json=body).json()
        variants = reply["query_rewrite_info"]["variants"]
        wanted = [(s.text, s.kind, s.weight, s.min_margin) for s in found.reformulation.sub_queries]
        assert [(v["text"], v["kind"], v["weight"], v["min_margin"]) for v in variants] == wanted
        results = [(row["document_id"], pytest.approx(row["score"])) for row in reply["results"]]
        assert results == found.fused.pairs[:SHOWN]
