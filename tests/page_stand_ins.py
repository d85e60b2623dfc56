"""A service with stand-ins for tests of the web page, a document with injected HTML, and a contrast measurement."""

from __future__ import annotations

import shutil
from contextlib import contextmanager

from pipeline_stand_ins import ModelByRole
from serving_stand_ins import DOCUMENTS, Parts, Scripted, collection, serving

from acqo_rl.searching.searcher import Timeouts
from acqo_rl.types import Document

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)

EVIL = "<script>window.hacked=1</script><img src=x onerror='window.hacked=1'>"
EVIL_DOCUMENT = Document("evil", f"Title {EVIL}", f"Planted about Peru {EVIL}")
MODEL = {"analyzer": "simple", "synthesis": "Lima.", "grounding": '{"claims": [{"claim": "Lima", "source": 1}]}'}


class Writing(ModelByRole):
    """Streams its answer in two pieces."""

    def stream(self, conversation, on_text):
        [completion] = self.generate([conversation])
        for piece in (completion.text[:2], completion.text[2:]):
            on_text(piece)
        return completion


@contextmanager
def served(*, names=("world",), strategies=(), **settings):
    """The URL of a service with a page."""
    documents = {**DOCUMENTS, "evil": EVIL_DOCUMENT}
    collections = [collection(name, documents=documents) for name in names]
    offered = Scripted(parts=Parts(), **dict(strategies))
    limits = Timeouts(sub_query=0.5)
    model = Writing(**MODEL)
    with serving(collections, strategies=offered, timeouts=limits, answer_model=model, **settings) as client:
        yield str(client.base_url).rstrip("/")


CONTRASTS = """() => {
    const canvas = Object.assign(document.createElement("canvas"), { width: 1, height: 1 }).getContext("2d");
    const rgba = (colour) => {
        canvas.clearRect(0, 0, 1, 1);
        canvas.fillStyle = colour;
        canvas.fillRect(0, 0, 1, 1);
        return [...canvas.getImageData(0, 0, 1, 1).data];
    };
    const luminance = (c) => c.slice(0, 3).map((v) => v / 255)
        .map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
        .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
    const behind = (e) => {
        const colour = rgba(getComputedStyle(e).backgroundColor);
        return colour[3] ? colour : behind(e.parentElement);
    };
    return [...document.querySelectorAll("body *")].filter((e) => e.checkVisibility() && !e.closest("svg")
        && [...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim())).map((e) => {
        const [dark, light] = [rgba(getComputedStyle(e).color), behind(e)].map(luminance).sort((a, b) => a - b);
        return [(light + 0.05) / (dark + 0.05), e.textContent.slice(0, 40)];
    });
}"""
"""Returns the contrast of each visible text with its background, and its first characters."""
