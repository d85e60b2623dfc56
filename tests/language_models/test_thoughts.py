"""The block of thoughts before a reply."""

import pytest

from acqo_rl.language_models.chat import without_thoughts


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Lima.", "Lima."),
        ("<think>Quito? No.</think>\n\nLima.", "Lima."),
        ("\n<think>\n</think>\nLima.", "Lima."),
        ("Quito? No.</think>Lima.", "Lima."),
        ("<think>Quito?", ""),
        ("Lima <think> is no thought", "Lima <think> is no thought"),
        ("The tag <think>a</think> shows thoughts", "The tag <think>a</think> shows thoughts"),
        ("", ""),
    ],
)
def test_only_a_block_at_the_start_is_removed(text, said):
    assert without_thoughts(text) == said
