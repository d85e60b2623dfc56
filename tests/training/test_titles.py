"""What titles share, and what each of them names."""

from __future__ import annotations

from acqo_rl.training.candidates import candidates
from acqo_rl.training.titles import Titles, titles_by_source
from acqo_rl.types import Document, Query, Snippet

HOTELS = [f"Hotel {name} (hotel) guest review" for name in "ABCDEFGHIJ" for _ in range(9)]
FAQS = [f"Hotel {name} (hotel) FAQ" for name in "ABCDEFGHIJ"]
TITLES = Titles.of([*HOTELS, *FAQS])


def test_phrases_are_what_many_titles_begin_or_end_with_as_long_as_nearly_all_have_it():
    assert TITLES.phrases == ("hotel", "guest review")


def test_titles_of_pages_share_nothing():
    """Articles open many titles and say nothing; a phrase of few documents is none."""
    pages = [f"The River {n}" if n % 2 else f"Lake Number{n} of Norway" for n in range(40)]
    assert Titles.of(pages).phrases == ()
    assert Titles.of([f"The {n}{n}" for n in range(100)]).phrases == ()


def test_a_title_names_what_is_left_of_it():
    titles = Titles(("guest review", "faq"))
    assert titles.name_in("Kirkwood House (hotel) guest review") == "Kirkwood House"
    assert titles.name_in("FAQ: Kirkwood House") == "Kirkwood House"
    assert titles.name_in("Alkaloid") == "Alkaloid"


def test_a_follow_up_is_searched_with_the_names_of_the_titles_found_and_the_words_that_titles_share():
    query = Query(
        "q",
        "Is the view nice?",
        ("U: a place by the sea", "S: There is one."),
        (Snippet("Kirkwood House (hotel) guest review", "We slept well."),),
    )
    found = {c.form: [s.text for s in c.sub_queries] for c in candidates(query, titles=Titles(("guest review",)))}
    assert found["title 1 + words"] == ["Kirkwood House view nice"]
    assert found["title 1 + words + phrase 1"] == ["Kirkwood House guest review view nice"]
    assert found["question + title 1 + phrase 1"] == ["Is the view nice? Kirkwood House guest review"]


def test_sources_of_a_union_are_counted_apart_and_the_whole_corpus_has_its_own_phrases():
    reviews = [Document(f"hotels/{n}", f"House{n} guest review", "") for n in range(60)]
    pages = [Document(f"wiki/{n}", f"{n}th page of {n}{n}", "") for n in range(600)]
    titles = titles_by_source([*reviews, *pages])
    assert titles.keys() == {"", "hotels", "wiki"}
    assert titles["hotels"].phrases == ("guest review",)
    assert titles["wiki"].phrases == titles[""].phrases == ()
