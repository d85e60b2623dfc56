"""Queries behind an announcement in the same line, and replies that leave the query as it is."""

from __future__ import annotations

# ruff: noqa: RUF001  (letters of other scripts are meant)
import pytest
from stand_ins import ScriptedLanguageModel

from acqo_rl.reformulation.load import load_reformulator
from acqo_rl.replies.lists import entries_of
from acqo_rl.types import Query

SINGLE = """
The rewritten query is: {}
So the rewritten search query would be: {}
The best search query is "{}"
Sure, here's the rewritten query: {}
Sure! Here’s the rewritten query: {}
Certainly! The rewritten query is: {}
Okay, rewritten query: {}
Here is the standalone question: "{}"
Here are the search terms: {}
Die umformulierte Frage lautet: {}
Natürlich, hier ist die Suchanfrage: {}
La requête reformulée est : {}
Bien sûr, voici la requête reformulée : {}
La consulta reescrita es: {}
La domanda riformulata è: {}
A pergunta reformulada é: {}
De herschreven vraag is: {}
Przeformułowane pytanie brzmi: {}
Yeniden yazılmış sorgu şudur: {}
改写后的查询是：{}
書き換えたクエリは：{}
"""
UNNEEDED = """
No rewriting needed.
No rewrite is necessary
No changes needed, the query is clear.
The query is already clear.
The question is already standalone and needs no change.
Keine Umformulierung nötig.
Die Frage ist bereits eigenständig.
Aucune reformulation nécessaire.
No es necesario reformular la pregunta.
Nessuna riformulazione necessaria.
Não é necessário reformular.
Geen herformulering nodig.
Переформулировка не требуется.
无需改写。
"""


@pytest.mark.parametrize("form", SINGLE.strip().splitlines())
def test_the_query_behind_an_announcement_is_read(form):
    assert entries_of(form.format("rent in Oslo 2020")) == ["rent in Oslo 2020"]


@pytest.mark.parametrize("reply", UNNEEDED.strip().splitlines())
@pytest.mark.parametrize("strategy", ["rewrite", "multi_query"])
def test_a_query_that_needs_no_change_is_searched_as_it_is(reply, strategy):
    reformulator = load_reformulator(strategy, "stand-in", language_model=ScriptedLanguageModel(reply))
    [answer] = reformulator.reformulate([Query("q", "rent in Oslo 2020")])
    assert [sub_query.text for sub_query in answer.sub_queries] == ["rent in Oslo 2020"]
    assert (answer.route, answer.problem) == ("pass", None)


def test_a_query_after_such_a_remark_is_read():
    assert entries_of("No rewriting needed.\n\nrent in Oslo") == ["rent in Oslo"]


@pytest.mark.parametrize(
    "text",
    [
        "Sure Start centres: funding",
        "Here is the song: lyrics",
        "Is the question: to be or not to be",
        "no change needed meme song",
        "the question is already answered podcast",
        "what is the best search engine",
    ],
)
def test_queries_that_only_look_like_announcements_survive(text):
    assert entries_of(text) == [text]


@pytest.mark.parametrize(
    "said",
    [
        "No queries needed.",
        "No further searches are required.",
        "no search needed",
        "Keine weiteren Suchanfragen nötig.",
        "Aucune recherche supplémentaire n'est nécessaire.",
        "No se necesitan más búsquedas.",
        "Nessuna ricerca aggiuntiva è necessaria.",
        "Nenhuma pesquisa adicional é necessária.",
        "Geen verdere zoekopdrachten nodig.",
        "Żadne dodatkowe zapytania nie są potrzebne.",
        "Дополнительные запросы не требуются.",
        "Ek sorguya gerek yok.",
        "不需要进一步的搜索。",
        "追加の検索は不要です。",
        "추가 검색이 필요하지 않습니다.",
        "لا حاجة إلى مزيد من البحث.",
        "अतिरिक्त खोज की आवश्यकता नहीं है।",
    ],
)
def test_a_reply_that_no_search_is_needed_is_not_searched(said):
    assert entries_of(said) == []
    assert entries_of(f"- rent in Oslo\n- rent in Bergen\n\n{said}") == ["rent in Oslo", "rent in Bergen"]


@pytest.mark.parametrize("text", ["No search warrant needed law", "searches required by law", "no query needed bug"])
def test_a_query_about_searches_is_searched(text):
    assert entries_of(text) == [text]
