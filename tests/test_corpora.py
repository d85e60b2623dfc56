"""The corpora of ``benchmarks/corpora``: recipe and questions, without documents and network."""

import json
import sys
from collections import Counter
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[1] / "benchmarks" / "corpora"
sys.path.insert(0, str(FOLDER))

import build  # noqa: E402
import check  # noqa: E402


def test_the_written_questions_have_the_form_and_the_counts(capsys):
    assert check.main([]) == 0, capsys.readouterr().out


def test_the_recipe_pins_every_package_and_has_the_splits():
    recipes = build.read_recipes()
    splits = Counter(recipe["split"] for recipe in recipes.values())
    assert splits["train"] >= 20 and splits["dev"] >= 5 and splits["test"] >= 5
    for recipe in recipes.values():
        assert recipe["description"]
        assert all(package["version"] and len(package["sha256"]) == 64 for package in recipe["packages"])


FAULTS = [{"kind": "joke"}, {"relevant": {}}, {"history": ["S: Hello."]}, {"id": "other-1"}]
REWRITES = [[], "hops", [" hops"], ["hops\nmalt"], ["hops"] * 4, ["hops"]]  # the last one is of a simple question


@pytest.mark.parametrize("change", [*FAULTS, *({"rewrite": one} for one in REWRITES)])
def test_a_faulty_question_is_named(change):
    question = {"id": "beer-1", "kind": "simple", "text": "which hop", "history": [], "relevant": {"7": 2}}
    question |= {"query_type": "factual", "difficulty": "easy", "reader": ""}
    counts = check.faults_of("beer", [json.dumps(question)])
    assert set(check.faults_of("beer", [json.dumps(question | change)])) - set(counts)


def test_a_question_may_have_a_rewrite():
    question = {"id": "beer-1", "kind": "ambiguous", "text": "hops", "history": [], "relevant": {"7": 2}}
    question |= {"query_type": "factual", "difficulty": "easy", "reader": ""}
    rewritten = question | {"rewrite": ["hops plant", "hops beer"]}
    assert check.faults_of("beer", [json.dumps(rewritten)]) == check.faults_of("beer", [json.dumps(question)])


def test_passages_are_cut_between_paragraphs_and_lose_nothing():
    text = "\n\n".join(f"Paragraph {number}. " + "word " * 60 for number in range(20))
    parts = list(build.cut(text))
    assert all(len(part) <= build.MAX_CHARACTERS for part in parts)
    assert "".join("".join(parts).split()) == "".join(text.split())
