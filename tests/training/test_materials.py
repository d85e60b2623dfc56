"""What every training stage opens."""

from __future__ import annotations

import shutil

import pytest

from acqo_rl.errors import ConfigError
from acqo_rl.training.materials import open_materials
from acqo_rl.training.settings import PathSettings, PromptSettings


def test_a_query_of_both_splits_is_refused(data, index, tmp_path):
    """Its dev judgements would be rewarded in training."""
    folder = tmp_path / "data"
    shutil.copytree(data, folder)
    first = (folder / "qrels" / "train.tsv").read_text().splitlines()[1]
    with (folder / "qrels" / "dev.tsv").open("a") as file:
        file.write(first + "\n")
    paths = PathSettings(data=str(folder), index=str(index), output_dir="run", model="none")
    with pytest.raises(ConfigError, match=r"1 queries of .* are in train and in dev"):
        open_materials(paths, PromptSettings())
