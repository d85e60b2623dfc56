"""A service of stand-ins behind a real server."""

from __future__ import annotations

import pytest
from serving_stand_ins import serving
from stand_ins import ScriptedLanguageModel

from acqo_rl.reformulation.policy import Policy, PolicySettings, prompt_of


@pytest.fixture(scope="module")
def client():
    """A service shared by several tests."""
    with serving() as client:
        yield client


@pytest.fixture
def passing_policy(monkeypatch):
    """Replaces every policy by one that always passes."""
    settings = PolicySettings(feedback_results=1, feedback_words=5)

    def from_pretrained(path, *, name, **_):
        return Policy(ScriptedLanguageModel("pass"), prompt_of(settings, len), settings, name)

    monkeypatch.setattr(Policy, "from_pretrained", from_pretrained)
