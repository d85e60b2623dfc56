"""Warm start: selection of training examples by the reward, and training on them."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from stand_ins import ScriptedRetriever

from acqo_rl.conversations import read_history
from acqo_rl.fusion import RankScoreFusion
from acqo_rl.reformulation.policy import Policy, PolicySettings
from acqo_rl.training.candidates import Candidate, candidates, splits_completely
from acqo_rl.training.data import grpo_dataset, sft_dataset, with_gold
from acqo_rl.training.rewards import Reward
from acqo_rl.training.run_folder import read_rows, write_rows
from acqo_rl.training.settings import FineTuning
from acqo_rl.training.warm_start import (
    Example,
    ScoredQuery,
    arranged,
    balanced,
    decided_by_kind,
    forms_by_cover,
    score_candidates,
    train,
    verified_examples,
)
from acqo_rl.types import Query, Snippet, SubQuery

FOUND = {
    "raw": ("x", "y", "g1"),
    "plain": ("g1",),
    "plainer": ("g1",),
    "bad": ("x",),
    "other": ("g2",),
    "near": ("x", "g1"),
}


RAW = Query("q", "raw")


def parts(*texts, form=""):
    return Candidate("decompose", tuple(SubQuery(t, "part") for t in texts), form or str(texts))


def scored(queries, candidates, gold=("g1",)):
    reward = Reward("converge", ScriptedRetriever(FOUND), RankScoreFusion(), top_rank_bonus=0.0)
    qrels = {query.id: dict.fromkeys(gold, 1) for query in queries}
    return [one for batch in score_candidates(queries, qrels, candidates, reward) for one in batch]


def best(candidates, gold=("g1",), min_gain=0.05, tie_tolerance=0.05, query=RAW):
    return verified_examples(scored([query], {"q": candidates}, gold), min_gain, tie_tolerance)[0]


class TestVerifiedExamples:
    def test_the_candidate_with_the_highest_reward_is_the_target(self):
        example = best([parts("bad"), parts("near"), parts("plain")])
        assert example == Example("q", "decompose", "split\nplain", pytest.approx(2), pytest.approx(16 / 9))

    def test_within_the_tolerance_the_form_that_suits_most_queries_is_the_target(self):
        """For the first query, "found" is 0.03 worse than "luck" (one more search); it suits the ten others."""
        queries = [Query(str(i), "raw") for i in range(11)]
        found = {"0": [parts("plainer", form="luck"), parts("plain", "bad", form="found")]}
        found |= {q.id: [parts("bad", form="luck"), parts("plain", form="found")] for q in queries[1:]}
        options = scored(queries, found)
        assert verified_examples(options, tie_tolerance=0.05)[0].completion == "split\nplain\nbad"
        assert verified_examples(options, tie_tolerance=0.01)[0].completion == "split\nplainer"

    def test_forms_are_ordered_by_the_number_of_queries_they_newly_cover(self):
        """ "b" covers the most queries; of the remaining ones, "c" covers two and "a" covers one."""
        forms = [{"a", "b"}, {"a", "b"}, {"b"}, {"b", "c"}, {"c", "a"}, {"c"}, set()]
        assert forms_by_cover(forms) == ["b", "c"]
        assert forms_by_cover([]) == forms_by_cover([set()]) == []

    @given(st.lists(st.sets(st.sampled_from("abcdef"))))
    def test_the_forms_cover_every_query_with_a_candidate(self, forms):
        order = forms_by_cover(forms)
        assert len(set(order)) == len(order)
        assert all(some & set(order) for some in forms if some)

    def test_a_candidate_worse_than_the_raw_query_is_no_target_at_any_tolerance(self):
        assert best([parts("bad"), parts("plain")], tie_tolerance=5).completion == "split\nplain"

    def test_the_query_is_passed_if_no_candidate_beats_it(self):
        assert best([parts("bad")]) == Example("q", "pass", "pass", pytest.approx(16 / 9), pytest.approx(16 / 9))
        assert best([]).completion == "pass"
        assert best([parts("near")], min_gain=0.5).completion == "pass"

    def test_a_candidate_may_be_combined_with_the_raw_query(self):
        """The raw query finds one gold document and the candidate the other."""
        example = best([parts("other")], gold=("g1", "g2"), query=Query("q", "plain"))
        assert example.completion == "split\nother\n="

    def test_with_feedback_the_raw_query_is_always_searched(self):
        query = Query("q", "raw", feedback=(Snippet("A title", "A text."),))
        assert best([parts("plain")], query=query).completion == "split\nplain\n="

    def test_with_feedback_a_query_in_a_conversation_may_omit_the_raw_query(self):
        query = Query("q", "raw", read_history(("U: An earlier turn.",)), (Snippet("A title", "A text."),))
        assert best([parts("plain")], query=query).completion == "split\nplain"

    def test_with_feedback_a_complete_split_may_omit_the_raw_query(self):
        query = Query("q", "plain, and other", feedback=(Snippet("A title", "A text."),))
        assert best([parts("plain", "other")], ("g1", "g2"), query=query).completion == "split\nplain\nother"

    def test_candidates_outside_the_grammar_are_skipped(self):
        assert best([parts("a", "b", "c", "d"), parts("="), parts("")]).completion == "pass"

    def test_options_survive_a_round_trip_to_disk(self, tmp_path):
        options = scored([Query("q", "raw"), Query("r", "Fran\u00e7ais")], {"q": [parts("plain")]})
        write_rows(options, tmp_path / "scored.jsonl")
        assert read_rows(ScoredQuery.of, tmp_path / "scored.jsonl") == options


class TestDecidedByKind:
    EXAMPLES = (
        *(Example(f"often{i}", "decompose", "split\na", 1.0, 0.5) for i in range(2)),
        *(Example(f"often{i}", "pass", "pass", 1.0, 1.0) for i in range(2, 8)),
        Example("seldom0", "disambiguate", "resolve\na", 1.0, 0.5),
        *(Example(f"seldom{i}", "pass", "pass", 1.0, 1.0) for i in range(1, 8)),
    )

    @pytest.fixture
    def kinds(self):
        return {e.query_id: e.query_id[:-1] for e in self.EXAMPLES}

    def test_kinds_below_the_least_share_are_passed_and_others_never(self, kinds):
        kept = decided_by_kind(self.EXAMPLES, kinds, min_helped_share=0.25)
        assert kept[:2] == list(self.EXAMPLES[:2])
        assert kept[2] == Example("seldom0", "pass", "pass", 0.5, 0.5)
        assert kept[3:] == list(self.EXAMPLES[9:])

    def test_least_share_0_changes_nothing(self, kinds):
        assert decided_by_kind(self.EXAMPLES, kinds, min_helped_share=0.0) == list(self.EXAMPLES)


class TestBalanced:
    EXAMPLES = (
        *(Example(f"p{i}", "pass", "pass", i / 10, i / 10) for i in range(20)),
        *(Example(f"s{i}", "decompose", "split\na", 1.0, 0.0) for i in range(8)),
        *(Example(f"r{i}", "disambiguate", "resolve\na", 1.0, 0.0) for i in range(2)),
    )

    def routes(self, size):
        chosen = balanced(self.EXAMPLES, size, seed=0)
        assert len({e.query_id for e in chosen}) == len(chosen)
        return [sum(e.route == route for e in chosen) for route in ("pass", "decompose", "disambiguate")]

    def test_routes_get_equal_numbers_as_far_as_possible(self):
        assert self.routes(6) == [2, 2, 2]
        assert self.routes(12) == [5, 5, 2]
        assert self.routes(20) == [10, 8, 2]

    def test_passed_queries_without_a_hit_are_used_last(self):
        """A reward below 1 means that no gold document is in the top ten; above 1, the choice is random."""
        kept = {e.query_id for seed in range(20) for e in balanced(self.EXAMPLES, 6, seed=seed) if e.route == "pass"}
        assert {int(name[1:]) for name in kept} <= set(range(10, 20))
        assert len(kept) > 2

    def test_is_determined_by_the_seed(self):
        assert balanced(self.EXAMPLES, 9, seed=3) == balanced(self.EXAMPLES, 9, seed=3)
        assert balanced(self.EXAMPLES, 9, seed=3) != balanced(self.EXAMPLES, 9, seed=4)


def test_the_examples_of_each_step_are_sorted_by_length():
    queries = [Query(str(i), "x" * (10 - i)) for i in range(6)]
    examples = [Example(q.id, "pass", "pass", 1.0, 1.0) for q in queries]
    pairs = arranged(queries, examples, batch_size=4)
    assert [q.id for q, _ in pairs] == ["3", "2", "1", "0", "5", "4"]


def test_columns_of_the_data_sets(tokenizer):
    from acqo_rl.reformulation.prompt import Prompt

    prompt = Prompt(len)
    queries = [Query("a", "one"), Query("b", "two")]
    qrels = {"a": {"g": 1, "x": 0}, "b": {"x": 0}}
    assert with_gold(queries, qrels) == queries[:1]
    row = grpo_dataset(queries, qrels, prompt)[0]
    read = {"query": "one", "visible_text": "one", "gold": ["g"]}
    assert row == {"prompt": prompt.render(queries[0]), "row": 0, "query_id": "a"} | read
    learned = sft_dataset([(queries[1], "pass")], prompt)
    assert learned.to_list() == [
        {"prompt": prompt.render(queries[1]), "completion": [{"role": "assistant", "content": "pass"}]}
    ]


QUERIES = [Query(str(i), f"capital of country {i}") for i in range(8)]
EXAMPLES = [Example(q.id, "pass", "pass", 1.0, 1.0) for q in QUERIES]
SETTINGS = PolicySettings(max_new_tokens=8)


def learn(model, folder, callbacks=(), **changed):
    tuning = {"lora_rank": 0, "learning_rate": 0.05, "epochs": 4.0, "batch_size": 4, "save_steps": 100} | changed
    options = {"model": model, "tuning": FineTuning(**tuning), "seed": 0, "callbacks": callbacks}
    folder.mkdir(exist_ok=True)
    return train(QUERIES, EXAMPLES, SETTINGS, folder, **options)


def losses(folder):
    log = json.loads((folder / "log.json").read_text())
    return {entry["step"]: entry["loss"] for entry in log if "loss" in entry}


class TestTrain:
    def test_learns_its_examples(self, tiny, tmp_path):
        model = learn(tiny, tmp_path / "run", epochs=25.0, learning_rate=0.02)
        found = losses(tmp_path / "run")
        assert found[max(found)] < found[min(found)] / 2
        policy = Policy.from_pretrained(str(model))
        assert policy.settings == SETTINGS
        answers = policy.reformulate(QUERIES)
        assert {(a.completion, a.problem) for a in answers} == {("pass", None)}

    def test_an_adapter_is_trained_and_names_its_base_model(self, tiny, tmp_path):
        from safetensors.torch import load_file

        model = learn(tiny, tmp_path / "run", epochs=2.0, lora_rank=2)
        weights = load_file(model / "adapter_model.safetensors")
        assert all(w.abs().sum() > 0 for name, w in weights.items() if "lora_B" in name)
        assert json.loads((model / "adapter_config.json").read_text())["base_model_name_or_path"] == tiny
        assert Policy.from_pretrained(str(model)).reformulate(QUERIES[:1])[0].query == QUERIES[0]

    def test_a_resumed_run_equals_an_uninterrupted_one(self, tiny, tmp_path):
        from transformers import TrainerCallback

        class Stop(TrainerCallback):
            def on_save(self, args, state, control, **_):
                control.should_training_stop = True

        learn(tiny, tmp_path / "whole", epochs=5.0)
        learn(tiny, tmp_path / "cut", epochs=5.0, save_steps=5, callbacks=[Stop()])
        assert list(losses(tmp_path / "cut")) == [5]
        learn(tiny, tmp_path / "cut", epochs=5.0, save_steps=5)
        whole, resumed = losses(tmp_path / "whole"), losses(tmp_path / "cut")
        assert list(whole) == [5, 10]
        assert resumed == pytest.approx(whole, abs=1e-5)


def test_a_very_long_query_has_no_candidates():
    assert candidates(Query("q", "Peru and Chad " * 10_000)) == []


def test_candidates_use_words_of_the_query_and_the_conversation():
    query = Query("q", "and its currency?", history=read_history(("U: What is the capital of Peru?", "S: It's Lima.")))
    texts = {tuple(s.text for s in sub_queries) for _, sub_queries, _ in candidates(query)}
    assert {("Peru currency",), ("and its currency? Peru",), ("and its currency? Peru Lima",)} <= texts
    query = Query("q", "Chad population, and the capital of Peru and the capital of Norway?")
    texts = {tuple(s.text for s in sub_queries) for _, sub_queries, _ in candidates(query)}
    assert ("Chad population", "capital Peru", "capital Norway") in texts


def test_candidates_use_names_of_the_feedback():
    """The query only describes the director; the first result names her."""
    query = Query(
        "q", "Where was the director of Orlando born?", feedback=(Snippet("Orlando (film)", "A film by Sally Potter."),)
    )
    found = {tuple((s.text, s.kind) for s in sub_queries) for _, sub_queries, _ in candidates(query)}
    asked_with_her = (f"{query.text} Sally Potter", "expansion")
    assert {(("Sally Potter", "part"), asked_with_her), (("Orlando (film)", "part"), asked_with_her)} <= found
    assert "Sally Potter" not in str(candidates(replace(query, feedback=())))


@pytest.mark.parametrize(
    ("text", "clauses"),
    [
        ("Who wrote Dune, and where is Oslo?", ["Who wrote Dune", "where is Oslo"]),
        ("Who wrote Dune and what did it win?", None),
        ("Who wrote and directed Orlando?", None),
        ("Is Peru larger than Chad?", None),
    ],
)
def test_a_complete_split_by_the_rules_comes_before_candidates_with_names(text, clauses):
    """If the rules repeat words ("Dune what did it win"), the split is not complete."""
    query = Query("q", text, feedback=(Snippet("A title", "A text by Sally Potter."),))
    first = candidates(query)[0][1]
    assert ([s.text for s in first] == clauses) is bool(clauses)
    assert splits_completely(query, first) is bool(clauses)


def test_without_feedback_a_candidate_repeats_each_of_the_first_two_names():
    names = ("Anna Boden", "Half Nelson", "Sugar")
    query = Query("q", f"Did {names[0]} edit {names[1]} before {names[2]}?")
    found = [tuple((s.text, s.kind) for s in subs) for _, subs, _ in candidates(query)]
    assert found[0] == tuple((f"{query.text} {name}", "expansion") for name in names[:2])
    assert candidates(Query("q", "Who edited Half Nelson?"))[0][1][0].text == "Who edited Half Nelson? Half Nelson"
    reading = replace(query, feedback=(Snippet("Other", "words"),))
    assert found[0] not in [tuple((s.text, s.kind) for s in subs) for _, subs, _ in candidates(reading)]


def test_names_exclude_the_possessive_and_the_opening_question_word():
    for text, name in (
        ("Who is Richard Ballantine's stepfather?", "Richard Ballantine"),
        ("Who married the narrator of How I Met Your Mother?", "How I Met Your Mother"),
        ("Is The Hague larger than Delft?", "The Hague"),
    ):
        found = candidates(Query("q", text, feedback=(Snippet("Other", "words"),)))
        names = {subs[0].text for _, subs, _ in found}
        assert name in names, names


def test_names_end_with_their_sentence_and_may_be_in_lower_case():
    small = Query(
        "q", "Do they serve wine?", history=read_history(("U: Food?", "S: maharajah tandoori is an indian restaurant."))
    )
    assert ("maharajah tandoori serve wine",) in {tuple(s.text for s in subs) for _, subs, _ in candidates(small)}
    ending = Query(
        "q", "Is it quiet?", history=read_history(("U: Beds?", "S: There is Bridge Guest House. Your room is booked."))
    )
    texts = " / ".join(s.text for _, subs, _ in candidates(ending) for s in subs)
    assert "Bridge Guest House quiet" in texts and "House. Your" not in texts
