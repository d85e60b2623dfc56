"""Reformulators by name, with their settings."""

from __future__ import annotations

from dataclasses import fields

import pytest
from stand_ins import Obedient, ScriptedLanguageModel

from acqo_rl.errors import ConfigError, GrammarError
from acqo_rl.language_models import load as language_models
from acqo_rl.reformulation.load import (
    STRATEGIES,
    StrategySettings,
    lexicon_for,
    load_reformulator,
    max_calls,
    strategy_key,
)
from acqo_rl.roles import SamplingModel
from acqo_rl.types import Completion, Document, Query, SubQuery


@pytest.mark.parametrize(
    ("name", "settings", "calls"),
    [
        ("turns", {}, 0),
        ("any policy", {}, 1),
        ("prompted", {}, 1),
        ("multi_query+hyde", {}, 2),
        ("adaptive", {}, 2),
        ("adaptive", {"force_strategy": "raw", "classify_by_model": True}, 1),
        ("adaptive", {"classify_by_model": True}, 3),
    ],
)
def test_model_calls_of_one_query(name, settings, calls):
    """What a budget has to grant beforehand."""
    assert max_calls(name, StrategySettings(**settings)) == calls


@pytest.mark.parametrize("names", [["rules"], ["raw", "policy_with_rules"]])
def test_the_rules_know_the_names_of_the_corpus(names):
    lexicon = lexicon_for(names, [Document("1", "Nebra (town)", ""), Document("2", "Nebra (sky disc)", "")])
    assert lexicon is not None
    assert set(lexicon.readings["nebra"]) == {"town", "sky disc"}


@pytest.mark.parametrize("names", [[], ["raw", "turns"], ["policy"], ["multi_query+hyde", "adaptive", "prompted"]])
def test_the_corpus_is_not_read_where_the_rules_are_not_asked(names):
    documents = iter([Document("1", "Nebra (town)", "")])
    assert lexicon_for(names, documents) is None
    assert len(list(documents)) == 1


@pytest.fixture
def model(monkeypatch):
    """Stands in for every language model; ``settings`` is what it was loaded with."""
    model = Obedient()

    def load(name, **settings):
        model.settings = {"name": name, **settings}
        return model

    monkeypatch.setattr(language_models, "load_language_model", load)
    return model


def reformulate(name, text="Why is the sky blue?", **settings):
    reformulator = load_reformulator(name, "some model", StrategySettings(**settings))
    assert (reformulator.name, reformulator.feedback.results) == (name, 0)
    return reformulator.reformulate([Query("q", text)])[0]


@pytest.mark.parametrize("name", [*STRATEGIES, "multi_query+hyde", "multi_query+step_back", "adaptive"])
def test_every_strategy_has_a_name(model, name):
    answer = reformulate(name)
    assert answer.calls <= max_calls(name, StrategySettings())
    assert answer.made_by == name
    if name == "rewrite":  # it stands for the query
        assert answer.sub_queries == (SubQuery("one", "variant"),)
        return
    assert answer.sub_queries[0].text == "Why is the sky blue?"
    assert len(answer.sub_queries) > 1
    assert answer.calls == sum(map(len, model.calls))
    assert model.settings["name"] == "some model"


@pytest.mark.parametrize("name", ["raw", "rules"])
def test_what_needs_no_model(name):
    reformulator = load_reformulator(name, "")
    assert reformulator.reformulate([Query("q", "Peru")])[0].calls == 0


@pytest.mark.parametrize("name", ["hyde", "multi_query", "prompted"])
def test_a_completion_has_room_for_a_passage_by_default(model, name):
    reformulate(name)
    assert model.settings["max_new_tokens"] == 300


def test_the_prompted_baseline_is_greedy_and_keeps_to_the_token_limit(model):
    reformulate("prompted", temperature=0.9, max_new_tokens=500)
    assert (model.settings["temperature"], model.settings["max_new_tokens"]) == (0.0, 500)


def test_settings_reach_model_and_prompt(model):
    answer = reformulate(
        "multi_query", num_variants=5, domain="old maps", temperature=0.2, seed=7, timeout=3.0, concurrency=2
    )
    assert len(answer.sub_queries) == 6
    assert "for old maps. Write 5" in model.calls[0][0][0]["content"]
    assert {k: model.settings[k] for k in ("temperature", "seed", "timeout", "concurrency", "max_retries")} == {
        "temperature": 0.2,
        "seed": 7,
        "timeout": 3.0,
        "concurrency": 2,
        "max_retries": 2,
    }


def test_defaults_of_the_requirements():
    settings = StrategySettings()
    assert (settings.num_variants, settings.temperature) == (3, 0.7)
    assert settings.include_original
    assert settings.force_strategy is None


def test_the_query_can_be_left_out(model):
    assert {s.kind for s in reformulate("multi_query+hyde", include_original=False).sub_queries} == {
        "variant",
        "hypothetical",
    }


def test_expansion_by_sub_queries(model):
    assert len(reformulate("expansion", expansion_form="sub_queries").sub_queries) == 7


def test_adaptive_can_be_forced(model):
    assert reformulate("adaptive", force_strategy="expansion").reasoning == "Selected expansion for conceptual query"
    assert reformulate("adaptive", force_strategy="raw").calls == 0
    assert reformulate("adaptive", force_strategy="hyde+expansion").calls == 2


def test_adaptive_can_ask_the_model_for_the_type(model):
    answer = reformulate("adaptive", classify_by_model=True)
    assert answer.calls == 2
    assert "What kind of question" in model.calls[0][0][0]["content"]


def test_the_model_in_this_process_gets_large_batches(model):
    reformulate("hyde", generation_batch=256)
    assert model.settings["batch_size"] == 256


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"num_variants": 0}, "num_variants is 0; it must be at least 1 and at most 5"),
        ({"num_variants": 6}, "num_variants is 6"),
        ({"temperature": -0.1}, "temperature is -0.1"),
        ({"temperature": float("nan")}, "temperature is nan"),
        ({"timeout": 0}, "timeout is 0; it must be at least"),
        ({"force_strategy": "magic"}, "'magic'; choose multi_query"),
        ({"force_strategy": "hyde+magic"}, "'magic'"),
    ],
)
def test_what_is_out_of_range_is_refused_before_a_model_is_loaded(model, settings, message):
    with pytest.raises(ConfigError, match=message):
        load_reformulator("adaptive", "some model", StrategySettings(**settings))
    assert not hasattr(model, "settings")


def test_any_other_name_is_a_policy(tmp_path):
    with pytest.raises(GrammarError, match=r"acqo\.json"):
        load_reformulator("final", str(tmp_path))


@pytest.mark.parametrize(("name", "model"), [("multiquery", "openai:m@http://x"), ("multi_query+hyd", "nowhere")])
def test_a_name_that_can_only_be_a_strategy(name, model):
    with pytest.raises(ConfigError, match=r"'(multiquery|hyd)'; .* prompted, adaptive, multi"):
        load_reformulator(name, model)


@pytest.mark.parametrize(
    ("name", "settings"),
    [("hyde+hyde", {}), ("hyde+rewrite+hyde", {}), ("adaptive", {"force_strategy": "hyde+hyde"})],
)
def test_a_strategy_is_not_joined_to_itself(model, name, settings):
    with pytest.raises(ConfigError, match=r"hyde\+.*hyde"):
        load_reformulator(name, "m", StrategySettings(**settings))


CHANGED = {
    "num_variants": 5,
    "max_parts": 2,
    "expansion_form": "sub_queries",
    "include_original": False,
    "hyde_include_original": False,
    "step_back_combine": "step_back",
    "original_weight": 2.0,
    "multi_query_temperature": 0.2,
    "hyde_temperature": 0.3,
    "domain": "law",
    "translate_to": "French",
    "force_strategy": "rewrite",
    "classify_by_model": True,
    "reuse_templates": True,
    "temperature": 0.1,
    "seed": 1,
    "max_new_tokens": 9,
}
"""Another value for every setting that answers depend on."""

OTHERS = {
    "timeout",
    "max_retries",
    "concurrency",
    "generation_batch",
    "similarity_threshold",  # these two decide whether a model is asked, not what it answers
    "reformulate_below",
}


def readers(setting, **others):
    """Who is asked anew where a setting changes."""
    before, after = (StrategySettings(**others, **changed) for changed in ({}, {setting: CHANGED[setting]}))
    return {
        n for n in (*STRATEGIES, "prompted", "adaptive") if strategy_key(n, "m", before) != strategy_key(n, "m", after)
    }


@pytest.mark.parametrize(
    ("setting", "who"),
    [
        ("num_variants", {"multi_query", "adaptive"}),
        ("translate_to", {"multi_query", "adaptive"}),
        ("max_parts", {"decomposition", "adaptive"}),
        ("expansion_form", {"expansion"}),
        ("force_strategy", {"adaptive"}),
        ("classify_by_model", {"adaptive"}),
        ("domain", {*STRATEGIES, "adaptive"}),
        ("temperature", {*STRATEGIES, "adaptive"}),
        ("seed", {*STRATEGIES, "adaptive"}),
        ("hyde_include_original", {"hyde", "adaptive"}),
        ("step_back_combine", {"step_back", "adaptive"}),
        ("original_weight", {"multi_query", "hyde", "step_back", "decomposition", "expansion", "adaptive"}),
        ("multi_query_temperature", {"multi_query", "adaptive"}),
        ("hyde_temperature", {"hyde", "adaptive"}),
        ("max_new_tokens", {*STRATEGIES, "prompted", "adaptive"}),
    ],
)
def test_only_those_that_read_a_setting_are_asked_anew_where_it_changes(setting, who):
    assert readers(setting) == who


def test_no_setting_that_answers_depend_on_is_forgotten():
    assert CHANGED.keys() | OTHERS == {field.name for field in fields(StrategySettings)}
    assert all(readers(setting) for setting in CHANGED)


def test_a_forced_strategy_is_the_only_one_that_adaptive_reads():
    assert "adaptive" not in readers("num_variants", force_strategy="hyde")
    assert readers("seed", temperature=0.0) == set()
    assert strategy_key("hyde", "m", StrategySettings()) != strategy_key("hyde", "n", StrategySettings())


class Tempered(SamplingModel):
    """A model that writes its temperature, and keeps what each temperature was asked."""

    def __init__(self, temperature=0.7, calls=None):
        self.temperature, self.calls = temperature, {} if calls is None else calls

    def at_temperature(self, temperature):
        return Tempered(temperature, self.calls)

    def generate(self, conversations, schema=None):
        self.calls[self.temperature] = self.calls.get(self.temperature, 0) + len(conversations)
        return [Completion(f"written at {self.temperature}", 1) for _ in conversations]


class TestSettingsOfOneStrategy:
    def made(self, name, model=None, **settings):
        reformulator = load_reformulator(name, "m", StrategySettings(**settings), language_model=model or Tempered())
        [made] = reformulator.reformulate([Query("q", "What is FAISS?")])
        return {s.kind: (s.text, s.weight) for s in made.sub_queries}

    def test_temperatures(self):
        """One model, with one instance per temperature; strategies without their own temperature use the common one."""
        model = Tempered()
        own = {"multi_query_temperature": 0.9, "hyde_temperature": 0.3}
        made = self.made("multi_query+hyde+step_back", model, **own)
        assert model.calls == {0.9: 1, 0.3: 1, 0.7: 1}
        assert made["variant"][0] == "written at 0.9"
        assert made["hypothetical"][0] == "written at 0.3"
        assert made["step_back"][0] == "written at 0.7"

    def test_without_them_all_are_one_call(self):
        model = Tempered()
        self.made("multi_query+hyde", model)
        assert model.calls == {0.7: 2}

    def test_a_model_without_temperatures_is_asked_all_the_same(self):
        model = ScriptedLanguageModel("one search", "a passage about it.")
        assert "variant" in self.made("multi_query+hyde", model, hyde_temperature=0.3)

    def test_hyde_without_the_raw_query(self):
        assert set(self.made("hyde")) == {"original", "hypothetical"}
        assert set(self.made("hyde", hyde_include_original=False)) == {"hypothetical"}
        assert set(self.made("step_back", hyde_include_original=False)) == {"original", "step_back"}

    @pytest.mark.parametrize(
        ("combine", "kinds"),
        [("both", {"original", "step_back"}), ("step_back", {"step_back"}), ("original", {"original"})],
    )
    def test_what_step_back_combines(self, combine, kinds):
        assert set(self.made("step_back", step_back_combine=combine)) == kinds

    def test_the_weight_of_the_raw_query(self):
        assert self.made("hyde")["original"][1] == 0.5
        assert self.made("hyde", original_weight=2.0)["original"][1] == 2.0
        assert set(self.made("rewrite", original_weight=2.0)) == {"variant"}

    def test_adaptive_hands_them_on(self):
        model = Tempered()
        self.made("adaptive", model, force_strategy="hyde", hyde_temperature=0.3)
        assert model.calls == {0.3: 1}
