"""A small world to train in: capitals and currencies of six countries."""

from __future__ import annotations

import pytest
from tiny_policy import full_model

from acqo_rl.data.beir import read_corpus, write_beir
from acqo_rl.retrieval.build import build_bm25_index
from acqo_rl.types import Document, Query

PLACES = {"Peru": "Lima", "Chad": "Ndjamena", "Norway": "Oslo", "Japan": "Tokyo", "Kenya": "Nairobi", "Cuba": "Havana"}


@pytest.fixture(scope="session")
def data(tmp_path_factory):
    """A BEIR folder with a train and a dev split."""
    folder = tmp_path_factory.mktemp("world") / "data"
    documents = [Document(f"{p}-capital", p, f"{city} is the capital of {p}.") for p, city in PLACES.items()]
    documents += [Document(f"{p}-money", p, f"The currency of {p} is printed by its own bank.") for p in PLACES]
    queries, train, dev = [], {}, {}
    places = list(PLACES)
    for i, (place, other) in enumerate(zip(places, places[1:] + places[:1], strict=True)):
        split = train if i < 4 else dev
        queries.append(Query(f"s-{place}", f"capital of {place}"))
        queries.append(Query(f"c-{place}", f"capital of {place} and currency of {other}"))
        split[f"s-{place}"] = {f"{place}-capital": 1}
        split[f"c-{place}"] = {f"{place}-capital": 1, f"{other}-money": 1}
    write_beir(folder, documents, queries, {"train": train, "dev": dev})
    return folder


@pytest.fixture(scope="session")
def index(data):
    """A BM25 index of it."""
    folder = data.parent / "index"
    build_bm25_index(folder, list(read_corpus(data).values()))
    return folder


@pytest.fixture(scope="session")
def tiny(tmp_path_factory):
    """Folder of a policy of random weights."""
    return str(full_model(tmp_path_factory.mktemp("tiny"), max_new_tokens=8))
