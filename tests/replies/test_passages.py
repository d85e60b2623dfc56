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
        "I'd be happy to help! Here's a passage that might answer your question:\n\n",
        "I'd be happy to help. The passage is:\n",
        "Below is a short passage. ",
        "Below you will find a passage that answers the question.\n",
        "I can help with that! Below is a passage that answers it:\n",
        "Thank you for your question. ",
        "Hi there! Thank you for reaching out. ",
        "Thanks for asking! ",
        "That's a great question. ",
        "To answer your question: ",
        "In response to your question: ",
        "The answer to your question: ",
        "This passage answers the question: ",
        "Short answer: ",
        "Brief answer: ",
        "Excerpt: ",
        "**Excerpt:** ",
        "Summary: ",
        "Vielen Dank für Ihre Frage. ",
        "Merci pour votre question. ",
    ],
)
def test_openings_that_are_not_part_of_the_passage_are_removed(opening):
    said = "Oslo is the capital of Norway. It lies on a fjord."
    assert read_passage(opening + said, "capital of Norway", 500) == said


@pytest.mark.parametrize(
    "said",
    [
        "To answer the call, Oslo built a fort.",
        "Below the town is a harbour. The document is kept there.",
        "Thank you notes were written by hand. They were short.",
        "Summary courts judge small offences.",
        "None of the bridges has tolls.",
        "The text is the oldest document in Norse.",
        "Absolutely everyone in Oslo skis.",
        "Here the river meets the sea.",
    ],
)
def test_a_passage_that_begins_like_an_opening_is_kept(said):
    assert read_passage(said, "q", 500) == said


@pytest.mark.parametrize(
    "reply",
    [
        "As an AI language model I don't have real-time data, but {}",
        "As an AI language model, I cannot browse, but {}",
        "As an AI, I don't have access to live data. However, {}",
        "I'm sorry, but I don't have live data; {}",
        "I'm just an AI, but {}",
        "As a large language model trained by X, I can't know, however {}",
        "I'm not sure, but {}",
        "Okay, so {}",
        "Okay so {}",
        "Alright, {}",
        "Well, {}",
    ],
)
def test_what_follows_a_disclaimer_or_a_filler_is_kept(reply):
    said = "Oslo has 700,000 people. It lies on a fjord."
    assert read_passage(reply.format(said), "population of Oslo", 500) == said


def test_a_disclaimer_after_the_passage_is_removed():
    assert (
        read_passage("Oslo has 700,000 people, but I cannot know today's number.", "q", 500)
        == "Oslo has 700,000 people."
    )


@pytest.mark.parametrize(
    "reply",
    [
        "As an AI language model, I can't help with that, but you can ask a lawyer.",
        "I'm sorry, but I can't help with that.",
        "I don't have live data. However, I can explain it.",
    ],
)
def test_a_refusal_alone_leaves_nothing(reply):
    assert read_passage(reply, "q", 500) == ""


@pytest.mark.parametrize(
    "reply",
    [
        "Hypothetical document: Oslo is the capital.",
        "The following paragraph answers it. Oslo is the capital.",
        "The following short text answers the question: Oslo is the capital.",
        "The following passage answers this.\nOslo is the capital.",
        "Oslo is the capital. The following paragraph answers it.",
    ],
)
def test_what_announces_a_passage_is_not_part_of_it(reply):
    assert read_passage(reply, "What is Oslo?", 300) == "Oslo is the capital."


def test_a_sentence_about_a_paragraph_is_kept():
    said = "The following paragraph answers a charge of bias. It was written in 1990."
    assert read_passage(said, "Was the paper biased?", 300) == said


@pytest.mark.parametrize("reply", ["N/A", "None", "none.", "**None**", '"N/A"', "Not applicable.", "Keine", "-"])
def test_a_reply_that_says_none_is_no_passage(reply):
    assert read_passage(reply, "What is Oslo?", 300) == ""
