"""acqo index."""

import pytest
from forked import run_command, run_in_two_processes
from shared import ENVIRONMENT

from acqo_rl.cli import command, module_of
from acqo_rl.data.beir import read_corpus, write_beir
from acqo_rl.errors import ConfigError, DataError, IndexMismatchError
from acqo_rl.retrieval.encoder import SentenceTransformerEncoder
from acqo_rl.retrieval.load import load_retriever
from acqo_rl.types import Document

SCRIPT = "index"
INDEX_FILES = ("index.faiss", "doc_ids.json")


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("build_index") / "data"
    animals = ["otter", "heron", "badger", "lynx", "newt"]
    documents = [
        Document(f"d{i}", f"Note {i}" if i % 2 else "", f"The {animals[i % 5]} was seen {i} times. " * (1 + i % 3))
        for i in range(40)
    ]
    write_beir(folder, documents, [], {})
    return folder


@pytest.fixture(scope="module")
def script():
    return module_of(SCRIPT)


@pytest.fixture
def build(script):
    """Runs the command in this process with a list of arguments."""

    def run(*arguments):
        script.main(command.parse(script.main, list(map(str, arguments))))

    return run


@pytest.mark.slow
def test_two_processes_build_the_same_index_as_one(data, tmp_path):
    one = tmp_path / "one"
    two = tmp_path / "two"
    settings = ["--data", data, "--encoding.shard_size", "8", "--output"]
    assert "5 of 5 shards" in run_command(SCRIPT, *settings, one, env=ENVIRONMENT).stdout
    assert run_in_two_processes(SCRIPT, *settings, two, env=ENVIRONMENT).count("ready to search") == 1
    for name in INDEX_FILES:
        assert (one / name).read_bytes() == (two / name).read_bytes()
    files = ["doc_ids.json", "fields.json", "index.faiss", "manifest.json", "passages.npy"]
    assert sorted(path.name for path in two.iterdir()) == files


def test_a_hybrid_build_resumes_after_a_finished_part(data, tmp_path, build, monkeypatch):
    build("--data", data, "--output", tmp_path / "dense")
    monkeypatch.setattr(SentenceTransformerEncoder, "encode_passages", None)
    build("--data", data, "--output", tmp_path, "--kind", "hybrid")
    [found] = load_retriever(tmp_path).search(["a lynx"], 1)
    assert read_corpus(data)[found.doc_ids[0]].text.startswith("The lynx")


def test_a_finished_index_is_kept_and_other_settings_are_rejected(data, tmp_path, build, capsys):
    build("--data", data, "--output", tmp_path, "--kind", "bm25")
    assert "ready to search" in capsys.readouterr().out
    build("--data", data, "--output", tmp_path, "--kind", "bm25")
    assert "already exists" in capsys.readouterr().out
    with pytest.raises(IndexMismatchError, match=r"k1 is 1.5, .* 2.0"):
        build("--data", data, "--output", tmp_path, "--kind", "bm25", "--bm25.k1", "2")
    assert load_retriever(tmp_path).search(["heron"], 1)[0].doc_ids


@pytest.mark.parametrize("kind", ["dense", "hybrid"])
def test_long_documents_are_counted_and_split_on_request(tmp_path, build, capsys, kind):
    filler = "The committee met and discussed the agenda. " * 60
    pages = [Document("a", "", f"{filler} Goats eat thistles."), Document("b", "", f"{filler} Owls sleep by day.")]
    write_beir(tmp_path / "data", [*pages, Document("c", "", "A short note.")], [], {})
    given = ["--data", tmp_path / "data", "--kind", kind]
    build(*given, "--output", tmp_path / "cut")
    assert "2 of 3 passages are longer than 256 tokens" in capsys.readouterr().out
    build(*given, "--output", tmp_path / "split", "--split_passages", "True")
    assert "2 of 3 passages are longer than 256 tokens; they are split" in capsys.readouterr().out
    build(*given, "--output", tmp_path / "split", "--split_passages", "True")
    assert "nothing to do" in capsys.readouterr().out
    with pytest.raises(IndexMismatchError):
        build(*given, "--output", tmp_path / "split")
    found = load_retriever(tmp_path / "split").search(["what do goats eat?", "when do owls sleep?"], 3)
    assert [ranking.doc_ids[0] for ranking in found] == ["a", "b"]
    assert all(len(ranking.doc_ids) == len(set(ranking.doc_ids)) for ranking in found)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--data", "D", "--encoder", "openai:letters@http://127.0.0.1:9/v1", "--encoding.dtype", "float32"], "dtype"),
        (["--data", "D", "--encoding.dimensions", "64"], "dimensions"),
        (["--data", "D", "--output", "D/.", "--kind", "bm25"], "output"),
        (["--data", "D", "--output", "http+json:D/pages.yaml"], "output is a collection"),
    ],
)
def test_contradictory_settings_are_rejected_before_anything_is_loaded(tmp_path, build, arguments, message):
    with pytest.raises((ConfigError, DataError), match=message):
        build("--output", tmp_path / "index", *arguments)
