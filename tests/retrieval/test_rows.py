"""Rows of engines as documents: whatever a column holds, the metadata can be written as JSON."""

from __future__ import annotations

import json
import uuid
from datetime import UTC, date, datetime, time, timedelta

import pytest

from acqo_rl.retrieval.engines.engine import Fields
from acqo_rl.retrieval.engines.rows import as_document, as_json


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (date(2024, 1, 5), "2024-01-05"),
        (datetime(2024, 1, 5, 10, tzinfo=UTC), "2024-01-05T10:00:00Z"),
        (time(10, 30), "10:30:00"),
        (timedelta(hours=1), "PT1H"),
        (b"\xff\x00", "_wA="),
        (float("nan"), None),
        (float("-inf"), None),
        (uuid.UUID(int=1), "00000000-0000-0000-0000-000000000001"),
        ([b"a", {"day": date(2024, 1, 5), 2: None}], ["YQ==", {"day": "2024-01-05", "2": None}]),
        (("a", True, 1, 2.5), ["a", True, 1, 2.5]),
    ],
)
def test_values_become_json(value, written):
    assert as_json(value) == written
    json.dumps(as_json(value), allow_nan=False)


def test_metadata_that_are_no_object_are_kept_under_the_name_of_their_field():
    document = as_document("1", {"text": "a", "more": [1]}, Fields(metadata="more"))

    assert dict(document.metadata) == {"more": [1]}
