"""The block of thoughts before a reply, complete and streamed."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acqo_rl.language_models.thoughts import AfterThoughts, without_thoughts


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


@given(
    st.sampled_from(["", "<think>", "\n<think>a b", "<thin", "<"]),
    st.sampled_from(["</think>", "</think>\n ", "</thi", ""]),
    st.text("Li<>/ \n", max_size=8),
    st.lists(st.integers(0, 30), max_size=6),
)
def test_a_stream_is_what_the_complete_reply_is(begin, end, rest, cuts):
    text = f"{begin}{end if begin.strip().startswith('<think>') else ''}{rest}"
    heard = []
    stream = AfterThoughts(heard.append)
    places = [0, *sorted(min(cut, len(text)) for cut in cuts), len(text)]
    for start, stop in pairwise(places):
        stream.write(text[start:stop])
    stream.end()
    assert "".join(heard).strip() == without_thoughts(text).strip()
