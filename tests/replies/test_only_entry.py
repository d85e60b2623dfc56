"""A label before the only entry of a reply is no part of it, and neither is a last remark in italics."""

from __future__ import annotations

# ruff: noqa: RUF001  (letters of other scripts are meant)
import pytest

from acqo_rl.replies.lists import entries_of

ENTRY = "What is the capital of Togo?"
READ = "Togo capital"

LABELS = [
    *("Reformulation", "Reformulated version", "Rephrasing", "Paraphrase", "Rewritten", "Re-written", "Variant"),
    *("Umformuliert", "Umformulierung", "Umgeschrieben", "Reformulé", "Réécriture", "Reformulación", "Reescrita"),
    *(
        "Reformulada",
        "Riformulazione",
        "Riscritta",
        "Geherformuleerd",
        "Herschreven",
        "Przeformułowane",
        "Omformulerad",
    ),
    *(
        "Переформулировка",
        "Перефразированный запрос",
        "Yeniden yazılmış",
        "改写",
        "書き換え",
        "재구성",
        "재작성된 질문",
    ),
    *("Capital", "The capital of Togo"),
]


@pytest.mark.parametrize("label", LABELS)
@pytest.mark.parametrize(
    "form",
    ["{}: {entry}", "{} : {entry}", "**{}:** {entry}", "**{}**: {entry}", "1. **{} :** {entry}", '- {}: "{entry}"'],
)
def test_a_label_before_the_only_entry_is_removed(label, form):
    assert entries_of(form.format(label, entry=ENTRY), read=READ) == [ENTRY]


@pytest.mark.parametrize(
    "reply", ["재구성 1: 토고의 수도", "Reformulation 1 : 토고의 수도", "Sure!\n\n재구성(1): 토고의 수도"]
)
def test_a_numbered_label_before_the_only_entry_is_removed(reply):
    assert entries_of(reply, read="토고 수도") == ["토고의 수도"]


@pytest.mark.parametrize(
    ("entry", "read"),
    [
        ("Title: a film by Ridley Scott", "film by ridley scott"),
        ("Alien: Covenant", "alien film"),
        ("Mission: Impossible cast", "impossible film cast"),
        ("C++: what is a pointer?", "pointer"),
        ("Star Wars: The Force Awakens cast", "the force awakens cast"),
        ("Reformulation: meaning in chemistry", "what does reformulation mean"),
        ("Variant: a novel by Robison Wells", "who wrote Variant?"),
        ("Rust: lifetimes", "lifetimes in rust"),
        ("error: expected a rewritten query: what is it?", "error expected"),
        ("10:30 train to Oslo", "train to Oslo"),
    ],
)
def test_words_before_a_colon_in_the_only_entry_are_kept_if_they_may_be_a_name(entry, read):
    assert entries_of(entry, read=read) == [entry]


REMARKS = ["*I kept the name of the country.*", "_I kept the name of the country_", "*J'ai gardé le nom du pays.*"]
LISTS = {
    "one": (ENTRY, [ENTRY]),
    "two": ("capital of Togo\nTogo capital city", ["capital of Togo", "Togo capital city"]),
    "marked": ("1. capital of Togo\n2. Togo capital city", ["capital of Togo", "Togo capital city"]),
    "bold": ("**capital of Togo**", ["capital of Togo"]),
}


@pytest.mark.parametrize("remark", REMARKS)
@pytest.mark.parametrize("between", ["\n---\n", "\n\n---\n\n", "\n***\n", "\n\n___\n", "\n- - -\n"])
@pytest.mark.parametrize("name", LISTS)
def test_a_remark_in_italics_below_a_rule_is_no_entry(name, between, remark):
    text, entries = LISTS[name]
    assert entries_of(f"{text}{between}{remark}", read=READ) == entries
    assert entries_of(f"{text}{between}{remark}\n\n{remark}", read=READ) == entries


def test_a_last_sentence_in_italics_below_a_blank_line_is_no_entry():
    assert entries_of("capital of Togo\n\n*I kept the name of the country.*", read=READ) == ["capital of Togo"]


@pytest.mark.parametrize(
    ("reply", "entries"),
    [
        ("Here is the query:\n---\n*capital of Togo*", ["capital of Togo"]),
        ("Sure!\n\n---\n_capital of Togo_\n---", ["capital of Togo"]),
        ("*capital of Togo*\n---\n*Togo capital city*", ["capital of Togo", "Togo capital city"]),
        ("capital of Togo\n---\nTogo capital city", ["capital of Togo", "Togo capital city"]),
    ],
)
def test_an_entry_in_italics_or_below_a_rule_is_kept(reply, entries):
    assert entries_of(reply, read=READ) == entries
