from __future__ import annotations

import pytest

from acqo_rl.conversations import read_history
from acqo_rl.data.beir import (
    read_beir,
    read_corpus,
    read_qrels,
    read_queries,
    read_query_metadata,
    read_splits,
    write_beir,
)
from acqo_rl.data.union import write_union
from acqo_rl.errors import ConfigError, DataError
from acqo_rl.types import Document, Query


@pytest.fixture
def sources(tmp_path):
    for name, train, dev in (("films", 6, 3), ("hotels", 4, 2)):
        documents = [Document(f"d{i}", f"{name} {i}", "text") for i in range(train + dev)]
        queries = [Query(f"q{i}", f"{name}?", history=read_history(("U: hello",))) for i in range(train + dev)]
        qrels = {
            "train": {f"q{i}": {f"d{i}": 1, f"d{i + 1}": 2} for i in range(train)},
            "dev": {f"q{i}": {f"d{i}": 1} for i in range(train, train + dev)},
        }
        write_beir(tmp_path / name, documents, queries, qrels, {"q0": {"answer": "kept out"}})
    return [tmp_path / "films", tmp_path / "hotels"]


def test_ids_say_where_they_come_from_and_all_sources_weigh_the_same_on_dev(sources, tmp_path):
    folder = tmp_path / "both"
    write_union(folder, sources, limits=[5], command="the command")
    assert read_beir(folder, "train", "dev").qrels == {split: read_qrels(folder, split) for split in ("train", "dev")}
    assert list(read_corpus(folder)) == [f"films/d{i}" for i in range(9)] + [f"hotels/d{i}" for i in range(6)]
    kinds = {query_id: values["kind"] for query_id, values in read_query_metadata(folder).items()}
    train, dev = (read_qrels(folder, split) for split in ("train", "dev"))
    assert [sum(kinds[q] == kind for q in train) for kind in ("films", "hotels")] == [5, 4]
    assert [sum(kinds[q] == kind for q in dev) for kind in ("films", "hotels")] == [2, 2]
    assert dev["hotels/q4"] == {"hotels/d4": 1}
    assert train["hotels/q3"] == {"hotels/d3": 1, "hotels/d4": 2}
    assert [*map(str, read_queries(folder, "dev")[0].history)] == ["U: hello"]
    assert "kept out" not in (folder / "queries.jsonl").read_text()
    assert "`the command`" in (folder / "README.md").read_text()


def test_a_source_may_have_no_queries_and_stand_alone(sources, tmp_path):
    write_beir(tmp_path / "pages", [Document("d", "Page", "text")], [], {})
    (tmp_path / "pages" / "queries.jsonl").unlink()
    for some, splits in (([tmp_path / "pages"], []), ([*sources, tmp_path / "pages"], ["dev", "train"])):
        folder = tmp_path / f"all{len(some)}"
        write_union(folder, some)
        assert read_splits(folder) == splits
        assert read_corpus(folder)["pages/d"].text == "text"
    assert len(read_qrels(folder, "dev")) == 4


def test_the_same_settings_give_the_same_bytes_and_another_seed_other_queries(sources, tmp_path):
    for name, seed in (("a", 0), ("b", 0), ("c", 1)):
        write_union(tmp_path / name, sources, limits=[3], seed=seed)
    a, b, c = ((tmp_path / name / "queries.jsonl").read_bytes() for name in "abc")
    assert a == b != c


def test_joined_queries_want_the_passages_of_both(sources, tmp_path):
    for name in ("stars", "songs"):
        documents = [Document(f"d{i}", name, "text") for i in range(8)]
        queries = [Query(f"q{i}", f"Who made {name} {i}?") for i in range(8)]
        qrels = {"train": {f"q{i}": {f"d{i}": i + 1} for i in range(5)}, "dev": {f"q{i}": {f"d{i}": 1} for i in (6, 7)}}
        write_beir(tmp_path / name, documents, queries, qrels)
    folder = tmp_path / "all"
    write_union(folder, [*sources, tmp_path / "stars", tmp_path / "songs"], joined=[0, 0, 2, 9])
    assert read_beir(folder, "train").qrels["train"] == read_qrels(folder, "train")
    metadata = read_query_metadata(folder)
    for split, numbers in (("train", (2, 2)), ("dev", (1, 1))):
        qrels = read_qrels(folder, split)
        texts = {query.id: query.text for query in read_queries(folder, split)}
        for name, number in zip(("stars", "songs"), numbers, strict=True):
            made = [query_id for query_id in qrels if metadata[query_id]["kind"] == f"{name}/joined"]
            assert len(made) == number
            for query_id in made:
                one, other = query_id.removeprefix(f"{name}/joined/").split("+")
                assert qrels[query_id] == qrels[f"{name}/{one}"] | qrels[f"{name}/{other}"]
                text = texts[query_id]
                assert text.startswith(f"Who made {name} {one[1:]}")
                assert text.endswith(f"who made {name} {other[1:]}?")
        assert not any(query_id.startswith(("films/joined", "hotels/joined")) for query_id in qrels)


@pytest.mark.parametrize(
    ("settings", "seen"),
    [
        ({"joined": [0, 1]}, r"4 .*hotels.* 0"),
        ({"joined": [3]}, "joined is 3;.* 2 sources"),
        ({"joined": [1, -1]}, "joined is 1 -1;"),
        ({"limits": [0]}, "limit is 0;"),
        ({"limits": [2, 0]}, "limit is 2 0;"),
        ({"limits": [1, 2, 3]}, "for all 2 sources"),
    ],
)
def test_settings_out_of_range_are_refused(sources, tmp_path, settings, seen):
    with pytest.raises(ConfigError, match=seen):
        write_union(tmp_path / "x", sources, **settings)
    assert not (tmp_path / "x").exists()


def test_what_cannot_be_united_is_refused(sources, tmp_path):
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "films").symlink_to(sources[0])
    for some in ([], [sources[0], tmp_path / "other" / ".." / "films"]):
        with pytest.raises(ConfigError):
            write_union(tmp_path / "x", some)
    train, dev = (sources[0] / "qrels" / f"{split}.tsv" for split in ("train", "dev"))
    dev.write_text(train.read_text())
    with pytest.raises(DataError, match=r"films.* train and dev"):
        write_union(tmp_path / "x", sources)
    assert not (tmp_path / "x").exists()
