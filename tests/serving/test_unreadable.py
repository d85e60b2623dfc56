"""Bodies that cannot be read are rejected with what was seen, what is expected and what to do."""

from __future__ import annotations

import gzip
import json

import pytest

BODY = b'{"query": "capital of Peru"}'
ACCENT = '{"query": "Montr\u00e9al"}'
JSON = "application/json"


def refusal(client, path, content, kind=JSON, **headers):
    """Status and sentence of the refusal of a body."""
    given = {"Content-Type": kind, **headers} if kind else headers
    answer = client.post(path, content=content, headers=given)
    detail = answer.json()["detail"]
    return answer.status_code, detail if isinstance(detail, str) else detail[0]["msg"]


@pytest.mark.parametrize("path", ["/v1/search", "/v1/reformulate", "/v1/answer"])
@pytest.mark.parametrize(
    ("content", "kind", "seen", "remedy"),
    [
        (b"", JSON, "empty", "JSON object"),
        (b" \n", JSON, "empty", "JSON object"),
        (b"null", JSON, "null", "JSON object"),
        (b"[1]", JSON, "array", "JSON object"),
        (b"7", JSON, "number", "JSON object"),
        (json.dumps(BODY.decode()).encode(), JSON, "string", "JSON object"),
        (b"{'query': 'Peru'}", JSON, "character 1, near \"{'query'", "JSON object"),
        (b'{"query": "Peru",}', JSON, "character 17", "JSON object"),
        (BODY + BODY, JSON, "character 28", "JSON object"),
        (b'{"query": ' + b"9" * 5000 + b"}", JSON, "5000 digits", "JSON object"),
        (b"[" * 100_000, JSON, "nested", "JSON object"),
        (ACCENT.encode("latin-1"), JSON, "0xe9 at position 16", "UTF-8"),
        (ACCENT.encode("latin-1"), f"{JSON}; charset=iso-8859-1", "charset=iso-8859-1", "UTF-8"),
        (gzip.compress(BODY, mtime=0), JSON, "gzip", "uncompressed"),
        (gzip.compress(BODY, mtime=0), "application/octet-stream", "gzip", "uncompressed"),
        (b"query=Peru", "application/x-www-form-urlencoded", "x-www-form-urlencoded", JSON),
        (BODY, "text/json", "'text/json'", JSON),
        (BODY, None, "no content type", JSON),
    ],
)
def test_the_reason_names_what_was_seen_and_the_remedy(client, path, content, kind, seen, remedy):
    status, sentence = refusal(client, path, content, kind)
    assert status in (400, 422)
    assert seen in sentence
    assert remedy in sentence


def test_the_header_names_a_compression_that_the_bytes_do_not_show(client):
    assert "(br)" in refusal(client, "/v1/search", b"\x8b\x0d\x80" + BODY[:5], **{"Content-Encoding": "br"})[1]
    identity = {"Content-Type": JSON, "Content-Encoding": "identity"}
    assert client.post("/v1/search", content=BODY, headers=identity).status_code == 200


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-32"])
def test_every_unicode_encoding_of_json_is_read(client, encoding):
    answer = client.post("/v1/reformulate", content=ACCENT.encode(encoding), headers={"Content-Type": JSON})
    assert answer.json()["query_rewrite_info"]["original_query"] == "Montr\u00e9al"
