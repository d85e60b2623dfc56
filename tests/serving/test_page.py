"""The web page in headless Chromium, with a real server and stand-ins for models and indexes."""

import shutil
from contextlib import contextmanager

import httpx
import pytest
from serving_stand_ins import DOCUMENTS, Parts, Scripted, collection, serving

from acqo_rl.roles import Reranker
from acqo_rl.searching.searcher import Timeouts
from acqo_rl.serving.app import _PAGE
from acqo_rl.serving.http import Web
from acqo_rl.serving.limits import Limits
from acqo_rl.types import Document

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


class Backwards(Reranker):
    """Gives scores below zero, the highest to the longest document."""

    name = "backwards"

    def score(self, pairs):
        return [-1.0 / len(passage) for _, passage in pairs]


EVIL = "<script>window.hacked=1</script><img src=x onerror='window.hacked=1'>"
EVIL_DOCUMENT = Document("evil", f"Title {EVIL}", f"Planted about Peru {EVIL}")

pytestmark = pytest.mark.skipif(
    not CHROMIUM, reason="There is no Chromium on PATH: apt-get install chromium, or put google-chrome there."
)

BOTH = "capital of Peru and capital of Chad"


@contextmanager
def served(*, names=("world",), **settings):
    """The URL of a service with a page."""
    documents = {**DOCUMENTS, "evil": EVIL_DOCUMENT}
    collections = [collection(name, documents=documents) for name in names]
    offered = Scripted(parts=Parts())
    limits = Timeouts(sub_query=0.5)
    with serving(collections, strategies=offered, timeouts=limits, **settings) as client:
        yield str(client.base_url).rstrip("/")


@pytest.fixture(scope="module")
def url():
    """Under the prefix of a reverse proxy."""
    with served(web=Web("/a/b")) as url:
        yield f"{url}/a/b"


@pytest.fixture(scope="module")
def browser():
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM)
        yield browser
        browser.close()


@pytest.fixture
def visit(browser):
    """Opens pages; at the end checks that none had errors, sent requests to other origins or ran injected code."""
    contexts = []
    errors = []
    asked = []

    def open_page(url, address="", **context):
        context = browser.new_context(**{"viewport": {"width": 1200, "height": 800}, **context})
        context.set_default_timeout(20_000)  # a busy machine is slow, not wrong
        page = context.new_page()
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
        page.on("request", lambda request: asked.append((url, request.url)))
        page.goto(f"{url}/{address}")
        page.locator("#strategy option").last.wait_for(state="attached")
        contexts.append((context, page))
        return page

    yield open_page
    assert not [page for _, page in contexts if page.evaluate("window.hacked")]
    for context, _ in contexts:
        context.close()
    refusals = "Failed to load resource"  # Chromium's message for any status of 400 or above
    assert not [error for error in errors if not error.startswith(refusals)]
    assert asked
    assert not [request for url, request in asked if not request.startswith(url + "/")]


def search(page, text):
    page.fill("#question", text)
    page.press("#question", "Enter")
    shown(page)


def shown(page):
    page.locator("#results:not([hidden])").wait_for()
    page.locator("body:not(.busy)").wait_for()


def rows(page):
    return page.locator("#documents tr")


def test_every_control_is_reachable_by_keyboard_shows_its_focus_and_has_a_name(visit, url):
    page = visit(url)
    page.keyboard.type(BOTH)  # the question has the focus
    page.keyboard.press("Enter")
    shown(page)
    seen = []
    while not seen or (seen[-1][0] != "question" and len(seen) < 40):
        page.keyboard.press("Tab")
        seen.append(
            page.evaluate("""() => {
                const it = document.activeElement;
                if (it === document.body) return ["the browser itself", true, true];
                const name = [...(it.labels ?? [])].map((l) => l.textContent).join("") || it.textContent;
                const visible = getComputedStyle(it).outlineStyle !== "none";
                return [it.id || it.textContent.trim(), visible, name.trim() !== ""];
            }""")
        )
        if seen[-1][0] == "Lima" and not rows(page).first.locator("details[open]").count():
            page.keyboard.press("Enter")
            assert rows(page).first.get_by_text("Lima is the capital of Peru.").is_visible()
    names = [name for name, *_ in seen]
    assert names[0] == "Search"
    assert {"follow-up", "strategy", "limit", "Earlier turns", "API key", "Lima", "API", "question"} <= {*names}
    assert [name for name, visible, named in seen if not (visible and named)] == []


def test_all_parts_are_shown(visit, url):
    """Lima is first and second, and has the best score 0.3."""
    page = visit(url)
    search(page, BOTH)
    assert page.locator("#decision-title").inner_text() == "Split into 2 parts"
    assert "decompose · parts · " in page.locator("#decision-note").inner_text()
    assert page.locator("#sub-queries .text").all_inner_texts() == BOTH.split(" and ")
    assert page.locator("#sub-queries .note").all_inner_texts() == ["part"] * 2
    assert page.locator("#lists h3").count() == 2
    assert page.locator("#lists article").first.locator("li").all_inner_texts()[0].startswith("Lima 0.300 → 1")
    assert page.locator("#trace b").all_inner_texts() == ["reformulation", "retrieval", "fusion"]
    assert rows(page).first.locator("td.number").all_inner_texts() == ["1.500", "0.300"]
    rows(page).first.locator("summary").click()
    assert rows(page).first.locator(".formula").all_inner_texts() == [
        "Score of rsf: 1/1 + 1/2 = 1.500",
        "Similarity: max(0.300, 0.200) = 0.300",
    ]


@pytest.mark.parametrize(
    ("scored_by", "settings"),
    [
        ("rrf", {"path": {"fusion": "rrf"}}),
        ("rsf", {"names": ("world", "archive")}),
        ("reranker", {"reranker": Backwards()}),
    ],
)
def test_every_equation_is_true_whatever_scored_the_results(visit, scored_by, settings):
    with served(**settings) as url:
        page = visit(url)
        search(page, BOTH)
        found = httpx.post(f"{url}/v1/search", json={"query": BOTH, "limit": 10}).json()
        assert page.locator("#scored-by").inner_text() == found["scored_by"] == scored_by
        values = [result[key] for result in found["results"] for key in ("score", "similarity")]
        for line, value in zip(page.locator(".formula").all_text_contents(), values, strict=True):
            terms, _, number = line.partition(": ")[2].rpartition("= ")
            assert [float(number), eval(terms or number)] == pytest.approx([value] * 2, abs=6e-4)
            assert "1/" not in terms or scored_by == "rsf"


def test_a_follow_up_is_asked_in_the_conversation(visit, url):
    """Turns without a speaker alternate."""
    page = visit(url)
    page.click("text=Earlier turns")
    page.fill("#turns", "Where is Oslo?\nIn Norway.")
    search(page, "capital of Peru")
    page.click("#follow-up")
    assert (page.input_value("#question"), page.locator("#follow-up").is_disabled()) == ("", True)
    with page.expect_request("**/v1/search") as searched:
        search(page, "its currency")
    asked = searched.value.post_data_json
    assert asked["history"] == ["U: Where is Oslo?", "S: In Norway.", "U: capital of Peru"]
    assert asked["rewriting_strategy"] == page.input_value("#strategy")


def test_without_a_key(visit):
    with served(limits=Limits(keys=("sesame",))) as url:
        page = visit(url)
        page.get_by_text("This service requires a valid API key").wait_for()
        page.keyboard.type("sesame")  # the key field has the focus
        search(page, "capital of Peru")
        assert not page.locator("#problem").is_visible()
        assert page.locator("#strategy option").all_inner_texts() == ["parts", "raw"]
        stored = page.evaluate("document.cookie + JSON.stringify([localStorage, sessionStorage]) + location.href")
        assert "sesame" not in stored


def test_an_index_that_is_down_and_a_server_that_comes_back(visit, url):
    page = visit(url)
    page.fill("#question", "broken one")
    page.press("#question", "Enter")
    page.locator("#problem", has_text="All searches failed").wait_for()
    page.context.set_offline(True)
    page.fill("#question", "capital of Peru")
    page.click("button[type=submit]")
    page.get_by_text("The service cannot be reached.").wait_for()
    page.context.set_offline(False)
    page.get_by_role("button", name="Try again").click()
    shown(page)
    assert not page.locator("#problem").is_visible()


def test_injected_html_stays_text(visit, url):
    page = visit(url)
    search(page, f"planted {EVIL}")
    assert EVIL in page.locator("#sub-queries").inner_text()
    document = rows(page).first
    assert document.locator("summary").inner_text() == EVIL_DOCUMENT.title
    assert EVIL_DOCUMENT.text in document.text_content()
    assert page.locator("main img, main script, body > script").count() == 0


def test_the_files_of_the_page_need_no_key_and_have_security_headers():
    with served(limits=Limits(keys=("sesame",))) as url:
        for path in ("/", *(f"/page/{name}" for name in _PAGE)):
            answer = httpx.get(url + path)
            assert (answer.status_code, answer.headers["x-content-type-options"]) == (200, "nosniff")
            policy = answer.headers["content-security-policy"]
            assert "default-src 'none'" in policy and "unsafe" not in policy
        assert httpx.get(f"{url}/page/nothing").status_code == 404


def test_a_phone_does_not_scroll_sideways(visit):
    with served(names=("world", "moon", "mars")) as url:
        page = visit(url, viewport={"width": 360, "height": 740}, has_touch=True, color_scheme="dark")
        paper = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert int(paper.removeprefix("rgb(").split(",")[0]) < 128
        for text in (
            "",
            f"{BOTH} and {'x' * 300}",
            "Peru and broken one",
            f"{BOTH} and Japan and capital and Peru",
        ):
            if text:
                search(page, text)
            assert page.evaluate("document.documentElement.scrollWidth") == 360
        assert page.locator("#lists article").count() == 5
