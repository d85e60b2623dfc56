"""Three evaluations: of the raw query, of good reformulations and of bad ones."""

import pytest
from small_study import GOOD, Scripted, evaluated

from acqo_rl.reformulation.pass_through import PassThrough


@pytest.fixture
def raw():
    return evaluated(PassThrough())


@pytest.fixture
def good():
    return evaluated(Scripted(GOOD), name="good")


@pytest.fixture
def bad():
    """Searches nonsense for the simple query, and could not be read for the compound one."""
    answers = {"simple": ("decompose", "python snake", "python language")}
    return evaluated(Scripted(answers, problems=("compound",)), name="bad")
