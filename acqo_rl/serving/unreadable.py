"""Says why the body of a request cannot be read: compressed, not JSON, not UTF-8, no object."""

from __future__ import annotations

import json

from starlette.requests import Request

_SEND = "send a JSON object with the fields that /docs lists"
_COMPRESSED = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd", b"BZh": "bzip2", b"PK\x03\x04": "zip"}
"""First bytes of compressed data."""
_NAMES = {list: "array", str: "string", bool: "boolean", int: "number", float: "number"}
_CONTEXT = 20  # characters


def reason_of(request: Request, body: bytes, cause: BaseException | None, value: object = None) -> str:
    """One sentence: what was seen, what is expected and what to do.

    Args:
        request: the request, for its headers.
        body: the bytes of its body.
        cause: the exception raised while the body was read, if there was one.
        value: the value that was read; the bytes themselves if the content type is not JSON.
    """
    if compression := _compression(request.headers.get("content-encoding", ""), body):
        return f"The body is compressed ({compression}); send it uncompressed, without the header Content-Encoding."
    if not body.strip():
        return f"The body is empty; {_SEND}."
    kind, _, parameters = request.headers.get("content-type", "").partition(";")
    if isinstance(value, bytes):
        seen = f"The content type is {kind.strip()[:60]!r}" if kind else "The request has no content type"
        return f"{seen}; send JSON with the header Content-Type: application/json."
    if isinstance(cause, UnicodeDecodeError):
        declared = f", and the header declares {parameters.strip()[:60]!r}" if parameters else ""
        byte = f"byte 0x{cause.object[cause.start]:02x} at position {cause.start}{declared}"
        return f"The body is not UTF-8 ({byte}); encode the JSON as UTF-8."
    if isinstance(cause, json.JSONDecodeError):
        near = cause.doc[max(0, cause.pos - _CONTEXT) : cause.pos + _CONTEXT]
        return f"The body is not valid JSON at character {cause.pos}, near {near!r} ({cause.msg}); {_SEND}."
    if isinstance(cause, RecursionError):
        return f"The body is nested too deeply; {_SEND}."
    if cause is not None:
        return f"The body has a value that cannot be read ({str(cause)[:100]}); {_SEND}."
    return f"The body is {'null' if value is None else f'a JSON {_NAMES[type(value)]}'}; {_SEND}."


def _compression(encoding: str, body: bytes) -> str:
    """How the body is compressed, by its header or its first bytes; empty if it is not."""
    named = encoding.strip().lower()
    found = (name for first, name in _COMPRESSED.items() if body.startswith(first))
    return next(found, "" if named == "identity" or body.lstrip()[:1] in (b"{", b"[") else named[:40])
