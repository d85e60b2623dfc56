"""Common phrases of titles, and the names in them."""

from __future__ import annotations

from acqo_rl.conversations import read_history
from acqo_rl.training.candidates import candidates
from acqo_rl.training.titles import Titles, titles_by_source
from acqo_rl.types import Document, Query, Snippet

HOTELS = [f"Hotel {name} (hotel) guest review" for name in "ABCDEFGHIJ" for _ in range(9)]
FAQS = [f"Hotel {name} (hotel) FAQ" for name in "ABCDEFGHIJ"]
TITLES = Titles.of([*HOTELS, *FAQS])


def test_phrases_are_the_longest_common_beginnings_and_ends_of_titles():
    assert TITLES.phrases == ("hotel", "guest review")


def test_candidates_of_a_follow_up_combine_its_words_with_title_names_and_phrases():
    query = Query(
        "q",
        "Is the view nice?",
        read_history(("U: a place by the sea", "S: There is one.")),
        (Snippet("Kirkwood House (hotel) guest review", "We slept well."),),
    )
    found = {c.form: [s.text for s in c.sub_queries] for c in candidates(query, titles=Titles(("guest review",)))}
    assert found["title 1 + words"] == ["Kirkwood House view nice"]
    assert found["title 1 + words + phrase 1"] == ["Kirkwood House guest review view nice"]
    assert found["question + title 1 + phrase 1"] == ["Is the view nice? Kirkwood House guest review"]


def test_phrases_are_counted_separately_for_each_source_and_for_the_whole_corpus():
    reviews = [Document(f"hotels/{n}", f"House{n} guest review", "") for n in range(60)]
    pages = [Document(f"wiki/{n}", f"{n}th page of {n}{n}", "") for n in range(600)]
    titles = titles_by_source([*reviews, *pages])
    assert titles.keys() == {"", "hotels", "wiki"}
    assert titles["hotels"].phrases == ("guest review",)
    assert titles["wiki"].phrases == titles[""].phrases == ()
