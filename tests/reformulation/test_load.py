"""Reformulators by name, with their settings."""

from dataclasses import fields

import pytest
from stand_ins import Obedient

from acqo_rl.errors import ConfigError, GrammarError
from acqo_rl.language_models import load as language_models
from acqo_rl.reformulation.load import (
    REWRITE_RETRIEVE_READ,
    STRATEGIES,
    load_reformulator,
    retries_below,
    strategy_key,
)
from acqo_rl.reformulation.settings import StrategySettings
from acqo_rl.roles import LanguageModel
from acqo_rl.types import Completion, Query, SubQuery


@pytest.fixture
def model(monkeypatch):
    """Stands in for every language model; ``settings`` is what it was loaded with."""
    model = Obedient()

    def load(name, **settings):
        model.settings = {"name": name, **settings}
        return model

    monkeypatch.setattr(language_models, "load_language_model", load)
    return model


@pytest.mark.parametrize(
    ("name", "settings", "calls"),
    [
        ("turns", {}, 0),
        ("prompted", {}, 1),
        ("multi_query+hyde", {}, 2),
        ("adaptive", {}, 2),
        ("adaptive", {"force_strategy": "raw", "classify_by_model": True}, 1),
        ("adaptive", {"classify_by_model": True, "reuse_templates": True}, 3),
    ],
)
def test_maximum_number_of_model_calls(model, name, settings, calls):
    assert load_reformulator(name, "some model", StrategySettings(**settings)).max_calls == calls


def reformulate(name, text="Why is the sky blue?", **settings):
    reformulator = load_reformulator(name, "some model", StrategySettings(**settings))
    assert (reformulator.name, reformulator.feedback.results) == (name, 0)
    return reformulator.reformulate([Query("q", text)])[0]


@pytest.mark.parametrize("name", [*STRATEGIES, "multi_query+hyde", "multi_query+step_back", "adaptive"])
def test_every_strategy_has_a_name(model, name):
    answer = reformulate(name, "Why is one sky blue?")
    assert (
        answer.calls
        == sum(map(len, model.calls))
        <= load_reformulator(name, "some model", StrategySettings()).max_calls
    )
    assert answer.made_by == ("step_back" if name == "adaptive" else name)
    if name == "rewrite":  # it replaces the query
        assert answer.sub_queries == (SubQuery("one", "variant"),)
    else:
        assert answer.sub_queries[0].text == "Why is one sky blue?"
        assert len(answer.sub_queries) > 1


def test_settings_reach_the_model(model):
    given = {"temperature": 0.2, "seed": 7, "timeout": 3.0, "concurrency": 2, "max_retries": 1, "max_new_tokens": 9}
    reformulate("multi_query", **given, generation_batch=256)
    assert model.settings == {"name": "some model", **given, "batch_size": 256}


def test_defaults_of_the_requirements():
    settings = StrategySettings()
    assert (settings.num_variants, settings.temperature, settings.max_new_tokens) == (3, 0.7, 300)
    assert (settings.hyde_include_original, settings.step_back_combine) == (True, "both")
    assert (settings.force_strategy, settings.similarity_threshold) == (None, 0.7)


def test_adaptive_can_be_forced(model):
    assert reformulate("adaptive", force_strategy="expansion").reasoning == "Selected expansion for conceptual query"
    assert reformulate("adaptive", force_strategy="raw").calls == 0
    assert reformulate("adaptive", force_strategy="hyde+expansion").calls == 2
    for name, force in ((REWRITE_RETRIEVE_READ, None), ("adaptive", REWRITE_RETRIEVE_READ)):
        settings = StrategySettings(similarity_threshold=0.4, force_strategy=force)
        assert (retries_below(name, settings), load_reformulator(name, "m", settings).feedback.results) == (0.4, 3)
    assert retries_below("adaptive", StrategySettings()) is None


@pytest.mark.parametrize(
    ("name", "settings", "wrong"),
    [
        ("adaptive", {"num_variants": 6}, "num_variants is 6"),
        ("adaptive", {"temperature": -0.1}, "temperature is -0.1"),
        ("adaptive", {"timeout": 0}, "timeout is 0"),
        ("adaptive", {"force_strategy": "magic"}, "'magic'"),
        ("adaptive", {"force_strategy": "hyde+hyde"}, "'hyde'"),
        ("adaptive", {"by_type": {"complex": "magic"}}, "'magic'"),
        ("multi_query+hyd", {}, "'hyd'"),
    ],
)
def test_wrong_settings_and_names_are_refused_before_a_model_is_loaded(model, name, settings, wrong):
    with pytest.raises(ConfigError, match=wrong):
        load_reformulator(name, "some model", StrategySettings(**settings))
    assert not hasattr(model, "settings")


def test_any_other_name_is_a_policy_unless_the_model_can_only_be_prompted(tmp_path):
    with pytest.raises(GrammarError, match=r"acqo\.json"):
        load_reformulator("final", str(tmp_path))
    with pytest.raises(ConfigError, match="'multiquery'"):
        load_reformulator("multiquery", "openai:m@http://x")


ALL = {*STRATEGIES, "prompted", "adaptive"}
OTHER_VALUES = {
    "num_variants": 5,
    "translate_to": "French",
    "max_parts": 2,
    "force_strategy": "rewrite",
    "classify_by_model": True,
    "domain": "law",
    "temperature": 0.1,
    "seed": 1,
    "hyde_include_original": False,
    "step_back_combine": "step_back",
    "original_weight": 2.0,
    "by_type": {"simple": "hyde"},
    "temperatures": dict.fromkeys(STRATEGIES, 0.2),
    "token_limits": dict.fromkeys(STRATEGIES, 8),
    "max_new_tokens": 9,
    "reuse_templates": True,
}
OTHERS = {"timeout", "max_retries", "concurrency", "generation_batch", "similarity_threshold"}


def readers(**changed):
    return {
        n for n in ALL if strategy_key(n, "m", StrategySettings()) != strategy_key(n, "m", StrategySettings(**changed))
    }


def test_a_setting_changes_the_results_of_the_strategies_that_it_is_said_to_be_of():
    for item in fields(StrategySettings):
        if item.name not in OTHERS:
            assert readers(**{item.name: OTHER_VALUES[item.name]}) == ALL & {*item.metadata["of"]}, item.name
    forced, more = ({"force_strategy": "hyde", **changed} for changed in ({}, {"num_variants": 5}))
    assert strategy_key("adaptive", "m", StrategySettings(**forced)) == strategy_key(
        "adaptive", "m", StrategySettings(**more)
    )
    greedy = [strategy_key("hyde", "m", StrategySettings(temperature=0.0, seed=seed)) for seed in (0, 1)]
    assert greedy[0] == greedy[1] != strategy_key("hyde", "n", StrategySettings(temperature=0.0))


class Sampled(LanguageModel):
    """A stand-in that counts its calls by temperature and token limit."""

    def __init__(self, sampling=(0.7, 300), calls=None):
        self.sampling = sampling
        self.calls = {} if calls is None else calls

    def with_sampling(self, temperature, max_new_tokens):
        own, limit = self.sampling
        return Sampled((own if temperature is None else temperature, max_new_tokens or limit), self.calls)

    def generate(self, conversations, schema=None):
        self.calls[self.sampling] = self.calls.get(self.sampling, 0) + len(conversations)
        return [Completion("written", 1) for _ in conversations]


@pytest.mark.parametrize(
    ("name", "settings", "calls"),
    [
        (
            "multi_query+hyde+step_back",
            {"temperatures": {"multi_query": 0.9, "hyde": 0.3}, "token_limits": {"hyde": 200}},
            {(0.9, 300): 1, (0.3, 200): 1, (0.7, 300): 1},
        ),
        ("multi_query+hyde", {}, {(0.7, 300): 2}),
        ("adaptive", {"force_strategy": "hyde", "temperatures": {"hyde": 0.3}}, {(0.3, 300): 1}),
        ("adaptive", {"by_type": {"factual": "hyde"}, "token_limits": {"hyde": 50}}, {(0.7, 50): 1}),
        ("prompted", {}, {(0.0, 300): 1}),
        ("step_back", {"step_back_combine": "original"}, {}),
        ("step_back+hyde", {"step_back_combine": "original"}, {(0.7, 300): 1}),
    ],
)
def test_a_strategy_may_have_a_temperature_and_a_token_limit_of_its_own(name, settings, calls):
    """One model; strategies without their own sampling use the common one."""
    model = Sampled()
    made = load_reformulator(name, "m", StrategySettings(**settings), language_model=model)
    made.reformulate([Query("q", "What is FAISS?")])
    assert model.calls == calls
