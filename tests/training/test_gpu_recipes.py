"""The recipes and launchers for GPUs run on a CPU, with a tiny model of the same architecture.

Only settings of devices and sizes are replaced, which these tests assert. They take minutes: ``pytest -m launchers``.
"""

import json
import re
import shlex
import shutil
import subprocess
import sys
from importlib.util import find_spec

import pytest
import yaml
from shared import ENVIRONMENT
from test_entry_points import ROOT, examples
from tiny_policy import tiny_qwen

from acqo_rl.cli import command, train
from acqo_rl.data.beir import write_beir
from acqo_rl.reformulation.policy import PolicySettings
from acqo_rl.retrieval.build import build_bm25_index
from acqo_rl.types import Document, Query

pytestmark = pytest.mark.launchers

LAUNCH = (sys.executable, "-m", "accelerate.commands.launch", "--main_process_port", "0")
TORCHRUN = (sys.executable, "-m", "torch.distributed.run")
OFF = {"trainer.use_vllm": False, "trainer.report_to": "none"}
REPLACED = {"index_device": "cpu", "index_settings.encoder": "embedded:minilm"}
REPLACED |= {f"{stage}.{name}": value for stage in ("stage1", "stage2") for name, value in OFF.items()}
"""Settings of recipes that need a GPU, a model hub or the network, beside the model and the number of processes."""
SIZES = {"prompt.max_new_tokens": 16, "trainer.max_steps": 2, "trainer.logging_steps": 1}
"""Settings that make a training short."""
SHORT = {"prompt.max_new_tokens": 16}
SHORT |= {f"{stage}.trainer.max_steps": 2 for stage in ("warm_start", "stage1", "stage2")}
"""The same of a recipe."""
PLACES = re.compile(r"--(data|index|model|output_dir) \S+")
SHOWN = {" ".join(line.split()) for _, line in examples() if re.match("accelerate|torchrun", line)}
LAUNCHERS = sorted({PLACES.sub(r"--\1 \1", line) for line in SHOWN})
"""The launchers of the docs, the configs and --help, each once, whatever their folders."""


@pytest.fixture(scope="module")
def places(tmp_path_factory):
    """A BEIR folder with 40 training queries, enough for a batch of each recipe, its index, and the model."""
    folder = tmp_path_factory.mktemp("places")
    ends = ("land", "ria", "stan", "mark", "nia", "burg")
    names = [first + last for first in ("Al", "Be", "Co", "Du", "Er", "Fa", "Go", "Hu") for last in ends]
    kinds = ("capital", "currency")
    documents = [Document(f"{name}-{kind}", name, f"The {kind} of {name}.") for name in names for kind in kinds]
    queries = [Query(name, f"capital of {name}") for name in names]
    splits = {"train": names[:40], "dev": names[40:44], "test": names[44:]}
    qrels = {split: {name: {f"{name}-capital": 1} for name in some} for split, some in splits.items()}
    write_beir(folder / "data", documents, queries, qrels)
    build_bm25_index(folder / "index", documents)
    model = tiny_qwen(folder / "qwen")
    policy = shutil.copytree(model, folder / "policy")
    PolicySettings().save(policy)
    return {"data": folder / "data", "index": folder / "index", "model": model, "policy": policy}


def flat(settings):
    """Dotted name -> value of each setting."""
    leaves = {}
    for name, value in settings.items():
        inner = flat(value) if isinstance(value, dict) else {"": value}
        leaves |= {f"{name}.{path}".rstrip("."): leaf for path, leaf in inner.items()}
    return leaves


def words_of(settings):
    return [word for name, value in settings.items() for word in (f"--{name}", str(value))]


def losses_of(folder):
    return [entry["loss"] for entry in json.loads((folder / "log.json").read_text()) if "loss" in entry]


def launched(launcher):
    """The words of a launcher for two processes on this machine."""
    program, *words = shlex.split(launcher)
    return [*(LAUNCH if program == "accelerate" else TORCHRUN), *words[program == "accelerate" :]]


@pytest.mark.parametrize("name", ["beir", "hotpotqa", "topiocqa"])
def test_all_steps_of_a_recipe_run_with_its_settings(name, places, tmp_path, monkeypatch):
    file, out = ROOT / "configs" / "train" / f"{name}.yaml", tmp_path / "out"
    monkeypatch.setattr("os.environ", ENVIRONMENT)
    recipe = yaml.safe_load(file.read_text())
    processes = ["--num_processes", "2"] if "--config_file" in recipe["launcher"] else []
    launcher = shlex.join([*launched(recipe["launcher"]), *processes])
    given = (
        REPLACED | SHORT | {"launcher": launcher, "model": places["model"], "data": places["data"], "output_dir": out}
    )
    train.main(command.parse(train.main, ["--config", str(file), *words_of(given)]))
    wanted, ran = flat(recipe), flat(json.loads((out / "config.json").read_text()))
    replaced = {"model", "launcher", "prompt.max_new_tokens", *REPLACED}
    assert {setting for setting in wanted if ran[setting] != wanted[setting]} == replaced
    assert any(losses_of(out / "stage1"))
    assert any(losses_of(out / "stage2"))
    report = (out / "evaluation" / "report.html").read_text()
    assert all(system in report for system in ("raw", "prompted", "warm_start", "stage1", "policy"))


@pytest.mark.parametrize("line", LAUNCHERS)
def test_a_launcher_runs_as_it_is_written(line, places, tmp_path):
    """Folders and addresses are others; a config for eight GPUs gets two processes."""
    if "zero2" in line and not find_spec("deepspeed"):
        pytest.skip("deepspeed is not installed")
    folders = places | {"output_dir": tmp_path / "out"}
    if "stage2" in line:
        folders["model"] = places["policy"]
    words = [str(folders.get(word, word)) for word in launched(line)] + words_of(SIZES)
    if "--config_file" in words:
        words[len(LAUNCH) : len(LAUNCH)] = ["--num_processes", "2"]
    if re.search(r"configs/grpo/stage\d", line):
        words += words_of(OFF | {"index_device": "cpu"})
    done = subprocess.run(words, cwd=ROOT, env=ENVIRONMENT, capture_output=True, text=True, timeout=1500, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    assert any(losses_of(tmp_path / "out"))
