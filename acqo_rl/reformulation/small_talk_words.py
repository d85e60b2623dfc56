"""Words of small talk in many languages; :mod:`acqo_rl.reformulation.small_talk` uses them.

A message that has only such words and function words is small talk. So the lists contain words, not whole messages.
A word with ``*`` may have any ending.
"""

from __future__ import annotations

# ruff: noqa: RUF001  (letters of other scripts are meant)
import re

from acqo_rl.text import UNSPACED, folded

_OPENING = """
hi hiya hello thanx helo hey heya howdy greetings goodnight gm gn gnight goodmorning thanks thank thankyou thx thnx
tnx ty
tysm tyvm cheers bye byebye goodbye cya ttyl brb farewell
hallo hallöchen moin servus tschüss tschüs tschau danke dankeschön dank dankbar grüß grüezi ciao
bonjour bonsoir salut coucou merci mercis bonnenuit remercie enchantée?
hola buenas gracias adiós adios agradezco agradecid* saludos
buongiorno buonasera buonanotte grazie ringrazi* arrivederci arrivederla
olá oi obrigad* tchau valeu agradeço agradecid* abraços
hoi doei bedankt dankjewel dankuwel goedemorgen goedemiddag goedenavond goedenacht goedendag
hej hejsan hejdå hei heisann tack tackar takk tusentakk
cześć dzięk* dobranoc witam witaj hej pozdrawiam
merhaba selam teşekkür* sağol günaydın görüşürüz hoşçakal
привет приветик приветствую спс здравствуй* спасиб* благодар* пока прощай* здрасте
감사 감사합니다 감사해요 감사드립니다 감사드려요 감사했습니다 고마* 고맙* 안녕 안녕하세요 안녕하십니까 안녕히 반갑*
반가워* 수고하* 땡큐
شكرا شكرًا شكراً مشكور* مرحبا مرحبًا مرحباً أهلا أهلًا أهلاً وداعا وداعًا تحياتي ممنون*
धन्यवाद शुक्रिया नमस्ते नमस्कार अलविदा आभार* सुप्रभात प्रणाम
дякую вітаю привіт děkuj* děkuju ahoj nazdar ευχαριστώ ευχαριστούμε γεια καλημέρα καλησπέρα καληνύχτα kiitos
terve hyvästi mulțumesc salutare köszön* szia sziasztok üdv תודה שלום להתראות متشکرم ممنون سلام مرسی خداحافظ
ধন্যবাদ নমস্কার
makasih terimakasih
"""
PHRASES = """
how (are|r) (you|u)( doing| feeling)?( today)? | how(s| is) (your|ur) (day|night|evening|morning|week)( going)? | hru
whats new | what is new | (is |are )?(any|some)(one|body) (still )?(there|here|home|around|online)
(are )?(you|u) (still )?(there|here|awake|online|alive) | (can|could) you (hear|help) me | i have (a|another) question
(can|may|could) i ask (you )?(something|a question) | i need help
(nice|good|great|lovely) (talking|chatting|speaking) (to|with) you | (pleasure|pleased|good|nice) to (see|meet) you
(see|talk to|catch) (you|u|ya) (soon|later|tomorrow|next week|again|then|around) | i( a)?m (back|done)
have a (nice|good|great|lovely|wonderful) rest of (the|your) (day|evening|week) | sweet dreams | sleep well
you( a)?re (so |very |really )?(amazing|awesome|great|the best|kind|helpful|funny) | you rock | nice one | wow | yay+
good stuff
(great|good) stuff | nothing else | i( a)?m good | talk (to you )?soon | later | goo?d morning | gud morning
good afternoon
(i )?appreciate (your (time|help|support|effort|patience)|everything)
welcome back | good luck | (same to )?you too | same to you | much obliged | (no|any) (more|further|other)? ?questions
for everything( you( ha)?(ve)? (did|done))?
ist (da |hier )?jemand( da| hier)? | jemand da | (bist du|sind sie) (noch )?(da|hier|wach) | grüß (gott|dich|euch)
(einen )?schöne[ns]? (tag|abend|feierabend|wochenende)( noch)? | bis (später|bald|morgen|dann|nachher) | machs gut
wie läufts( bei dir)? | wer bist du | wer sind sie | wie heißt du | freut mich | gleichfalls | guten rutsch
kannst du mir helfen
il y a quelqu ?un | quelqu ?un | (est ce que )?tu es là | es tu là | (vous êtes|êtes vous) là | enchantée?
à (bientôt|demain|plus( tard)?|tout à l ?heure|la prochaine) | comment (vas tu|tu vas|tu t appelles) | qui es tu
ça roule | (vous pouvez|tu peux|pouvez vous|peux tu) m aider
bonne (fin de )?(journée|soirée|nuit|semaine) | bon (week end|weekend) | de rien | bienvenue | à vous aussi
hay alguien( ah[ií]| aqu[ií])? | est[aá]s ah[ií] | (que )?(tengas|tenga) un buen d[ií]a | buen d[ií]a
buena(s)? noche(s)?
c[oó]mo andas
nos vemos | hasta (ma[nñ]ana|la vista|la pr[oó]xima) | c[oó]mo te (va|llamas) | c[oó]mo est[aá] (usted)? | mucho gusto
qui[eé]n eres | encantad[oa] | igualmente | de nada | cu[ií]date | (me )?puedes ayudar(me)?
c ?[eè] qualcuno( qui| lì)? | ci sei | buona (giornata|serata|notte|domenica) | a (presto|domani|dopo) | ci vediamo
prego
come ti chiami | (è un )?piacere( di conoscerti| di conoscerla)? | chi sei | buon pomeriggio | come butta
altrettanto | come va
(tem )?algu[eé]m a[ií] | (voc[eê] )?est[aá] a[ií] | tenha um bom dia | at[eé] (logo|mais|amanh[aã]|breve|a pr[oó]xima)
tudo (bom|bem)( contigo| com voc[eê])? | beleza
(muito )?prazer | como (vai|est[aá])( voc[eê])? | (qual [eé] o seu nome|quem [eé] voc[eê]) | de nada | igualmente
is (daar|er|hier) iemand( daar| hier)? | ben je (er|daar)( nog)? | hoe (gaat het( met je)?|heet je)
tot (later|morgen|straks|zo)
(een )?fijne (dag|avond|week)( verder)? | prettige dag | wie ben je | graag gedaan | alles (goed|kits) | aangenaam
(är|er) (det )?(någon|noen|nogen) (där|her|her|der|hjemme)? | är du där | god kväll | er du der
hur (mår du|är läget|är det)
hvordan (har du det|går det) | god (natt|nat|kväll|aften) | ha (en|det) (bra|fin|god)( dag)? | ha det | hej då
farvel | hejdå
vi ses( senere| i morgon| i morgen)? | trevligt att träffas | hyggelig å møte deg | vem är du | hvem er du
vad heter du
(tak|takk) for (alt|hj[ae]lpen|hjælpen|hjelpen|svaret) | varsågod | vær så god
jest (tam|tu) kto(ś)? | (jest )?ktoś (tam|tu) | jesteś (tam|tu) | jak (się masz|leci|się nazywasz)
co (słychać|u ciebie)
dobry (wieczór|dzień)? | do (zobaczenia|jutra|usłyszenia|widzenia) | miłego (dnia|wieczoru|weekendu) | na razie
kim jesteś
nie ma za co | miło (mi|cię poznać)
(orada )?kimse var m[ıi] | orada m[ıi]s[ıi]n(ız)? | nas[ıi]ls[ıi]n([ıi]z)? | ne haber | naber
iyi (geceler|günler|akşamlar)
hoşça kal(ın)? | sağ ?ol(un)? | memnun oldum | sen kimsin | kimsin | ad[ıi]n ne | rica ederim | görüşmek üzere
(здесь |тут |там )?есть кто( нибудь)?( здесь| тут)? | кто нибудь (есть|тут|здесь) | ты (здесь|тут) | вы (здесь|тут)
как (дела|ты|вы|жизнь|поживаешь|тебя зовут) | спокойной ночи | до (завтра|встречи|скорого) | хорошего (дня|вечера)
всего (доброго|хорошего) | (ты кто|кто ты) | (рад|рада|приятно) (знакомству|познакомиться) | не за что | доброй ночи
(你|您)?(在|在吗|在么|还在吗) | 有人(在)?(吗|么|嗎) | (你|您)好(吗|嗎) | 最近(怎么样|好吗)
(你|您)是(谁|誰|什么|机器人吗) | 祝(你|您)(愉快|好运|一切顺利)
(麻烦|打扰)(你|您)?了 | 不客气 | 不用谢 | (很)?高兴认识(你|您) | 你叫什么(名字)? | (你|您)?能帮(我|助我)吗
(誰か|だれか)(いますか|いる|いませんか) | いますか | (お)?元気(ですか|)? | また(明日|あした|ね|今度)
(どうぞ)?よろしく(お願いします|お願いいたします)?
やあ | 失礼(します|しました) | (あなたは)?(誰|だれ|何者)(ですか|だ)? | お疲れ様(です|でした)? | どういたしまして
もしもし
(거기 |여기 )?누구 ?(있어요|있나요|있습니까|계세요|없어요) | (거기 )?있(어요|나요) | 잘 ?지내(요|세요|니)?
좋은 (아침|하루|저녁|밤).*
안녕히 (계세요|가세요|주무세요) | 잘 ?(자|자요|가|있어) | (내일|나중에|다음에|또) (봐요?|봬요|만나요) | 만나서 반갑.*
누구(세요|예요|야)
(너|넌|당신은) 누구(야|예요|입니까)? | 천만에요 | 어떻게 지내(세요|요)?
هل (من|هناك|يوجد) أحد( هنا)? | هل أنت (هنا|موجود) | كيف (حالك|الحال|حالكم) | (صباح|مساء) (الخير|النور) | مع السلامة
(إلى|الى) اللقاء | و?عليكم السلام | السلام عليكم( ورحمة الله( وبركاته)?)? | تصبح على خير | من أنت | ما اسمك | عفوا
طاب يومك | سررت بلقائك
(क्या )?(यहाँ |वहाँ )?कोई (है|हैं)( क्या)? | (आप|तुम) (कैसे|कैसी|कौन) (हैं|हो) | क्या हाल (है|हैं)
शुभ (रात्रि|प्रभात|दिन|संध्या) | फिर मिलेंगे
आपका नाम क्या है | मिलकर खुशी हुई
xin chào | tạm biệt | chào( bạn| buổi sáng)? | cảm ơn( bạn)?( rất nhiều| nhiều)?
selamat (pagi|siang|sore|malam|tinggal|datang)
terima kasih( banyak)? | apa kabar | sampai jumpa | dobr(ý den|é ráno|ý večer|ou noc) | na shledanou | jak se máš
γεια (σας|σου)? | hyvää (päivää|yötä|huomenta|iltaa) | bun[aă] (ziua|seara|dimineața) | la revedere
jó (napot|reggelt|estét)
добрий (день|вечір) | доброго ранку | до побачення | מה שלומך | בוקר טוב | לילה טוב | সালাম | কেমন আছেন
"""
"""Messages, one regular expression each, and questions to the assistant such as "are you there"."""
_COURTESY = """
everything time patience support effort* kindness assistance advice reply replies response* answer* info
information explanation* explaining everyone everybody all friend* team guys folks day night evening morning afternoon
weekend tomorrow later soon nice great good lovely wonderful amazing quick kind kindly truly sincerely bunch million
ton lot bit well happy glad helped helps helpful helping useful perfect clear enough needed wanted looking explained
worked works work again advance today tonight sir madam mate buddy bot assistant chatbot dear rest talking chatting
guidance insight* clarification bro dude man pal
ich je ti te lo les las pela zusammen za
vielmals tausend allerseits
hilfe hilft hilfreich* geholfen mühe geduld unterstützung antwort* auskunft info zeit nützlich super toll perfekt
reicht
klar gut* genügt schnell* alles tag abend zusammen leute freund* dir ihnen euch morgen nochmals recht schön* sehr
herzlich*
aid* fois réponse* temps patience soutien tout* tous toutes infiniment mille beaucoup vraiment avance utile*
parfait suffit
clair génial ami* soirée journée explication* vous toi encore rapide* aidé* gentil* gentillesse
ayud* todo todos todas tiempo paciencia respuesta* apoyo antemano mil muchas muchísimas útil perfecto genial suficiente
quería buscaba amigo* explicación información día días tarde* noche* rápid* amable* saludo
corazón
aiut* tutto tutti tempo pazienza risposta risposte supporto mille tante infinite molte anticipo perfetto basta ottimo
chiaro amic* giornata gentile* gentilezza veloce spiegazion* cuore
ajud* tudo todos todas tempo paciência resposta* apoio muito perfeito ótimo amig* explicação atenção informaç*
antecipadamente noite tarde dia gente galera rápida
hulp alles tijd geduld antwoord* steun hartelijk* duizendmaal geholpen helpt nuttig duidelijk genoeg allemaal iedereen
uitleg moeite
hjälp* hj[ae]lp* hjalp nok allt alt tiden tålamod* svar* tusen mange tusind mycket jättemycket allihopa kväll så
stöd* tillräckligt bra alla alle snäll*
tålmodighet* støtte* nyttig* perfekt
pomoc pomogł* pomocne wszystko wszystkim czas cierpliwość odpowiedź odpowiedzi wsparcie bardzo serdecznie wielkie
przydatne wystarczy dzień dobry informacj*
şey yard[ıi]m* zaman* sabr* cevap* yanıt* destek* ederim ederiz yeterli herkese her çok bilgi*
помощь помог* всё все время терпение ответ* поддержк* большое огромное очень полезно достаточно понятно отлично
информаци* заранее всем снова день
도움* 도와* 모두 모든 것 답변* 시간* 내주* 정말 정말로 진심으로 너무 대단히 다 여러분 친절* 항상 많이 설명* 하세요
하셨습니다 드립니다 드려요 해요
جدا جدًا جزيلا جزيلًا جزيلاً كثيرا كثيرًا كثيراً لك لكم لكي كل شيء على مساعدت* وقتك صبرك ردك إجابت* المساعدة بك بكم
وسهلا للجميع جميعا
बहुत बहुत* मदद सहायता समय धैर्य जवाब उत्तर जानकारी सब कुछ सभी आपका आपकी आपके आपको लिए के का की को मेरी मुझे हर चीज़
चीज़ बताने समझाने दिल से जी
щиро дуже допомогу допомога mockrát moc pomoc πολύ βοήθεια σας σου όλα για τη την paljon avusta kaikesta mult frumos
ajutor ajutorul pentru tot szépen segítséget segítséged בעזרתך רבה על העזרה הכל خیلی از کمک شما banyak atas bantuannya
semuanya kasih
"""
_UNSPACED_OPENING = """
谢谢 謝謝 多谢 多謝 感谢 感謝 感激 谢啦 谢了 你好 您好 大家好 早安 早上好 上午好 中午好 下午好 晚上好 晚安 再见
再見 拜拜 回见 回头见 明天见 改天见 辛苦了
ありがとう サンキュー どうも こんにちは こんばんは おはよう さようなら おやすみ またね バイバイ おつかれ お疲れ
はじめまして 感謝
ขอบคุณ ขอบใจ สวัสดี ลาก่อน หวัดดี
"""
_UNSPACED_BESIDE = """
你们 您们 我们 你 您 我 大家 的 了 啦 啊 呀 哦 哈 吧 呢 很 太 非常 十分 真的 真是 万分 特别 对 给 为 这么 那么 这
一切 所有 全部 都 帮助 幫助 帮忙 幫忙 帮我
回答 回复 解答 答复 答案 解释 说明 建议 支持 耐心 时间 分享 指点 指导 信息 好的 好 嗯 行 朋友 老师 先生 亲 没有 没
问题 这个 提供 有用 有帮助 有幫助 忙 大 解决
いろいろ 色々 本当に ほんとうに とても 大変 たいへん 助けて 教えて 手伝って 答えて 説明して 対応して くれて
いただき いただいて 下さって くださって
ございました ございます します しています いたします です でした します しました ました ます ご 回答 返信 対応 協力
親切 丁寧 説明 情報 お 時間 みなさん 皆さん 皆様 全部 すべて
を に の は も と が て で ね よ さま さん 様 では じゃ また 明日 なさい 疲れ した 助かり 役に立ち 参考になり
早速の あなた
ครับ ค่ะ คะ นะ มาก มากๆ สำหรับ ที่ ช่วย ทุกอย่าง ความช่วยเหลือ คุณ ทุกคน
"""
_UNSPACED = re.compile(UNSPACED)
"""Thai, Japanese and Chinese characters."""


def _words(listed: str) -> str:
    """A pattern for one of the words."""
    return "|".join(sorted((word.replace("*", r"\S*") for word in set(folded(listed).split())), key=len, reverse=True))


_OPENS = re.compile(_words(_OPENING))
_IS_COURTEOUS = re.compile(_words(_COURTESY))
_WITHOUT_SPACES = re.compile(rf"(?:(?P<opening>{_words(_UNSPACED_OPENING)})|{_words(_UNSPACED_BESIDE)})+")


def is_opening(word: str) -> bool:
    """Whether a word is a greeting, a thank-you or a goodbye, such as "hello", "merci" and "teşekkürler"."""
    return _OPENS.fullmatch(word) is not None


def is_courtesy(word: str) -> bool:
    """Whether a word often stands beside a greeting or thanks: "everything", "aide", "Antwort"."""
    return _IS_COURTEOUS.fullmatch(word) is not None


def is_greeting_without_spaces(text: str) -> bool:
    """Whether a Chinese, Japanese or Thai text has only words of small talk, with a greeting or thanks."""
    if not _UNSPACED.search(text):
        return False
    found = _WITHOUT_SPACES.fullmatch("".join(text.split()))
    return found is not None and found["opening"] is not None
