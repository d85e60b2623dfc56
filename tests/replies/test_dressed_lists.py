"""Any list in any dress gives its entries: numbering, labels of unknown words, quotation marks and a last remark."""

from __future__ import annotations

# ruff: noqa: RUF001  (letters of other scripts are meant)
from hypothesis import given
from hypothesis import strategies as st

from acqo_rl.replies.lists import entries_of

TEXTS = [
    "bread prices Lyon", "Mietpreise in Wien", "prix du pain", "precio del pan en Lima", "prezzo del pane",
    "preço do pão", "huurprijzen in Gent", "ceny chleba Gdańsk", "цены на хлеб", "ekmek fiyatı nedir",
    "面包的价格是多少", "パンの値段はいくら", "빵 가격 비교", "سعر الخبز في مصر", "रोटी की कीमत",
]  # fmt: skip
LETTERS = "zxq", "жщъ", "ψξζ", "קצש", "ظغض", "झठढ"
WORDS = st.sampled_from(LETTERS).flatmap(lambda letters: st.text(st.sampled_from(letters), min_size=3, max_size=8))
LABELS = st.lists(WORDS, min_size=1, max_size=3).map(" ".join)
COUNTS = st.sampled_from(
    ["{label} {n}: ", "{label} {n} – ", "{label} #{n}: ", "{label} №{n}: ", "[{label} {n}] ", "【{label}{n}】",
     "- {label} {n}: ", "**{label} {n}:** ", "{label} {n}/9: ",
     "{label}_{n}: ", "{n}. ", "{n}) ", "({n}) ", "- ", "* ", "• ", "#{n} ", "{n}/ "]
)  # fmt: skip
QUOTES = st.sampled_from(["{}", '"{}"', "“{}”", "«{}»", "「{}」", "`{}`", "**{}**"])
REMARKS = st.sampled_from(
    ["", "\nconfidence: high", "\n\nHope this helps!", "\n\nViel Erfolg!", "\nNote: these differ."]
)


@given(st.lists(st.sampled_from(TEXTS), min_size=2, max_size=5, unique=True), LABELS, COUNTS, QUOTES, REMARKS)
def test_a_list_in_any_dress(texts, label, count, quotes, remark):
    rows = [count.format(label=label, n=n) + quotes.format(text) for n, text in enumerate(texts, start=1)]
    assert entries_of("\n".join(rows) + remark, read="What does it cost?") == texts
