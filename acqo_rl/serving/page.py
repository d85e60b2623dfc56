"""The web page: static files with a strict content security policy."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from fastapi import FastAPI, HTTPException
from fastapi.responses import FileResponse

_FOLDER = Path(__file__).parent / "page"

_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-cache",
}
"""Trusted types are required but none is defined, so a script that inserts text as HTML fails."""


def add_page(app: FastAPI) -> Collection[str]:
    """Adds the page at ``/`` and returns its paths, which need no API key, because users enter the key on the page."""
    files = {file.name: file for file in _FOLDER.iterdir()}

    @app.get("/", include_in_schema=False)
    @app.get("/page/{name}", include_in_schema=False)
    async def file(name: str = "index.html") -> FileResponse:
        if name not in files:
            raise HTTPException(404)
        return FileResponse(files[name], headers=_HEADERS)

    return ["/", *(f"/page/{name}" for name in files)]
