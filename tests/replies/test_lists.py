"""Lists as language models write them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acqo_rl.replies.lists import entries_of, read_list
from acqo_rl.text import normalised
from acqo_rl.types import Completion


def read(text, most=9, finished=True):
    return read_list(Completion(text, 9, finished), most)


@pytest.mark.parametrize(
    ("text", "entries"),
    [
        ("1. a b\n2) c d\n- e\n* f\n\u2022 g", ["a b", "c d", "e", "f", "g"]),
        ("Here are three queries:\n1. a b\n2. c d", ["a b", "c d"]),
        ("Sure! Here are some queries you could use\na b", ["a b"]),
        ("2008 financial crisis\n10.5 percent\n3D printing", ["2008 financial crisis", "10.5 percent", "3D printing"]),
        ("C++\nGo\nUS", ["C++", "Go", "US"]),
        ("1\u3001北京人口\n2\u3001上海", ["北京人口", "上海"]),
        ("1.北京人口\n\uff082\uff09上海\n(3) a b", ["北京人口", "上海", "a b"]),
        ("以下是三个查询\uff1a\n1. 北京人口\n上海", ["北京人口", "上海"]),
        ("Query 1: a b\nSub-query 2: c d\nSearch query 3: e", ["a b", "c d", "e"]),
        ('"a b"\n**c d**\n`e`\n\u201cf\u201d', ["a b", "c d", "e", "f"]),
        ('["a b", "c d", 3]', ["a b", "c d"]),
        ("```\na b\n```", ["a b"]),
        ("<think>first: c\nthen d</think>\na b", ["a b"]),
        ("a b\nA B?\na  b\nc", ["a b", "c"]),
        ("\n \n a\x00b \u2028\n\n", ["a b"]),
        ("", []),
        (" \n?\n...\n", []),
        ("Here are the queries:", []),
        ("x" * 201 + "\nshort", ["short"]),
        ("**1.** a b\n**2**. c d\n**Query 3:** e", ["a b", "c d", "e"]),
        ("\u2013 a\n+ b\n\u25e6 c", ["a", "b", "c"]),
        ("Q1: a\nQuery: b\nAnswer: x", ["a", "b", "x"]),
        ("查询1\uff1aa\n一、b\n①c", ["a", "b", "c"]),
        ("a\nHope this helps!\nNote: these are general.", ["a"]),
        ("## Queries\na\n\n**Queries**\nb\nQueries\n---", ["a", "b"]),
        ("| # | query |\n|---|---|\n| 1 | a |", ["a"]),
        ("<think>hmm, one could ask\nfor a", []),
        ('`SELECT *`\n**kwargs in Python\n27"\n__init__', ["SELECT *", "**kwargs in Python", '27"', "__init__"]),
        ('"a" or "b"', ['"a" or "b"']),
        ("Here is Where band\nWhat is SQL injection:", ["Here is Where band", "What is SQL injection:"]),
        (
            "I can't help falling in love\nI'm Sorry I Haven't a Clue\n对不起\uff0c我爱你",
            ["I can't help falling in love", "I'm Sorry I Haven't a Clue", "对不起\uff0c我爱你"],
        ),
    ],
)
def test_reads_what_is_meant(text, entries):
    """A preamble is no entry, a number of the text is no numbering, and short is not empty."""
    assert read(text) == entries


@pytest.mark.parametrize(
    ("text", "entries"),
    [
        ('```json\n["a", "b"]\n```', ["a", "b"]),
        ('```json ["a", "b"]```', ["a", "b"]),
        ('Here you are. ["a", "b"]', ["a", "b"]),
        ('These are the searches:\n[\n  "a",\n  "b"\n]\nHope this helps!', ["a", "b"]),
        ('{"queries": ["a", "b"]}', ["a", "b"]),
        ('[{"query": "a", "why": "because"}, {"query": "b"}]', ["a", "b"]),
        ('{"query": "a"}\n{"query": "b"}', ["a", "b"]),
        ('{"1": "a", "2": "b"}', ["a", "b"]),
        ('["a", "b", "and th', ["a", "b"]),
        ('["a", // first\n "b"]', ["a", "b"]),
        ('Sure! {"queries": ["a", "b"]} Let me know if you need more.', ["a", "b"]),
        ('{"queries": ["a", "b"]} \u2014 ich hoffe\uff0c das hilft', ["a", "b"]),
        ('["北京人口", "上海"] 希望有帮助', ["北京人口", "上海"]),
        ('["a", "b"] // two queries', ["a", "b"]),
        ('["a", "b"].join in JavaScript', ['["a", "b"].join in JavaScript']),
        ("[1, 2] as a range", ["[1, 2] as a range"]),
        ("[]", []),
        ("[x] in Markdown", ["[x] in Markdown"]),
        ("[1] as a citation", ["[1] as a citation"]),
        ("[" * 100_000, []),
    ],
)
def test_json_in_any_wrapping(text, entries):
    assert read(text, finished=not text.endswith("th")) == entries


@pytest.mark.parametrize(
    ("text", "entries"),
    [
        ('{"queries": ["a red car", "a blue c', ["a red car"]),
        ('```json\n{"queries": ["a red car", "a blue c', ["a red car"]),
        ('{\n "queries": [\n  "a red car",\n  "a blue c', ["a red car"]),
        ('{"queries": ["a red car", "a blue car"], "why": "bec', ["a red car", "a blue car"]),
        ('{"why": "two are meant", "queries": ["a r', []),
        ('{"queries": [{"query": "a red car", "why": "first"}, {"query": "a bl', ["a red car"]),
        ('[{"query": "a red car"}, {"que', ["a red car"]),
        ('{"query": "a red car", "why', ["a red car"]),
        ('{"1": "北京人口", "2": "上', ["北京人口"]),
        ('{"que', []),
        ('{"a":' * 50_000, []),
    ],
)
def test_json_that_was_cut_gives_its_whole_texts(text, entries):
    assert read(text, finished=False) == entries


@pytest.mark.parametrize(
    ("text", "entries"),
    [
        ("Queries: train to Bonn; bus to Bonn", ["train to Bonn", "bus to Bonn"]),
        ("Suchanfragen: Zug Bonn; Bus Bonn\n\nIch hoffe, das hilft!", ["Zug Bonn", "Bus Bonn"]),
        ("Requ\u00eates\u00a0: train ; bus", ["train", "bus"]),
        ("查询\uff1a北京人口\uff1b上海", ["北京人口", "上海"]),
        ('Queries: "a b"; "c d".', ["a b", "c d"]),
        ("Query 1: tea; coffee\nQuery 2: milk", ["tea; coffee", "milk"]),
        ("Answer: tea; coffee", ["tea; coffee"]),
        ("tea; coffee", ["tea; coffee"]),
    ],
)
def test_semicolons_separate_queries_behind_one_label(text, entries):
    assert read(text) == entries


@pytest.mark.parametrize(
    "text",
    [
        "I'm sorry, but I can't help with that.",
        "I\u2019m sorry, but I can\u2019t help with that.\nPlease ask something else.",
        "As an AI language model, I have no access to the internet.",
        "I cannot assist with this request.",
        "对不起\uff0c我无法回答。",
    ],
)
def test_a_refusal_holds_no_search(text):
    assert read(text) == []


def test_the_last_of_assigned_labels_before_a_closing_remark():
    text = "SUB_QUERY_1 = Bergen\nSUB_QUERY_2 = Oslo\n\nLet me know if you need more."
    assert read(text) == ["Bergen", "Oslo"]


def test_no_more_than_asked_for():
    assert read("a\nb\nc", most=2) == ["a", "b"]


def test_a_last_line_that_was_cut_is_left_out_unless_it_is_all_there_is():
    assert read("a b\nc d\ne", finished=False) == ["a b", "c d"]
    assert read("a b", finished=False) == ["a b"]


@given(st.text(), st.integers(1, 5), st.booleans())
def test_whatever_was_written(text, most, finished):
    entries = read(text, most, finished)
    assert len(entries) <= most
    assert len({normalised(entry) for entry in entries}) == len(entries)
    assert all(0 < len(entry) <= 200 and len(entry.splitlines()) == 1 for entry in entries)


@given(st.lists(st.sampled_from(["a b", "C++", "2008 crisis", "10.5", "北京", "-5 degrees", "what?"]), unique=True))
def test_numbered_lists_read_as_plain_ones(entries):
    assert read("\n".join(f"{i}. {entry}" for i, entry in enumerate(entries, 1))) == read("\n".join(entries))


CLEAN = st.lists(
    st.sampled_from(
        ["2008 financial crisis", "C# 12 features", "3D printing", "Oslo", "prix du pain \u00e0 Lyon", "C++ and Go",
         "cena chleba w Warszawie", "\u0446\u0435\u043d\u044b \u043d\u0430 \u0445\u043b\u0435\u0431",
         "\u5317\u4eac\u4eba\u53e3", "who won in 1998?", "10.5 percent", "Apollo 11 crew"]
    ),
    min_size=2, max_size=5, unique=True,
)  # fmt: skip
COUNTS = [
    "{n}: ", "{n}. ", "{n}) ", "({n}) ", "#{n} ", "#{n}: ", "{a}) ", "({a}) ", "({r}) ", "- ", "* ", "\u2022 ",
    "Q{n}. ",
    "SUB{n}: ", "Query {n}: ", "Teilfrage {n}: ", "Requ\u00eate {n}: ", "Consulta {n}: ", "Domanda {n}) ",
    "Zapytanie {n}: ",
    "Zoekopdracht {n}: ", "Pesquisa {n} \u2013 ", "\u0417\u0430\u043f\u0440\u043e\u0441 {n}: ",
    "\u67e5\u8be2{n}\uff1a", "**{n}.** ", "**Frage {n}:** ", "[{n}] ", "<{n}> ", "- [ ] ", "### {n}. ", "{n}.) ",
    "{n}\\. ", "*{n}.* ", "{n}\ufe0f\u20e3 ", "\u2192 ", "\u25cf ", "Query #{n}: ", "Fr\u00e5ga: ", "Soru {n}: ",
    "SUB_QUERY_{n} = ", "sub_query_{n}=", "- SUB_QUERY_{n} := ", "Query {n} -> ", "[SUB_QUERY_{n}] ", "`q{n}` = ",
    "SUB_QUERY_{n} ", "sub_queries[{n}] = ", "Teilfrage {n} \u2192 ", "\u5b50\u67e5\u8be2{n} = ",
    "\uc9c8\ubb38: ", "\u092a\u094d\u0930\u0936\u094d\u0928 {n}: ", "\u7b2c{n}\uff1a",
]  # fmt: skip
QUOTES = [
    "{}",
    '"{}"',
    '"{}",',
    "`{}`",
    "**{}**",
    "\u00ab{}\u00bb",
    "\u201e{}\u201c",
    "\u201e{}\u201d",
    "\u201c{}\u201d",
]
BEFORE = ["", "Sure!\n\n", "Nat\u00fcrlich! Hier sind die Suchanfragen:\n", "Bien s\u00fbr\u00a0! Voici :\n\n"]
AFTER = ["", "\n\nLet me know if you need more.", "\n\nEstas consultas cubren distintos aspectos.",
         "\nThese queries cover different aspects.", "\n\nDeze vragen dekken alles."]  # fmt: skip


@given(CLEAN, *map(st.sampled_from, (COUNTS, QUOTES, BEFORE, AFTER)))
def test_entries_are_read_back_however_they_are_numbered_labelled_quoted_and_framed(
    entries, count, quote, before, after
):
    lines = [
        count.format(n=i + 1, a="abcde"[i], r=("i", "ii", "iii", "iv", "v")[i]) + quote.format(entry)
        for i, entry in enumerate(entries)
    ]
    assert read(before + "\n".join(lines) + after) == read("\n".join(entries)) == entries


@pytest.mark.parametrize(
    "explain", ["- {} (covers the first part)", '{}. "{}" - covers it', "1. **{}** \u2013 for this"]
)
def test_explanations_behind_every_entry_are_left_out(explain):
    entries = ["bread price", "rent in Oslo"]
    text = "\n".join(explain.format(*([entry] if explain.count("{}") == 1 else [i, entry]))
                     for i, entry in enumerate(entries, 1))  # fmt: skip
    assert read(text) == entries


@pytest.mark.parametrize(
    "entries",
    [
        ["World War 1: causes", "World War 2: causes"],
        ["Apollo 11: crew", "Apollo 12: crew"],
        ["10 best films", "12 angry men"],
        ["1: 100 scale models", "trains"],
        ["Mercury (planet)", "Mercury (element)"],
        ["python: lists", "python: dicts"],
        ["a b", "St. Louis rent."],
    ],
)
def test_texts_that_only_look_numbered_labelled_or_explained_survive(entries):
    assert read("\n".join(entries)) == entries


@pytest.mark.parametrize("tag", ["query", "li", "q"])
def test_entries_within_tags_are_read_without_them(tag):
    lines = [f"<{tag}>{entry}</{tag}>" for entry in ("2008 financial crisis", "List<int> in C#")]
    assert read("\n".join(["<ul>", *lines, "</ul>"])) == ["2008 financial crisis", "List<int> in C#"]


@pytest.mark.parametrize(
    "text",
    [
        "| # | Query | Purpose |\n|---|:--|--:|\n| 1 | bread price | cost |\n| 2 | rent in Oslo | cost |",
        "Here it is:\n\n| Nr | Suchanfrage |\n|---|---|\n| 1 | bread price |\n| 2 | rent in Oslo |\n\nHope this helps!",
        "<queries><query>bread price</query><query>rent in Oslo</query></queries>",
        '<sub_query id="1">bread price</sub_query>\n<sub_query id="2">rent in Oslo</sub_query>',
        "<ul><li>bread price</li><li>rent in Oslo</li></ul>",
        "<li> bread price\n<li> rent in Oslo",
        "**Bread**\n- bread price\n\n**Rent**\n- rent in Oslo",
        "**bread price**\nThis finds the price.\n\n**rent in Oslo**\nThis finds the rent.",
        "1. bread price\n   this finds the price\n2. rent in Oslo\n   and this the rent",
    ],
)
def test_the_entries_of_tables_tags_and_groups(text):
    assert read(text) == ["bread price", "rent in Oslo"]


@pytest.mark.parametrize(
    "text",
    [
        '{"запросы": ["bread price", "rent in Oslo"], "пояснение": "цены"}',
        '{"requêtes": ["bread price", "rent in Oslo"], "explication": "les prix"}',
        '{"list": ["bread price", "rent in Oslo"], "why": "prices"}',
        '[{"запрос": "bread price", "причина": "x"}, {"запрос": "rent in Oslo", "причина": "y"}]',
        "queries = ['bread price', 'rent in Oslo']",
        "[\u201cbread price\u201d, \u201crent in Oslo\u201d]",
    ],
)
def test_values_of_other_languages_and_notations(text):
    assert read(text) == ["bread price", "rent in Oslo"]


@pytest.mark.parametrize(
    "mark",
    [
        *(
            "\u2014 ",
            "\u2705 ",
            "\U0001f50d ",
            "> ",
            "~ ",
            "{n}/ ",
            "{n}º ",
            "Search for: ",
            "Buscar: ",
            "Suche nach: ",
        ),
        *(
            "Query ({n}): ",
            "Dotaz č. {n}: ",
            "{n}. keresés: ",
            "คำค้น {n}: ",
            "sub_query_{n}: ",
            "Sub-Q{n}: ",
            "resolve: ",
        ),
        *(
            "Rewritten query: ",
            "Improved search query {n}: ",
            "Umformulierte Frage: ",
            "Consulta reformulada: ",
            "Frage (umformuliert): ",
            "改写后的问题\uff1a",
            "Question {n}/2: ",
            "Query {n} of 2: ",
        ),
    ],
)
def test_signs_and_labels_of_any_language_before_entries(mark):
    assert read(f"{mark.format(n=1)}bread price\n{mark.format(n=2)}rent in Oslo") == ["bread price", "rent in Oslo"]


@pytest.mark.parametrize(
    "text",
    [
        "{}\n(These are all distinct.)",
        "{}\nDo you want more?",
        "{}\nWould you like more variations?",
        "{}\nMöchtest du weitere Varianten?",
        "{}\nEach of these targets a different angle",
        "{}\nThat's it.",
        "{}\nDone.",
        "{}\nFertig.",
        "{}\nBonne recherche !",
        "Hier sind drei Varianten\n{}",
        "Voici deux requêtes\n{}",
        "As an AI, I would search:\n{}",
        "Original question: What does it cost?\n{}",
        "Question initiale : Combien ?\n\n{}",
        "Context: Oslo\n{}",
    ],
)
def test_remarks_around_a_list_are_no_searches(text):
    assert read(text.format("bread price\nrent in Oslo")) == ["bread price", "rent in Oslo"]
    assert read(text.format("1. bread price\n2. rent in Oslo")) == ["bread price", "rent in Oslo"]


def test_entries_counted_in_words():
    assert read("First, bread price\nSecond, rent in Oslo") == ["bread price", "rent in Oslo"]
    assert read("Erstens, bread price\nZweitens, rent in Oslo") == ["bread price", "rent in Oslo"]
    assert read("First, Do No Harm film") == ["First, Do No Harm film"]


def test_a_question_of_a_kind_is_no_label():
    texts = ["The German question: 1848", "new wave search engines", "original sin meaning", "context free grammar"]
    assert read("\n".join(texts)) == texts


def test_a_last_remark_in_hindi_is_no_search():
    assert read("1. bread price\n2. rent in Oslo\nआशा है कि यह मदद करेगा।") == ["bread price", "rent in Oslo"]


def test_entries_in_one_row_after_a_label():
    assert read("Запросы: 1. bread price 2. rent in Oslo") == ["bread price", "rent in Oslo"]


@pytest.mark.parametrize("text", ["None", "N/A", "- none", "Keine", "无"])
def test_a_list_of_nothing_is_empty(text):
    assert read(text) == []


@pytest.mark.parametrize(
    "entries",
    [
        ["Do you want to build a snowman", "Would you like tea or coffee history"],
        ["What's the Story (Morning Glory)", "(500) Days of Summer"],
        ["None of the above film", "That's All Genesis song"],
        ["|x| in maths", "a | b in Bash"],
        ["<b> tag in HTML", "<T> in Java"],
    ],
)
def test_searches_that_only_look_like_remarks_or_markup_survive(entries):
    assert read("\n".join(entries)) == entries


@pytest.mark.parametrize(
    "text",
    [
        "E = mc^2 derivation",
        "q = mc delta t formula",
        "query = select in mongodb",
        "query -> plan in postgres",
        "part 1 = part 2 in geometry",
        "part_1 gcode",
        "1 = 1 sql injection",
    ],
)
def test_a_sign_in_a_query_makes_no_label(text):
    assert read(text) == [text]


@pytest.mark.parametrize("label", ["SUB_QUERY = ", "SUB_QUERY_1 = ", "q1: ", "const q1 = ", "search query -> "])
def test_a_single_query_has_no_label_either(label):
    assert read(f"{label}capital of Peru") == ["capital of Peru"]


@pytest.mark.parametrize(
    "reply",
    [
        "1: population of Oslo\n#2 population of Graz\nc) size of Lima",
        "a) population of Oslo\n2: population of Graz\n#3 size of Lima",
        "Here you go: 1. population of Oslo 2. population of Graz 3. size of Lima",
        "Sure! 1. population of Oslo 2. population of Graz 3. size of Lima",
    ],
)
def test_counts_in_several_styles_and_lists_in_one_line(reply):
    assert entries_of(reply) == ["population of Oslo", "population of Graz", "size of Lima"]


@pytest.mark.parametrize("line", ["price of iPhone 1. 5 and 2. 6", "Is version 1. 2 out"])
def test_numbers_inside_a_query_stay(line):
    assert entries_of(line) == [line]
