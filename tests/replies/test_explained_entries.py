"""Lists with a head before each entry, or with an explanation after it."""

from __future__ import annotations

import pytest

from acqo_rl.replies.lists import entries_of


@pytest.mark.parametrize(
    "form",
    [
        "**{head}**: {text}",
        "- **{head}** - {text}",
        '"{head}": {text}',
        "\u00ab{head}\u00bb: {text}",
        "{n}. **{head}**: {text}",
    ],
)
def test_what_stands_after_a_head_is_the_entry_if_it_repeats_the_head(form):
    pairs = [("Oslo", "population of Oslo"), ("Norway", "capital of Norway")]
    rows = [form.format(n=n, head=head, text=text) for n, (head, text) in enumerate(pairs, start=1)]
    assert entries_of("\n".join(rows)) == [text for _, text in pairs]


def test_what_stands_after_a_head_is_the_entry_if_it_asks_or_the_head_names_a_query():
    assert entries_of("**Size**: How big is Oslo?\n**Age**: How old is Oslo?") == [
        "How big is Oslo?",
        "How old is Oslo?",
    ]
    assert entries_of("**Oslo query**: Oslo size\n**Bergen query**: Bergen size") == ["Oslo size", "Bergen size"]
    assert entries_of(
        "**\u4eba\u53e3**\uff1a\u5965\u65af\u9646\u7684\u4eba\u53e3\n**\u9762\u79ef**\uff1a\u5965\u65af\u9646\u7684\u9762\u79ef"
    ) == [
        "\u5965\u65af\u9646\u7684\u4eba\u53e3",
        "\u5965\u65af\u9646\u7684\u9762\u79ef",
    ]


@pytest.mark.parametrize("marks", ["**{}**", "{}", '"{}"'])
def test_sentences_that_explain_the_entries_are_removed(marks):
    rows = [
        f"{n}. {marks.format(text)} - This query finds it." for n, text in enumerate(("size of Oslo", "age of Oslo"), 1)
    ]
    assert entries_of("\n".join(rows)) == ["size of Oslo", "age of Oslo"]
