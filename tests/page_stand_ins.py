"""A service with stand-ins for tests of the web page, and a document with injected HTML."""

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
def served(*, names=("world",), **settings):
    """The URL of a service with a page."""
    documents = {**DOCUMENTS, "evil": EVIL_DOCUMENT}
    collections = [collection(name, documents=documents) for name in names]
    offered = Scripted(parts=Parts())
    limits = Timeouts(sub_query=0.5)
    model = Writing(**MODEL)
    with serving(collections, strategies=offered, timeouts=limits, answer_model=model, **settings) as client:
        yield str(client.base_url).rstrip("/")
