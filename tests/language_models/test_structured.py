"""Replies in JSON: what is read of replies that match the schema, nearly match it, or do not."""

import json
import time

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from acqo_rl.language_models.structured import (
    BOOLEAN,
    INTEGER,
    example,
    fields,
    one_of,
    or_none,
    or_nothing,
    read_reply,
    searched,
    several,
    text,
)
from acqo_rl.types import Completion

SEARCHES = fields(searches=several(text(), 3))
SEARCH = fields(search=text())
KIND = fields(kind=one_of("simple", "how_to"))
GAP = fields(answerable=BOOLEAN, missing=or_none(text()), next_query=or_none(text()))
PARTS = fields(parts=several(fields(id=INTEGER, question=text(), depends_on=several(INTEGER, 2, least=0)), 2))
ALL = (SEARCHES, SEARCH, KIND, GAP, PARTS)
GAP_READ = {"answerable": False, "missing": "a date", "next_query": None}

VALUES = {
    "searches": ["a", "b"], "search": "a", "kind": "how_to", "answerable": True, "missing": None,
    "next_query": "b", "parts": [{"id": 1, "question": "a", "depends_on": []}],
}  # fmt: skip


def read(reply, schema, **settings):
    return read_reply(Completion(reply, 9, **settings), schema)


@pytest.mark.parametrize(
    ("reply", "schema", "value"),
    [
        ('{"searches": ["moons of Mars", "moons of Jupiter"]}', SEARCHES, ["moons of Mars", "moons of Jupiter"]),
        ('Sure:\n```json\n{"searches": ["a b"]}\n```\nAnything else?', SEARCHES, ["a b"]),
        ("{'searches': ['a b', 'c d',]}", SEARCHES, ["a b", "c d"]),
        ('["a b", "c d"]', SEARCHES, ["a b", "c d"]),
        ('[{"searches": ["a b"]}]', SEARCHES, ["a b"]),
        ('{"searches": ["a", "b", "A?", "", "c", "d"]}', SEARCHES, ["a", "b", "c"]),
        ('{"searches": ["a\\n b", "%s"]}' % ("x" * 201), SEARCHES, ["a b"]),
        ('{"search": " moons of\\nMars "}', SEARCH, "moons of Mars"),
        ('{"kind": "Simple"}', KIND, "simple"),
        ('{"parts": [{"id": "1", "question": "Who?", "depends_on": null}, {"id": 2, "question": "When?",'
         ' "depends_on": [1, "1"]}]}', PARTS,
         [{"id": 1, "question": "Who?", "depends_on": []}, {"id": 2, "question": "When?", "depends_on": [1]}]),
    ],
)  # fmt: skip
def test_one_field(reply, schema, value):
    assert read(reply, schema) == dict.fromkeys(schema.model_fields, value)


@pytest.mark.parametrize("schema", ALL, ids=lambda schema: "+".join(schema.model_fields))
def test_json_in_a_text_is_read_at_every_depth(schema):
    """Some models write the reply, or a field of it, as a text of JSON."""
    wanted = {name: VALUES[name] for name in schema.model_fields}
    inner = {name: value if isinstance(value, str) else json.dumps(value) for name, value in wanted.items()}
    for reply in (json.dumps(example(**wanted)), json.dumps(inner), json.dumps(json.dumps(inner))):
        assert read(reply, schema) == wanted


@pytest.mark.parametrize(
    "marked", ["1. {}", "2) {}", "(3) {}", "[4] {}", "- {}", "\u2022 {}", "* {}", "# {}", "Here they are:"]
)
@pytest.mark.parametrize(
    "said", ["heat pump", "3.5 mm jack", "2010 world cup", "$5 notes", ".NET 8", "5% discount: when?"]
)
def test_an_item_or_the_beginning_of_a_list_is_not_searched(marked, said):
    schema = fields(searches=several(searched(), 3))
    assert read(example(searches=[said, "b"]), schema) == {"searches": [said, "b"]}
    assert read(example(searches=["b", marked.format(said)]), schema) is None


def test_a_value_that_may_be_nothing_voids_no_other():
    schema = fields(claims=several(fields(claim=text(), source=or_nothing(INTEGER)), 9))
    sources = (1, "2", "[3]", [4], None, "(5)", "passage 6", [7, 8], 9.5)
    reply = example(claims=[{"claim": f"c{i}", "source": source} for i, source in enumerate(sources)])
    assert [claim["source"] for claim in read(reply, schema)["claims"]] == [1, 2, 3, 4, *[None] * 5]


@pytest.mark.parametrize(
    "reply",
    [
        '{"answerable": false, "missing": "a date", "next_query": null}',
        '{"answerable": False, "missing": "a date", "next_query": None}',
        '{"answerable": false, "missing": "a date", "next_query": "none", "why": "x"}',
    ],
)
def test_several_fields(reply):
    assert read(reply, GAP) == GAP_READ


def test_a_text_that_only_begins_with_none_is_a_text():
    reply = example(answerable=False, missing="nonexistent file", next_query="None of the above")
    assert read(reply, GAP) == {"answerable": False, "missing": "nonexistent file", "next_query": "None of the above"}


@pytest.mark.parametrize(
    ("reply", "schema"),
    [
        ("", SEARCHES), ("{}", SEARCHES), ("?", SEARCHES), ('{"other": ["a"]}', SEARCHES),
        ("See [1] for more", SEARCHES),
        ('{"searches": ["a", 7]}', SEARCHES), ('{"searches": "a b"}', SEARCHES), ('"a b"', SEARCH),
        ('{"parts": [{"id": 1, "question": "Where was he born?", "depends_on": ["SUB1"]}]}', PARTS),
        ("one\ntwo", SEARCH), ("Here it is:", SEARCH), ("x" * 201, SEARCH),
        ("moons of Mars", SEARCH), ("Which planet do you mean?", SEARCH), ("1. moons of Mars\n2. moons", SEARCHES),
        ("<html>502</html>", SEARCH), ("simple", KIND), ("oversimplified", KIND),
        ("simple query", KIND), ('{"parts": [{"id": true, "question": "a", "depends_on": []}]}', PARTS),
        ("no, only yesterday's figures", GAP),
        ('{"answerable": "yes", "missing": null, "next_query": null}', GAP), ('{"parts": [{"id": 1}]}', PARTS),
        ("[" * 5000, SEARCHES), ('{"a":' * 5000, SEARCHES),
    ],
)  # fmt: skip
def test_another_form_is_not_read(reply, schema):
    assert read(reply, schema) is None


def test_what_the_limit_truncated_is_dropped():
    assert read('{"searches": ["moons of Mars", "moons of Ju', SEARCHES, finished=False) == {
        "searches": ["moons of Mars"]
    }
    assert read('{"searches": ["moons of Ju', SEARCHES, finished=False) is None
    assert read('{"searches": ["moons of Mars"]}', SEARCHES, finished=False) == {"searches": ["moons of Mars"]}
    assert read('{"search": "moons of Ju', SEARCH, finished=False) is None
    assert read('{"answerable": false, "missing": "a da', GAP, finished=False) is None


@given(st.text() | st.from_regex(r'[\[{"]?[{}\[\]",:a1 \n-]{0,40}'), st.sampled_from(ALL), st.booleans())
def test_what_is_read_matches_the_schema(reply, schema, finished):
    value = read(reply, schema, finished=finished)
    if value is not None:
        jsonschema.validate(value, schema.model_json_schema())


@pytest.mark.parametrize("schema", ALL, ids=lambda schema: "+".join(schema.model_fields))
def test_whatever_matches_the_schema_is_read_as_it_is(schema):
    wanted = {name: VALUES[name] for name in schema.model_fields}
    jsonschema.validate(wanted, schema.model_json_schema())
    assert read(example(**wanted), schema) == wanted


HOSTILE = ("[", "{", '"', '{"a":', "\\", "1. ", "- ", "Sure! ", "```json ", "a:\n", '["a", ', "'", "* ", "\n")


def test_the_time_of_reading_does_not_grow_faster_than_the_reply():
    begin = time.process_time()
    for piece in HOSTILE:
        for schema in (SEARCHES, GAP):
            read(piece * (200_000 // len(piece)), schema)
    assert time.process_time() - begin < 20  # a quadratic reader takes minutes
