"""Errors of libraries become errors of this package."""

import pytest

from acqo_rl.errors import SearchError
from acqo_rl.libraries import reported


def test_the_message_of_a_library_becomes_one_line_without_control_characters():
    with (
        pytest.raises(SearchError, match=r"^A call failed \(ValueError: red \[31mtext\); try again\.$"),
        reported(SearchError, "A call failed", "; try again."),
    ):
        raise ValueError("red\x1b[31mtext\n")
