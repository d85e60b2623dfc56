"""Training of hops, choice and order: options are searched once, and the reward teaches which one to take."""

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import beta
from stand_ins import linear_scorer, search_given
from tiny_policy import full_model

from acqo_rl.cli import main, module_of, train_scorer
from acqo_rl.cli.train_scorer import TABLES, TrainScorerConfig
from acqo_rl.data.beir import read_beir, write_beir
from acqo_rl.errors import ConfigError, DataError
from acqo_rl.evaluation.run import evaluate
from acqo_rl.fusion import RankScoreFusion
from acqo_rl.networks.corpus_words import CorpusWords
from acqo_rl.networks.scorer import Scorer
from acqo_rl.reformulation.pass_through import PassThrough, pass_through
from acqo_rl.retrieval.bm25 import Bm25Retriever
from acqo_rl.retrieval.load import load_retriever
from acqo_rl.roles import Hop, Reformulator
from acqo_rl.searching import assemble
from acqo_rl.searching.choice import Choice
from acqo_rl.searching.hop import Hops, LearnedHop, with_name
from acqo_rl.searching.order import LearnedOrder
from acqo_rl.searching.path import SearchPath
from acqo_rl.searching.sub_queries import DEPTH
from acqo_rl.training import choice
from acqo_rl.training.choice import collect as choice_options
from acqo_rl.training.choice import topic_changes_of
from acqo_rl.training.hop import collect
from acqo_rl.training.options import TrainingSet, read_options
from acqo_rl.training.order import calibrated as order_harm
from acqo_rl.training.order import collect as order_examples
from acqo_rl.training.rewards import Reward, gold_ranks
from acqo_rl.training.scorer import Training, train
from acqo_rl.types import Document, Query, Reformulation, SubQuery

COUNTRIES = [
    "Aland",
    "Borduria",
    "Carpathia",
    "Drackland",
    "Elbonia",
    "Florin",
    "Graustark",
    "Herzoslovakia",
    "Illyria",
    "Jumania",
]
TOWNS = ["Akra", "Brod", "Crest", "Dunmor", "Elst", "Fenwick", "Gorm", "Hale", "Ilmen", "Jarva"]
STEPS = {"steps": 140, "seeds": 2}


def world():
    """Bridge questions: the page of a town names its country, and the page of the country has the answer."""
    documents = []
    queries = []
    qrels = {"train": {}, "dev": {}}
    for i, (town, country) in enumerate(zip(TOWNS, COUNTRIES, strict=True)):
        documents += [
            Document(f"t{i}", town, f"{town} is a harbour town. It is the seat of government of {country}."),
            Document(f"c{i}", country, "Its inhabitants write poems in a tongue with nine cases."),
            Document(f"n{i}", f"Tongue of {i}", "The language of a country is spoken in its seat of government."),
        ]
        text = f"What language is spoken in the country whose seat of government is {town}?"
        queries.append(Query(f"q{i}", text))
        qrels["train" if i % 3 else "dev"][f"q{i}"] = {f"t{i}": 1, f"c{i}": 1}
    return documents, queries, qrels


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bridges") / "data"
    write_beir(folder, *world())
    main(["index", "--data", str(folder), "--output", str(folder / "index"), "--kind", "bm25"])
    return folder


class Country(Reformulator):
    """Stands in for a policy: searches the country of the town."""

    name = "auto"

    def reformulate(self, queries):
        country = {q.text: COUNTRIES[int(q.id.removeprefix("q"))] for q in world()[1]}
        parts = [(SubQuery(country[q.text], "part"), SubQuery(q.text, "original")) for q in queries]
        return [Reformulation(q, "decompose", p, "auto", calls=1) for q, p in zip(queries, parts, strict=True)]


@pytest.fixture
def config(folder, monkeypatch):
    """Makes the config of a training by its kind; the policy of the choice is a stand-in."""
    load = assemble.load_reformulator
    policy = str(full_model(folder.parent))
    monkeypatch.setattr(assemble, "load_reformulator", lambda *a: Country() if policy in a else load(*a))

    def make(kind, output, **changes):
        given = {"data": [str(folder)], "index": [str(folder / "index")], "output_dir": str(output), **STEPS, **changes}
        if kind in ("hop", "order"):
            return TrainScorerConfig(kind, **given)
        return TrainScorerConfig("choice", **{"model": policy, "cost": 0.0, "price": 0.1, **given})

    return make


@pytest.mark.parametrize("kind", TABLES)
def test_labels_that_teach_nothing_are_explained(kind, tmp_path, config):
    """None is relevant, one query is, or no search finds what is relevant."""
    documents, queries, _ = world()
    labels = {
        "zero": {query.id: {"t1": 0} for query in queries},
        "one": {"q0": {"t0": 1, "c0": 1}},
        "elsewhere": {query.id: {"far": 1} for query in queries},
    }
    for name, qrels in labels.items():
        data = str(tmp_path / name)
        index = str(tmp_path / name / "index")
        write_beir(data, [*documents, Document("far", "", "Unrelated.")], queries, {"train": qrels})
        main(["index", "--data", data, "--output", index, "--kind", "bm25"])
        with pytest.raises(DataError, match="relevant document"):
            train_scorer.main(config(kind, tmp_path / f"{name}-out", data=[data], index=[index]))


def measured(kind, folder, trained):
    """AP@10 and sub-queries per dev query, with a trained network or without one."""
    data = read_beir(str(folder), "dev")
    retriever = load_retriever(folder / "index")
    words = CorpusWords.of(data.corpus)
    steps = {}
    if trained:
        scorer = replace(Scorer.load(str(trained), TABLES[kind]), margin=0.0)
        steps = {
            "hop": {"hops": Hops(LearnedHop(scorer, data.corpus, words), 2)},
            "choice": {"choice": Choice(scorer, data.corpus, words)},
            "order": {"order": LearnedOrder(scorer, data.corpus, words)},
        }[kind]
    reformulator = Country() if kind == "choice" else PassThrough()
    path = SearchPath(reformulator, retriever, RankScoreFusion(), data.corpus, **steps)
    found = evaluate(path, data.queries["dev"], data.qrels["dev"], name="", measures=["AP@10"])
    searches = [len(result.reformulation.sub_queries) for result in found.results]
    return found.scores("AP@10").mean(), sum(searches) / len(searches)


@pytest.mark.parametrize("kind", TABLES)
def test_a_resumed_run_equals_an_uninterrupted_one_and_the_reward_teaches(
    kind, config, folder, tmp_path, monkeypatch, capsys
):
    """It learns the bridge, or to ask the policy that knows it. Options that are there are not searched again.

    A run is not resumed with other features.
    """
    main = module_of("train-scorer").main
    model = tmp_path / "run" / "model"
    main(config(kind, tmp_path / "run"))
    without, learned = (measured(kind, folder, trained)[0] for trained in ("", model))
    if kind == "hop":
        assert learned > without + 0.1
    else:
        assert learned == pytest.approx(without, abs=0.02)
    assert len((tmp_path / "run" / "report.md").read_text().splitlines()) == 7

    whole = (model / "scorer.safetensors").read_bytes()
    shutil.rmtree(model)
    kept, *others = sorted((tmp_path / "run" / "options" / "1").glob("*.npz"))
    for file in others:
        file.unlink()
    written = kept.stat().st_mtime_ns
    main(config(kind, tmp_path / "run"))
    assert kept.stat().st_mtime_ns == written
    assert (model / "scorer.safetensors").read_bytes() == whole
    for content in (kept.read_bytes()[:-30], b"", b"damaged"):
        (tmp_path / "damaged.npz").write_bytes(content)
        with pytest.raises(ConfigError, match="delete it"):
            read_options(tmp_path / "damaged.npz")
    main(config(kind, tmp_path / "run"))
    assert "is finished" in capsys.readouterr().out
    shutil.rmtree(model)
    monkeypatch.setitem(train_scorer.TABLES, kind, replace(TABLES[kind], of_query={}))
    with pytest.raises(ConfigError, match="features changed"):
        main(config(kind, tmp_path / "run"))


def test_a_search_that_is_too_dear_is_not_made(config, folder, tmp_path):
    module_of("train-scorer").main(config("choice", tmp_path, cost=9.0, price=0.0))
    assert measured("choice", folder, tmp_path / "model")[1] == 1.0


def test_without_a_policy_the_choice_is_learnt_without_asking(config, folder, tmp_path):
    """Each query has one decision, and none of its options is to ask."""
    module_of("train-scorer").main(config("choice", tmp_path, model=None))
    assert (tmp_path / "model").is_dir()
    searched = replace(training_set(PassThrough()), folder=tmp_path)
    [decisions] = choice.options_of([searched], 1, 0.0, None, 0.0, Training(TABLES["choice"], steps=100))
    assert [one.query_id for one in decisions] == [query.id for query in searched.queries]
    assert not any("ask" in one.names for one in decisions)


def test_with_a_policy_each_query_has_three_decisions(tmp_path):
    """The report compares the first of a query, in which the policy may be asked; a calibration reads the last."""
    searched = replace(training_set(Country()), folder=tmp_path)
    [decisions] = choice.options_of([searched], 1, 0.05, 0.1, 0.0, Training(TABLES["choice"], steps=20))
    count = len(searched.queries)
    assert [one.query_id for one in decisions] == 3 * [query.id for query in searched.queries]
    assert [one.names[-1:] == ("ask",) for one in decisions] == [True] * count + [False] * 2 * count
    assert not any("model" in name for one in decisions[-count:] for name in one.names)


def test_the_topic_changes_from_a_talk_of_the_same_corpus_about_other_documents():
    """After a talk about another corpus, a change would be too easy to see; about the same documents, it is none."""
    one = training_set()
    changed = topic_changes_of(one, one.queries, 0)
    assert [query.text for query in changed] == [query.text for query in one.queries]
    relevant = {query.text: one.qrels[query.id].keys() for query in one.queries}
    for query in changed:
        asked, answer = query.history
        said = [d.id for d in one.corpus.values() if answer.text in f"{d.title} {d.text}"]
        assert set(said) & set(relevant[asked.text])
        assert not relevant[asked.text] & relevant[query.text]
    assert len({query.history for query in changed}) > 1


def training_set(reformulator=None, index=Bm25Retriever):
    """The world, searched by a reformulator."""
    documents, queries, qrels = world()
    corpus = {d.id: d for d in documents}
    retriever = index.build([f"{d.title} {d.text}" for d in documents], list(corpus))
    path = SearchPath(reformulator or PassThrough(), retriever, RankScoreFusion(), corpus)
    return TrainingSet(corpus, queries, qrels["train"] | qrels["dev"], path, CorpusWords.of(corpus), Path())


def test_the_reward_of_an_option_is_that_of_the_path():
    searched = training_set()
    states = [pass_through(query, "raw") for query in searched.queries]
    options = collect(searched, LearnedHop(None, searched.corpus, searched.words), states)
    assert [one.query_id for one in options] == [query.id for query in searched.queries]
    one = options[0]
    path = searched.path
    reward = Reward("converge", path.retrievers, path.fusion)
    found = search_given([with_name(states[0], name) for name in one.names], path.retrievers, path.fusion, DEPTH)
    assert one.rewards[1:] == pytest.approx([reward.score(gold_ranks(made.fused, ["t0", "c0"])) for made in found])
    assert one.names[int(one.rewards.argmax()) - 1] == COUNTRIES[0]


def test_a_choice_is_worth_what_is_found_after_the_hops_that_follow_it():
    class Capital(Hop):
        """Stands in for a trained hop: searches the country once."""

        name = "capital"

        def choose(self, searched, fused):
            return [None if len(one.sub_queries) > 1 else COUNTRIES[int(one.query.id[1:])] for one in searched]

    searched = training_set(Country())
    hops = Hops(Capital(), 2)
    reader = Choice(None, searched.corpus, searched.words)
    found = choice_options(searched, reader, hops, 0.0, searched.queries)
    for following, differs in ((hops, False), (None, True)):
        path = replace(searched.path, reformulator=PassThrough(), hops=following)
        results = path.search(searched.queries, DEPTH)
        values = [searched.value(q, r.fused) for q, r in zip(searched.queries, results, strict=True)]
        assert ([float(first.rewards[0]) for first in found[::2]] != pytest.approx(values)) is differs


def test_the_order_learns_which_documents_are_relevant():
    """The stand-in for an index finds the relevant documents last; their titles are in the searches."""

    class Backwards(Bm25Retriever):
        def search(self, texts, k):
            return [r.at(range(len(r.doc_ids))[::-1]) for r in super().search(texts, k)]

    searched = training_set(Country(), Backwards)
    path = searched.path
    queries = searched.queries
    corpus = searched.corpus
    words = searched.words
    examples = order_examples(searched, LearnedOrder(None, corpus, words), queries[3:])
    assert [len(one.rewards) - len(one.names) for one in examples] == [1] * len(examples)
    assert [float(one.rewards.sum()) for one in examples] == [1.0] * 14
    scorer, _ = train(examples, Training(TABLES["order"], steps=200, seeds=1))
    ordered = replace(path, order=LearnedOrder(scorer, corpus, words))
    for query, before, after in zip(queries[:3], path.search(queries[:3]), ordered.search(queries[:3]), strict=True):
        gold = set(searched.qrels[query.id])
        assert set(before.fused.doc_ids[:2]) != gold
        assert set(after.fused.doc_ids[:2]) == gold


def test_the_harm_of_an_order_is_that_of_the_whole_search():
    """An order that reverses results harms, less with a larger margin; max_harm chooses the margin."""
    searched = training_set()
    scorer = linear_scorer(TABLES["order"], reciprocal_rank_in_fused_ranking=-8.0)
    harm = dict(order_harm(scorer, [searched]).harm)
    raw = searched.path.search(searched.queries, DEPTH)
    count = len(searched.queries)
    for margin in (4.0, 1.0, 0.0):
        order = LearnedOrder(replace(scorer, margin=margin), searched.corpus, searched.words)
        found = replace(searched.path, order=order).search(searched.queries, DEPTH)
        before, after = (
            np.array([searched.value(query, result.fused) for query, result in zip(searched.queries, one, strict=True)])
            for one in (raw, found)
        )
        worse = (after < before - 0.05).sum()
        assert worse == count or harm[margin] == pytest.approx(beta.ppf(0.95, worse + 1, count - worse))
    assert harm[4.0] < harm[0.0]


@pytest.mark.parametrize(
    ("kind", "changes", "message"),
    [
        ("hop", {"data": ["a", "b"]}, "2, 1 and 2 values"),
        ("choice", {"model": "openai:m", "index": ["nowhere"]}, "'auto' contains 'auto'"),
        ("order", {"reformulator": "polcy", "index": ["nowhere"]}, "'polcy' needs a model"),
        ("hop", {"reformulator": "hyde+rawr", "model": "m", "index": ["nowhere"]}, "'rawr'"),
    ],
)
def test_a_config_that_cannot_run_is_rejected(config, tmp_path, kind, changes, message):
    """Names of models and reformulators before the data and the index are opened."""
    with pytest.raises(ConfigError, match=message):
        module_of("train-scorer").main(config(kind, tmp_path, **changes))
