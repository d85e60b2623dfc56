"""acqo data with own files."""

import pytest

from acqo_rl.cli import command, module_of
from acqo_rl.data.beir import read_beir
from acqo_rl.errors import ConfigError
from acqo_rl.types import Document

SCRIPT = "data"


@pytest.fixture
def prepare():
    script = module_of(SCRIPT)
    return lambda *arguments: script.main(command.parse(script.main, list(map(str, arguments))))


@pytest.fixture
def files(tmp_path):
    (tmp_path / "my docs.csv").write_text("nr,text\nd 1,one\nd2,two\n")
    (tmp_path / "q.tsv").write_text("id\ttext\nq1\tfirst?\n")
    (tmp_path / "j.txt").write_text("q1\td 1\t1\n")
    return [
        *("--dataset", "files", "--documents", tmp_path / "my docs.csv", "--document_fields", "id=nr"),
        *("--queries", tmp_path / "q.tsv", "--qrels", f"test={tmp_path / 'j.txt'}", "--output", tmp_path / "out"),
    ]


def test_files_are_converted_once(prepare, files, tmp_path, capsys):
    prepare(*files)
    data = read_beir(tmp_path / "out", "test")
    assert list(data.corpus.values()) == [Document("d_1", "", "one"), Document("d2", "", "two")]
    assert data.qrels["test"] == {"q1": {"d_1": 1}}
    prepare(*files)
    assert "already" in capsys.readouterr().out
    with pytest.raises(ConfigError):
        prepare(*files, "--query_fields", "text=question")
