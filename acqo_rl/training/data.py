"""Data sets for the trainers: prompts, and the columns that the reward reads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from acqo_rl.measures import gold_of
from acqo_rl.reformulation.prompt import Prompt
from acqo_rl.text import text_of
from acqo_rl.types import Qrels, Query

if TYPE_CHECKING:
    from datasets import Dataset


def with_gold(queries: Sequence[Query], qrels: Qrels) -> list[Query]:
    """The queries that have a gold document; training cannot use the others."""
    return [query for query in queries if gold_of(qrels, query.id)]


def grpo_dataset(queries: Sequence[Query], qrels: Qrels, prompt: Prompt) -> Dataset:
    """Creates the data set for GRPO.

    Columns: ``prompt`` (conversation), ``row``, ``query_id``, ``query`` (raw text), ``visible_text`` (raw text with
    conversation and feedback) and ``gold`` (document ids).
    """
    from datasets import Dataset

    return Dataset.from_list(
        [
            {
                "prompt": prompt.render(query),
                "row": row,
                "query_id": query.id,
                "query": query.text,
                "visible_text": text_of(query),
                "gold": gold_of(qrels, query.id),
            }
            for row, query in enumerate(queries)
        ]
    )


def sft_dataset(pairs: Sequence[tuple[Query, str]], prompt: Prompt, end: str = "") -> Dataset:
    """Creates the data set for SFT, with the columns ``prompt`` and ``completion`` (both conversations).

    Args:
        pairs: queries with their completions.
        prompt: prompt of the policy.
        end: appended to each completion; see :func:`acqo_rl.language_models.chat.missing_end`.
    """
    from datasets import Dataset

    return Dataset.from_list(
        [
            {"prompt": prompt.render(query), "completion": [{"role": "assistant", "content": completion + end}]}
            for query, completion in pairs
        ]
    )
