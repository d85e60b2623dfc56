"""A strategy and the trained policies with a real language model."""

import pytest
import torch
from stand_ins import strategy

from acqo_rl.conversations import read_history
from acqo_rl.language_models.local import TransformersModel
from acqo_rl.reformulation.policy import Policy
from acqo_rl.reformulation.prompted import Prompted
from acqo_rl.types import Query, Snippet

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def model():
    """SmolLM2-135M; short replies, for time."""
    return TransformersModel.from_pretrained("embedded:smollm2", max_new_tokens=10)


def test_samples_follow_the_seed_and_leave_the_generator_as_it_was(model):
    def sampled(seed):
        settings = {"max_new_tokens": 8, "temperature": 1.0, "seed": seed}
        return Prompted(
            TransformersModel(model.model, model.chat.tokenizer, **settings), [strategy("hyde")]
        ).reformulate([Query("q", "Compare the population of Peru and Chad")])

    before = torch.random.get_rng_state()
    assert sampled(1) == sampled(1) != sampled(2)
    assert torch.equal(before, torch.random.get_rng_state())


def test_the_trained_policy_works_as_installed():
    """It leaves a plain question alone, and puts what it learned behind one that names nothing."""
    policy = Policy.from_pretrained("trained:demo")
    talk = ("U: Can you recommend a hotel?", "S: The Gonville Hotel has rooms.", "U: Tell me about the Gonville Hotel.")
    plain, leaning = policy.reformulate(
        [Query("plain", "who wrote the novel Dracula"), Query("leaning", "Does it have parking?", read_history(talk))]
    )
    assert (plain.route, plain.problem) == ("pass", None)
    assert (leaning.route, leaning.problem) == ("disambiguate", None)
    assert any("Gonville" in sub_query.text for sub_query in leaning.sub_queries)


def test_the_policy_of_four_sets_works_as_installed():
    """It leaves alone what the first result answers, and names what the conversation is about."""
    policy = Policy.from_pretrained("trained:four_sets")
    novel = Snippet("Dracula", "Dracula is a novel by Bram Stoker, published in 1897.")
    talk = ("U: Can you recommend a hotel?", "S: The Gonville Hotel has rooms.", "U: Tell me about the Gonville Hotel.")
    plain, leaning = policy.reformulate(
        [
            Query("plain", "who wrote the novel Dracula", feedback=(novel,)),
            Query("leaning", "Does it have parking?", read_history(talk), (Snippet("Parking", "Is parking free?"),)),
        ]
    )
    assert (plain.route, plain.problem) == ("pass", None)
    assert (leaning.route, leaning.problem) == ("disambiguate", None)
    assert any("Gonville Hotel" in sub_query.text for sub_query in leaning.sub_queries)
