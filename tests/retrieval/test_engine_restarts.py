"""Servers that are started again between two searches."""

from __future__ import annotations

import contextlib
import socket
import subprocess
import sys
import time

import psycopg
import pytest
from engine_cases import CORPUS, UnitEncoder

from acqo_rl.errors import SearchError
from acqo_rl.retrieval.engines.build import build_engine_index
from acqo_rl.retrieval.load import load_retriever

OTHERS = "pid <> pg_backend_pid() AND backend_type = 'client backend'"


def found(retriever):
    return len(retriever.search(["stone"], 10)[0].doc_ids)


def built(index):
    """A new collection's retriever, and one that gives up soon."""
    build_engine_index(index, CORPUS, UnitEncoder())
    retriever = load_retriever(index, encoder=UnitEncoder())
    impatient = load_retriever(index, encoder=UnitEncoder(), remote_timeout=0.2)
    assert found(retriever) == 10
    return retriever, impatient


@pytest.fixture
def table(engine_index):
    index = engine_index("postgresql", "restarts")
    build_engine_index(index, CORPUS, UnitEncoder())
    return index


def test_a_search_survives_the_end_of_the_connections_to_postgresql(postgres, table):
    retriever = load_retriever(table, encoder=UnitEncoder())
    assert found(retriever) == 10
    with psycopg.connect(postgres, autocommit=True) as connection:
        [(ended,)] = connection.execute(
            f"SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE {OTHERS}"
        ).fetchall()

    assert ended > 0
    assert found(retriever) == 10


def test_a_search_survives_a_restart_of_postgresql(postgres_server, table):
    retriever = load_retriever(table, encoder=UnitEncoder())
    assert found(retriever) == 10
    postgres_server.stop()
    postgres_server.ensure_postgres_running()

    assert found(retriever) == 10


def test_postgresql_is_found_again_soon_after_it_was_away_for_long(postgres_server, table):
    retriever = load_retriever(f"{table}?timeout=1", encoder=UnitEncoder(), remote_timeout=1)
    postgres_server.stop()
    try:
        for _ in range(4):
            with pytest.raises(SearchError):
                retriever.search(["stone"], 10)
    finally:
        postgres_server.ensure_postgres_running()

    with contextlib.suppress(SearchError):  # it may still wait for the next attempt to connect
        retriever.search(["stone"], 10)
    assert found(retriever) == 10


@contextlib.contextmanager
def milvus_server(folder, port):
    """Milvus Lite as a server."""
    arguments = ["--data-dir", str(folder), "--host", "127.0.0.1", "--port", str(port)]
    with subprocess.Popen([sys.executable, "-m", "milvus_lite", "server", *arguments]) as process:
        try:
            while process.poll() is None:
                try:
                    socket.create_connection(("127.0.0.1", port), 1).close()
                    break
                except OSError:
                    time.sleep(0.05)
            yield
        finally:
            process.terminate()


def test_a_search_survives_a_restart_of_milvus_which_loads_no_collection(tmp_path):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    index = f"milvus://127.0.0.1:{port}/pages"
    with milvus_server(tmp_path, port):
        retriever, impatient = built(index)
    with pytest.raises(SearchError):
        found(impatient)

    with milvus_server(tmp_path, port):
        assert found(retriever) == 10
