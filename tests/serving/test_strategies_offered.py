"""Strategies share one model; num_variants of a request reaches it."""

import pytest
from stand_ins import ScriptedLanguageModel

from acqo_rl.language_models.structured import example
from acqo_rl.reformulation.settings import StrategySettings
from acqo_rl.searching.settings import StepSettings
from acqo_rl.serving import strategies
from acqo_rl.serving.strategies import Strategies
from acqo_rl.types import Query

LIST = example(searches=[f"{number} wording" for number in ("first", "second", "third", "fourth", "fifth")])


@pytest.fixture
def models(monkeypatch):
    """The models that were loaded."""
    loaded = []

    def load(*_):
        loaded.append(ScriptedLanguageModel(LIST))
        return loaded[-1]

    monkeypatch.setattr(strategies, "load_strategy_model", load)
    return loaded


def variants(offered):
    [made] = offered.reformulate([Query("1", "How do I install it?")])
    return [s.text for s in made.sub_queries if s.kind == "variant"]


def test_each_number_of_variants_has_its_own_reformulator(models):
    """All share one model."""
    served = Strategies(StepSettings().paths(["multi_query", "adaptive", "hyde", "h=hyde+multi_query"], model="m"))
    assert [len(variants(served.get("multi_query", n))) for n in (1, 3, 5)] == [1, 3, 5]
    assert len(variants(served.get("multi_query"))) == StrategySettings().num_variants
    assert len(variants(served.get("adaptive", 2))) == 2
    has_variants = [served.has_variants(name) for name in ("multi_query", "adaptive", "h", "hyde")]
    assert has_variants == [True, True, True, False]
    assert served.get("multi_query", 4) is served.get("multi_query", 4)
    assert len(models) == 1
