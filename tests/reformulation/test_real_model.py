"""A strategy and the trained policies with a real language model."""

from dataclasses import replace

import pytest
import torch
from stand_ins import strategy

from acqo_rl.conversations import read_history
from acqo_rl.language_models.local import TransformersModel
from acqo_rl.reformulation.policy import Policy
from acqo_rl.reformulation.prompted import Prompted
from acqo_rl.types import Query, Snippet

pytestmark = pytest.mark.slow


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
