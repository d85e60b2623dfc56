"""The web page: static files with a strict content security policy."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request
from fastapi.responses import Response
from fastapi.staticfiles import StaticFiles

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


class _Page(StaticFiles):
    def file_response(self, *args: Any, **kwargs: Any) -> Response:
        response = super().file_response(*args, **kwargs)
        response.headers.update(_HEADERS)
        return response


def add_page(app: FastAPI) -> Collection[str]:
    """Adds the page at ``/`` and returns its paths, which need no API key, because users enter the key on the page."""
    files = _Page(directory=_FOLDER)

    @app.get("/", include_in_schema=False)
    async def index(request: Request) -> Response:
        return await files.get_response("index.html", request.scope)

    app.mount("/page", files)
    return ["/", *(f"/page/{file.name}" for file in _FOLDER.iterdir())]
