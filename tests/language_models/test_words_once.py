"""Guided decoding that lets no word of a search be written twice."""

from __future__ import annotations

import pytest

from acqo_rl.language_models.local import TransformersModel
from acqo_rl.language_models.words_once import WordsOnce


@pytest.fixture(scope="module")
def tokenizer():
    return TransformersModel.load_tokenizer("embedded:smollm2")


def forbidden(tokenizer, written, prompt="Question: What is there?"):
    """The texts of the tokens that may not come next."""
    ids = (tokenizer.encode(text, add_special_tokens=False) for text in (prompt, written))
    return {tokenizer.decode([token]) for token in WordsOnce(tokenizer)(*ids)}


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("", set()),
        ("split", set()),
        ("split\n", set()),
        ("split\n=", set()),
        ("split\ncapital", {" capital", " Capital"}),
        ("split\n= capital of", {" capital", " Capital", " of", " Of"}),
        ("split\ncapital\nriver", {" river", " River"}),
        ("split\ncapital\n", set()),
        ("split\ncity, of the", {" city", " City", " the", " The"}),
        ("split\nmayor of the city of", {" mayor", " Mayor", " city", " City", " of", " Of", " the", " The"}),
    ],
)
def test_words_of_the_line_may_not_come_again(tokenizer, written, expected):
    assert forbidden(tokenizer, written) == expected


def test_a_long_word_is_stopped_where_it_begins(tokenizer):
    first, *others = tokenizer.encode(" Shiraz")
    assert others
    assert tokenizer.decode([first]) in forbidden(tokenizer, "split\nShiraz")


def test_one_letter_that_many_words_begin_with_is_let_through(tokenizer):
    assert tokenizer.decode(tokenizer.encode(" Ouagadougou")[:1]) == " O"
    assert " O" not in forbidden(tokenizer, "split\nOuagadougou")


def test_names_that_were_read_may_share_a_word(tokenizer):
    prompt = "U: Is New Mexico larger than New York?"
    assert " New" in forbidden(tokenizer, "split\nNew Mexico")
    assert " New" not in forbidden(tokenizer, "split\nNew Mexico", prompt)
    assert " New" in forbidden(tokenizer, "split\nNew Mexico New York", prompt)
    assert " Paris" in forbidden(tokenizer, "split\nParis")
    assert " Paris" not in forbidden(tokenizer, "split\nParis", "Who sang Paris Paris?")


def test_a_name_that_two_lines_of_the_prompt_share_is_no_double_name(tokenizer):
    prompt = "U: where is Oslo\nS: Oslo is well known.\n- Oslo: Oslo is in Norway\nQuestion: Oslo"
    assert " Oslo" in forbidden(tokenizer, "resolve\n= Oslo", prompt)
    assert " Pago" not in forbidden(tokenizer, "resolve\n= Pago", "U: where is Pago Pago\nS: In Samoa.")
