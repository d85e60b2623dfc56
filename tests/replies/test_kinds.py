"""What stands before entries and says how they differ is not searched."""

from __future__ import annotations

import pytest

from acqo_rl.replies.lists import entries_of

READ = "What is the capital of Togo?"


CITY, TOWNS = "capital city of Togo", "main towns of Togo"


@pytest.mark.parametrize(
    "reply",
    [
        f"*   **Literal**: {CITY}\n*   **Broader**: {TOWNS}",
        f"- **Literal** - {CITY}\n- **Keywords only** - {TOWNS}",
        f"**Literal**: {CITY}\n**Broader**: {TOWNS}",
        f"1. **Literal**: {CITY}\n2. **Broader**: {TOWNS}",
        f"1. (Formal) {CITY}\n2. (Informal) {TOWNS}",
        f"Formal: {CITY}\nInformal: {TOWNS}",
        f"**Angle 1 (geography):** {CITY}\n**Angle 2 (history):** {TOWNS}",
        f"Here are two variations:\n\n- **W\u00f6rtlich**: {CITY}\n- **Breiter**: {TOWNS}",
    ],
)
def test_kinds_of_wording_are_removed(reply):
    assert entries_of(reply, read=READ) == [CITY, TOWNS]


@pytest.mark.parametrize(
    ("reply", "read", "entries"),
    [
        # the entries are in bold, and explanations follow
        ("- **Togo capital**: a town.\n- **Togo history**: its past.", READ, ["Togo capital", "Togo history"]),
        ("- **Aspirin**: against pain\n- **Codeine**: for coughs", "common painkillers", ["Aspirin", "Codeine"]),
        # names that the model read, or that alone tell the entries apart
        ("Java: sort lists\nRust: sort lists", "Java or Rust lists?", ["Java: sort lists", "Rust: sort lists"]),
        ("Mali: capital city\nChad: capital city", READ, ["Mali: capital city", "Chad: capital city"]),
    ],
)
def test_names_and_entries_in_bold_are_kept(reply, read, entries):
    assert entries_of(reply, read=read) == entries


def test_a_reply_in_a_script_without_spaces():
    first, second = "\u591a\u54e5\u7684\u9996\u90fd", "\u591a\u54e5\u9996\u90fd\u7684\u5386\u53f2"
    reply = f"- **\u76f4\u8bd1**\uff1a{first}\n- **\u5386\u53f2**\uff1a{second}"
    assert entries_of(reply, read="\u591a\u54e5\u7684\u9996\u90fd\u662f\u54ea\u91cc?") == [first, second]


@pytest.mark.parametrize(
    "before", ["Sure! ", "Certainly, ", "Of course. ", "Okay, here is a clearer version: ", "Sure, here you go: "]
)
def test_a_courtesy_before_an_entry_is_removed(before):
    assert entries_of(f"{before}{CITY}", read=READ) == [CITY]
    assert entries_of(f"{before}{CITY}?", read=READ) == [f"{CITY}?"]


def test_a_statement_after_a_courtesy_is_no_entry():
    assert entries_of("Sure! The query is about Togo.", read=READ) == []
