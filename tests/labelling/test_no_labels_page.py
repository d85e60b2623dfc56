"""The commands of docs/no_labels.md run, on a handbook of invented places and with a stand-in for the model."""

import json
import os
import re
import shlex
from pathlib import Path

import pytest
from forked import run_command
from handbook import Writer, pages, write_pages
from shared import ENVIRONMENT
from tiny_policy import full_model

from acqo_rl.cli import command, main, module_of
from acqo_rl.data.beir import read_beir
from acqo_rl.reformulation.policy import Policy
from acqo_rl.retrieval.encoder import SentenceTransformerEncoder

PAGE = Path(__file__).parents[2] / "docs" / "no_labels.md"
[FIRST] = re.findall(r"<!-- tested -->\n```bash\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.S)
[COLLECTION] = re.findall(r"```bash\n(acqo data --dataset collection.*?)```", PAGE.read_text(encoding="utf-8"), re.S)
TRAINER = {"max_steps": 1, "per_device_train_batch_size": 4, "num_generations": 4, "report_to": "none"}

pytestmark = pytest.mark.slow


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder with a handbook; the stand-in for the model is set by the test."""
    monkeypatch.chdir(tmp_path)
    write_pages(tmp_path / "handbook")

    def use(model):
        monkeypatch.setattr("acqo_rl.language_models.load.load_language_model", lambda *_, **__: model)

    return use


def test_a_folder_of_documents_becomes_a_data_set_that_the_recipe_accepts(here):
    here(Writer())
    *lines, train = FIRST.splitlines()
    for line in lines:
        main(shlex.split(line)[1:])
    data = read_beir("data/handbook_questions", "train", "dev", "test")
    kinds = {entry["kind"] for entry in data.metadata.values()}
    assert kinds >= {"simple", "several", "bridge", "follow_up", "ambiguous"}
    relevant = {split: {d for judged in data.qrels[split].values() for d in judged} for split in data.qrels}
    assert relevant["train"] and not relevant["train"] & (relevant["dev"] | relevant["test"])
    config = command.parse(module_of("train").main, shlex.split(train)[2:])
    recipe = module_of("train")
    stages = recipe.plan(config)
    for stage in stages:
        recipe.check(stage)
    assert stages[0].settings["index"] == "indexes/handbook"


@pytest.fixture
def collection(postgres, tmp_path, monkeypatch):
    """Location of a table that another program made of the pages of a handbook."""
    import psycopg

    monkeypatch.chdir(tmp_path)
    texts = pages()
    vectors = SentenceTransformerEncoder("embedded:minilm").encode_passages([f"{t}. {x}" for t, x in texts.items()])
    with psycopg.connect(postgres) as connection:
        connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
        connection.execute("CREATE TABLE handbook (id int, title text, text text, vector vector(384))")
        for row, (vector, (title, text)) in enumerate(zip(vectors, texts.items(), strict=True)):
            values = [row, title, text, str(vector.tolist())]
            connection.execute("INSERT INTO handbook VALUES (%s, %s, %s, %s)", values)
    return f"{postgres}/handbook?encoder=embedded:minilm"


def test_a_policy_is_trained_and_searches_in_front_of_a_collection(collection, tmp_path, monkeypatch):
    monkeypatch.setattr("acqo_rl.language_models.load.load_language_model", lambda *_, **__: Writer())
    small = {
        "model": str(full_model(tmp_path / "base")),
        "test_split": "dev",
        "prompted_baseline": False,
        "prompt": {"max_new_tokens": 4},
        "warm_start": {"limit": 12, "examples": 8},
        "stage1": {"eval_limit": 4, "trainer": TRAINER},
        "stage2": {
            "limit": 4,
            "rollouts": 4,
            "eval_limit": 4,
            "min_mean_reward": -9.0,
            "max_mean_reward": 9.0,
            "trainer": TRAINER,
        },
    }
    (tmp_path / "small.yaml").write_text(json.dumps(small))

    commands = (
        COLLECTION.replace("postgresql://me@localhost/wiki/pages?encoder=BAAI/bge-small-en-v1.5", collection)
        .replace("postgresql://me@localhost/wiki/pages", collection.partition("?")[0])
        .replace("--config embedded", "--config small.yaml")
    )
    environment = {**ENVIRONMENT, "PGHOST": os.environ["PGHOST"]}
    data, label, train, search = [shlex.split(line)[1:] for line in commands.splitlines()]
    main(data)
    main(label)
    monkeypatch.setattr(
        module_of("train"),
        "run_program",
        lambda _, words: run_command(*words[words.index("acqo_rl.cli") + 1 :], env=environment),
    )
    main(train)
    found = run_command(*search, "--json", "True", env=environment)

    questions = read_beir("data/wiki_questions", "train", "dev")
    assert {entry["kind"] for entry in questions.metadata.values()} >= {"several", "bridge", "follow_up"}
    assert Policy.from_pretrained("outputs/wiki/policy").settings.max_new_tokens == 4
    systems = json.loads((tmp_path / "outputs/wiki/evaluation/summary.json").read_text())["systems"]
    assert {system["reformulator"] for system in systems} >= {"raw", "warm_start", "policy"}
    assert json.loads(found.stdout)["documents"][0]["title"] == "Marken mill"
