"""Explanations after some entries, entries in one line, and answers in a box."""

from __future__ import annotations

import pytest

from acqo_rl.replies.answers import read_answer
from acqo_rl.replies.lists import entries_of, read_list
from acqo_rl.types import Completion

READ = "How many people live in the capital of Norway?"


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("(focuses on demographics)", "- uses the keyword"),
        ("[adds a date]", "\u2014 targets official statistics"),
        (": broader", ": covers the suburbs"),
        ("(synonym)", "(different wording)"),
        ("(konzentriert sich auf Demografie)", "- verwendet ein Synonym"),
        ("(met l'accent sur la d\u00e9mographie)", "- utilise un synonyme"),
        ("(se centra en la demograf\u00eda)", "- usa un sin\u00f3nimo"),
        ("(si concentra sulla demografia)", "- utilizza un sinonimo"),
        (
            "(\u0438\u0441\u043f\u043e\u043b\u044c\u0437\u0443\u0435\u0442 \u0441\u0438\u043d\u043e\u043d\u0438\u043c)",
            "- This query adds the city",
        ),
        ("\uff08\u4fa7\u91cd\u4eba\u53e3\uff09", "\uff08\u4f7f\u7528\u540c\u4e49\u8bcd\uff09"),
    ],
)
def test_explanations_after_most_entries_are_removed(first, second):
    rows = [f"1. Oslo population {first}", f"2. Oslo inhabitants {second}", "3. census of Oslo"]
    assert entries_of("\n".join(rows), read=READ) == ["Oslo population", "Oslo inhabitants", "census of Oslo"]


@pytest.mark.parametrize(
    "entries",
    [
        ["Mercury (planet)", "Spider-Man - No Way Home", "Oslo (Norway)"],
        ["aspirin - uses and side effects", "ibuprofen (uses, doses)", "Alien: Covenant"],
        ["iPhone 15 - covers with a stand", "insurance (covers for boats)", "phone cases"],
        ["React (uses JSX)", "history of Vue", "origin of Angular"],
    ],
)
def test_brackets_and_dashes_with_content_are_kept(entries):
    assert entries_of("\n".join(f"{n}. {entry}" for n, entry in enumerate(entries, 1)), read=READ) == entries


def test_an_explanation_in_the_words_of_the_query_is_part_of_the_entry():
    entries = ["fund (targets growth)", "index fund - targets growth", "bonds"]
    assert entries_of("\n".join(entries), read="a fund that targets growth") == entries
    assert entries_of("\n".join(entries), read="a fund for me") == ["fund", "index fund", "bonds"]


@pytest.mark.parametrize(
    "reply",
    [
        "Oslo size; Oslo age; Oslo mayor (2020)",
        "Oslo size | Oslo age | Oslo mayor (2020)",
        "Oslo size\uff1bOslo age\uff1bOslo mayor (2020)",
        "(1) Oslo size (2) Oslo age (3) Oslo mayor (2020)",
        "Here are the queries:\nOslo size; Oslo age; Oslo mayor (2020).",
        r"The final answer is $\boxed{\text{Oslo size; Oslo age; Oslo mayor (2020)}}$.",
    ],
)
def test_one_line_has_several_queries_if_several_were_asked_for(reply):
    expected = ["Oslo size", "Oslo age", "Oslo mayor (2020)"]
    assert read_list(Completion(reply, 9), 3, read=READ) == expected


def test_signs_in_one_line_stay_if_one_query_was_asked_for_or_they_belong_to_it():
    assert read_list(Completion("Oslo size; Oslo age", 9), 1, read=READ) == ["Oslo size; Oslo age"]
    assert read_list(Completion("Romeo; Juliet", 9), 3, read=READ) == ["Romeo; Juliet"]
    assert read_list(Completion("the sign a ; b in C", 9), 3, read="what is ; in C") == ["the sign a ; b in C"]
    assert read_list(Completion("int a = 1; int b = 2", 9), 3, read=READ) == ["int a = 1; int b = 2"]


def test_boxes_are_removed():
    assert entries_of("I rewrite it.\n\n\\boxed{population of \\text{Oslo}}", read=READ) == ["population of Oslo"]
    assert entries_of("\\boxed{Oslo size} and \\boxed{Oslo age}", read=READ) == ["Oslo size", "Oslo age"]
    assert entries_of("what does \\boxed{x} do", read="\\boxed in LaTeX") == ["what does \\boxed{x} do"]
    assert read_answer("It has \\boxed{709,037} people.", READ) == "It has 709,037 people."


@pytest.mark.parametrize("greeting", ["Hallo daar!", "Halo!", "Hello everyone,", "\u4f60\u597d\uff01"])
def test_a_greeting_before_the_list_is_a_remark(greeting):
    assert entries_of(f"{greeting}\nOslo size\nOslo age", read=READ) == ["Oslo size", "Oslo age"]
    assert entries_of("Hello Dolly!\nOslo size", read=READ) == ["Hello Dolly!", "Oslo size"]
