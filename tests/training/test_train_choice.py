"""Training of the choice: both decisions are searched once, and the reward teaches what to search."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from test_train_hop import option, world

from acqo_rl.cli.train_choice import TrainChoiceConfig, main
from acqo_rl.errors import ConfigError
from acqo_rl.reformulation import load
from acqo_rl.training.choice import with_asking
from acqo_rl.training.hop import Training
from acqo_rl.types import Reformulation, SubQuery

pytest_plugins = ["test_train_hop"]


class Town:
    """Stands in for a policy: searches the town of the question and its country."""

    from acqo_rl.types import FeedbackSpec

    name, feedback, retry_below = "auto", FeedbackSpec(0), None

    def reformulate(self, queries):
        countries = {q.text: q.id.replace("q", "c") for q in world()[1]}
        titles = {d.id: d.title for d in world()[0]}
        return [
            Reformulation(
                q,
                "decompose",
                (SubQuery(titles[countries[q.text]], "part"), SubQuery(q.text, "original")),
                "auto",
                calls=1,
            )
            for q in queries
        ]


def config(folder, output, **changes):
    settings = {"steps": 140, "seeds": 2, "cost": 0.0, "price": 0.1, "model": "stand-in", **changes}
    return TrainChoiceConfig(data=[str(folder)], index=[str(folder / "index")], output_dir=str(output), **settings)


def test_a_resumed_run_equals_an_uninterrupted_one_and_asks_the_model_that_helps(folder, tmp_path, monkeypatch):
    monkeypatch.setattr(load, "load_reformulator", lambda *_: Town())
    monkeypatch.setattr(load, "with_engine_prefix", lambda name, model, engine: model)
    main(config(folder, tmp_path / "whole"))
    report = (tmp_path / "whole" / "report.md").read_text()
    values = {
        row.split(" | ")[0].strip("| "): row.strip("| ").split(" | ")[1:] for row in report.splitlines() if " | " in row
    }
    assert float(values["reward"][0]) == pytest.approx(float(values["policy"][0]), abs=0.02)
    assert float(values["reward"][-1]) == 1.0

    main(config(folder, tmp_path / "again"))
    for made in ("model", "report.md"):
        (tmp_path / "again" / made).rename(tmp_path / f"removed {made}")
    [kept] = (tmp_path / "again" / "options" / "1").glob("*.npz")
    written = kept.stat().st_mtime_ns
    main(config(folder, tmp_path / "again"))
    assert kept.stat().st_mtime_ns == written
    for file in ("model/scorer.safetensors", "report.md"):
        assert (tmp_path / "again" / file).read_bytes() == (tmp_path / "whole" / file).read_bytes()

    main(config(folder, tmp_path / "dear", price=9.0))
    report = (tmp_path / "dear" / "report.md").read_text()
    [row] = [row for row in report.splitlines() if row.startswith("| reward |")]
    assert float(row.strip("| ").split(" | ")[-1]) == 0.0


def test_asking_is_worth_what_networks_of_other_queries_choose_minus_the_price():
    features = np.eye(2, dtype=np.float32)
    first = [replace(option(str(i), (), ("ask",), [1.0, 0.0]), features=features) for i in range(8)]
    second = [replace(one, rewards=np.float32([1.0, 3.0 if i % 2 else 0.0])) for i, one in enumerate(first)]
    valued = with_asking(first, second, Training(steps=100, batch_size=8), price=0.5)
    # The even queries are chosen for by networks of the odd ones, for which the model helps, and the other way round.
    assert [one.rewards[-1] for one in valued] == pytest.approx([-0.5, 0.5] * 4)
    assert all(one.rewards[0] == 1.0 for one in valued)
    assert all(np.array_equal(one.rewards, [1.0, 0.0]) for one in first)


def test_a_policy_is_needed(tmp_path):
    with pytest.raises(ConfigError):
        TrainChoiceConfig(data=["a"], index=["b"], output_dir=str(tmp_path))
