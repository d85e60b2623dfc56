"""The trained policy: prompt, model, parser; and the settings that travel with its weights."""

import json
import math
from dataclasses import replace

import pytest
from stand_ins import ScriptedLanguageModel

from acqo_rl.errors import ConfigError, GrammarError
from acqo_rl.reformulation.policy import ONLY_ITSELF, Policy, PolicySettings, prompt_of
from acqo_rl.types import Completion, Query, SubQuery

SETTINGS = PolicySettings(max_sub_queries=2)


def policy(*completions, settings=SETTINGS):
    model = ScriptedLanguageModel(*completions)
    return Policy(model, prompt_of(settings, len), settings), model


def test_one_call_position_for_position():
    reformulator, model = policy("split\nPeru\nChad", "pass", Completion("I like trains", 4))
    queries = [Query(str(i), text) for i, text in enumerate(["Peru and Chad", "Cuba", "Kenya"])]
    answers = reformulator.reformulate(queries)
    assert [len(call) for call in model.calls] == [3]
    assert [a.route for a in answers] == ["decompose", "pass", "pass"]
    assert [a.query for a in answers] == queries
    assert answers[0].sub_queries == (SubQuery("Peru", "part"), SubQuery("Chad", "part"))
    assert [a.problem is None for a in answers] == [True, True, False]
    assert (answers[2].completion, answers[2].tokens) == ("I like trains", 4)


@pytest.mark.parametrize(
    ("completion", "searched"),
    [
        ("resolve\nPeru sol", [("Peru sol", None), ("Peru", 0.05)]),
        ("resolve\nPeru sol\n=", [("Peru sol", None), ("Peru", None)]),
        ("resolve\nPeru sol\nPeru inti", [("Peru sol", None), ("Peru inti", None)]),
        ("split\nPeru sol", [("Peru sol", None)]),
        ("pass", [("Peru", None)]),
    ],
)
def test_a_reading_is_searched_beside_the_raw_query_where_the_settings_want_it(completion, searched):
    asked = policy(completion)[0]
    asked.settings = replace(SETTINGS, raw_query_margin=0.05)
    [answer] = asked.reformulate([Query("q", "Peru")])
    assert [(s.text, s.min_margin) for s in answer.sub_queries] == searched


def test_a_query_that_the_prompt_shortens_is_reported():
    long = Query("q", "Lima " * 1000)
    reformulator, _ = policy("pass", "pass")
    [short, shortened] = reformulator.reformulate([Query("q", "Lima"), long])
    assert (len(short.notes), len(shortened.notes)) == (0, 1)
    assert shortened.problem is None


@pytest.mark.parametrize(
    ("completion", "noted"),
    [("split\nLIMA", True), ("resolve\n=", True), ("pass", False), ("split\nPeru\nChad", False)],
)
def test_a_split_into_the_query_itself_passes_and_says_so(completion, noted):
    [answer] = policy(completion)[0].reformulate([Query("q", "Lima")])
    assert (answer.notes == (ONLY_ITSELF,), answer.problem) == (noted, None)
    assert (answer.route == "pass") == (len(answer.sub_queries) == 1)


def test_queries_in_other_languages_pass_unless_any_is_allowed():
    texts = ["Welche Hauptstadt hat Peru?", "Quelle est la capitale du Pérou ?", "What is the capital of Peru?"]
    queries = [Query(str(i), text) for i, text in enumerate(texts)]
    english, model = policy("resolve\nPeru", settings=replace(SETTINGS, languages=("en",)))
    answers = english.reformulate(queries)
    assert [a.route for a in answers] == ["pass", "pass", "disambiguate"]
    assert [bool(a.notes) for a in answers] == [True, True, False]
    assert [len(call) for call in model.calls] == [1]
    answers = policy(*["resolve\nPeru"] * 3)[0].reformulate(queries)
    assert [a.route for a in answers] == ["disambiguate"] * 3


def test_round_trip(tmp_path):
    settings = PolicySettings(
        max_sub_queries=5, feedback_results=3, languages=("en",), words=frozenset({"who", "issued"})
    )
    settings.save(tmp_path)
    assert PolicySettings.load(tmp_path / "acqo.json") == settings
    words = tmp_path / "words.txt"
    words.write_bytes(words.read_bytes().replace(b"who", b"whn"))
    with pytest.raises(ConfigError, match=words.name):
        PolicySettings.load(tmp_path / "acqo.json")
    words.unlink()
    with pytest.raises(ConfigError, match=words.name):
        PolicySettings.load(tmp_path / "acqo.json")


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"grammar_version": "0"}, "grammar version 0.* version"),
        ({"prompt_version": "99"}, "prompt version 99.* version"),
        ({"max_sub_queries": 0}, "max_sub_queries"),
        ({"raw_query_margin": math.nan}, "raw_query_margin"),
        ({"history_tokens": -5}, "history_tokens"),
        # a missing setting: the version of the code must not stand in for the version of the model
        ({"grammar_version": None}, "grammar_version"),
    ],
)
def test_other_versions_and_invalid_settings_are_refused(tmp_path, changed, message):
    SETTINGS.save(tmp_path)
    file = tmp_path / "acqo.json"
    stored = json.loads(file.read_text()) | changed
    kept = {name: value for name, value in stored.items() if name not in changed or value is not None}
    file.write_text(json.dumps(kept))
    with pytest.raises(GrammarError, match=message):
        Policy.from_pretrained(str(tmp_path))
