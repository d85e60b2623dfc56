"""Training, evaluation and the searcher that serves walk one path: their figures are equal to the last bit."""

import hashlib
from dataclasses import replace

import pytest
from shared import PLACES
from stand_ins import random_scorer

from acqo_rl.conversations import read_history
from acqo_rl.evaluation.run import evaluate
from acqo_rl.measures import per_query, to_run
from acqo_rl.reformulation.policy import Policy, PolicySettings
from acqo_rl.reformulation.prompt import Prompt
from acqo_rl.retrieval.bm25 import Bm25Retriever
from acqo_rl.roles import LanguageModel
from acqo_rl.searching import description
from acqo_rl.searching.assemble import open_path
from acqo_rl.searching.description import NAMED, PathSpec
from acqo_rl.searching.searcher import AdaptiveSearcher, Timeouts
from acqo_rl.training.rewards import STEPS, Reward, gold_ranks
from acqo_rl.types import Completion, Document, Query

CORPUS = {
    document.id: document
    for place, city in PLACES.items()
    for document in (
        Document(f"{place}-capital", place, f"{city} is the capital of {place}."),
        Document(f"{place}-money", place, f"The currency of {place} is printed by its own bank."),
    )
}
QUERIES = [
    Query(f"{word} {place}", f"{word} of {place}") for word in ("capital", "currency", "bank") for place in PLACES
]
QUERIES += [Query("talk", "and its currency?", history=read_history(("U: Where is Peru?",))), Query("blank", "???")]
QRELS = {q.id: {f"{list(PLACES)[i % 6]}-{'money' if i > 5 else 'capital'}": 1} for i, q in enumerate(QUERIES)}
COMPLETIONS = (
    "pass", "resolve\nTokyo bank", "resolve\n=\nCuba", "split\ncapital\ncurrency\nHavana", "split\nNairobi\n=",
    "resolve\n=", "gibberish", "split\nLima\nlima ?", "",
)  # fmt: skip


class ByPrompt(LanguageModel):
    """A language model whose completion hangs on its prompt alone."""

    def generate(self, conversations, schema=None):
        digests = (hashlib.sha256(conversation[-1]["content"].encode()).digest() for conversation in conversations)
        return [Completion(COMPLETIONS[digest[0] % len(COMPLETIONS)], 3) for digest in digests]


@pytest.fixture(scope="module")
def retriever():
    return Bm25Retriever.build([f"{d.title} {d.text}" for d in CORPUS.values()], list(CORPUS))


@pytest.mark.parametrize("fusion", ["rsf", "rrf"])
@pytest.mark.parametrize("timeouts", [Timeouts(), Timeouts(60, 60, 60)], ids=["one call", "a call a text"])
@pytest.mark.parametrize(("margin", "cosine"), [(None, False), (0.5, True), (0.5, False)])
@pytest.mark.parametrize(("results", "steps"), [(0, ()), (3, ()), (3, ("hops",)), (0, ("choice", "hops", "order"))])
def test_training_evaluation_and_service_walk_one_path(
    retriever, fusion, timeouts, results, steps, margin, cosine, monkeypatch
):
    """The rankings are equal, and so is the rank of each document in the reward; the networks have random weights."""
    monkeypatch.setattr(description, "network", lambda _, kind: random_scorer(table=kind.FEATURES))
    retriever.cosine = cosine
    settings = PolicySettings(feedback_results=results, feedback_words=9, raw_query_margin=margin)
    policy = Policy(ByPrompt(), Prompt(lambda text: len(text.split())), settings)
    given = {name: getattr(NAMED["auto"], name) for name in steps}
    path = open_path(PathSpec(model="stand-in", fusion=fusion, **given), CORPUS, retriever, reformulator=policy)
    evaluation = evaluate(path, QUERIES, QRELS, name="policy", progress=False)
    searcher = AdaptiveSearcher.along(path, timeouts=timeouts, cache_size=0)
    served = searcher.search_many(QUERIES, 100)
    searcher.close()

    measures = list(evaluation.results[0].measures)
    values = per_query(measures, QRELS, to_run({q.id: f.fused for q, f in zip(QUERIES, served, strict=True)}))
    for query, result, found in zip(QUERIES, evaluation.results, served, strict=True):
        assert found.fused == result.ranking
        assert replace(found.reformulation, cached=False) == result.reformulation
        assert {measure: values[measure][query.id] for measure in measures} == result.measures
        assert found.failures == ()
    assert len({len(found.reformulation.sub_queries) for found in served}) > 1
    assert ("order" in {found.fused.retriever for found in served}) is ("order" in steps)

    grammar = settings.grammar
    walked = {name: getattr(path, name) for name in STEPS}
    reward = Reward("converge", retriever, path.fusion, grammar=grammar, raw_query_margin=margin, **walked)
    read = path.with_feedback(QUERIES)
    written = [answer.completion for answer in policy.reformulate(read)]
    valid = [i for i, text in enumerate(written) if text in COMPLETIONS[:6]][::4]
    rows = [(i, doc_id) for i in valid for doc_id in CORPUS]
    asked = [read[i] for i, _ in rows]
    gold = [[doc_id] for _, doc_id in rows]
    reward(rows, [written[i] for i, _ in rows], [query.text for query in asked], gold, asked)
    assert reward.qualities == [reward.score(gold_ranks(served[i].fused, [doc_id])) for i, doc_id in rows]
