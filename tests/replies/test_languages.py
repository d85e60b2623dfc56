"""Lists in fourteen languages, each in the words that models use in it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acqo_rl.replies.answers import read_answer
from acqo_rl.replies.fields import read_ids, read_text, read_truth
from acqo_rl.replies.lists import read_list
from acqo_rl.types import Completion


def read(text):
    return read_list(Completion(text, 9), 9)


# entries, labels, sentences before, sentences after, explanations
LANGUAGES = {
    "en": (
        ["bread prices in Lyon", "rent in Oslo 2020", "who won in 1998?"],
        [
            "Query {n}: {}",
            "Question {n}. {}",
            "Search {n} - {}",
            "Variant {n}: {}",
            "Search query: {}",
            "Option {n}: {}",
            "Alternative {n}: {}",
            "Rephrasing {n}: {}",
            "First query: {}",
        ],
        [
            "Sure, here are three searches:",
            "Of course! Below you'll find some queries.",
            "I suggest the following searches:",
        ],
        ["Let me know if you want more!", "Feel free to ask for others."],
        [" (covers the price)", " - this looks at the price", " -> for the price"],
    ),
    "de": (
        ["Brotpreise in Lyon", "Miete in Oslo 2020", "Wer gewann 1998?"],
        [
            "Anfrage {n}: {}",
            "Suchanfrage {n}: {}",
            "Frage {n}: {}",
            "Teilfrage {n}: {}",
            "Suche: {}",
            "Variante {n}: {}",
            "Unterfrage {n}: {}",
            "Suchbegriff {n}: {}",
            "Alternative {n}: {}",
        ],
        [
            "Hier sind drei Suchanfragen:",
            "Natürlich! Hier sind die Suchanfragen:",
            "Gerne, folgende Anfragen könnten helfen:",
        ],
        [
            "Diese Suchanfragen decken verschiedene Aspekte ab.",
            "Sag mir Bescheid, wenn du mehr brauchst!",
            "Ich hoffe, das hilft dir weiter.",
        ],
        [" (deckt den Preis ab)", " – sucht nach dem Preis", " - hier geht es um den Preis"],
    ),
    "fr": (
        ["prix du pain à Lyon", "loyers à Oslo 2020", "qui a gagné en 1998 ?"],
        [
            "Requête {n} : {}",
            "Question {n} : {}",
            "Recherche {n} : {}",
            "Sous-question {n} : {}",
            "Variante {n} : {}",
            "Requête n° {n} : {}",
            "Requête n°{n} : {}",
        ],
        [
            "Voici trois requêtes :",
            "Bien sûr ! Voici quelques recherches :",
            "Je vous propose les recherches suivantes :",
        ],
        [
            "Ces requêtes couvrent différents aspects.",
            "N'hésitez pas à me demander d'autres variantes.",
            "J'espère que cela vous aide.",
        ],
        [" (couvre le prix)", " – cherche le prix"],
    ),
    "es": (
        ["precio del pan en Lyon", "alquiler en Oslo 2020", "¿quién ganó en 1998?"],
        [
            "Consulta {n}: {}",
            "Pregunta {n}: {}",
            "Búsqueda {n}: {}",
            "Subpregunta {n}: {}",
            "Variante {n}: {}",
            "Consulta n.º {n}: {}",
            "Opción {n}: {}",
        ],
        ["Aquí tienes tres consultas:", "¡Claro! Aquí están las búsquedas:", "Estas son las consultas sugeridas:"],
        ["Estas consultas cubren distintos aspectos.", "Avísame si necesitas más.", "Espero que te sirva."],
        [" (cubre el precio)", " – busca el precio", " → para el precio"],
    ),
    "it": (
        ["prezzo del pane a Lione", "affitti a Oslo 2020", "chi ha vinto nel 1998?"],
        [
            "Domanda {n}: {}",
            "Ricerca {n}: {}",
            "Interrogazione {n}: {}",
            "Sottodomanda {n}: {}",
            "Variante {n}: {}",
            "Query {n}: {}",
        ],
        ["Ecco tre ricerche:", "Certo! Ecco le domande:", "Ti propongo le seguenti ricerche:"],
        ["Queste ricerche coprono aspetti diversi.", "Fammi sapere se ne vuoi altre.", "Spero che ti sia utile!"],
        [" (copre il prezzo)", " – cerca il prezzo"],
    ),
    "pt": (
        ["preço do pão em Lyon", "aluguel em Oslo 2020", "quem ganhou em 1998?"],
        [
            "Pergunta {n}: {}",
            "Pesquisa {n}: {}",
            "Consulta {n}: {}",
            "Busca {n}: {}",
            "Subpergunta {n}: {}",
            "Questão {n}: {}",
            "Variação {n}: {}",
        ],
        ["Aqui estão três consultas:", "Claro! Seguem as pesquisas:", "Com certeza! Aqui vão algumas perguntas:"],
        ["Essas consultas cobrem diferentes aspectos.", "Avise-me se precisar de mais.", "Espero que isso ajude!"],
        [" (cobre o preço)", " – busca o preço"],
    ),
    "nl": (
        ["broodprijzen in Lyon", "huur in Oslo 2020", "wie won in 1998?"],
        [
            "Vraag {n}: {}",
            "Zoekopdracht {n}: {}",
            "Zoekvraag {n}: {}",
            "Deelvraag {n}: {}",
            "Variant {n}: {}",
            "Zoekterm {n}: {}",
        ],
        ["Hier zijn drie zoekopdrachten:", "Natuurlijk! Hier zijn de vragen:", "Zeker, dit zijn de zoekvragen:"],
        [
            "Deze zoekopdrachten dekken verschillende aspecten.",
            "Laat me weten of je er meer wilt.",
            "Ik hoop dat dit helpt!",
        ],
        [" (over de prijs ervan)", " – zoekt de prijs"],
    ),
    "pl": (
        ["ceny chleba w Lyonie", "czynsz w Oslo 2020", "kto wygrał w 1998?"],
        [
            "Zapytanie {n}: {}",
            "Pytanie {n}: {}",
            "Wyszukiwanie {n}: {}",
            "Podpytanie {n}: {}",
            "Wariant {n}: {}",
            "Zapytanie nr {n}: {}",
        ],
        ["Oto trzy zapytania:", "Oczywiście! Oto zapytania:", "Proponuję następujące wyszukiwania:"],
        ["Te zapytania obejmują różne aspekty.", "Daj znać, jeśli potrzebujesz więcej.", "Mam nadzieję, że to pomoże!"],
        [" (dotyczy ceny chleba)", " – szuka ceny"],
    ),
    "zh": (
        ["里昂面包价格", "奥斯陆房租2020", "1998年谁赢了？"],
        [
            "查询{n}：{}",
            "问题{n}：{}",
            "子问题{n}：{}",
            "搜索{n}：{}",
            "查询 {n}: {}",
            "搜索词{n}：{}",
            "第{n}个查询：{}",
            "检索式{n}：{}",
            "关键词{n}：{}",
        ],
        ["以下是三个查询：", "当然！以下是一些搜索：", "好的，这里有三个查询："],
        ["这些查询涵盖了不同的方面。", "如果需要更多，请告诉我。", "希望对您有帮助！"],
        ["（关于价格）", " — 关于价格"],
    ),
    "ja": (
        ["リヨンのパンの値段", "オスロの家賃 2020", "1998年に勝ったのは誰？"],
        [
            "クエリ{n}：{}",
            "質問{n}：{}",
            "検索{n}：{}",
            "検索クエリ{n}：{}",
            "サブクエリ{n}：{}",
            "質問{n}. {}",
            "検索ワード{n}：{}",
            "クエリ {n}: {}",
        ],
        [
            "以下は3つの検索クエリです：",
            "もちろんです！以下の検索をお試しください。",
            "承知しました。検索クエリは次のとおりです：",
        ],
        [
            "これらのクエリは異なる側面をカバーしています。",
            "他に必要であればお知らせください。",
            "お役に立てれば幸いです。",
        ],
        ["（値段について）", " — 値段について"],
    ),
    "sv": (
        ["brödpriser i Lyon", "hyror i Oslo 2020", "vem vann 1998?"],
        ["Fråga {n}: {}", "Sökning {n}: {}", "Sökfråga {n}: {}", "Delfråga {n}: {}"],
        ["Här är tre sökningar:", "Självklart! Här är frågorna:"],
        ["Dessa sökningar täcker olika aspekter.", "Säg till om du vill ha fler."],
        [" (täcker priset här)", " – söker priset"],
    ),
    "ru": (
        ["цены на хлеб в Лионе", "аренда в Осло 2020", "кто выиграл в 1998?"],
        ["Запрос {n}: {}", "Вопрос {n}: {}", "Поиск {n}: {}", "Подвопрос {n}: {}", "Вариант {n}: {}"],
        ["Вот три запроса:", "Конечно! Вот запросы:"],
        ["Эти запросы охватывают разные аспекты.", "Дайте знать, если нужно больше."],
        [" (о цене хлеба)", " — ищет цену"],
    ),
    "ko": (
        ["리옹 빵 가격", "오슬로 임대료 2020", "1998년에 누가 이겼나?"],
        ["질문 {n}: {}", "검색어 {n}: {}", "쿼리 {n}: {}", "하위 질문 {n}: {}"],
        ["다음은 세 가지 검색어입니다:", "물론입니다! 다음은 검색어입니다:"],
        ["이 검색어들은 다양한 측면을 다룹니다.", "더 필요하시면 알려주세요."],
        [" (가격에 대해)", " — 가격 검색"],
    ),
    "tr": (
        ["Lyon'da ekmek fiyatları", "Oslo kira 2020", "1998'de kim kazandı?"],
        ["Soru {n}: {}", "Sorgu {n}: {}", "Arama {n}: {}", "Alt soru {n}: {}"],
        ["İşte üç sorgu:", "Tabii! İşte sorgular:"],
        ["Bu sorgular farklı yönleri kapsar."],
        [" (fiyat için olan)", " – fiyatı arar"],
    ),
}


@pytest.fixture(params=LANGUAGES)
def language(request):
    return LANGUAGES[request.param]


def numbered(entries):
    return "\n".join(f"{i}. {entry}" for i, entry in enumerate(entries, 1))


@pytest.mark.parametrize(
    "line", ["{label}{text}", '{label}"{text}"', "**{bold}** {text}", "- {label}{text}", "{n}. {label}{text}"]
)
def test_labels(language, line):
    entries, labels, *_ = language
    for label in labels:
        before = label.partition("{}")[0]
        lines = [
            line.format(label=before.format(n=n), bold=before.format(n=n).strip(), text=entry, n=n)
            for n, entry in enumerate(entries, 1)
        ]
        assert read("\n".join(lines)) == entries
        assert read(label.format(entries[0], n=1)) == entries[:1]


@pytest.mark.parametrize(
    "mark",
    [
        '"{}"',
        "\u201c{}\u201d",
        "\u00ab{}\u00bb",
        "\u00ab {} \u00bb",
        "\u201e{}\u201c",
        "\u300c{}\u300d",
        "**{}**",
        "`{}`",
        "\u2039{}\u203a",
        "\u300e{}\u300f",
        '"{}".',
        "\u201c{},\u201d",
    ],
)
def test_quotation_marks(language, mark):
    quoted = [mark.format(entry) for entry in language[0]]
    assert read("\n".join(quoted)) == read(numbered(quoted)) == language[0]


@pytest.mark.parametrize("apart", ["\n", "\n\n"])
def test_sentences_before_and_after(language, apart):
    entries, _, before, after, _ = language
    plain = "\n".join(entries)
    for sentence in before:
        assert read(f"{sentence}{apart}{plain}") == read(f"{sentence}{apart}{numbered(entries)}") == entries
        assert read(f"{sentence}{apart}{entries[0]}") == entries[:1]
    for sentence in after:
        assert read(f"{plain}{apart}{sentence}") == read(f"{numbered(entries)}{apart}{sentence}") == entries
        assert read(f"{entries[0]}{apart}{sentence}") == entries[:1]


def test_explanations_behind_every_entry(language):
    entries, *_, explanations = language
    for why in explanations:
        for mark in ("{}", '"{}"', "**{}**"):
            assert read(numbered([mark.format(entry) + why for entry in entries])) == entries


@given(st.data())
def test_all_of_it_at_once(data):
    language = LANGUAGES[data.draw(st.sampled_from(list(LANGUAGES)))]
    entries, labels, before, after, _ = language
    label = data.draw(st.sampled_from([*labels, "{n}. {}", "- {}", "({n}) {}"]))
    mark = data.draw(st.sampled_from(["{}", '"{}"', "**{}**", "\u00ab{}\u00bb"]))
    lines = [label.format(mark.format(entry), n=n) for n, entry in enumerate(entries, 1)]
    apart = data.draw(st.sampled_from(["\n", "\n\n"]))
    text = apart.join([data.draw(st.sampled_from(before)), "\n".join(lines), data.draw(st.sampled_from(after))])
    assert read(text) == entries


@pytest.mark.parametrize(
    "entries",
    [
        ["Suche nach Wasser auf dem Mars", "Frage der Schuld"],
        ["Variante 4 der Autobahn", "Option 3 in Brexit talks"],
        ["question de confiance", "recherche emploi Lyon"],
        ["Here Comes the Sun", "Te Deum", "Este domingo"],
        ["espero que vuelvas letra", "spero di sole", "bei Bedarf Tabletten"],
        ["Klar\u00e4lven length", "Claro Colombia", "Certo prize winners"],
        ["\u95ee\u9898\u513f\u7ae5", "\u691c\u7d22\u30a8\u30f3\u30b8\u306e\u6b74\u53f2"],
        ["Yahoo!", "Oklahoma! cast", "Who wrote it"],
        ["Oslo - Bergen train", "Oslo - Stavanger train"],
        ["Mercury\uff08\u884c\u661f\u884c\u661f\uff09", "Mercury\uff08\u5143\u7d20\u5143\u7d20\uff09"],
    ],
)
def test_texts_that_only_begin_or_end_like_one_survive(entries):
    assert read("\n".join(entries)) == entries


@pytest.mark.parametrize(
    "text",
    [
        "['bread price', 'rent in Oslo']",
        '["bread price", "rent in Oslo",]',
        "{'queries': ['bread price', 'rent in Oslo']}",
    ],
)
def test_lists_as_python_writes_them(text):
    assert read(text) == ["bread price", "rent in Oslo"]


@pytest.mark.parametrize(
    ("word", "truth"),
    [
        ("Ja.", True),
        ("oui, tout", True),
        ("S\u00ed", True),
        ("\u662f\u7684", True),
        ("\u306f\u3044", True),
        ("tak", True),
        ("Nein, nicht", False),
        ("non", False),
        ("n\u00e3o", False),
        ("nee", False),
        ("nie", False),
        ("\u5426", False),
        ("\u3044\u3044\u3048", False),
        ("nothing known", None),
        ("january", None),
    ],
)
def test_yes_and_no(word, truth):
    assert read_truth(word) is truth


@pytest.mark.parametrize(
    "word", ["keine", "Aucune.", "ninguna", "nessuna", "nenhum", "geen", "brak", "\u65e0", "\u306a\u3057"]
)
def test_none(word):
    assert read_text(word) == ""
    assert read_ids(f"{word} (SUB2)") == ()


@pytest.mark.parametrize(
    "preface",
    [
        "Sure! Here is the answer:\n",
        "**Answer:** ",
        "Antwort: ",
        "R\u00e9ponse : ",
        "Nat\u00fcrlich! Hier ist die Antwort: ",
        "Bien s\u00fbr, ",
        "Respuesta: ",
        "Ecco la risposta: ",
        "Resposta: ",
        "Antwoord: ",
        "Odpowied\u017a: ",
        "\u7b54\u6848\uff1a",
        "\u56de\u7b54\uff1a",
        "\u5f53\u7136\uff01",
        "Here's what the passages say: ",
    ],
)
def test_an_answer_is_read_without_what_stands_before_it(preface):
    assert read_answer(f"{preface}Lima is.\n\nIn Peru: since 1535.", "capital?") == "Lima is.\n\nIn Peru: since 1535."


@pytest.mark.parametrize(
    "answer",
    [
        "Here there is none.",
        "Sure of it he was.",
        "Answer to Job is a book.",
        "There are three reasons:\n- a b c",
        "Yes! Lima is.",
    ],
)
def test_an_answer_that_only_begins_like_a_preface_is_kept(answer):
    assert read_answer(answer, "which?") == answer


@pytest.mark.parametrize(
    ("reply", "entries"),
    [
        (
            "Gerne! Hier sind drei Suchanfragen für Ihre Frage:\n\n1. **Miete in Oslo 2020** – deckt die Mietpreise ab\n2. **Löhne in Oslo 2020** – deckt die Löhne ab\n\nDiese Anfragen sollten helfen, die Informationen zu finden. Lassen Sie mich wissen, wenn Sie weitere benötigen!",
            ["Miete in Oslo 2020", "Löhne in Oslo 2020"],
        ),
        (
            "1. rent in Oslo\n   - Covers the price of housing.\n2. wages in Oslo\n   - Covers what people earn.",
            ["rent in Oslo", "wages in Oslo"],
        ),
        (
            "1. **Query:** rent in Oslo\n   **Purpose:** covers the price\n2. **Query:** wages in Oslo\n   **Purpose:** covers wages",
            ["rent in Oslo", "wages in Oslo"],
        ),
        (
            "**Query 1:** rent in Oslo\n*Explanation: this covers the price.*\n\n**Query 2:** wages in Oslo\n*Explanation: this covers wages.*",
            ["rent in Oslo", "wages in Oslo"],
        ),
        (
            "Voici trois requêtes de recherche :\n\n- « loyer à Oslo »\n- « salaires à Oslo »\n\nCes requêtes permettent de couvrir les différents aspects de la question. N'hésitez pas à me solliciter si besoin !",
            ["loyer à Oslo", "salaires à Oslo"],
        ),
        (
            "Voici les requêtes :\n1. « loyer à Oslo » : pour connaître les prix\n2. « salaires à Oslo » : pour connaître les revenus",
            ["loyer à Oslo", "salaires à Oslo"],
        ),
        (
            "¡Por supuesto! Aquí tienes tres búsquedas:\n\n1. **alquiler en Oslo** (precio de la vivienda)\n2. **salarios en Oslo** (ingresos de la gente)\n\n¿Quieres que añada más?",
            ["alquiler en Oslo", "salarios en Oslo"],
        ),
        (
            "Certo! Ecco tre possibili ricerche:\n\n* affitto a Oslo\n* stipendi a Oslo\n\nSe vuoi, posso aggiungerne altre.",
            ["affitto a Oslo", "stipendi a Oslo"],
        ),
        (
            'Claro! Aqui estão as consultas:\n\n1) "aluguel em Oslo"\n2) "salários em Oslo"\n\nSe precisar de mais alguma coisa, é só avisar!',
            ["aluguel em Oslo", "salários em Oslo"],
        ),
        (
            "Natuurlijk! Hier zijn drie zoekopdrachten:\n\n• huur in Oslo\n• lonen in Oslo\n\nAls je meer wilt, laat het me weten.",
            ["huur in Oslo", "lonen in Oslo"],
        ),
        (
            "Oczywiście! Oto trzy zapytania:\n\n1. „czynsz w Oslo”\n2. „płace w Oslo”\n\nJeśli potrzebujesz więcej, daj znać!",
            ["czynsz w Oslo", "płace w Oslo"],
        ),
        (
            "好的，以下是三个搜索查询：\n\n1. **奥斯陆房租** - 了解住房价格\n2. **奥斯陆工资** - 了解收入水平\n\n希望这些查询能帮到您！",
            ["奥斯陆房租", "奥斯陆工资"],
        ),
        (
            "はい、以下の3つの検索クエリをご提案します：\n\n1. 「オスロ 家賃」\n2. 「オスロ 賃金」\n\nこれらのクエリで必要な情報が見つかるはずです。",
            ["オスロ 家賃", "オスロ 賃金"],
        ),
        (
            "はい、承知しました。\n1. オスロ 家賃（住居費について）\n2. オスロ 賃金（収入について）",
            ["オスロ 家賃", "オスロ 賃金"],
        ),
        (
            "Here's a breakdown:\n\n**Housing:**\n- rent in Oslo\n\n**Income:**\n- wages in Oslo",
            ["rent in Oslo", "wages in Oslo"],
        ),
        ("Option A: rent in Oslo\nOption B: wages in Oslo", ["rent in Oslo", "wages in Oslo"]),
        ("A. rent in Oslo\nB. wages in Oslo", ["rent in Oslo", "wages in Oslo"]),
        ('1. "rent in Oslo" (to find prices)\n2. "wages in Oslo"', ["rent in Oslo", "wages in Oslo"]),
        ("- rent in Oslo\n- wages in Oslo\n\n(These cover both parts.)", ["rent in Oslo", "wages in Oslo"]),
        ("- rent in Oslo\n- wages in Oslo\n\nNote: I assumed 2020.\n", ["rent in Oslo", "wages in Oslo"]),
        (
            "- rent in Oslo\n- wages in Oslo\n\nHinweis: Ich bin von 2020 ausgegangen.",
            ["rent in Oslo", "wages in Oslo"],
        ),
        ("- loyer à Oslo\n- salaires à Oslo\n\nRemarque : j'ai supposé 2020.", ["loyer à Oslo", "salaires à Oslo"]),
        ("```\nrent in Oslo\nwages in Oslo\n```\nThese two queries cover it.", ["rent in Oslo", "wages in Oslo"]),
        (
            '```json\n{"queries": ["rent in Oslo", "wages in Oslo"]}\n```\nLet me know!',
            ["rent in Oslo", "wages in Oslo"],
        ),
        ('{"query_1": "rent in Oslo", "query_2": "wages in Oslo"}', ["rent in Oslo", "wages in Oslo"]),
        (
            '[{"id": 1, "query": "rent in Oslo", "reason": "prices"}, {"id": 2, "query": "wages in Oslo"}]',
            ["rent in Oslo", "wages in Oslo"],
        ),
        ("Suchanfragen:\nMiete in Oslo\nLöhne in Oslo", ["Miete in Oslo", "Löhne in Oslo"]),
        ("Zapytania:\n- czynsz w Oslo\n- płace w Oslo", ["czynsz w Oslo", "płace w Oslo"]),
        ("Réponse :\n1. loyer à Oslo\n2. salaires à Oslo", ["loyer à Oslo", "salaires à Oslo"]),
        ("Die Suchanfragen lauten wie folgt:\n„Miete in Oslo“, „Löhne in Oslo“", ["Miete in Oslo", "Löhne in Oslo"]),
        ('"rent in Oslo", "wages in Oslo"', ["rent in Oslo", "wages in Oslo"]),
        ("1. rent in Oslo, 2. wages in Oslo", ["rent in Oslo", "wages in Oslo"]),
        (
            "rent in Oslo\n\nwages in Oslo\n\nI hope these queries help you find what you need!",
            ["rent in Oslo", "wages in Oslo"],
        ),
        ("1. 奥斯陆房租——了解价格\n2. 奥斯陆工资——了解收入", ["奥斯陆房租", "奥斯陆工资"]),
        ("查询一：奥斯陆房租\n查询二：奥斯陆工资", ["奥斯陆房租", "奥斯陆工资"]),
        ("（1）奥斯陆房租\n（2）奥斯陆工资\n以上查询涵盖了各个方面。", ["奥斯陆房租", "奥斯陆工资"]),
        ("1、オスロの家賃\n2、オスロの賃金\n以上です。", ["オスロの家賃", "オスロの賃金"]),
        ("１．オスロの家賃\n２．オスロの賃金", ["オスロの家賃", "オスロの賃金"]),
        ("Recherche 1 – loyer à Oslo\nRecherche 2 – salaires à Oslo", ["loyer à Oslo", "salaires à Oslo"]),
        ("Ricerca n. 1: affitto a Oslo\nRicerca n. 2: stipendi a Oslo", ["affitto a Oslo", "stipendi a Oslo"]),
        ("Pergunta 1 - aluguel em Oslo\nPergunta 2 - salários em Oslo", ["aluguel em Oslo", "salários em Oslo"]),
        ("1. huur in Oslo → prijzen\n2. lonen in Oslo → inkomen", ["huur in Oslo", "lonen in Oslo"]),
        ("Deelvraag a) huur in Oslo\nDeelvraag b) lonen in Oslo", ["huur in Oslo", "lonen in Oslo"]),
    ],
)
def test_whole_replies(reply, entries):
    assert read(reply) == entries


@pytest.mark.parametrize(
    "entries",
    [
        ["Housing", "rent in Oslo", "prices in Oslo", "Income", "wages in Oslo"],
        ["purpose of the UN", "note to self film", "why: the story"],
        ["Oslo 1. division 2. round", "a 1. b 2. c"],
    ],
)
def test_texts_that_only_look_nested_or_explaining_survive(entries):
    nested = "1. Housing\n   - rent in Oslo\n   - prices in Oslo\n2. Income\n   - wages in Oslo"
    assert read(nested if entries[0] == "Housing" else "\n".join(entries)) == entries


@pytest.mark.parametrize(
    "reply",
    [
        "Es tut mir leid, aber ich kann diese Frage nicht beantworten.",
        "Leider kann ich dabei nicht helfen.",
        "Je suis désolé, mais je ne peux pas répondre à cette question.",
        "Lo siento, pero no puedo ayudar con eso.",
        "Mi dispiace, ma non posso rispondere.",
        "Sinto muito, mas não posso ajudar com isso.",
        "Het spijt me, maar ik kan deze vraag niet beantwoorden.",
        "Przepraszam, ale nie mogę pomóc w tej sprawie.",
        "\u5f88\u62b1\u6b49\uff0c\u6211\u65e0\u6cd5\u56de\u7b54\u3002",
        "\u7533\u3057\u8a33\u3042\u308a\u307e\u305b\u3093\u304c\u3001\u305d\u306e\u8cea\u554f\u306b\u306f\u304a\u7b54\u3048\u3067\u304d\u307e\u305b\u3093\u3002",
        "Tyv\u00e4rr kan jag inte svara p\u00e5 det.",
        "\u0418\u0437\u0432\u0438\u043d\u0438\u0442\u0435, \u044f \u043d\u0435 \u043c\u043e\u0433\u0443 \u043f\u043e\u043c\u043e\u0447\u044c.",
        "\uc8c4\uc1a1\ud569\ub2c8\ub2e4.",
    ],
)
def test_a_refusal_holds_no_search(reply):
    assert read(reply) == []


@pytest.mark.parametrize(
    "text",
    [
        "Lo siento mi amor letra",
        "Es tut mir leid auf Englisch",
        "d\u00e9sol\u00e9 \u00e9tymologie",
        "het spijt me liedje",
        "przepraszam po angielsku",
        "Desculpe o transtorno filme",
    ],
)
def test_searches_for_words_of_a_refusal_survive(text):
    assert read(text) == [text]
