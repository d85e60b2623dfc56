"""Passages are read without the phrases that open a reply."""

from __future__ import annotations

import pytest

from acqo_rl.replies.passages import read_passage


@pytest.mark.parametrize(
    "opening",
    [
        "No problem, here it goes: ",
        "The following passage answers the query.\n",
        "Absolutely, here's a hypothetical document.\n\n",
        "Understood. ",
        "Got it! ",
        "Hypothetical answer - ",
        "Here is a short passage about the question.\n",
    ],
)
def test_openings_that_are_not_part_of_the_passage_are_removed(opening):
    said = "Oslo is the capital of Norway. It lies on a fjord."
    assert read_passage(opening + said, "capital of Norway", 500) == said


@pytest.mark.parametrize(
    "said",
    ["The text is the oldest document in Norse.", "Absolutely everyone in Oslo skis.", "Here the river meets the sea."],
)
def test_a_passage_that_begins_like_an_opening_is_kept(said):
    assert read_passage(said, "q", 500) == said
