"""Engines with an HTTP interface: templates, what is sent, what is read of answers, and recorded answers of engines."""

import json
import re
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
import yaml
from engine_cases import UnitEncoder
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from json_server import JsonServer
from serving_stand_ins import running
from shared import PLACES

from acqo_rl.cli import main
from acqo_rl.data.beir import write_beir
from acqo_rl.errors import ConfigError, SearchError
from acqo_rl.retrieval.engines.filters import read_filter
from acqo_rl.retrieval.engines.opening import documents_of
from acqo_rl.retrieval.engines.template import FilterTemplate, read_template
from acqo_rl.retrieval.load import describe, load_retriever
from acqo_rl.searching.assemble import load_searcher
from acqo_rl.serving.limits import Limits
from acqo_rl.serving.retriever_app import make_retriever_app
from acqo_rl.text import one_line
from acqo_rl.types import Document, Query, Scope, Turn, well_formed

ROOT = Path(__file__).parents[2]
SHIPPED = sorted((ROOT / "configs" / "engines").glob("*.yaml"))
SMALL = {
    "url": "http://host",
    "search": {"path": "/s", "body": {"q": "{text}", "n": "{k}"}},
    "answer": {"hits": "hits", "id": "id", "score": "score", "text": "text"},
}
HIT = {"id": "a", "score": 2.5, "text": "A."}


class Answering(JsonServer):
    """A stand-in for an engine: answers each call with ``reply``, or what it returns for path and body."""

    reply = None

    def answer(self, path, body):
        if body is None and "?" not in path:  # whether it runs
            return 200, {}
        self.asked.append((path, body))
        return 200, self.reply(path, body) if callable(self.reply) else self.reply


@pytest.fixture(scope="module")
def server():
    with Answering() as server:
        yield server


@pytest.fixture
def opened(server, tmp_path):
    """Writes a template for the stand-in; returns its location."""
    server.asked.clear()
    server.headers_of.clear()

    def write(template, **changes):
        file = tmp_path / "search.yaml"
        url = f"http://{server.address}{urlsplit(template['url']).path}"
        file.write_text(yaml.safe_dump({**template, "url": url, **changes}), encoding="utf-8")
        return f"http+json:{file}"

    return write


REPEATED = settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@REPEATED
@example(texts=['"}, "size": 9, "x": {"', "{k}", "\\\n\u2028\0", "a&n=9#%00"])
@given(texts=st.lists(st.text(min_size=1, max_size=30), min_size=1, max_size=4))
def test_any_text_arrives_unchanged(server, opened, texts):
    texts = [text for text in dict.fromkeys(texts) if one_line(text)]
    wanted = {well_formed(text) for text in texts}
    one = {"hits": []}
    forms = {
        "body": ({}, one, lambda asked: {body["q"] for _, body in asked}),
        "parameters": (
            {"search": {"method": "GET", "path": "/s", "params": {"q": "{text}", "n": "{k}"}}},
            one,
            lambda asked: {parse_qs(urlsplit(path).query, keep_blank_values=True)["q"][0] for path, _ in asked},
        ),
        "lines": (
            {"batch": {"path": "/b", "lines": [{}, "{search}"], "answers": "answers"}},
            lambda _, body: {"answers": [one] * (len(body) // 2)},
            lambda asked: {line["q"] for _, body in asked for line in body[1::2]},
        ),
        "list": (
            {"search": {}, "batch": {"path": "/b", "body": {"all": "{texts}"}, "answers": "@"}},
            lambda _, body: [one] * len(body["all"]),
            lambda asked: {text for _, body in asked for text in body["all"]},
        ),
    }
    for changes, server.reply, read in forms.values():
        server.asked.clear()
        load_retriever(opened(SMALL, **changes)).search(texts, 3)
        assert read(server.asked) == wanted


MALFORMED = {
    "no JSON": (b"<html>Welcome</html>", "<html>Welcome"),
    "no hits": ({"error": {"reason": "no such index"}}, "no such index"),
    "hits of another type": ({"hits": {"total": 0}}, "not a list"),
    "no id": ({"hits": [{"score": 1}]}, "answer.id"),
    "an id that is a list": ({"hits": [{**HIT, "id": ["a"]}]}, "answer.id"),
    "no score": ({"hits": [{"id": "a"}]}, "answer.score"),
    "a score that is a text": ({"hits": [HIT, {**HIT, "score": "2.5"}]}, "hit 2"),
    "a score that is a truth value": ({"hits": [{**HIT, "score": True}]}, "answer.score"),
    "a score without end": (b'{"hits": [{"id": "a", "score": 1e999}]}', "not finite"),
    "a text that is a list": ({"hits": [{**HIT, "text": ["A."]}]}, "answer.text"),
}


@pytest.mark.parametrize("case", MALFORMED)
def test_an_answer_that_does_not_fit_is_an_error_that_says_what_is_wrong(server, opened, case):
    server.reply, named = MALFORMED[case]

    with pytest.raises(SearchError, match=named) as caught:
        load_retriever(opened(SMALL)).search(["a"], 3)
    assert "template" in str(caught.value)


json_values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(st.sampled_from(["hits", "id", "score", "text", "x"]), inner, max_size=4),
    ),
    max_leaves=12,
)


@REPEATED
@given(reply=json_values)
def test_any_answer_is_read_or_an_error(server, opened, reply):
    server.reply = reply
    try:
        [ranking] = load_retriever(opened(SMALL)).search(["a"], 3)
    except SearchError:
        return
    assert len(ranking.doc_ids) == len({hit["id"] for hit in reply["hits"]})


FAULTS = {
    "an unknown key": ({"serch": {}}, "serch"),
    "a placeholder in a longer text": ({"search": {"body": {"q": "title:{text}"}}}, "whole text"),
    "a placeholder without quotes": ({"search": {"body": {"q": {"text": None}}}}, "in quotes"),
    "an unknown placeholder": ({"search": {"body": {"q": "{txt}"}}}, "txt"),
    "nothing of the query": ({"search": {"body": {"n": "{k}"}}}, "nothing of the query"),
    "no JMESPath": ({"answer": {"hits": "hits[", "id": "id"}}, "answer.hits"),
    "a filter that stands nowhere": (
        {"filter": {"equals": {"{field}": "{value}"}, "any_of": [], "all_of": []}},
        "filter",
    ),
    "a filter that is missing": ({"search": {"body": {"q": "{text}", "f": "{filter}"}}}, "no key filter"),
    "two forms of a filter": ({"filter": {"equals": "a", "any_of": [], "all_of": " and "}}, "any_of must be a text"),
    "documents without ids": ({"documents": {"path": "/d"}}, "sends no ids"),
}


@pytest.mark.parametrize("case", FAULTS)
def test_a_fault_of_a_template_is_named(opened, case):
    changes, named = FAULTS[case]

    with pytest.raises(ConfigError, match=named):
        load_retriever(opened(SMALL, **changes))


def test_the_template_of_the_documentation_is_read(server, opened):
    page = (ROOT / "docs" / "engines.md").read_text(encoding="utf-8")
    template = yaml.safe_load(re.search(r"```yaml\n(url: .*?)```", page, re.S)[1])
    server.reply = {"found": [{"key": 7, "rank": {"bm25": 3.1}, "page": {"name": "Lima", "body": "In Peru."}}]}
    place = opened(template)

    [ranking] = load_retriever(place).search(["Lima"], 3)
    assert (ranking.doc_ids, ranking.scores) == (("7",), (3.1,))
    assert documents_of(place)["7"].text == "In Peru."


def test_filters_and_tenants_are_refused_without_their_parts(opened):
    retriever = load_retriever(opened(SMALL))

    for scope in (Scope(read_filter({"lang": "en"})), Scope(tenant="acme")):
        with pytest.raises(ConfigError):
            retriever.restrict(scope)
    with pytest.raises(ConfigError, match="tenant"):
        load_retriever(f"{opened(SMALL)}?tenant=owner")


def test_keys_of_the_environment_are_sent_and_hidden(server, opened, monkeypatch):
    monkeypatch.setenv("MY_ENGINE_KEY", "a-long-secret")
    server.reply = lambda *_: {"error": "a-long-secret is wrong"}
    place = opened(SMALL, headers={"Authorization": "ApiKey ${MY_ENGINE_KEY}"})

    with pytest.raises(SearchError) as caught:
        load_retriever(place).search(["a"], 1)
    assert server.headers_of[-1]["Authorization"] == "ApiKey a-long-secret"
    assert "a-long-secret" not in str(caught.value)
    monkeypatch.delenv("MY_ENGINE_KEY")
    with pytest.raises(ConfigError, match="MY_ENGINE_KEY"):
        load_retriever(place)


def test_texts_come_from_the_hits_if_documents_cannot_be_looked_up(server, opened):
    server.reply = {"hits": [HIT]}
    place = opened(SMALL)
    documents = documents_of(place)

    assert not documents.fetch(["a"])
    load_retriever(place).search(["a"], 1)
    assert documents.fetch(["a", "b"]).keys() == {"a"}
    assert documents["a"].text == "A."
    with pytest.raises(ConfigError):
        documents.values()


QUOTED = {"json": ('"', json.loads), "sql": ("'", lambda text: text[1:-1].replace("''", "'"))}


@given(value=st.text(max_size=20), quotes=st.sampled_from(list(QUOTED)))
def test_a_value_cannot_leave_a_filter_that_is_a_text(value, quotes):
    template = FilterTemplate(equals="{field} = {value}", any_of=" or ", all_of=" and ", quotes=quotes)
    conditions = read_filter({"a": "x"})
    [condition] = conditions
    filled = template.filled((type(condition)("{value}", (value,)),))

    name, _, written = filled.partition(" = ")
    sign, read = QUOTED[quotes]
    assert (name, written[0], written[-1]) == ("{value}", sign, sign)
    assert read(written) == value
    inner = written[1:-1].replace("\\\\", "").replace(f"\\{sign}", "") if quotes == "json" else written[1:-1]
    assert sign not in inner.replace("''", "")


DOCUMENT = {"id": "d1", "title": "Lima", "text": "Lima is in Peru.", "owner": "anna", "year": 2020}
ES = {"hits": {"hits": [{"_index": "wiki", "_id": "d1", "_score": 1.5, "_source": DOCUMENT}]}}
RECORDED = {
    "elasticsearch": ({"took": 3, "responses": [{**ES, "status": 200}]}, ES),
    "opensearch": ({"took": 3, "responses": [{**ES, "status": 200}]}, ES),
    "solr": (
        *[{"responseHeader": {"status": 0}, "response": {"numFound": 1, "docs": [{**DOCUMENT, "score": 1.5}]}}] * 2,
    ),
    "vespa": (
        *[{"root": {"id": "toplevel", "children": [{"id": "id:w:w::d1", "relevance": 1.5, "fields": DOCUMENT}]}}] * 2,
    ),
    "azure_ai_search": (*[{"@odata.context": "x", "value": [{"@search.score": 1.5, **DOCUMENT}]}] * 2,),
    "weaviate": (
        {
            "results": [
                {
                    "id": "d1",
                    "properties": {n: v for n, v in DOCUMENT.items() if n != "id"},
                    "metadata": {"score": 1.5},
                }
            ],
            "took_ms": 8,
        },
        None,
    ),
    "meilisearch": (
        {"results": [{"indexUid": "wiki", "hits": [{**DOCUMENT, "_rankingScore": 0.5}], "query": "q"}]},
        {"results": [DOCUMENT], "offset": 0, "limit": 1, "total": 1},
    ),
    "typesense": (*[{"results": [{"found": 1, "hits": [{"document": DOCUMENT, "text_match": 578730}]}]}] * 2,),
    "qdrant": (
        {"result": [{"points": [{"id": 7, "version": 3, "score": 0.5, "payload": DOCUMENT}]}], "status": "ok"},
        {"result": {"points": [{"id": 7, "payload": DOCUMENT}], "next_page_offset": None}, "status": "ok"},
    ),
    "chroma": (
        {
            "ids": [["d1"]],
            "distances": [[0.5]],
            "documents": [["Lima is in Peru."]],
            "metadatas": [[DOCUMENT]],
            "embeddings": None,
        },
        {"ids": ["d1"], "documents": ["Lima is in Peru."], "metadatas": [DOCUMENT], "embeddings": None},
    ),
    "groonga": (
        [[0, 1.5, 0.1], [[[1], [["_key", "ShortText"], ["_score", "Int32"]], ["d1", 3, "Lima", "Lima is in Peru."]]]],
        None,
    ),
    "acqo": ({"rankings": [{"doc_ids": ["d1"], "scores": [0.5], "ceiling": None}], "fingerprint": "x"}, None),
}
"""Answers to a search and to a look-up, of the forms of the references."""
FILTERS = {
    "elasticsearch": {"bool": {"filter": [{"term": {"owner": "an\"na'"}}, {"range": {"year": {"gte": 2000}}}]}},
    "solr": '(owner:"an\\"na\'" AND year:[2000 TO *])',
    "vespa": '(owner contains "an\\"na\'" and year >= 2000)',
    "azure_ai_search": "(owner eq 'an\"na''' and year ge 2000)",
    "meilisearch": '(owner = "an\\"na\'" AND year >= 2000)',
    "typesense": "(owner:=`an\"na'` && year:>=2000)",
    "qdrant": {
        "must": [
            {
                "must": [
                    {"key": "owner", "match": {"value": "an\"na'"}},
                    {"key": "year", "range": {"gte": 2000}},
                ]
            }
        ]
    },
    "chroma": {"$and": [{"owner": {"$eq": "an\"na'"}}, {"year": {"$gte": 2000}}]},
}


def parts_of(value):
    """A JSON value and all values in it."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else ()
    return [value, *(part for one in inner for part in parts_of(one))]


def texts_in(value):
    return [part for part in parts_of(value) if isinstance(part, str)]


@pytest.mark.parametrize("file", SHIPPED, ids=lambda file: file.stem)
def test_a_shipped_template_reads_the_answers_of_its_engine(server, opened, monkeypatch, file):
    for name in ("AZURE_SEARCH_KEY", "TYPESENSE_API_KEY"):
        monkeypatch.setenv(name, "k")
    template = yaml.safe_load(file.read_text(encoding="utf-8"))
    place = opened(template)
    found, looked_up = RECORDED[file.stem]
    server.reply = found
    encoder = UnitEncoder() if read_template(file).uses_vectors else None
    retriever = load_retriever(place, encoder=encoder)

    [ranking] = retriever.search(["Lima"], 7)
    assert ranking.doc_ids == ("d1",)
    assert (any("Lima" in node for node in texts_in(server.asked))) == (encoder is None)
    if file.stem in FILTERS:
        server.asked.clear()
        restricted = retriever.restrict(Scope(read_filter({"owner": "an\"na'", "year": {"gte": 2000}})))
        restricted.search(["where"], 7)
        wanted = FILTERS[file.stem]
        assert wanted in parts_of(server.asked) or any(str(wanted) in text for text in texts_in(server.asked))
    if "documents" in template:
        server.reply = looked_up
    if file.stem != "acqo":
        document = documents_of(place).fetch(["d1"])["d1"]
        assert (document.title, document.text) == ("Lima", "Lima is in Peru.")


def test_auto_searches_the_same_through_a_template(tmp_path):
    """The retriever server is real; the template is the shipped one."""
    data = str(tmp_path / "data")
    index = tmp_path / "index"
    write_beir(data, [Document(p, p, f"{city} is the capital of {p}.") for p, city in PLACES.items()], [], {})
    main(["index", "--data", data, "--output", str(index)])
    app = make_retriever_app(load_retriever(index), describe(str(index)), Limits())
    with running(app) as url:
        template = yaml.safe_load((ROOT / "configs/engines/acqo.yaml").read_text(encoding="utf-8"))
        (tmp_path / "acqo.yaml").write_text(yaml.safe_dump({**template, "url": url}), encoding="utf-8")
        searchers = [load_searcher(place, data) for place in (url, f"http+json:{tmp_path}/acqo.yaml")]
        queries = [
            Query("a", "What is its capital?", (Turn("user", "Where is Norway?"),)),
            Query("b", "Compare the capitals of Peru and Chad"),
        ]
        for query in queries:
            through, direct = (searcher.search(query, 10) for searcher in reversed(searchers))
            assert through.reformulation.sub_queries == direct.reformulation.sub_queries
            assert [(r.query, r.doc_ids, r.scores) for r in through.rankings] == [
                (r.query, r.doc_ids, r.scores) for r in direct.rankings
            ]
            assert (through.fused.doc_ids, through.fused.scores) == (direct.fused.doc_ids, direct.fused.scores)
        for searcher in searchers:
            searcher.close()
