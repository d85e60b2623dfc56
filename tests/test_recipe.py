"""The recipe runs existing commands with valid settings."""

from __future__ import annotations

import json
import sys

import pytest
from test_entry_points import ROOT

from acqo_rl.cli import command, module_of
from acqo_rl.data.beir import write_beir
from acqo_rl.data.embedded import write_embedded
from acqo_rl.errors import ConfigError
from acqo_rl.types import Document, Query


@pytest.fixture(scope="module")
def recipe():
    return module_of("train")


def config_of(recipe, name, *arguments):
    return command.parse(recipe.make_parser(), ["--config", str(ROOT / "configs/train" / name), *arguments])[0]


@pytest.mark.parametrize(
    ("name", "first"),
    [("embedded.yaml", "data"), ("beir.yaml", "index"), ("hotpotqa.yaml", "index"), ("topiocqa.yaml", "index")],
)
def test_every_stage_is_a_valid_command(recipe, tmp_path, name, first):
    arguments = ["--output_dir", str(tmp_path), *(["--data", str(tmp_path)] if first == "index" else [])]
    stages = recipe.plan(config_of(recipe, name, *arguments))
    assert stages[0].name == first
    for stage in stages:
        recipe.check(stage)


def test_a_recipe_searches_the_index_that_it_is_given(recipe, tmp_path):
    arguments = ["--data", str(tmp_path), "--output_dir", str(tmp_path), "--index", "qdrant:store/wiki"]
    stages = recipe.plan(config_of(recipe, "beir.yaml", *arguments))
    searching = [stage for stage in stages if stage.command in ("warm-start", "grpo", "difficulty", "evaluate")]
    assert [stage for stage in stages if stage.command == "index"] == []
    assert {stage.settings["index"] for stage in searching} == {"qdrant:store/wiki"}
    assert len(searching) == 5


@pytest.mark.parametrize("name", ["hotpotqa.yaml", "topiocqa.yaml"])
def test_a_plan_runs_nothing(recipe, tmp_path, name, capsys):
    out = tmp_path / "out"
    recipe.main(config_of(recipe, name, "--data", "nowhere", "--output_dir", str(out), "--plan", "True"))
    printed = capsys.readouterr().out
    assert not out.exists()
    for wanted in ("3.09 billion parameters", "8 processes", "GB in memory", "completions", "on 8 x H20"):
        assert wanted in printed


@pytest.mark.parametrize("sizes", [(), ("--passages", "-5", "--queries", "10"), ("--passages", "10")])
def test_a_plan_requires_data_or_sizes(recipe, sizes):
    with pytest.raises(ConfigError, match="passages is"):
        recipe.main(config_of(recipe, "beir.yaml", "--data", "nowhere", "--plan", "True", *sizes))


class TestPlan:
    @pytest.fixture
    def planned(self, recipe, tmp_path, capsys):
        """The plan of a recipe for three documents and one question."""
        documents = [Document(str(n), "", "text") for n in range(3)]
        write_beir(tmp_path, documents, [Query("q", "text")], {"train": {"q": {"1": 1}}})

        def plan(name, *arguments, data=tmp_path):
            recipe.main(config_of(recipe, name, "--data", str(data), "--plan", "True", *arguments))
            return capsys.readouterr().out

        return plan

    def test_the_sizes_of_existing_data_are_used(self, planned):
        assert "of 3 passages" in planned("hotpotqa.yaml")
        assert "of 5,233,329 passages" in planned("hotpotqa.yaml", data="nowhere")

    def test_each_kind_of_index_is_estimated(self, planned):
        dense, words, both = (planned("beir.yaml", "--index_kind", kind) for kind in ("dense", "bm25", "hybrid"))
        assert ["HNSW64" in printed for printed in (dense, words, both)] == [True, False, True]
        assert ["BM25" in printed for printed in (dense, words, both)] == [False, True, True]

    def test_the_memory_of_the_copies_of_all_processes_is_told(self, planned):
        """20 million vectors of 384 floats take 30.72 GB."""
        arguments = ("--passages", "20000000", "--queries", "10", "--index_factory", "Flat", "--encoder", "minilm")
        assert "30.7 GB in memory for each process, 245.8 GB for all 8" in planned(
            "hotpotqa.yaml", *arguments, data="nowhere"
        )
        one = planned("hotpotqa.yaml", *arguments, "--launcher", "python", data="nowhere")
        assert "passages: 30.7 GB in memory\n" in one
        four = planned("hotpotqa.yaml", *arguments, "--launcher", "accelerate launch --num_processes 4", data="nowhere")
        assert "30.7 GB in memory for each process, 122.9 GB for all 4" in four

    def test_the_embedded_data_need_neither_files_nor_sizes(self, planned, tmp_path):
        write_embedded(tmp_path / "embedded")
        number = len((tmp_path / "embedded" / "corpus.jsonl").read_text(encoding="utf-8").splitlines())
        assert f"of {number:,} passages" in planned("embedded.yaml", data="embedded")

    def test_an_index_on_the_gpu_takes_memory_there(self, planned):
        """20 million vectors of 384 floats take 30.7 GB, beside 76 GB of the model and vLLM on a card of 80 GB."""
        sizes = ("--passages", "20000000", "--queries", "1000", "--index_factory", "Flat", "--encoder", "minilm")

        def fits(device, *more):
            return "DOES NOT FIT" not in planned(
                "hotpotqa.yaml", *sizes, "--index_device", device, *more, data="nowhere"
            )

        assert fits("cpu") and fits("auto") and not fits("gpu")
        printed = planned("hotpotqa.yaml", *sizes, "--index_device", "gpu", "--index_float16", "True", data="nowhere")
        assert "15.4 GB on the GPU of each process" in printed

    def test_an_index_that_cannot_be_on_a_gpu_is_refused(self, planned):
        with pytest.raises(ConfigError, match="IndexHNSWFlat"):
            planned("hotpotqa.yaml", "--index_device", "gpu")

    @pytest.mark.parametrize("name", ["beir.yaml", "hotpotqa.yaml", "topiocqa.yaml"])
    def test_stages_that_do_not_fit_a_card_are_reported(self, planned, name):
        assert "DOES NOT FIT" not in planned(name, "--passages", "1000", "--queries", "1000", data="nowhere")
        large = '{"lora_rank": 0, "trainer": {"per_device_train_batch_size": 4096}}'
        assert "DOES NOT FIT" in planned(name, "--stage1", large)

    def test_half_of_the_queries_takes_half_of_the_steps(self, planned):
        sizes = ("--passages", "1000", "--queries", "64000")
        assert "1,000 steps" in planned("hotpotqa.yaml", *sizes, data="nowhere")
        assert "2,000 steps" in planned("hotpotqa.yaml", *sizes, "--stage1_hardest_fraction", "1", data="nowhere")


def test_the_recipe_of_hotpotqa_trains_on_the_harder_half_and_evaluates_exactly(recipe, tmp_path):
    config = config_of(recipe, "hotpotqa.yaml", "--output_dir", str(tmp_path), "--data", str(tmp_path))
    stages = {stage.name: stage.settings for stage in recipe.plan(config)}
    names = list(stages)
    scored = stages["difficulty for the warm start"]
    assert names.index("warm start") < names.index("difficulty for the warm start") < names.index("Stage I: explore")
    assert scored["model"] == stages["Stage I: explore"]["model"]
    assert stages["Stage I: explore"]["difficulty"] == scored["output_dir"] / "difficulty.jsonl"
    assert stages["Stage I: explore"]["hardest_fraction"] == 0.5
    assert stages["flat index"]["factory"] == "Flat"
    assert stages["evaluation"]["index"] == stages["flat index"]["output"]
    assert stages["Stage II: converge"]["index"] == stages["index"]["output"]


@pytest.mark.parametrize(
    ("stage", "settings", "message"),
    [
        ("stage2", '{"temperatur": 1}', r"'Stage II: converge' cannot run: .*--temperatur"),
        ("stage2", '{"trainer": {"temperature": 0}}', r"'Stage II: converge' .*temperature is 0"),
        (
            "stage2",
            '{"trainer": {"num_iterations": 3}}',
            r"'Stage II: converge' .*eval_steps is \d+ and num_iterations is 3",
        ),
        ("stage1", '{"trainer": {"max_steps": "many"}}', r"'Stage I: explore' .*max_steps is 'many'"),
        ("stage1", '{"trainer": {"max_step": 3}}', r"'Stage I: explore' .*max_step\b.*max_steps"),
        ("difficulty", '{"rollouts": 0}', "'difficulty' cannot run: rollouts is 0"),
    ],
)
def test_settings_of_all_stages_are_checked_first(recipe, tmp_path, stage, settings, message):
    out = tmp_path / "out"
    with pytest.raises(ConfigError, match=message):
        recipe.main(config_of(recipe, "embedded.yaml", "--output_dir", str(out), f"--{stage}", settings))
    assert not out.exists()


def test_trackers_of_all_stages_are_checked_first(recipe, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "wandb", None)
    out = tmp_path / "out"
    with pytest.raises(ConfigError, match="report_to is wandb"):
        recipe.main(config_of(recipe, "embedded.yaml", "--output_dir", str(out), "--stage2.trainer.report_to", "wandb"))
    assert not out.exists()


def test_settings_of_unfinished_stages_may_change(recipe, tmp_path, monkeypatch):
    monkeypatch.setattr(recipe, "plan", lambda config: [])
    out = tmp_path / "out"
    recipe.main(config_of(recipe, "embedded.yaml", "--output_dir", str(out)))
    (out / "warm_start" / "model").mkdir(parents=True)
    (out / "stage1" / "checkpoint-4").mkdir(parents=True)
    changed = config_of(recipe, "embedded.yaml", "--output_dir", str(out), "--stage1", '{"trainer": {"max_steps": 3}}')
    recipe.main(changed)
    assert json.loads((out / "config.json").read_text())["stage1"] == {"trainer": {"max_steps": 3}}
    (out / "stage1" / "model").mkdir()
    with pytest.raises(ConfigError, match="stage1: "):
        recipe.main(config_of(recipe, "embedded.yaml", "--output_dir", str(out)))
    (out / "stage1" / "model").rmdir()
    (out / "stage2" / "model").mkdir(parents=True)
    with pytest.raises(ConfigError, match="stage1: "):
        recipe.main(config_of(recipe, "embedded.yaml", "--output_dir", str(out)))


def test_each_stage_uses_the_output_of_earlier_stages(recipe, tmp_path):
    stages = {stage.name: stage.settings for stage in recipe.plan(config_of(recipe, "embedded.yaml"))}
    one, two = stages["Stage I: explore"], stages["Stage II: converge"]
    assert one["model"] == stages["warm start"]["output_dir"] / "model"
    assert two["model"] == stages["difficulty"]["model"] == one["output_dir"] / "model"
    assert two["difficulty"] == stages["difficulty"]["output_dir"] / "difficulty.jsonl"
    assert (one["stage"], two["stage"]) == ("explore", "converge")


def test_settings_of_a_stage_must_be_a_mapping(recipe, tmp_path):
    with pytest.raises(ConfigError, match="stage1 is"):
        recipe.plan(config_of(recipe, "embedded.yaml", "--stage1", '"fast"'))


def test_the_remaining_time_depends_on_the_pace(recipe):
    assert recipe._clock(0.0, [1, 4, 5], 0) == "(0 min so far, about 10 min left)"
    assert recipe._clock(10.0, [1, 4, 5], 2) == "(10 min so far, about 10 min left)"
    assert recipe._clock(3.0, [], 1) == "(3 min so far)"


def test_an_empty_list_of_a_stage_is_no_argument(recipe, tmp_path):
    config = config_of(recipe, "embedded.yaml", "--output_dir", str(tmp_path), "--warm_start.teacher", "[]")
    [warm_start] = [stage for stage in recipe.plan(config) if stage.name == "warm start"]
    words = warm_start.arguments()
    assert "--teacher" not in words
    assert "--teacher_queries" in words
