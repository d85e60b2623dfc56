"""A BEIR folder."""

import pytest
from small_data_set import DOCUMENTS, METADATA, QRELS, QUERIES

from acqo_rl.data.beir import write_beir


@pytest.fixture
def folder(tmp_path):
    write_beir(tmp_path, DOCUMENTS, QUERIES, QRELS, METADATA)
    return tmp_path
