"""Numbers and words of the entries stay, and fields, quotation marks and code around the entries are removed."""

from __future__ import annotations

import pytest

from acqo_rl.replies.lists import entries_of

A, B, C = "bread prices Lyon", "rent Oslo 2020", "who won 1998"
ASKED = "What do bread and rent cost? The 1. FC in the 2. Bundesliga"


@pytest.mark.parametrize(
    ("reply", "entries"),
    [
        ("1. 1. FC Union\n2. Hertha BSC", ["1. FC Union", "Hertha BSC"]),
        ("1. 1. FC Union stadium\n2. 1. FC Kiel stadium", ["1. FC Union stadium", "1. FC Kiel stadium"]),
        ("1. 2. Liga table\n2. 3. Liga table", ["2. Liga table", "3. Liga table"]),
        ("- 1. FC Union\n- Hertha BSC", ["1. FC Union", "Hertha BSC"]),
        ("* 2. Liga table\n* 1. FC Union", ["2. Liga table", "1. FC Union"]),
        ("Query 1: 1. FC Union\nQuery 2: Hertha BSC", ["1. FC Union", "Hertha BSC"]),
        ("2. Liga table", ["2. Liga table"]),
        (f"1. 1. {A}\n2. 2. {B}", [A, B]),
        (f"- 1. {A}\n- 2. {B}", [A, B]),
        (f"1. - {A}\n2. - {B}", [A, B]),
        (f"1. {A}", [A]),
        (f'["1. {A}", "2. {B}"]', [A, B]),
    ],
)
def test_a_number_that_does_not_count_the_entries_stays(reply, entries):
    assert entries_of(reply) == entries


@pytest.mark.parametrize(
    ("reply", "entries"),
    [
        ("1. FC Union", ["1. FC Union"]),
        ("1. 1. FC Union\n2. 2. Bundesliga table", ["1. FC Union", "2. Bundesliga table"]),
        ('["1. FC Union", "2. Bundesliga table"]', ["1. FC Union", "2. Bundesliga table"]),
        ("1. FC Union\n2. Hertha BSC", ["FC Union", "Hertha BSC"]),
    ],
)
def test_a_number_that_the_model_read_stays_unless_it_counts(reply, entries):
    assert entries_of(reply, read=ASKED) == entries


@pytest.mark.parametrize("mark", ["{}. ", "{}) ", "- ", "* ", "Query {}: ", "Step {}: "])
@pytest.mark.parametrize(
    "entry",
    [
        "Note: a 2021 film",
        "Purpose: a 2015 album",
        "Sure, I'll Marry You film",
        "Here are the Young Men lyrics",
        "I hope this helps meme",
        "Sorry, wrong number film",
    ],
)
def test_a_marked_entry_may_begin_like_a_remark(mark, entry):
    assert entries_of(f"{mark.format(1)}{A}\n{mark.format(2)}{entry}") == [A, entry]


@pytest.mark.parametrize("mark", ["3. ", "- ", ""])
@pytest.mark.parametrize("remark", ["Note: these cover both sides.", "I hope this helps!", "Purpose: to compare them."])
def test_a_last_remark_that_ends_like_a_sentence_is_no_entry(mark, remark):
    first, second = ("1. ", "2. ") if mark == "3. " else ("- ", "- ")
    assert entries_of(f"{first}{A}\n{second}{B}\n{mark}{remark}") == [A, B]


@pytest.mark.parametrize(
    "field",
    [
        "confidence: high",
        "Confidence: 0.9",
        "confidence = high",
        "Confidence level: High (95 %)",
        "Zuversicht: 90 %",
        "\u7f6e\u4fe1\u5ea6\uff1a\u9ad8",
        "route: decompose",
        "Language: English",
    ],
)
@pytest.mark.parametrize("rows", [[A, B], [f"1. {A}", f"2. {B}"], [f"Query 1: {A}", f"Query 2: {B}"]])
def test_fields_about_the_reply_are_no_entries(rows, field):
    assert entries_of("\n".join([*rows, field])) == [A, B]
    assert entries_of("\n".join([*rows, "", field])) == [A, B]
    if not rows[0].startswith("Query"):
        assert entries_of("\n".join([field, *rows])) == [A, B]


def test_fields_below_each_labelled_entry_are_no_entries():
    assert entries_of(f"Query: {A}\nConfidence: high\nQuery: {B}\nConfidence: low") == [A, B]
    assert entries_of(f"- Query: {A}\n- Confidence: high") == [A]
    assert entries_of(f"- {A}\n- {B}\n- confidence: high", read=ASKED) == [A, B]


@pytest.mark.parametrize(
    ("entries", "read"),
    [
        (["Rust: lifetimes", "how to borrow in Rust"], ""),
        (["Oslo: population", "Bergen: population"], ""),
        (["how many people live there", "Oslo: population"], "And Oslo?"),
        (["purpose of the UN", "why: the story"], ""),
    ],
)
def test_fields_about_what_is_asked_are_entries(entries, read):
    assert entries_of("\n".join(entries), read=read) == entries
    assert entries_of("\n".join(f"{n}. {entry}" for n, entry in enumerate(entries, start=1)), read=read) == entries


@pytest.mark.parametrize(
    ("form", "number"),
    [
        ('Here are the queries: "{}", "{}"', 2),
        ('Here are the queries: "{}" and "{}"', 2),
        ('Here are three queries: "{}", "{}", and "{}".', 3),
        ("Die Anfragen lauten: \u201e{}\u201c, \u201e{}\u201c und \u201e{}\u201c.", 3),
        ("Voici les requ\u00eates : \u00ab {} \u00bb, \u00ab {} \u00bb et \u00ab {} \u00bb.", 3),
        ("\u4ee5\u4e0b\u306f\u691c\u7d22\u30af\u30a8\u30ea\u3067\u3059\uff1a\u300c{}\u300d\u3001\u300c{}\u300d", 2),
        ('I would search for "{}" and "{}".', 2),
        ('You could try "{}", "{}" or "{}".', 3),
        ('Sure! "{}", "{}"', 2),
        ('Queries: "{}"; "{}"', 2),
        ("Queries: '{}', '{}'", 2),
        ("Queries: `{}`, `{}`", 2),
        ("`{}`, `{}`", 2),
        ("**{}**, **{}**", 2),
    ],
)
def test_quoted_texts_in_one_line_are_entries(form, number):
    assert entries_of(form.format(*[A, B, C][:number])) == [A, B, C][:number]


@pytest.mark.parametrize(
    ("reply", "read"),
    [
        ('difference between "affect" and "effect"', ""),
        ('lyrics: "let it be", "hey jude"', "lyrics of two songs"),
        ('"a" or "b"', ""),
    ],
)
def test_a_query_with_quotation_marks_is_one_entry(reply, read):
    assert entries_of(reply, read=read) == [reply]


@pytest.mark.parametrize(
    "form",
    [
        "\\begin{{itemize}}\n\\item {}\n\\item {}\n\\end{{itemize}}",
        "\\begin{{itemize}} \\item {} \\item {} \\end{{itemize}}",
        "\\begin{{enumerate}}[label=\\alph*)]\n  \\item[1.] {}\n  \\item[2.] {}\n\\end{{enumerate}}",
        "\\begin{{enumerate}}\n\\item \\textbf{{{}}}\n\\item ``{}''\n\\end{{enumerate}}",
        "\\[\\begin{{itemize}} \\item {} \\item {} \\end{{itemize}}\\]",
        "\\item {}\n\\item {}",
        "Here:\n\\begin{{itemize}}\n\\item {}\n\\item {}\n\\end{{itemize}}\nHope this helps!",
        "[list]\n[*] {}\n[*] {}\n[/list]",
        "[list][*]{}[*]{}[/list]",
    ],
)
def test_lists_in_latex_and_bbcode(form):
    assert entries_of(form.format(A, B)) == [A, B]


def test_a_query_about_latex_is_kept():
    assert entries_of("how to write \\begin{itemize} in LaTeX") == ["how to write \\begin{itemize} in LaTeX"]


def test_commas_and_semicolons_that_separate_lines_are_removed():
    assert entries_of(f"{A};\n{B};\n{C}") == [*entries_of(f"1. {A},\n2. {B},\n3. {C}.")[:2], C] == [A, B, C]


def test_explanations_in_brackets_are_removed():
    assert entries_of(f"1. {A} [confidence: high]\n2. {B} [confidence: low]") == [A, B]
