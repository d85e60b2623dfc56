"""What the prompts of the pipeline must say."""

from __future__ import annotations

import pytest

from acqo_rl.pipeline import decomposition, multi_hop, synthesis


@pytest.mark.parametrize(
    ("prompt", "parts"),
    [
        (decomposition._DECOMPOSE, ["2 to 4", "complete in itself", "simple question", "stays as it is",
                                    "do not answer", "SUB1", "SUB2", "DEPENDS", "none"]),
        (decomposition._ANSWER, ["briefly", "from the passages", "write none"]),
        (synthesis._SYNTHESIS["comprehensive"], ["comprehensively", "from the passages alone", "weave",
                                                 "naturally", "do not list", "do not tell"]),
        (synthesis._SYNTHESIS["brief"], ["few words", "from the passages alone", "write none"]),
        (multi_hop._GAP, ["one complete search", "what the passages already tell", "do not answer", "ANSWERABLE",
                          "MISSING", "NEXT_QUERY"]),
        (multi_hop._COMPLETENESS, ["for each gap", "most important first", "SUFFICIENT", "MISSING"]),
        (synthesis._GROUNDING, ["claims", "number of the passage", "null", "JSON only", '"claim"', '"source"']),
    ],
)  # fmt: skip
def test_a_step_asks_for_all_that_it_needs(prompt, parts):
    assert [part for part in parts if part.lower() not in prompt.lower()] == []


def test_the_examples_of_decomposition_are_read_as_they_are_meant():
    from acqo_rl.types import Query

    for asked, reply in decomposition._EXAMPLES:
        query = Query("q", asked.removeprefix("Question: "))
        parts = decomposition.read_sub_questions(reply, query)
        assert len(parts) == reply.count("SUB") - reply.count("DEPENDS: SUB")
