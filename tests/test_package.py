"""The package as ``import acqo_rl`` gives it."""

import json
import subprocess
import sys

import pytest

import acqo_rl

HEAVY = {"torch", "transformers", "faiss", "trl", "datasets", "peft", "sentence_transformers", "numpy"}


def test_the_import_is_light():
    code = "import acqo_rl, json, sys; print(json.dumps(sorted(sys.modules)))"
    loaded = json.loads(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout)
    assert not HEAVY & set(loaded)


@pytest.mark.parametrize("name", acqo_rl.__all__)
def test_every_public_name_can_be_imported(name):
    assert getattr(acqo_rl, name) is not None
    assert name in dir(acqo_rl)
