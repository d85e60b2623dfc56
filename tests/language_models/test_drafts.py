"""Guesses of the next tokens come from the prompt, the completion and earlier completions."""

import pytest

from acqo_rl.language_models.drafts import Drafts


@pytest.mark.parametrize(
    ("prompt", "written", "guess"),
    [
        ([1, 2, 3, 4, 5, 6, 7], [2], [3, 4, 5, 6]),  # at most four
        ([1, 2, 3, 9, 2, 4], [2], [4, 2, 4, 2]),  # the latest place
        ([1, 2, 3, 9, 2, 4], [1, 2], [3, 9, 2, 4]),  # the longest match before the latest place
        ([1, 2], [5, 6, 5], [6, 5, 6, 5]),  # the completion itself; a short guess is continued
        ([1, 2, 3], [8], [8, 8, 8, 8]),  # nothing is known: any token
        ([1, 2, 3], [], [3, 3, 3, 3]),
    ],
)
def test_what_followed_before_follows_again(prompt, written, guess):
    assert Drafts().guess([(prompt, written)]) == [guess]


def test_earlier_completions_are_known_behind_the_end_of_their_prompt():
    drafts = Drafts()
    drafts.remember([1, 2, 7, 8, 9], [4, 5, 6])
    assert drafts.guess([([3, 7, 8, 9], [])])[0][:3] == [4, 5, 6]
    assert drafts.guess([([3, 5, 1, 8, 9], [4, 5])])[0][:1] == [6]
    assert drafts.guess([([4, 5, 1, 8, 3], [4, 5])]) == [[1, 8, 3, 4]], "its own prompt comes first"


@pytest.mark.parametrize(("rows", "most"), [(1, 4), (3, 4), (4, 3), (8, 1), (9, 0), (32, 0)])
def test_guesses_are_shorter_for_many_rows(rows, most):
    assert Drafts().guess([([1, 2, 3, 4, 5, 6], [1])] * rows) == [[2, 3, 4, 5][:most]] * rows


def test_all_guesses_have_the_same_size():
    sizes = {len(guess) for guess in Drafts().guess([([1, 2, 3, 1], []), ([5, 6], [7]), ([5, 6, 5], [6])])}
    assert sizes == {4}
