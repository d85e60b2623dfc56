"""Rules between entries, labelled explanations below an entry, option headings, counts from zero and quoted lines."""

from __future__ import annotations

# ruff: noqa: RUF001  (signs of other scripts are meant)
import pytest

from acqo_rl.replies.lists import entries_of

READ = "Which is longer, the Nile or the Amazon?"
NILE, AMAZON = "length of the Nile", "length of the Amazon"


@pytest.mark.parametrize("rule", ["---", "***", "- - -", "=====", "———", "⸻", "──────"])
@pytest.mark.parametrize(
    "form",
    [
        "{r}\n{a}\n\n{r}\n\n{b}\n{r}",
        "{a}\n{r}\n{b}",
        "{r}\n1. {a}\n{r}\n2. {b}\n{r}",
        "Here are the queries:\n\n{r}\n\n{a}\n{b}\n\n{r}\n\nHope this helps!",
        "{r}\nqueries:\n  - {a}\n  - {b}\n{r}",
    ],
)
def test_rules_are_no_entries_and_hide_none(form, rule):
    assert entries_of(form.format(r=rule, a=NILE, b=AMAZON), read=READ) == [NILE, AMAZON]


@pytest.mark.parametrize(
    "label", ["Step-Back Query", "Standalone question", "Search query", "Rewritten Query", "Query"]
)
@pytest.mark.parametrize(
    "explanation",
    [
        "**Explanation:** The city is named.",
        "**Reasoning:** x is y.",
        "Why: it finds the number.",
        "**Why this works:** it finds the number.",
        "Why this query:\nIt finds the number.\nIt names the river.",
        "### Explanation:\nThe river is named.",
        "\n**Explanation**\nThe river is named.",
        "**Explanation:**\n- The river is named.\n- It is short.",
        "Begründung: Der Fluss wird genannt.",
        "**说明：**补充了河流",
    ],
)
@pytest.mark.parametrize("form", ["{}: {}\n{}", "**{}:** {}\n\n{}", "**{}:**\n{}\n\n{}"])
def test_a_labelled_explanation_below_the_only_entry_is_removed(form, label, explanation):
    assert entries_of(form.format(label, NILE, explanation), read=READ) == [NILE]


@pytest.mark.parametrize(
    ("reply", "entries"),
    [
        ("Why: What Makes Us Curious", ["Why: What Makes Us Curious"]),
        (f"{NILE}\nWhy: What Makes Us Curious", [NILE, "Why: What Makes Us Curious"]),
        (f"{NILE}\nwhy is the Nile long", [NILE, "why is the Nile long"]),
        (f"{NILE}\n**Purpose**\n{AMAZON}", [NILE, "Purpose", AMAZON]),
        (f"Reasoning:\nTwo rivers are asked for.\n\nQuery 1: {NILE}\nQuery 2: {AMAZON}", [NILE, AMAZON]),
        (f"Sure!\n\nReasoning:\n1. {NILE}\n2. {AMAZON}", [NILE, AMAZON]),
        (f"1. {NILE}\nReasoning:\n2. {AMAZON}", [NILE, AMAZON]),
        (f"Query 1: {NILE}\nReason: x is y\nQuery 2: {AMAZON}", [NILE, AMAZON]),
    ],
)
def test_what_only_looks_like_an_explanation_is_kept(reply, entries):
    assert entries_of(reply, read=READ)[-len(entries) :] == entries


@pytest.mark.parametrize(
    "form",
    [
        "1. **{}**: finds {}\n2. **{}**: finds {}",
        "1. **{}**：了解{}\n2. **{}**：了解{}",
        "1. **{}**：{}を調べる\n2. **{}**：{}を調べる",
        "- **{}**: {}\n- **{}**: {}",
    ],
)
def test_an_explanation_after_an_entry_in_bold_is_removed(form):
    assert entries_of(form.format(NILE, "one", AMAZON, "other"), read=READ) == [NILE, AMAZON]


@pytest.mark.parametrize("form", ["- **{}**: {}\n- **{}**: {}", "1. **{}**: {}\n2. **{}**: {}"])
@pytest.mark.parametrize(
    ("head", "text", "read"),
    [
        ("Nile", "fish species", "Do the Nile and the Amazon have the same fish?"),
        ("The Lord of the Rings", "cast list", "cast of lotr and the Nile film"),
    ],
)
def test_what_follows_a_topic_or_a_title_is_kept(form, head, text, read):
    reply = form.format(head, text, "Nile", "cast list 1978")
    assert entries_of(reply, read=read) == [f"{head}: {text}", "Nile: cast list 1978"]


@pytest.mark.parametrize(
    "heading", ["**Option {} (Concise)**", "### Query {} (river)", "**Version {} (short)**", "**Option {}: Concise**"]
)
def test_headings_of_options_are_no_entries(heading):
    reply = f"Here are two:\n\n{heading.format(1)}\n{NILE}\n\n{heading.format(2)}\n{AMAZON}"
    assert entries_of(reply, read=READ) == [NILE, AMAZON]


def test_names_with_a_number_and_a_bracket_are_entries():
    entries = ["Version 1 (film)", "Version 2 (film)", "Blade 1 (1998)"]
    assert entries_of("\n".join(entries), read=READ) == entries


@pytest.mark.parametrize("count", ["{}. ", "{}) ", "({}) ", "**{}.** "])
def test_counts_may_begin_at_zero(count):
    rows = [f"{count.format(n)}{entry}" for n, entry in enumerate([NILE, AMAZON])]
    assert entries_of("\n".join(rows), read=READ) == [NILE, AMAZON]


def test_a_number_with_zero_that_counts_nothing_is_kept():
    assert entries_of("0.5 mm lead\n1.5 mm lead", read=READ) == ["0.5 mm lead", "1.5 mm lead"]
    assert entries_of("0. Liga Nord", read=READ) == ["0. Liga Nord"]
