"""Lone surrogates are removed from all values, because files, tokenizers and JSON reject them."""

from hypothesis import given
from hypothesis import strategies as st

from acqo_rl.types import well_formed


@given(st.text(st.characters(exclude_categories=())))
def test_every_text_can_be_written(text):
    clean = well_formed(text)
    clean.encode()
    assert well_formed(clean) == clean
    if max(text, default="") < "\ud800":
        assert clean == text
