"""Strategies share one model, and what a request asks of them reaches it."""

from __future__ import annotations

import pytest
from stand_ins import ScriptedLanguageModel

from acqo_rl.errors import ConfigError, NotFoundError
from acqo_rl.reformulation.load import StrategySettings
from acqo_rl.serving import strategies
from acqo_rl.serving.strategies import Strategies
from acqo_rl.types import Query

LIST = "1. first wording\n2. second wording\n3. third wording\n4. fourth wording\n5. fifth wording"


@pytest.fixture
def model(monkeypatch):
    """The one model that is loaded, as often as it is asked for."""
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


def test_the_number_of_variants_of_a_request(model):
    """D3-11: another number is another reformulator on the same model, and other strategies do not care."""
    served = Strategies({"multi_query": "m", "adaptive": "m", "hyde": "m"}, StrategySettings())
    assert [len(variants(served.get("multi_query", n))) for n in (1, 3, 5)] == [1, 3, 5]
    assert len(variants(served.get("adaptive", 2))) == 2
    assert served.get("hyde", 1) is served.get("hyde", 5)
    assert served.get("multi_query", 4) is served.get("multi_query", 4)
    assert model.loaded == 1


def test_what_is_offered(model):
    served = Strategies({"rules": ""}, StrategySettings())
    assert (served.names, served.default, model.loaded) == (("rules", "raw"), "rules", 0)
    with pytest.raises(NotFoundError, match="'hyde'"):
        served.get("hyde", 3)
    with pytest.raises(ConfigError, match="num_variants is 9"):
        Strategies({"multi_query": "m"}, StrategySettings(num_variants=9))
