"""The years that a text names."""

from __future__ import annotations

import pytest

from acqo_rl.reformulation.years import years_in


@pytest.mark.parametrize(
    ("text", "years"),
    [
        ("the crisis of 2008", [2008]),
        ("from 1999 to 2010, in 2010-2012", [1999, 2010, 2010, 2012]),
        ("2048 tokens and 1920 pixels wide: 1920px", [1920]),
        ("port 2021, RFC 1918, $2000, 2000 km", []),
        ("in 12008 or 2008.5 or v2020", []),
        ("born 1987.", [1987]),
        ("In 1990 people moved, in 2020 users left, since 2015 users came", [1990, 2020, 2015]),
        ("the 2007/2008 crisis, 12/25/2010", [2007, 2008, 2010]),
        ("the 1965 Watts riots, the 1959 Miles Davis album", [1965, 1959]),
        ("explain it in 2000 words, fits in 2048 tokens, reduced by 2000 dollars, record in 1500 meters", []),
        ("a 2048-token window, a 2048-bit key, 1500 meters, 2000 calories, 1920 x 1080, TCP/2021, bus 1900", []),
        ("\u0432 2008 \u0433\u043e\u0434\u0443", [2008]),
    ],
)
def test_years_are_no_other_numbers(text, years):
    assert years_in(text) == years
