"""A service with stand-ins for tests of the web page, and a document with injected HTML."""

import shutil
from contextlib import contextmanager

from serving_stand_ins import DOCUMENTS, Parts, Scripted, collection, serving

from acqo_rl.searching.searcher import Timeouts
from acqo_rl.types import Document

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)

EVIL = "<script>window.hacked=1</script><img src=x onerror='window.hacked=1'>"
EVIL_DOCUMENT = Document("evil", f"Title {EVIL}", f"Planted about Peru {EVIL}")


@contextmanager
def served(*, names=("world",), **settings):
    """The URL of a service with a page."""
    documents = {**DOCUMENTS, "evil": EVIL_DOCUMENT}
    collections = [collection(name, documents=documents) for name in names]
    offered = Scripted(parts=Parts())
    limits = Timeouts(sub_query=0.5)
    with serving(collections, strategies=offered, timeouts=limits, **settings) as client:
        yield str(client.base_url).rstrip("/")
