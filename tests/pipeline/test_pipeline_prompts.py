"""The worked examples in the prompts of the pipeline."""

from __future__ import annotations

import jsonschema
import pytest

from acqo_rl.language_models.structured import example, read_reply
from acqo_rl.pipeline import analyzer, decomposition, multi_hop, synthesis
from acqo_rl.types import Completion


@pytest.mark.parametrize(
    ("schema", "examples"),
    [
        (analyzer._REPLY, analyzer._EXAMPLES),
        (decomposition._PARTS, decomposition._EXAMPLES),
        (decomposition._BRIEF, decomposition._ANSWER_EXAMPLES),
        (multi_hop._GAP_REPLY, multi_hop._GAP_EXAMPLES),
        (multi_hop._COMPLETE_REPLY, multi_hop._COMPLETE_EXAMPLES),
        (synthesis._CLAIMS, synthesis._GROUNDING_EXAMPLES),
    ],
)
def test_they_match_the_schema_and_the_form_of_guided_models(schema, examples):
    assert len(examples) > 0
    for _, reply in examples:
        value = read_reply(Completion(reply, 9), schema)
        jsonschema.validate(value, schema)
        assert example(**value) == reply
