"""Labels that count entries, sentences around a list, refusals and YAML, in seventeen languages."""

from __future__ import annotations

# ruff: noqa: RUF001  (letters of other scripts are meant)
import pytest

from acqo_rl.replies.lists import read_list
from acqo_rl.replies.passages import read_passage
from acqo_rl.types import Completion

ENTRIES = ["bread prices Lyon", "rent Oslo 2020", "who won 1998"]
LABELS = (
    "İlk sorgu:|İkinci sorgu:|Son sorgu:",
    "Pertanyaan pertama:|Pertanyaan kedua:|Pertanyaan ketiga:",
    "1ª opção:|2ª opção:|3ª opção:",
    "Primeira pergunta:|Segunda pergunta:|Terceira pergunta:",
    "Opção A:|Opção B:|Opção C:",
    "Sugestão 1:|Sugestão 2:|Sugestão 3:",
    "Primeira:|Segunda:|Terceira:",
    "1º:|2º:|3º:",
    "Alternativa 1 -|Alternativa 2 -|Alternativa 3 -",
    "Consulta nº 1:|Consulta nº 2:|Consulta nº 3:",
    "Termo de busca 1:|Termo de busca 2:|Termo de busca 3:",
    "Pesquisa um:|Pesquisa dois:|Pesquisa três:",
    "Birinci sorgu:|İkinci sorgu:|Üçüncü sorgu:",
    "1. sorgu:|2. sorgu:|3. sorgu:",
    "Sorgu 1:|Sorgu 2:|Sorgu 3:",
    "Arama sorgusu 1:|Arama sorgusu 2:|Arama sorgusu 3:",
    "Alt soru 1:|Alt soru 2:|Alt soru 3:",
    "Birinci:|İkinci:|Üçüncü:",
    "1'inci soru:|2'nci soru:|3'üncü soru:",
    "Öneri 1:|Öneri 2:|Öneri 3:",
    "Seçenek A:|Seçenek B:|Seçenek C:",
    "첫 번째 질문:|두 번째 질문:|세 번째 질문:",
    "1번:|2번:|3번:",
    "질문 1:|질문 2:|질문 3:",
    "검색어1:|검색어2:|검색어3:",
    "첫째:|둘째:|셋째:",
    "첫 번째 검색어:|두 번째 검색어:|세 번째 검색어:",
    "옵션 1:|옵션 2:|옵션 3:",
    "1번째 질문:|2번째 질문:|3번째 질문:",
    "검색 쿼리 1:|검색 쿼리 2:|검색 쿼리 3:",
    "첫 번째:|두 번째:|세 번째:",
    "1つ目：|2つ目：|3つ目：",
    "一つ目：|二つ目：|三つ目：",
    "1番目：|2番目：|3番目：",
    "第1：|第2：|第3：",
    "クエリその1：|クエリその2：|クエリその3：",
    "質問①：|質問②：|質問③：",
    "1つ目の質問：|2つ目の質問：|3つ目の質問：",
    "まず：|次に：|最後に：",
    "案1：|案2：|案3：",
    "最初のクエリ：|2番目のクエリ：|3番目のクエリ：",
    "第一个查询：|第二个查询：|第三个查询：",
    "第一：|第二：|第三：",
    "查询一：|查询二：|查询三：",
    "其一：|其二：|其三：",
    "首先：|其次：|最后：",
    "选项A：|选项B：|选项C：",
    "第1条：|第2条：|第3条：",
    "搜索词1：|搜索词2：|搜索词3：",
    "方案一：|方案二：|方案三：",
    "第一组查询：|第二组查询：|第三组查询：",
    "السؤال الأول:|السؤال الثاني:|السؤال الثالث:",
    "الاستعلام 1:|الاستعلام 2:|الاستعلام 3:",
    "استعلام البحث ١:|استعلام البحث ٢:|استعلام البحث ٣:",
    "أولا:|ثانيا:|ثالثا:",
    "أولاً:|ثانياً:|ثالثاً:",
    "البحث 1:|البحث 2:|البحث 3:",
    "الخيار الأول:|الخيار الثاني:|الخيار الثالث:",
    "١.|٢.|٣.",
    "سؤال 1:|سؤال 2:|سؤال 3:",
    "पहला प्रश्न:|दूसरा प्रश्न:|तीसरा प्रश्न:",
    "प्रश्न 1:|प्रश्न 2:|प्रश्न 3:",
    "खोज क्वेरी 1:|खोज क्वेरी 2:|खोज क्वेरी 3:",
    "प्रश्न १:|प्रश्न २:|प्रश्न ३:",
    "१.|२.|३.",
    "पहली खोज:|दूसरी खोज:|तीसरी खोज:",
    "पहला:|दूसरा:|तीसरा:",
    "विकल्प 1:|विकल्प 2:|विकल्प 3:",
    "उप-प्रश्न 1:|उप-प्रश्न 2:|उप-प्रश्न 3:",
    "Första frågan:|Andra frågan:|Tredje frågan:",
    "Sökning 1:|Sökning 2:|Sökning 3:",
    "Fråga nr 1:|Fråga nr 2:|Fråga nr 3:",
    "Alternativ 1:|Alternativ 2:|Alternativ 3:",
    "1:a:|2:a:|3:e:",
    "Förslag 1:|Förslag 2:|Förslag 3:",
    "Sökfråga ett:|Sökfråga två:|Sökfråga tre:",
    "Delfråga 1 –|Delfråga 2 –|Delfråga 3 –",
    "För det första:|För det andra:|För det tredje:",
    "Pierwsze zapytanie:|Drugie zapytanie:|Trzecie zapytanie:",
    "Zapytanie pierwsze:|Zapytanie drugie:|Zapytanie trzecie:",
    "Po pierwsze:|Po drugie:|Po trzecie:",
    "1. pytanie:|2. pytanie:|3. pytanie:",
    "Opcja 1:|Opcja 2:|Opcja 3:",
    "Pierwszy:|Drugi:|Trzeci:",
    "Pytanie nr 1:|Pytanie nr 2:|Pytanie nr 3:",
    "Propozycja 1:|Propozycja 2:|Propozycja 3:",
    "Fraza 1 –|Fraza 2 –|Fraza 3 –",
    "1. Anfrage:|2. Anfrage:|3. Anfrage:",
    "Erstens:|Zweitens:|Drittens:",
    "Erste Suche:|Zweite Suche:|Dritte Suche:",
    "Vorschlag A:|Vorschlag B:|Vorschlag C:",
    "1re requête :|2e requête :|3e requête :",
    "1ère question :|2ème question :|3ème question :",
    "Première recherche :|Deuxième recherche :|Troisième recherche :",
    "Proposition A :|Proposition B :|Proposition C :",
    "1.ª consulta:|2.ª consulta:|3.ª consulta:",
    "Primera búsqueda:|Segunda búsqueda:|Tercera búsqueda:",
    "Primero:|Segundo:|Tercero:",
    "Sugerencia 1:|Sugerencia 2:|Sugerencia 3:",
    "1ª domanda:|2ª domanda:|3ª domanda:",
    "Prima ricerca:|Seconda ricerca:|Terza ricerca:",
    "Proposta 1:|Proposta 2:|Proposta 3:",
    "1e zoekvraag:|2e zoekvraag:|3e zoekvraag:",
    "Eerste vraag:|Tweede vraag:|Derde vraag:",
    "Ten eerste:|Ten tweede:|Ten derde:",
    "1-й запрос:|2-й запрос:|3-й запрос:",
    "Первый вопрос:|Второй вопрос:|Третий вопрос:",
    "Запрос №1:|Запрос №2:|Запрос №3:",
    "Во-первых:|Во-вторых:|В-третьих:",
    "1st query:|2nd query:|3rd query:",
    "Query one:|Query two:|Query three:",
    "Search #1:|Search #2:|Search #3:",
    "Option A:|Option B:|Option C:",
    "Firstly:|Secondly:|Thirdly:",
    "Idea 1:|Idea 2:|Idea 3:",
)
"""The labels of three lines."""
AROUND = (
    "Claro, seguem abaixo três opções de busca:|",
    "|Se quiser, posso sugerir outras consultas.",
    "Com prazer! Eis as consultas:|",
    "|Boas pesquisas!",
    "Segue a lista de consultas:|",
    "İşte üç sorgu:|",
    "Elbette, aşağıda üç arama sorgusu bulabilirsiniz:|",
    "|Umarım yardımcı olur!",
    "|Başka bir isteğiniz varsa lütfen söyleyin.",
    "Tabii, aramalar aşağıdadır:|",
    "|Bu sorgular farklı yönleri kapsar.",
    "다음은 세 가지 검색어입니다:|",
    "물론입니다! 아래는 검색어 목록입니다.|",
    "|도움이 되길 바랍니다!",
    "|더 필요하시면 말씀해 주세요.",
    "|이 질문들은 다양한 측면을 다룹니다.",
    "네, 여기 있습니다:|",
    "はい、以下の3つの検索クエリをご提案します。|",
    "以下が検索クエリです：|",
    "|これらのクエリはさまざまな側面をカバーしています。",
    "|他にもご要望があればお知らせください。",
    "|ご参考になれば幸いです。",
    "かしこまりました。|",
    "当然可以，以下是三个搜索查询：|",
    "好的，我来帮您拆分：|",
    "|以上查询涵盖了不同方面。",
    "|希望这些对你有所帮助。",
    "|如需更多查询，请随时告诉我。",
    "没问题！查询如下：|",
    "إليك ثلاثة استعلامات بحث:|",
    "بالتأكيد! فيما يلي الأسئلة:|",
    "|آمل أن يكون هذا مفيدًا!",
    "|أخبرني إذا كنت بحاجة إلى المزيد.",
    "|تغطي هذه الاستعلامات جوانب مختلفة.",
    "حسنًا، ها هي الأسئلة:|",
    "यहाँ तीन खोज प्रश्न हैं:|",
    "ज़रूर! नीचे तीन प्रश्न दिए गए हैं:|",
    "|आशा है कि यह मदद करेगा!",
    "|यदि आपको और चाहिए तो बताएं।",
    "|ये प्रश्न विभिन्न पहलुओं को कवर करते हैं।",
    "बिल्कुल, ये रहे प्रश्न:|",
    "Här är tre sökfrågor:|",
    "Självklart! Här kommer förslagen:|",
    "|Hoppas det hjälper!",
    "|Säg till om du vill ha fler.",
    "|Dessa sökningar täcker olika aspekter.",
    "Absolut, nedan följer tre sökningar:|",
    "Oto trzy zapytania:|",
    "Jasne! Poniżej znajdziesz zapytania:|",
    "|Mam nadzieję, że to pomoże!",
    "|Daj znać, jeśli potrzebujesz więcej.",
    "|Powyższe zapytania obejmują różne aspekty.",
    "Proszę bardzo:|",
)
"""A sentence before or after a list."""
REFUSALS = (
    "도움을 드리지 못해 죄송합니다.",
    "その質問にはお答えしかねます。",
    "لا أملك معلومات عن ذلك.",
    "मुझे इस विषय की जानकारी नहीं है।",
    "Jag vet inte.",
    "Ich weiß es nicht.",
    "Je ne sais pas.",
    "No lo sé.",
    "Não sei.",
    "わかりません。",
    "I have no information about that.",
    "Desculpe, não posso ajudar com isso.",
    "Lamento, mas não tenho informações sobre isso.",
    "Não sei responder a essa pergunta.",
    "Infelizmente não posso responder.",
    "Não tenho acesso a essas informações.",
    "Üzgünüm, bu konuda yardımcı olamam.",
    "Maalesef bu soruyu yanıtlayamıyorum.",
    "Bu isteği yerine getiremem.",
    "Özür dilerim, ancak bu konuda yardımcı olamıyorum.",
    "Bu konuda bilgim yok.",
    "죄송합니다만 도와드릴 수 없습니다.",
    "죄송하지만 그 질문에는 답변할 수 없습니다.",
    "유감스럽게도 도움을 드릴 수 없습니다.",
    "저는 그 요청을 처리할 수 없습니다.",
    "미안하지만 도와줄 수 없어요.",
    "申し訳ありませんが、お手伝いできません。",
    "申し訳ございません、その質問にはお答えできません。",
    "すみません、わかりません。",
    "残念ながら、その情報は提供できません。",
    "ごめんなさい、それはできません。",
    "お手伝いすることはできません。",
    "抱歉，我无法回答这个问题。",
    "对不起，我不能提供这方面的帮助。",
    "很遗憾，我没有相关信息。",
    "我没有办法回答。",
    "作为一个人工智能助手，我无法回答。",
    "不好意思，我不知道。",
    "عذراً، لا أستطيع المساعدة في ذلك.",
    "آسف، لا يمكنني الإجابة على هذا السؤال.",
    "أعتذر، ولكن لا يمكنني تقديم هذه المعلومات.",
    "للأسف، لا أستطيع مساعدتك.",
    "لا يمكنني المساعدة في هذا الطلب.",
    "أنا آسف، لا أعرف.",
    "क्षमा करें, मैं इसमें मदद नहीं कर सकता।",
    "मुझे खेद है, मैं इस प्रश्न का उत्तर नहीं दे सकता।",
    "माफ़ कीजिए, मुझे नहीं पता।",
    "दुर्भाग्य से, मैं मदद नहीं कर सकता।",
    "मैं आपकी मदद नहीं कर सकता।",
    "मैं इस अनुरोध में सहायता नहीं कर सकती।",
    "Tyvärr kan jag inte hjälpa till med det.",
    "Jag beklagar, men jag kan inte svara på det.",
    "Förlåt, men det kan jag inte hjälpa dig med.",
    "Jag kan inte hjälpa dig med den frågan.",
    "Jag är ledsen, men jag kan inte svara.",
    "Przykro mi, ale nie mogę pomóc.",
    "Niestety nie mogę odpowiedzieć na to pytanie.",
    "Przepraszam, ale nie jestem w stanie pomóc.",
    "Nie mogę spełnić tej prośby.",
    "Przykro mi, nie wiem.",
    "Nie znam odpowiedzi na to pytanie.",
    "Es tut mir leid, dabei kann ich nicht helfen.",
    "Das kann ich leider nicht beantworten.",
    "Ich kann Ihnen dabei leider nicht helfen.",
    "Désolé, je ne peux pas vous aider.",
    "Je regrette, mais je ne peux pas répondre.",
    "Je ne suis pas en mesure de répondre.",
    "Lo siento, no puedo ayudar con eso.",
    "Disculpa, pero no puedo responder.",
    "Lamento no poder ayudarte.",
    "Mi dispiace, non posso aiutarti.",
    "Spiacente, non posso rispondere.",
    "Non sono in grado di aiutarti.",
    "Извините, я не могу с этим помочь.",
    "К сожалению, я не могу ответить.",
    "Мне жаль, но я не могу помочь.",
    "Я не могу помочь с этим запросом.",
    "Sorry, ik kan je daar niet mee helpen.",
    "Het spijt me, daar kan ik niet bij helpen.",
    "I'm sorry, but I can't help with that.",
    "Sorry, I don't know.",
    "I cannot help with this request.",
    "Unfortunately, I can't answer that.",
)
TITLES = (
    "não sei dançar letra",
    "je ne sais pas quoi signification",
    "わかりません 意味",
    "I'm sorry, I haven't a clue BBC",
    "I'm sorry, I haven't a clue episodes",
    "sorry, i love you drama cast",
    "sorry, not sorry demi lovato lyrics",
    "I'm sorry I'll read that again",
    "i am sorry, prime minister play",
    "désolé stromae paroles",
    "lo siento beret letra",
    "tut mir leid lied text",
    "申し訳ありません 英語",
    "对不起 我爱你 韩剧",
    "죄송합니다 영어로",
    "przepraszam po angielsku",
    "عذرا بالانجليزية",
    "क्षमा करें फिल्म",
    "Üzgünüm şarkı sözleri",
    "why can i not help myself",
    "i can't help falling in love lyrics",
    "i can't help myself four tops",
    "Sorry, wrong number film",
    "desculpe o transtorno filme",
    "jag är ledsen film",
    "przykro mi piosenka",
)
ENTRIES_WITH_COLONS = [
    ["Python: list comprehension", "Python: dict comprehension", "Python: set comprehension"],
    ["Oslo weather: summer", "Bergen weather: winter", "Lima weather: autumn"],
    ["First World War: causes", "Second World War: causes", "Third World War: film"],
    ["Iron Man: plot", "Thor: plot", "Hulk: plot"],
    ["First Blood: plot", "Second Act: plot", "Third Person: plot"],
    ["Vitamin A: effects", "Vitamin B: effects", "Vitamin D: effects"],
    ["첫 번째 대통령", "두 번째 대통령"],
    ["第一次世界大战 原因", "第二次世界大战 原因"],
    ["1つ目小僧", "2つ目の太陽"],
    ["السؤال الأول في الامتحان", "السؤال الثاني في الامتحان"],
    ["Ivan III: reign", "Ivan IV: reign"],
    ["text mining tools", "text: a linguistic definition", "text size in css"],
]
YAML = r"""
text: {}\ntext: {}\ntext: {}
- text: {}\n- text: {}\n- text: {}
queries:\n  - text: {}\n  - text: {}\n  - text: {}
Here are the queries:\n\n```yaml\nqueries:\n- query: {}\n  type: part\n- query: {}\n  type: part\n- query: {}\n```
search_term: {}\nsearch_term: {}\nsearch_term: {}
sub_query_1: {}\nsub_query_2: {}\nsub_query_3: {}
"""


def read(text):
    return read_list(Completion(text, 9), 9)


@pytest.mark.parametrize("labels", LABELS)
def test_labels_that_count_from_one_are_removed(labels):
    for number in (2, 3):
        lines = [f"{label} {entry}" for label, entry in zip(labels.split("|"), ENTRIES[:number], strict=False)]
        assert read("\n".join(lines)) == ENTRIES[:number]
        assert read("\n".join(["Here are the queries:", "", *lines])) == ENTRIES[:number]


def test_labels_that_do_not_count_from_one_stay():
    assert read("Second try: a b\nFourth try: c d") == ["Second try: a b", "Fourth try: c d"]


@pytest.mark.parametrize("mark", ["- ", ""])
@pytest.mark.parametrize("apart", ["\n", "\n\n"])
@pytest.mark.parametrize("around", AROUND)
def test_a_sentence_around_a_list_is_removed(around, apart, mark):
    before, after = around.split("|")
    parts = [before, "\n".join(mark + entry for entry in ENTRIES), after]
    assert read(apart.join(filter(None, parts))) == ENTRIES


@pytest.mark.parametrize("refusal", REFUSALS)
def test_a_refusal_holds_no_search(refusal):
    assert read(refusal) == []


@pytest.mark.parametrize("title", TITLES)
def test_a_title_that_begins_like_an_apology_is_searched(title):
    assert read(title) == [title]


@pytest.mark.parametrize("entries", ENTRIES_WITH_COLONS)
def test_entries_that_only_look_labelled_survive(entries):
    assert read("\n".join(entries)) == entries


@pytest.mark.parametrize(
    "sentence",
    [
        "Unfortunately, the ship sank in 1912.",
        "该公司无法提供服务。",
        "この薬は提供できません。",
        "Er kann dir nicht helfen.",
        "회사는 서비스를 제공할 수 없다.",
        "Sorry Day is a national event in Australia.",
    ],
)
def test_a_sentence_about_somebody_else_is_no_refusal(sentence):
    assert read_passage(sentence, "who?", 500) == sentence


@pytest.mark.parametrize("reply", [line.replace(r"\n", "\n") for line in YAML.strip().splitlines()])
def test_yaml_gives_the_texts_of_its_entries(reply):
    assert read(reply.format(*ENTRIES)) == ENTRIES


def test_one_text_key_may_be_an_entry():
    assert read("text: a linguistic definition") == ["text: a linguistic definition"]
    assert read("- text: rent Oslo 2020") == ["rent Oslo 2020"]
