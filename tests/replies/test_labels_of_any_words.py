"""Labels that the reader does not know: the same words with a count before every entry, in any language."""

from __future__ import annotations

# ruff: noqa: RUF001  (letters of other scripts are meant)
import pytest
from stand_ins import ScriptedLanguageModel

from acqo_rl.pipeline.decomposition import read_sub_questions
from acqo_rl.reformulation.load import load_reformulator
from acqo_rl.replies.lists import entries_of
from acqo_rl.types import Query

ENTRIES = ["bread prices Lyon", "rent Oslo 2020", "who won 1998"]
ASKED = "What do bread and rent cost, and who won the cup?"
NUMBERED = """
Step {}: ~Hop {}: ~SQ{}: ~S{}: ~Hop-{}: ~hop_{}: ~Entry {}: ~Facet {}: ~Task #{} - ~Krok {}. ~Etap {} – ~Schritt {}:
Étape {} : ~Paso {}: ~Langkah {}: ~Truy vấn {}: ~Câu truy vấn thứ {}: ~Шаг {}: ~Поисковый запрос №{}:
Поисковый запрос №{} —
Под-вопрос {}) ~ΒΗΜΑ {}: ~שלב {}: ~الخطوة {}: ~चरण {}: ~ขั้นตอนที่ {}: ~手順{}：~步骤{}：~第{}步：~단계 {}:
[Step {}] ~(Step {})~【查询{}】~【Query {}】：~【{}】~<<{}>> ~[{}/3] ~Step {}/3: ~Step {} of 3:
step_{} = ~{} → ~No.{} ~n°{} ~{}° ~- Step {}:
**Step {}:** ~__Step {}:__ ~### Step {}: ~<Step {}>: ~Búsqueda N.º {}: ~Retrieval step {}:
"""
COUNTED = """
а) б) в)~А. Б. В.~(а) (б) (в)~α) β) γ)~א) ב) ג)~أ) ب) ج)~क) ख) ग)~가) 나) 다)~ア） イ） ウ）~あ) い) う)~甲、 乙、 丙、
⑴ ⑵ ⑶~➊ ➋ ➌~❶ ❷ ❸~（一） （二） （三）~Ⅰ. Ⅱ. Ⅲ.~I) II) III)~١) ٢) ٣)~[A] [B] [C]
第一步： 第二步： 第三步：~步骤一： 步骤二： 步骤三：
"""
WITH_READ = """
Step A: ~Step B: ~Step C:|1. lépés: ~2. lépés: ~3. lépés:|1º paso: ~2º paso: ~3º paso:|1) Step: ~2) Step: ~3) Step:
Sub-problem I: ~Sub-problem II: ~Sub-problem III:
"""


def forms(text):
    return [form for line in text.strip().splitlines() for form in line.split("~") if form.strip()]


@pytest.mark.parametrize("label", forms(NUMBERED))
@pytest.mark.parametrize("read", ["", ASKED])
def test_words_with_a_number_before_every_entry_are_removed(label, read):
    rows = [f"{label.strip().format(n)} {entry}" for n, entry in enumerate(ENTRIES, start=1)]
    assert entries_of("\n".join(rows), read=read) == ENTRIES


@pytest.mark.parametrize("labels", forms(COUNTED))
def test_letters_and_signs_of_any_script_count(labels):
    rows = [f"{label} {entry}" for label, entry in zip(labels.split(), ENTRIES, strict=True)]
    assert entries_of("\n".join(rows), read=ASKED) == ENTRIES


@pytest.mark.parametrize("labels", [form for line in WITH_READ.strip().splitlines() for form in line.split("|")])
def test_words_that_the_model_did_not_read_are_labels_also_beside_letters_and_after_numbers(labels):
    rows = [f"{label.strip()} {entry}" for label, entry in zip(labels.split("~"), ENTRIES, strict=True)]
    assert entries_of("\n".join(rows), read=ASKED) == ENTRIES


@pytest.mark.parametrize(
    ("rows", "asked"),
    [
        (["GTA 1: release date in Japan", "GTA 2: size of the map"], "compare GTA 1 and GTA 2"),
        (["Hepatitis A: vaccine for adults", "Hepatitis B: first symptoms"], "hepatitis A or B?"),
        (["World War 1: main causes", "World War 2: first battle"], "the two world wars"),
        (["1. Python: how to read a file", "2. Python: how to write a file"], ""),
        (["Type 1: causes", "Type 2: causes"], ""),
        (["Vitamin A: foods rich in it", "Vitamin B: signs of a lack"], ""),
        (["New York 1: voting district map", "New York 2: voting district map of it"], ""),
        (["Wars of 第一次世界大战: x y", "第二次世界大战：何时开始"], ""),
        (["V. S. Naipaul books", "W. B. Yeats poems"], ""),
    ],
)
def test_names_with_a_number_or_a_letter_stay(rows, asked):
    kept = [row.removeprefix("1. ").removeprefix("2. ") for row in rows]
    assert entries_of("\n".join(rows), read=asked) == kept


@pytest.mark.parametrize(
    "label", ["Поисковый запрос №{}", "Step {}", "**Hop {}**", "【查询{}】", "### Schritt {}", "[Etapa {}]"]
)
def test_labels_above_the_entries_are_removed(label):
    rows = [f"{label.format(n)}\n{entry}" for n, entry in enumerate(ENTRIES, start=1)]
    assert entries_of("\n".join(rows)) == ENTRIES
    assert entries_of("\n\n".join(rows)) == ENTRIES


def test_numbered_names_in_rows_of_their_own_are_entries():
    assert entries_of("GTA 1\nGTA 2\nGTA 3") == ["GTA 1", "GTA 2", "GTA 3"]


@pytest.mark.parametrize("label", ["Keywords:", "Search terms:", "Mots-clés :", "Palabras clave:", "Schlüsselwörter:"])
def test_a_label_for_words_to_search_is_removed_from_a_single_line(label):
    assert entries_of(f"{label} rent Oslo") == ["rent Oslo"]


def test_every_strategy_knows_what_the_model_read():
    reply = "Plan A: price of the flight\nPlan B: price of the train"
    for strategy in ("multi_query", "decomposition"):
        reformulator = load_reformulator(strategy, "stand-in", language_model=ScriptedLanguageModel(reply))
        asked, other = Query("1", "Compare plan A and plan B"), Query("2", "How much is the journey to Rome?")
        kept, removed = reformulator.reformulate([asked, other])
        assert [s.text for s in kept.sub_queries][-2:] == reply.splitlines()
        assert [s.text for s in removed.sub_queries][-2:] == ["price of the flight", "price of the train"]


def test_sub_questions_with_other_labels_keep_their_dependencies():
    reply = "Hop 1: Who founded Lego?\nDEPENDS: none\nHop 2: Where was the founder born?\nDEPENDS: 1"
    one, two = read_sub_questions(reply, Query("q", "Where was Lego's founder born?"))
    assert (one.text, one.depends_on) == ("Who founded Lego?", ())
    assert (two.text, two.depends_on) == ("Where was the founder born?", (1,))
