"""A stand-in for Elasticsearch and OpenSearch over HTTP, with the shapes that their documentation gives.

It is no recording of a real server: it answers the paths that the two clients call, and searches by brute force.
"""

from __future__ import annotations

import contextlib
import json
import operator
import re
import socket
import zlib
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

import numpy as np

SHARDS = {"total": 1, "successful": 1, "skipped": 0}


class Handler(BaseHTTPRequestHandler):
    """One request.

    The server holds ``indices`` (name -> mappings and rows), ``searches`` (the lines of msearch), and ``odd_answer``,
    the bytes that it sends instead of each answer.
    """

    protocol_version = "HTTP/1.1"

    def do_HEAD(self):
        self.answer({}, 200 if self.index() in self.server.indices else 404)

    def do_PUT(self):
        if self.path.endswith("/_bulk"):
            self.do_POST()
            return
        body = json.loads(self.body())
        if self.path.endswith("/_mapping"):
            self.server.indices[self.index()]["mappings"].update(body)
        else:
            self.server.indices[self.index()] = {"mappings": body["mappings"], "rows": {}}
        self.answer({"acknowledged": True})

    def do_GET(self):
        self.do_POST()

    def do_DELETE(self):
        self.body()
        self.answer({"succeeded": True})

    def do_POST(self):
        body, operation = self.body(), urlsplit(self.path).path.rsplit("/", 1)[-1]
        found = self.server.indices.get(self.index(), {"rows": {}})
        if operation == "_mapping":
            self.answer({self.index(): {"mappings": found["mappings"]}})
        elif operation == "_bulk":
            self.answer(self.bulk(body))
        elif operation == "_msearch":
            lines = [json.loads(line) for line in body.splitlines()]
            self.server.searches.append(lines)
            self.answer({"responses": [self.search(found, query) for query in lines[1::2]]})
        elif operation == "_mget":
            rows = found["rows"]
            docs = [{"_id": i, "found": i in rows, "_source": rows.get(i)} for i in json.loads(body)["ids"]]
            self.answer({"docs": docs})
        elif operation == "_search":
            hits = [{"_id": i, "_source": row} for i, row in found["rows"].items()]
            self.answer({"_scroll_id": "s", "_shards": SHARDS, "hits": {"hits": hits}})
        elif operation == "scroll":
            self.answer({"_scroll_id": "s", "_shards": SHARDS, "hits": {"hits": []}})
        else:  # _count, _refresh
            self.answer({"count": len(found["rows"])})

    def bulk(self, body):
        lines, items = [json.loads(line) for line in body.splitlines()], []
        while lines:
            [(operation, meta)] = lines.pop(0).items()
            index = self.server.indices[meta["_index"]]
            item = {"_id": meta["_id"], "status": 200}
            if operation == "delete":
                index["rows"].pop(meta["_id"], None)
            elif has_immense_term(index["mappings"], row := lines.pop(0)):
                item |= {"status": 400, "error": {"type": "illegal_argument_exception", "reason": "immense term"}}
            else:
                index["rows"][meta["_id"]] = row
            items.append({operation: item})
        return {"errors": any("error" in item for [item] in map(dict.values, items)), "items": items}

    def search(self, found, query):
        rows = found["rows"]
        knn = query.get("knn") or query["query"].get("knn")
        if knn:
            if "field" not in knn:  # of OpenSearch
                [(field, asked)] = knn.items()
                knn = {
                    "field": field,
                    "query_vector": asked["vector"],
                    "filter": asked.get("filter", {"bool": {"filter": []}}),
                }
                knn["filter"] = knn["filter"]["bool"]["filter"]
            vector, conditions = np.array(knn["query_vector"]), knn.get("filter", [])
            if any(len(row[knn["field"]]) != len(vector) for row in rows.values()):
                return {"error": {"type": "illegal_argument_exception", "reason": "dimensions"}, "status": 400}
            scores = {i: (1 + float(vector @ np.array(row[knn["field"]]))) / 2 for i, row in rows.items()}
        else:
            [(field, text)] = query["query"]["bool"]["must"][0]["match"].items()
            conditions, asked = query["query"]["bool"]["filter"], set(re.findall(r"\w+", text.lower()))
            scores = {i: float(sum(w in asked for w in re.findall(r"\w+", r[field].lower()))) for i, r in rows.items()}
            scores = {i: score + zlib.crc32(i.encode()) / 2**40 for i, score in scores.items() if score}  # no ties
        if any(refused(found["mappings"], condition) for condition in conditions):
            return {"error": {"type": "query_shard_exception", "reason": "failed to create query"}, "status": 400}
        kept = [i for i in scores if all(holds(rows[i], condition) for condition in conditions)]
        best = sorted(kept, key=lambda i: -scores[i])[: query["size"]]
        hits = [{"_id": i, "_score": scores[i], "_source": part_of(rows[i], query["_source"])} for i in best]
        return {"hits": {"hits": hits}, "status": 200}

    def index(self):
        return urlsplit(self.path).path.split("/")[1]

    def body(self):
        return self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()

    def answer(self, body, status=200):
        text = json.dumps(body).encode() if self.server.odd_answer is None else self.server.odd_answer
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("X-Elastic-Product", "Elasticsearch")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(text)

    def log_message(self, *_):
        pass


def has_immense_term(mappings, row):
    """Whether the metadata have a text that is too long for a keyword, and that the mapping does not leave out."""
    [template] = mappings.get("dynamic_templates", [{"metadata": {"mapping": {}}}])
    most = template["metadata"]["mapping"].get("ignore_above", 2**31)
    texts = [value for value in row.get("metadata", {}).values() if isinstance(value, str)]
    return any(len(text.encode()) > 32_766 and len(text) <= most for text in texts)


def part_of(row, paths):
    """The fields of a row with the given paths; of a path into an object, the whole object."""
    names = {path.partition(".")[0] for path in paths}
    return {name: value for name, value in row.items() if name in names}


def holds(row, condition):
    """Whether a condition holds for a row; of a list, one element is enough, and a missing field has no value."""
    [(kind, what)] = condition.items()
    [(path, wanted)] = what.items()
    value = row
    for name in path.removesuffix(".keyword").split("."):
        value = value.get(name) if isinstance(value, dict) else None
    values = value if isinstance(value, list) else [value]
    if kind == "terms":
        return any(type_of(one) == type_of(other) and one == other for one in values for other in wanted)
    tests = {"gt": operator.gt, "gte": operator.ge, "lt": operator.lt, "lte": operator.le}
    return any(
        all(type_of(one) == type_of(bound) and tests[name](one, bound) for name, bound in wanted.items())
        for one in values
    )


def type_of(value):
    return float if type(value) is int else type(value)


TYPES = {"long": (int,), "double": (int, float), "boolean": (bool,), "keyword": (str,), "text": (str,), "date": (str,)}


def refused(mappings, condition):
    """Whether a server would not parse the values of a condition for the type of its field."""
    [(_, what)] = condition.items()
    [(path, wanted)] = what.items()
    mapping = {"properties": mappings.get("properties", {})}
    for name in path.split("."):
        mapping = {**mapping.get("properties", {}), **mapping.get("fields", {})}.get(name, {})
    allowed = TYPES.get(mapping.get("type"))
    values = wanted.values() if isinstance(wanted, dict) else wanted
    return allowed is not None and any(type(value) not in allowed for value in values)


class Server(ThreadingHTTPServer):
    """Ends all connections when it is closed."""

    def get_request(self):
        connection, address = super().get_request()
        self.connections.append(connection)
        return connection, address

    def server_close(self):
        super().server_close()
        for connection in self.connections:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)


def make_server(port=0):
    """A server without indices, by default on a free port."""
    server = Server(("127.0.0.1", port), Handler)
    server.connections = []
    server.indices, server.searches, server.odd_answer = {}, [], None
    return server
