import pytest

from acqo_rl.conversations import read_history
from acqo_rl.data.beir import read_beir, read_corpus, read_splits, write_beir
from acqo_rl.data.importer import write_union
from acqo_rl.errors import ConfigError, DataError
from acqo_rl.types import Document, Query


@pytest.fixture
def sources(tmp_path):
    for name, train, dev in (("films", 6, 3), ("hotels", 4, 2)):
        documents = [Document(f"d{i}", f"{name} {i}", "text") for i in range(train + dev)]
        queries = [Query(f"q{i}", f"{name}?", history=read_history(("U: hello",))) for i in range(train + dev + 1)]
        qrels = {
            "train": {f"q{i}": {f"d{i}": 1, f"d{i + 1}": 2} for i in range(train)},
            "dev": {f"q{i}": {f"d{i}": 1} for i in range(train, train + dev)},
        }
        write_beir(tmp_path / name, documents, queries, qrels, {"q0": {"answer": "kept out"}})
    return [tmp_path / "films", tmp_path / "hotels"]


def test_ids_say_where_they_come_from_and_all_sources_weigh_the_same_on_dev(sources, tmp_path, caplog):
    folder = tmp_path / "both"
    readme = write_union(folder, sources, limit=5)
    assert caplog.text.count("1 queries") == 2  # those without judgements
    data = read_beir(folder, "train", "dev")
    assert list(data.corpus) == [f"films/d{i}" for i in range(9)] + [f"hotels/d{i}" for i in range(6)]
    kinds = {
        split: [data.metadata[query.id] for query in data.queries[split]].count({"kind": "films"})
        for split in ("train", "dev")
    }
    assert kinds == {"train": 5, "dev": 2}
    assert {split: len(queries) for split, queries in data.queries.items()} == {"train": 9, "dev": 4}
    assert data.qrels["dev"]["hotels/q4"] == {"hotels/d4": 1}
    assert data.qrels["train"]["hotels/q3"] == {"hotels/d3": 1, "hotels/d4": 2}
    assert [*map(str, data.queries["dev"][0].history)] == ["U: hello"]
    assert "kept out" not in (folder / "queries.jsonl").read_text()
    assert "- `films`: " in readme


def test_a_source_may_have_no_queries_and_stand_alone(sources, tmp_path):
    write_beir(tmp_path / "pages", [Document("d", "Page", "text")], [], {})
    (tmp_path / "pages" / "queries.jsonl").unlink()
    for some, splits in (([tmp_path / "pages"], []), ([*sources, tmp_path / "pages"], ["dev", "train"])):
        folder = tmp_path / f"all{len(some)}"
        write_union(folder, some)
        assert read_splits(folder) == splits
        assert read_corpus(folder)["pages/d"].text == "text"
    assert len(read_beir(folder, "dev").qrels["dev"]) == 4


def test_the_same_settings_give_the_same_bytes_and_another_seed_other_queries(sources, tmp_path):
    for name, seed in (("a", 0), ("b", 0), ("c", 1)):
        write_union(tmp_path / name, sources, limit=3, seed=seed)
    a, b, c = ((tmp_path / name / "queries.jsonl").read_bytes() for name in "abc")
    assert a == b != c


def test_what_cannot_be_united_is_refused(sources, tmp_path):
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "films").symlink_to(sources[0])
    for some, settings in (([], {}), ([sources[0], tmp_path / "other" / ".." / "films"], {}), (sources, {"limit": 0})):
        with pytest.raises(ConfigError):
            write_union(tmp_path / "x", some, **settings)
    train, dev = (sources[0] / "qrels" / f"{split}.tsv" for split in ("train", "dev"))
    dev.write_text(train.read_text())
    with pytest.raises(DataError, match=r"films.* train and dev"):
        write_union(tmp_path / "x", sources)
    assert not (tmp_path / "x").exists()
