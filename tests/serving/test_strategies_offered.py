"""Strategies share one model; num_variants of a request reaches it."""

from __future__ import annotations

import pytest
from stand_ins import ScriptedLanguageModel

from acqo_rl.errors import ConfigError, NotFoundError
from acqo_rl.reformulation.names import Lexicon
from acqo_rl.reformulation.settings import StrategySettings
from acqo_rl.serving import strategies
from acqo_rl.serving.strategies import Strategies
from acqo_rl.types import FeedbackSpec, Query

LIST = "1. first wording\n2. second wording\n3. third wording\n4. fourth wording\n5. fifth wording"


@pytest.fixture
def model(monkeypatch):
    """The only model; counts how often it is loaded."""
    model = ScriptedLanguageModel(LIST)
    model.loaded = 0

    def load(*_):
        model.loaded += 1
        return model

    monkeypatch.setattr(strategies, "load_strategy_model", load)
    return model


def variants(offered):
    [made] = offered.reformulator.reformulate([Query("1", "How do I install it?")])
    return [s.text for s in made.sub_queries if s.kind == "variant"]


def test_each_number_of_variants_has_its_own_reformulator(model):
    """All share one model; the number does not affect other strategies."""
    served = Strategies({"multi_query": "m", "adaptive": "m", "hyde": "m"}, StrategySettings())
    assert [len(variants(served.get("multi_query", n))) for n in (1, 3, 5)] == [1, 3, 5]
    assert len(variants(served.get("adaptive", 2))) == 2
    assert served.get("hyde", 1) is served.get("hyde", 5)
    assert served.get("multi_query", 4) is served.get("multi_query", 4)
    assert model.loaded == 1


def test_a_policy_and_the_rules_are_offered(passing_policy):
    lexicon = Lexicon(readings={"nebra": ("town", "sky disc")})
    served = Strategies({"mine": "a/b", "auto": "", "rules": ""}, StrategySettings(), lexicon=lexicon)
    assert (served.names, served.default) == (("mine", "auto", "rules", "raw"), "mine")
    mine, auto, rules = (served.get(name, 3) for name in ("mine", "auto", "rules"))
    assert (mine.calls, auto.calls, rules.calls) == (1, 0, 0)
    assert mine.reformulator.feedback == FeedbackSpec(1, 5)
    queries = [Query("1", "compare tin and zinc"), Query("2", "nebra"), Query("3", "capital of Peru")]
    assert [a.route for a in mine.reformulator.reformulate(queries)] == ["pass"] * 3
    assert [a.route for a in auto.reformulator.reformulate(queries)] == ["pass"] * 3
    assert [a.route for a in rules.reformulator.reformulate(queries[1:])] == ["disambiguate", "pass"]


def test_unknown_strategies_and_invalid_settings_are_rejected(model):
    served = Strategies({"rules": ""}, StrategySettings())
    assert (served.names, served.default, model.loaded) == (("rules", "raw"), "rules", 0)
    with pytest.raises(NotFoundError, match="'hyde'"):
        served.get("hyde", 3)
    with pytest.raises(ConfigError, match="num_variants is 9"):
        Strategies({"multi_query": "m"}, StrategySettings(num_variants=9))
