"""Names and numbers that look like labels, counts or explanations belong to the entries."""

from __future__ import annotations

import pytest

from acqo_rl.replies.lists import entries_of


@pytest.mark.parametrize(
    "entries",
    [
        ["1.5 TFSI engine", "2.0 TFSI engine"],
        ["1.0 release notes", "2.0 release notes"],
        ["1:30 train to Oslo", "2:30 train to Oslo"],
        ["Version 1.5 changes", "Version 2.0 changes"],
        ["Windows 1.0 history", "Windows 2.0 history"],
        *([f"{name} {letter}: symptoms" for letter in "ABC"] for name in ("Hepatitis", "Vitamin", "Influenza", "Plan")),
        *([f"{name} {n}: what happens" for n in (1, 2)] for name in ("GTA", "Genesis", "Type", "Phase", "Formula")),
        ["Henry I - wives", "Henry II - wives"],
        ["Napoleon I: battles", "Napoleon II: life"],
        ["Paris \u2013 London train time", "Rome \u2013 Milan train time"],
        ["New York \u2014 London flight", "San Francisco \u2014 Tokyo flight"],
        [
            "\u041c\u043e\u0441\u043a\u0432\u0430 \u2013 \u041a\u0430\u0437\u0430\u043d\u044c",
            "\u0420\u0438\u043c \u2013 \u041c\u0438\u043b\u0430\u043d",
        ],
        ["JPG -> PNG converter", "PNG -> JPG converter"],
        ["celsius \u2192 fahrenheit formula", "miles \u2192 km formula"],
        ["paris - london train time", "rome - milan train time"],
        ["\u5317\u4eac\u2014\u2014\u4e0a\u6d77\u9ad8\u94c1", "\u5e7f\u5dde\u2014\u2014\u6df1\u5733\u9ad8\u94c1"],
    ],
)
def test_words_of_entries_are_kept(entries):
    assert entries_of("\n".join(entries)) == entries


@pytest.mark.parametrize(
    "form",
    [
        "{n}. {text}",
        "{n}: {text}",
        "{letter}) {text}",
        "Teilfrage {n}: {text}",
        "Option {letter}: {text}",
        "Improved query {n}: {text}",
        "{n}. {text} \u2013 to know how much it is",
        "{text} -> covers one side",
    ],
)
def test_counts_labels_and_explanations_are_removed(form):
    entries = ["rent in Oslo", "wages of Turku"]
    rows = [form.format(n=n, letter="ABC"[n - 1].lower(), text=text) for n, text in enumerate(entries, start=1)]
    assert entries_of("\n".join(rows)) == entries
