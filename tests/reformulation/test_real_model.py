"""A strategy and the trained policies with a real language model.

The search of the README is here too, because a process of the tests converts its policy for OpenVINO only once.
"""

import re
import shlex
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from stand_ins import strategy

from acqo_rl.cli import main
from acqo_rl.conversations import read_history
from acqo_rl.language_models import openvino
from acqo_rl.language_models.local import TransformersModel
from acqo_rl.reformulation.policy import Policy
from acqo_rl.reformulation.prompted import Prompted
from acqo_rl.types import Query, Snippet

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[2]
TRANSCRIPT = re.compile(
    r"```bash\n(acqo index [^\n]*docs/example[^\n]*)\n(acqo search [^\n]*)\n```\n\n```text\n(.*?)```", re.S
)


def test_samples_follow_the_seed_and_leave_the_generator_as_it_was(tiny_model):
    def sampled(seed):
        model = TransformersModel.from_pretrained(tiny_model, max_new_tokens=8, temperature=1.0, seed=seed)
        return Prompted(model, [strategy("hyde")]).reformulate([Query("q", "Compare the population of Peru and Chad")])

    before = torch.random.get_rng_state()
    assert sampled(1) == sampled(1) != sampled(2)
    assert torch.equal(before, torch.random.get_rng_state())


NOVEL = Snippet("Dracula", "Dracula is a novel by Bram Stoker, published in 1897.")
PARKING = Snippet("Parking", "Is parking free?")


@pytest.mark.parametrize(
    ("name", "feedback"), [("trained:demo", ((), ())), ("trained:four_sets", ((NOVEL,), (PARKING,)))]
)
def test_a_trained_policy_works_as_installed(name, feedback):
    """It leaves a plain question alone, and puts what it learned behind one that names nothing."""
    talk = ("U: Can you recommend a hotel?", "S: The Gonville Hotel has rooms.", "U: Tell me about the Gonville Hotel.")
    asked = Query("plain", "who wrote the novel Dracula"), Query("leaning", "Does it have parking?", read_history(talk))
    queries = [replace(query, feedback=read) for query, read in zip(asked, feedback, strict=True)]
    plain, leaning = Policy.from_pretrained(name).reformulate(queries)
    assert (plain.route, plain.problem) == ("pass", None)
    assert (leaning.route, leaning.problem) == ("disambiguate", None)
    assert any("Gonville" in sub_query.text for sub_query in leaning.sub_queries)


def test_openvino_writes_what_transformers_writes(monkeypatch):
    exact = {"INFERENCE_PRECISION_HINT": "f32", "KV_CACHE_PRECISION": "f32", "DYNAMIC_QUANTIZATION_GROUP_SIZE": 0}
    monkeypatch.setattr(openvino, "COMPUTED_IN", exact)
    queries = [Query("1", "Compare Oslo and Bergen"), Query("2", "capital of Peru"), Query("3", "And its population?")]
    fast, plain = (
        Policy.from_pretrained(name).reformulate(queries) for name in ("openvino:trained:demo", "trained:demo")
    )
    assert [answer.sub_queries for answer in fast] == [answer.sub_queries for answer in plain]


def shown(text):
    """A printed search without its scores and times, which may differ by rounding on another CPU."""
    lines = (line for line in text.splitlines() if line.strip() and " ms" not in line)
    return [re.sub(r"\d\.\d{3}", "", line).split() for line in lines]


def test_the_search_of_the_readme_prints_what_it_shows(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("COLUMNS", "120")
    index, search, printed = TRANSCRIPT.search((ROOT / "README.md").read_text(encoding="utf-8")).groups()
    for line in (index, search):
        capsys.readouterr()
        main(shlex.split(line.replace("outputs/example", str(tmp_path / "index")))[1:])
    assert shown(capsys.readouterr().out) == shown(printed)
