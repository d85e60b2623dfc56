"""Labels on lines of their own, above the entries."""

from __future__ import annotations

# ruff: noqa: RUF001  (letters of other scripts are meant)
import pytest

from acqo_rl.replies.lists import entries_of

ENTRIES = ["population of Turku", "area of Turku", "mayors of Turku 1990"]
LABELS = (
    *("Query", "Sub-question", "Suchanfrage", "Teilfrage", "Requête", "Consulta", "Domanda", "Pergunta", "Vraag"),
    *("Pytanie", "Sorgu", "Запрос", "查询", "クエリ", "질문", "سؤال", "प्रश्न", "Option", "Vorschlag"),
)


def labelled(form, between):
    return between.join(form.format(n=n, text=text) for n, text in enumerate(ENTRIES, start=1))


@pytest.mark.parametrize("label", LABELS)
@pytest.mark.parametrize(
    "form", ["**{} {{n}}:**", "{} {{n}}:", "**{} {{n}}**", "### {} {{n}}", "{} {{n}}", "- **{} {{n}}:**"]
)
@pytest.mark.parametrize("between", ["\n\n", "\n"])
def test_the_lines_below_labels_are_the_entries(label, form, between):
    assert entries_of(labelled(f"{form.format(label)}\n{{text}}", between)) == ENTRIES


@pytest.mark.parametrize(
    "form",
    [
        "**Query {n}:**\n\n{text}",
        '**Query {n}:**\n"{text}"',
        "**Query {n}:**\n> {text}",
        "**Query {n}:**\n`{text}`",
        "**Query {n}:**\n```\n{text}\n```",
        "**Query {n}:**\n- {text}",
        "<b>Query {n}:</b>\n{text}",
        "[Query {n}]\n{text}",
        "Query #{n}\n{text}",
        "Query {n} -\n{text}",
        "{n}.\n{text}",
        "{n}:\n{text}",
        "{n}. **Query:**\n   {text}",
        "{n}. **About the city:**\n   {text}",
        "- **Side {n} of it:**\n  - {text}",
        "Query {n}:\n{text}\nThis asks for one thing.",
    ],
)
@pytest.mark.parametrize("around", ["{}", "Here are the queries:\n\n{}", "{}\n\nHope this helps!"])
def test_other_forms_of_such_lists(form, around):
    assert entries_of(around.format(labelled(form, "\n\n"))) == ENTRIES


def test_labels_in_words_and_letters():
    assert entries_of("\u2460\na b\n\n\u2461\nc d") == ["a b", "c d"]
    assert entries_of("First query:\na b\n\nSecond query:\nc d") == ["a b", "c d"]
    assert entries_of("Query A:\na b\n\nQuery B:\nc d") == ["a b", "c d"]
    assert entries_of("السؤال الأول:\nسكان توركو\n\nالسؤال الثاني:\nمساحة توركو") == ["سكان توركو", "مساحة توركو"]


def test_several_lines_below_a_label_are_several_entries():
    assert entries_of("Query 1:\na b\nc d\n\nQuery 2:\ne f") == ["a b", "c d", "e f"]


@pytest.mark.parametrize(
    "entries",
    [
        ["What is SQL injection:", "What is XSS:", "rent in Oslo"],
        ["1. FC Köln", "2. Bundesliga"],
        ["query", "rent in Oslo", "frage der ehre"],
        ["plan b", "rent in Oslo", "vitamin a", "rent in Turku"],
    ],
)
def test_lines_that_only_look_like_labels_are_kept(entries):
    kept = [entry.removeprefix("1. ").removeprefix("2. ") for entry in entries if entry != "query"]
    assert entries_of("\n".join(entries)) == kept


TITLES = ["Population", "Area", "Mayors"]
QUESTIONS = ["What is the population of Turku?", "How large is Turku?", "Who was mayor of Turku in 1990?"]


@pytest.mark.parametrize(
    "form",
    [
        "### Sub-question {n}: {title}\n{text}",
        "## Search {n} \u2013 {title}\n`{text}`",
        "**Query {n}: {title}**\n\n{text}",
        '### {n}. {title}\n"{text}"',
        "<b>Query {n}: {title}</b>\n> {text}",
    ],
)
def test_the_questions_below_labels_with_titles_are_the_entries(form):
    parts = [form.format(n=n, title=TITLES[n - 1], text=text) for n, text in enumerate(QUESTIONS, start=1)]
    assert entries_of("\n\n".join(parts)) == QUESTIONS


def test_the_titles_are_the_entries_if_explanations_follow():
    reply = "### Query 1: population of Turku\nFinds the number.\n\n### Query 2: area of Turku\nFinds the size."
    assert entries_of(reply) == ["population of Turku", "area of Turku"]


@pytest.mark.parametrize("form", ["{}.\n{}", "{})\n{}", "{}:\n\n{}", "({})\n{}"])
def test_letters_alone_on_their_lines_are_labels(form):
    reply = "\n".join(form.format(letter, text) for letter, text in zip("ABC", ENTRIES, strict=True))
    assert entries_of(reply) == ENTRIES
