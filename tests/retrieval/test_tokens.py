"""Tokens of BM25 in many scripts, and names that people write in several ways."""

import time
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acqo_rl.retrieval.bm25 import Bm25Retriever
from acqo_rl.retrieval.tokens import languages, make_tokenizer


def finds(document, query, language="english", beside="xyz"):
    """Whether a search for the query finds the document first."""
    retriever = Bm25Retriever.build([beside, document], ["beside", "it"], language=language)
    return retriever.search([query], 1)[0].doc_ids == ("it",)


@pytest.mark.parametrize(
    ("language", "forms"),
    [("arabic", "الكتاب كتاب"), ("english", "cats cat"), ("hindi", "लड़कों लड़का"), ("polish", "kobiety kobieta")],
)
def test_inflected_forms_share_a_token(language, forms):
    one, other = map(make_tokenizer(language), forms.split())
    assert set(one) & set(other)


@pytest.mark.parametrize("language", languages())
def test_every_language_finds_words_typed_without_accents(language):
    assert finds("kávar", "kavar", language)
    assert finds("kavar", "kávar", language)


def test_words_with_the_same_accents_come_first():
    assert finds("kávar", "kávar", "none", "kavar")


@pytest.mark.parametrize(
    ("document", "query", "beside"),
    [
        ("सोना महँगा है", "सोना", "सेना यहाँ है"),
        ("שָׁלוֹם עוֹלָם", "שלום", "תודה"),
        ("สวัสดีชาวโลก", "โลก", "ประเทศไทย"),
        ("東京タワーはどこですか", "東京", "大阪城"),
        ("서울은 한국의 수도이다", "서울", "부산 날씨"),
        ("zero\u200bwidth signs", "zerowidth", "other signs"),
        ("STRASSE", "straße", "Gasse"),
        ("भारत २०२०", "2020", "भारत"),
        ("ёлка", "елка", "берёза"),
    ],
)
def test_words_of_any_script_are_found(document, query, beside):
    assert finds(document, query, "none", beside)


@pytest.mark.parametrize(
    ("document", "query", "beside"),
    [
        ("Our IT department is closed", "who runs IT", "It is closed, is it not"),
        ("A book on C#", "c#", "A book on C and C++"),
        ("needs Python 3.11.4", "Python 3.11", "needs Python 3.12.11"),
        ("runs on python3.11", "python 3.11", "runs on python3.12"),
        ("upgraded to v2.3.1", "2.3.1", "upgraded to v3.2.1"),
        ("edit with Notepad++", "Notepad++", "edit with Notepad"),
    ],
)
def test_names_with_signs_versions_and_capitals_rank_first(document, query, beside):
    assert finds(document, query, beside=beside)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("CO₂ in the air", "CO₂"),
        ("Wi-Fi", "wifi"),
        ("iPhone15", "iPhone 15"),
        ("HTTPServer", "http server"),
        ("load_user.name_of", "load_user"),
        ("Node.js", "nodejs"),
        ("978-3-16-148410-0", "9783161484100"),
        ("U.S.A. today", "USA"),
        ("1,250,000 euros", "1250000"),
        ("costs 3,14 euros", "3.14"),
        ("Łódź", "łódź"),
    ],
)
def test_names_are_found_in_either_spelling(one, other):
    assert finds(one, other)
    assert finds(other, one)


@pytest.mark.parametrize(
    ("one", "other"), [("か", "が"), ("पल", "पुल"), ("น้า", "น่า"), ("6 11", "611"), ("1,250,000", "250")]
)
def test_letters_that_tell_words_apart_stay(one, other):
    assert set(make_tokenizer("none")(one)).isdisjoint(make_tokenizer("none")(other))


@given(st.text())
def test_any_text_is_split_and_its_normal_form_does_not_matter(text):
    tokenize = make_tokenizer("none")
    tokens = tokenize(text)
    assert all(tokens)
    assert tokenize(unicodedata.normalize("NFD", text)) == tokens


def test_a_text_without_spaces_takes_time_in_proportion_to_its_length():
    tokenize = make_tokenizer("english")
    for unit in ("a1", "1.", "a-", "서", "á_", "a", "\u0301\u0323", "\u0e01"):
        begin = time.process_time()
        tokens = tokenize(f"2{unit * 40_000}")
        assert len(tokens) < 200_000
        assert max(map(len, tokens)) <= 255
        assert time.process_time() - begin < 2
