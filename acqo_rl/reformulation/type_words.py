"""Tables of words that indicate the type of a question, by type and language.

A table contains entries separated by commas. An entry matches at word boundaries ("fix" is not in "prefix"). "crash*"
matches the beginning of a word, "*fehler" its end, and "^" the beginning of the text. Chinese entries match anywhere.
Each entry is a substring search, so hundreds of them take microseconds.
"""

from __future__ import annotations

import re

_HAN = re.compile(r"[\u4e00-\u9fff]")
_TOKENS = re.compile(r"[\w'#+-]+")
_ELISION = re.compile(r"\b([cdjlmnst]|qu)'(?=\w)")


def spaced(text: str) -> str:
    """The words in lower case, separated by spaces, after a "^": " ^ it won't start "; French "n'est" is "n' est"."""
    words = _ELISION.sub(r"\1' ", " ".join(_TOKENS.findall(text.lower())))
    return f" ^ {words} "


class Words:
    """A table of entries.

    Args:
        tables: one string of entries per language.
    """

    def __init__(self, *tables: str) -> None:
        entries = (" ".join(entry.split()) for table in tables for entry in table.split(","))
        self._needles = tuple(dict.fromkeys(_needle(entry) for entry in entries if entry))

    def within(self, words: str) -> bool:
        """Whether a text returned by ``spaced`` contains any entry."""
        return any(needle in words for needle in self._needles)


def _needle(entry: str) -> str:
    left = "" if entry.startswith("*") or _HAN.match(entry[0]) else " "
    right = "" if entry.endswith("*") or _HAN.match(entry[-1]) else " "
    return f"{left}{entry.strip('*')}{right}"


COMPARISON = Words(
    """compare, compared, compares, comparing, comparison*, comparable, comparative, contrast, contrasting, vs,
    versus, differ, differs, differed, differing, difference*, diffrence*, diference*, differentiat*,
    different from, different to, how different, distinguish*, distinction between, tell apart, set apart,
    different between, similarit*, similar to, alike, side by side, pros and cons, pros cons,
    advantages and disadvantages, strengths and weaknesses, trade-off*, tradeoff*, rather than, which is better,
    which one is better, what's better, what is better, which of the two,
    which of these two, better or worse, superior to, inferior to, outperform*, head to head, stack up against,
    preferable to""",
    """vergleich*, verglichen, *unterschied*, unterscheide*, vor- und nachteile, im gegensatz zu, gegenüber,
    was ist besser, welcher ist besser, welche ist besser, gemeinsamkeiten, lieber""",
    """comparer, comparez, compare, comparaison*, comparatif*, comparé*, différence*, difference*, différencie*,
    distingue*, avantages et inconvénients, vaut-il mieux, vaut mieux, lequel est, laquelle est, plutôt que,
    par rapport à""",
    """comparar*, compara, comparación*, comparado*, comparativa*, diferencia*, distingue*, ventajas y desventajas,
    pros y contras, mejor que, mejores que, peor que, qué es mejor, cuál es mejor, en comparación, frente a""",
    """比较, 对比, 区别, 差别, 差异, 不同, 异同, 相比, 相较, 优缺点, 利弊, 哪个更, 哪个比较, 哪一个更, 哪种更,
    哪一种更, 哪家更, 哪条更, 哪座更, 哪款更, 哪个好, 哪个大, 哪个快, 谁更, 更好还是, 孰""",
)
EITHER = Words("or, oder, ou, o, 还是, 或者, 或是")
"""Words between alternatives."""
NO_CHOICE = Words(
    """with or without, or not, or so, or more, or less, or else, or later, or earlier, one or, two or three,
    whether, and or, oder nicht, mit oder ohne, ou non, avec ou sans, o no, con o sin, 还是不, 还是没, 还是无,
    还是连, 还是会"""
)
CHOOSING = Words(
    """better, best, worse, worst, more, most, less, least, fewer, cheaper, larger, bigger, smaller, faster, slower,
    higher, lower, older, younger, newer, longer, shorter, taller, heavier, lighter, safer, healthier, stronger,
    hotter, colder, warmer, cooler, closer, nearer, easier, harder, earlier, sooner, richer, deeper, wider,
    thicker, quicker, should, choose, pick, prefer*, recommend*, first, worth""",
    """besser*, schlechter*, mehr, weniger, größer*, kleiner*, höher*, älter*, jünger*, länger*, schneller*,
    günstiger*, billiger*, teurer*, schwerer*, leichter*, gesünder*, soll, sollte*, lohnt, eher, wer hat""",
    "mieux, meilleur*, pire, plus, moins, choisir, faut-il, préfér*",
    "mejor*, peor*, más, menos, elegir, conviene, prefer*, debería*",
    "更, 好, 划算, 该, 选, 还是",
)

PAIRS = Words(
    """latitude and longitude, supply and demand, rise and fall, terms and conditions, name and address,
    search and rescue, health and safety, law and order, research and development"""
)
"""Pairs of words that name one thing."""

FAULTS = Words(
    """error, errors, err, exception, exceptions, traceback*, stack trace*, stacktrace*, bug, bugs, buggy, debug*,
    fix, fixes, fixed, fixing, fail, fails, failed, failing, failure, crash, crashes, crashed, crashing,
    segfault*, segmentation fault, core dumped, broken, stuck, frozen, faulty, malfunction*, glitch*,
    troubleshoot*, issue with, issues with, problem with, problems with, trouble with, not working, isn't working,
    isnt working, stopped working, doesn't work, doesnt work, does not work, don't work, not recognized,
    not recognised, not responding, not found, not detected, not defined, not loading, not charging, not starting,
    won't, wont, cant, fatal, null pointer, nullpointer*, undefined, out of range, out of memory, out of bounds,
    permission denied, access denied, denied, refused, timeout, time-out, timed out, times out, deadlock,
    infinite loop, unexpected, invalid, no such file, unable to, unresolved, corrupt*, deprecated warning,
    stack overflow, memory leak, memory leaks, race condition, merge conflict, bad gateway, blue screen,
    black screen, blank screen, white screen, exit code, exit status, wrong, keeps crashing, keeps dropping,
    get rid of the, no longer works, overheating""",
    """fehler, *fehlermeldung, fehlermeldungen, *fehler beim, laufzeitfehler, syntaxfehler, funktioniert nicht,
    funktionieren nicht, geht nicht, gehen nicht, startet nicht, lädt nicht, stürzt, abgestürzt, abstürz*,
    absturz, kaputt, defekt, hängt sich, falsch gemacht, verweigert, fehlgeschlagen, schlägt fehl, ungültig,
    beheb*, nicht gefunden, nicht erkannt, nicht mehr an, lässt sich nicht, problem mit, probleme mit""",
    """erreur*, bogue*, plante, plantent, planté, plantage, en panne, panne de, cassé, bloqué, bloquée,
    ne marche pas, ne fonctionne pas, ne démarre pas, ne fonctionne plus, ne marche plus, impossible de, échec,
    échoue, refusé, refusée, introuvable, écran noir, écran bleu, dépanner, problème avec, problème de""",
    """errores, falla, fallan, fallo, fallos, no funciona*, no arranca*, no enciende*, no carga*, no puedo,
    se cuelga, se congela, se bloquea, atascad*, averiad*, estropead*, roto, rota, rechazad*, denegado,
    no se puede, pantalla negra, pantalla azul, pantalla en blanco, solucionar, problema con, problemas con, se me""",
    """报错, 出错, 错误, 异常, 崩溃, 失败, 无法, 修复, 黑屏, 蓝屏, 花屏, 白屏, 死机, 卡顿, 卡住, 卡死, 卡纸, 闪退,
    死循环, 没有声音, 没声音, 没反应, 没有反应, 没有信号, 打不开, 连不上, 开不了机, 怎么办, 怎么回事, 怎么了,
    坏了, 故障, 掉线, 断开, 断线, 超时, 被拒, 自动关机, 自动重启, 乱码, 漏水, 异响, 不工作, 排查, 调试""",
)
"""Signs of a fault, in statements and in most questions."""
NO_FAULT = Words(
    """standard error, standard errors, error correction, error correcting, error rate, error bars, margin of error,
    error propagation, error analysis, trial and error, human error, error handling, exception handling,
    bug spray, bug bite, bug bites, bed bug, bed bugs, crash test, crash course, crash diet, market crash,
    stock crash, crash of, crash site, plane crash, car crash, fixed income, fixed rate, fixed-rate, fixed asset,
    fixed assets, fixed cost, fixed costs, fixed point, fixed term, price fixing, fix price, fixed price,
    fail-safe, failure rate, failure rates, failure mode, failed state, failed states, heart failure,
    kidney failure, renal failure, liver failure, market failure, failure analysis, mean time, bank failure,
    breaking bad, wrongful, broken heart, broken windows, broken arrow, frozen food, frozen cast, frozen yogurt,
    unexpected value, undefined behavior, undefined behaviour, mathematical error, rounding error,
    type i error, comedy of errors, right and wrong, fehlerrechnung, fehlerquote, marge d' erreur,
    margen de error, 误差"""
)
"""Terms that contain a fault word but are topics of knowledge."""

SYMPTOMS = Words(
    """not, never, isn't, isnt, aren't, wasn't, doesn't, doesnt, didn't, can't, cannot, couldn't, no longer, anymore,
    any more, no sound, no signal, no internet, no picture, no audio, no power, no hot water, no display,
    no response, no output, by itself, on its own, for no reason, all the time, constantly, randomly,
    intermittently, suddenly, overnight, every few, every time, whenever, when i, after update, after the update,
    after upgrade, after install*, instead of, although, even though, despite, keeps, refuses, rejected, rejects,
    expired, missing from, stops, stopped, it says, hanging, freezing, dropping, disconnect*, flicker*, overheat*,
    leaking, losing, lost connection, sank, buzzing, rattl*, squeak*, squeal*, grinding noise, loud noise,
    strange noise, weird noise, clicking noise, stutter*, lagging, wobbl*, vibrat*, jammed, clogged, dripping,
    beeping, blinking, cracked, curdled, burnt, wilting, drooping, yellow leaves, turning yellow, turns yellow,
    brown spots, peeling, rebooting, restarting, shuts down, shuts off, turns off, goes off, goes black,
    goes blank, blank page, blank pages, too slow, very slow, slow after, draining fast, drains fast,
    drains quickly, with code, code 1, separated, splitting, undercooked, unresponsive, weak, missing, dead,
    dying, died, noisy, soggy, mushy, dense, greyed out, garbled, unreadable, unavailable, inaccessible,
    unreachable, locked out, declined, dropped, disappeared, disappears, vanished, went missing, flashing,
    repeatedly, forever, empty response, panic, conflict, problems, upside down, duplicate rows, unauthorized,
    unauthorised, twice, warning, outage, half way, halfway, slows down, slow down, sluggish,
    unstable, inaccurate, collapsed, collapses, swollen, blurry, distorted""",
    """nicht, kein ton, kein bild, kein signal, kein strom, keine verbindung, kein internet, ständig, zu, bleibt,
    klemmt, fällt aus, wird, schimmelt, springt, immer wieder, verliert, dauernd, plötzlich, von selbst, bricht,
    ruckelt, flackert, tropft, undicht, leckt, friert, eingefroren, quietscht, klappert, brummt, zusammengefallen,
    eingefallen, verbrannt, zu langsam, abgelehnt""",
    """tout seul, toute seule, sans arrêt, sans cesse, sans raison, au démarrage, fuit, goutte, grince, clignote,
    surchauffe, se bloque, se coupe, se déconnecte, s' éteint, plus de son, pas de son, pas d' image, trop, reste,
    se décharge*, tombe, brûle, se vide, s' arrête, ralentit, saute, colle""",
    """sin sonido, sin señal, sin imagen, solo, sola, de repente, constantemente, todo el tiempo, parpadea, gotea,
    pierde, se apaga, se calienta, se desconecta, se corta, se reinicia, hace ruido, huele, demasiado, se queda,
    se descarga, me sale, me sal*, se pega, se cae, se rompe, se quema, tarda, lento""",
    """不, 没, 无声, 卡, 漏, 自动, 总是, 老是, 一直, 突然, 发烫, 发热, 变慢, 掉, 太, 很大, 很慢, 很烫, 很卡, 塌,
    糊了, 裂, 滴水, 断了, 丢了, 收不, 坏""",
)
"""Signs of a fault in statements only; a question with these words may ask for a fact."""
NO_SYMPTOM = Words(
    """why not, or not, not to, if not, not only, notre, do not disturb, not for, never ending, 不锈钢, 不动产,
    不等式, 不同, 不定, 自动驾驶, 自动化, 卡路里, 卡片, 卡通, 信用卡, 银行卡, 显卡, 没药, 太阳, 太空, 太极, 太平,
    太太, 自动挡, 车道, zu hause, zu fuß, zu verkaufen, zu vermieten, conflict of, conflict in,
    conflict resolution, panic attack, panic attacks, dead sea, missing persons, missing person,
    math problems, too hot to, not too, me too, dying light, dead to, the dead, bis zu, tips zu,
    rezept zu, fragen zu, informationen zu, kurs zu, reste de, trop plein"""
)
OWN = Words(
    """my, our, meine, mein, meinem, meinen, meiner, unser, unsere, mon, ma, mes, notre, nos, mi, mis, nuestro,
    nuestra""",
    "我的, 我家, 我们的",
)
WHOSE = Words(
    "^ my, ^ our, ^ mein, ^ meine, ^ unser, ^ unsere, ^ mon, ^ ma, ^ mes, ^ notre, ^ mi, ^ mis, ^ nuestra, ^ nuestro",
    "^ 我的, ^ 我家",
)
"""Possessives; a statement about the user's own thing is a complaint."""
WHY = Words("why, wy", "warum, wieso, weshalb", "pourquoi", "por qué, porque", "为什么, 为啥")
WHY_I = Words(
    """why am i, why do i get, why do i keep, why can't i, why cant i, why won't, why wont""",
    "warum bekomme ich, warum kann ich, warum geht",
    "pourquoi je ne, pourquoi est-ce que je",
    "por qué se me, por qué no puedo",
)

STEPS = Words(
    """how to, howto, how do i, how do you, how do we, how do u, how does one, how do people, how can i, how can you,
    how can we, how can one, how can u, how can my, how could i, how could you, how should i, how should we,
    how should you, how would i, how would you, how would one, how might i, how shall i, how must i, how did you,
    how can a, how do a, how would a, how should a, step by step, steps to, steps for,
    steps in, the steps, ways to, way to, ways of, guide to, guide for, instructions, tutorial*, walkthrough,
    recipe for, procedure, procedures for, process for, process of applying, tips for, tips on, tips to,
    tricks to, tricks for, advice on, teach me, show me how, walk me through, help me, where do i start,
    what do i need to, what do i have to, what do i do to, what should i do to, diy, learn how, need help to,
    what's the trick""",
    """anleitung*, schritt für schritt, schritte zum, schritte zur, schritte um, wie kann man, wie kann ich,
    wie mache, was muss ich, was muss man, so geht, tipps zum, tipps für, tipps zur, tipps gegen, am besten,
    selber machen, selbst machen, selber bauen""",
    """étapes pour, les étapes, étape par étape, tuto, tutoriel, mode d' emploi, façon de, façons de, manière de,
    moyen de, moyens de, astuces pour, conseils pour, que faut-il faire, que dois-je faire, apprendre à,
    aide-moi à""",
    """pasos para, paso a paso, los pasos, instrucciones, guía para, guía de, tutorial, forma de, formas de,
    manera de, maneras de, consejos para, trucos para, qué tengo que hacer, qué hay que hacer, qué debo hacer,
    qué necesito para, aprender a, ayúdame a, enséñame""",
    "如何, 怎么, 怎样, 步骤, 教程, 做法, 方法, 指南, 攻略, 技巧, 流程, 教我, 窍门",
)
TASKS = Words(
    """^ apply, ^ assemble, ^ bake, ^ book a, ^ brew, ^ build, ^ calculate, ^ calibrate, ^ cancel, ^ change, ^ clean,
    ^ compile, ^ configure, ^ connect, ^ convert, ^ cook, ^ create, ^ delete, ^ deploy, ^ descale, ^ back up,
    ^ backup, ^ boil, ^ fry, ^ freeze, ^ sew, ^ wash, ^ dry, ^ drill, ^ mount, ^ split a, ^ share a, ^ print,
    ^ scan, ^ send, ^ transfer, ^ unlock, ^ block, ^ mute, ^ crop, ^ resize, ^ format, ^ sign up, ^ log in,
    ^ pack, ^ negotiate, ^ claim, ^ appeal, ^ dispute, ^ train your, ^ disable, ^ download, ^ draw, ^ enable,
    ^ export, ^ extract, ^ file, ^ fold, ^ get rid of, ^ grow, ^ hang, ^ import, ^ improve, ^ increase, ^ install,
    ^ knit, ^ learn, ^ learning, ^ lower, ^ make, ^ making, ^ merge, ^ migrate, ^ move, ^ open a, ^ organise,
    ^ organize, ^ paint, ^ plant, ^ prepare, ^ prevent, ^ prune, ^ recover, ^ reduce, ^ register, ^ remove,
    ^ removing, ^ rename, ^ renew, ^ repair, ^ replace, ^ replacing, ^ reset, ^ restore, ^ set up, ^ setup,
    ^ setting up, ^ sharpen, ^ start a, ^ stop, ^ store, ^ tie, ^ train a, ^ unclog, ^ uninstall, ^ update,
    ^ upgrade, ^ use, ^ using, ^ write, ^ writing""",
    """reinigen, entfernen, wechseln, putzen, einrichten, installieren, deinstallieren, kochen, backen, beantragen,
    kündigen, löschen, ändern, anmelden, umwandeln, zubereiten, selber, reparieren, aktualisieren, erstellen,
    nähen, stricken, pflanzen, schneiden, anbringen, verbinden, zurücksetzen, entkalken, aufbauen, einstellen""",
    """^ faire, ^ enlever, ^ nettoyer, ^ changer, ^ installer, ^ réparer, ^ créer, ^ supprimer, ^ préparer, ^ cuire,
    ^ convertir, ^ configurer, ^ remplacer, ^ apprendre, ^ écrire, ^ obtenir, ^ monter""",
    """^ hacer, ^ quitar, ^ limpiar, ^ cambiar, ^ instalar, ^ arreglar, ^ crear, ^ eliminar, ^ preparar, ^ cocinar,
    ^ convertir, ^ configurar, ^ reemplazar, ^ aprender, ^ escribir, ^ solicitar, ^ renovar, ^ sacar, ^ montar""",
)
"""Tasks without a question word: "convert heic to jpg", "Fahrradkette wechseln"."""

WISHES = Words(
    """recommendation*, recommended, suggestion*, *-friendly, beginner friendly, kid friendly, kids friendly,
    child friendly, family friendly, dog friendly, pet friendly, budget friendly, enjoyable, suitable for, good for,
    great for, ideal for, perfect for, easy for, worth visiting, worth seeing, worth reading, worth watching,
    worth trying, must-see, must see, must-read, must-try, hidden gem*, off the beaten path""",
    """empfehlung*, empfehlenswert*, geeignet für, geheimtipp*, *freundliche""",
    """recommandation*, recommandé*, adapté à, adaptés aux, adaptée à, bonnes adresses, incontournables""",
    """recomendacion*, recomendado*, recomendada*, divertid*, apto para, aptas para, aptos para, imprescindibles""",
    "推荐, 适合, 好玩, 好吃的, 好看的, 有趣的, 实惠的, 浪漫的, 安静的, 舒适的, 值得, 必去, 必看",
)
"""Requests for things with certain qualities; passages rarely use these words, so several wordings find more."""

QUALITIES = """
affordable amazing authentic awesome beautiful challenging charming comfortable cosy cozy creative cute decent
delicious easy easygoing entertaining exciting fancy fun funny gentle gorgeous impressive inspiring interesting
lively lovely luxurious memorable nice peaceful picturesque playful pleasant pretty quiet quirky relaxed relaxing
romantic scenic spectacular stunning stylish tasty thrilling tranquil trendy underrated unusual uncrowded vegan
vegetarian walkable wholesome
"""
"""Desired qualities, if a plural noun follows: "fun routes", "cozy cafes to work from"."""

ASKED_FOR = "best budget cheap cheapest good halal inexpensive kosher top"
"""Requests for suggestions, if a plural noun follows: "good first projects", "cheap hikes near Oslo"."""
UNCOUNTED = "accommodation clothing coffee food furniture lighting lodging music reading wallpaper wine"
"""Nouns without a plural: "relaxing music"."""

QUALITIES_ELSEWHERE = """
schöne gemütliche leichte ruhige romantische spannende lustige tolle lohnende
tranquilles romantiques insolites agréables sympas jolis jolies
tranquilas tranquilos románticos románticas bonitos bonitas acogedores
tranquilli romantici romantiche carini tranquilos românticos bonitos
mooie leuke gezellige rustige romantische ładne ciekawe spokojne romantyczne
"""
"""Plural forms of desired qualities in other languages."""

NO_ORDER = Words(
    """what, is, are, was, were, of, in, on, at, to, for, from, by, with, like, such, over, under, once, all, not, how,
    why, who, and, or, do, does, did, can, has, had, have, about, the, into, through, around, when, where, which, after,
    before, behind, beyond, as, find, suggest, recommend, plan, settle"""
)
"""Words before an article that do not request an action."""

WEIGHING = Words(
    "^ analyze, ^ analyse, ^ evaluate, ^ assess, ^ appraise, ^ examine, ^ critique",
    "^ analysiere, ^ bewerte, ^ beurteile",
    "^ analyser, ^ analysez, ^ évaluer, ^ évaluez",
    "^ analiza, ^ analizar, ^ evalúa, ^ evaluar",
    "^ 分析, ^ 评估",
)
"""Requests for an analysis from several sides."""

REASONS = Words(
    """why, wy, whys, explain*, explanation*, eli5, concept, concepts, conceptual*, theory, theories, principle,
    principles, intuition, philosophy, rationale, reasoning behind, reason for, reasons for, reason why,
    reasons why, what reason, significance, importance of, implications of, overview of, introduction to,
    intro to, basics of, fundamentals of, meaning of, describe, what is meant by, what is the cause,
    what was the cause, what were the causes, what are the causes, background to, background of, history behind,
    in plain words, in simple terms, in layman's terms, for dummies, tell me why, what do you mean, why is it,
    origins of, roots of, nature of, causes of, what causes, what cause, what caused, what leads to, what led to,
    what makes, what drives, what determines, what triggers, what happens, what would happen, what happened to,
    what if, what role, role of, how come, in what way, in what ways, to what extent, understand, understanding,
    idea behind, logic behind, logic of, what's behind, what is behind, whats behind, science behind,
    thinking behind, mechanism, mechanisms, purpose of, point of a, the point of, point in, function of,
    impact of, influence of, consequences of""",
    """warum, wieso, weshalb, weswegen, wozu, erklär*, bedeutet, bedeutung, zweck, sinn von, prinzip*, grundlagen,
    funktionsweise, ursache von, ursachen von, wie funktionier*, wie entsteh*, wie entstand*, wie kam es,
    wie kommt es, wie wirkt, wie wirken, wie beeinfluss*, wie bild*, inwiefern, verstehen, was passiert,
    was bewirkt, wodurch""",
    """pourquoi, expliqu*, explication*, principe de, principe du, principes, signifi*, veut dire, à quoi sert,
    à quoi servent, que se passe-t-il, comment fonctionn*, comment se form*, comment se produ*, comment naissent,
    comment naît, comment marche*, comment les, comment la, comment le, comment l', comprendre, rôle de, rôle du,
    causes de la, causes du, raison de, raisons de, concept de, théorie, notion de, dans quelle mesure,
    conséquences de""",
    """por qué, porqué, explica*, explíca*, explicación, principio*, significa*, concepto*, teoría*, para qué sirve*,
    cómo funciona*, como funciona*, cómo se form*, cómo se produc*, cómo surg*, cómo afecta*, cómo influy*,
    cómo nac*, cómo se origin*, cómo se reprod*, cómo evolucion*, cómo actúa*, a qué se debe, qué pasa,
    qué pasaría, qué ocurre, qué sucede, qué causa, qué provoca, razón de, razones de, entender, papel de,
    papel del, importancia de, consecuencias de""",
    """为什么, 为何, 为啥, 解释, 原理, 概念, 意味, 含义, 意思, 理解, 如何工作, 怎么工作, 怎么运作, 如何运作,
    如何形成, 怎么形成, 怎样形成, 如何产生, 怎么产生, 起来的, 怎么变, 如何演变, 如何影响, 怎么影响, 怎么来的,
    原因, 有什么用, 作用, 机制, 意义, 本质, 会怎样, 会发生什么, 理论""",
)
FACTS = Words(
    """who, whom, whose, ^ when, ^ where, know when, know where, me when, me where, which, what, what's, whats, how,
    wich, wat, waht, whos, who's, when's, where's, wheres, how's, hows, ^ name, ^ list, ^ define, ^ tell me,
    ^ give me, ^ state, ^ identify, ^ is, ^ are, ^ was, ^ were, ^ do, ^ does, ^ did, ^ has, ^ have, ^ had, ^ can,
    ^ could, ^ will, ^ would, ^ should, ^ must, ^ may, ^ am, ^ isn't, ^ aren't, ^ doesn't, ^ didn't, definition of""",
    """wer, wen, wem, wessen, wann, wo, woher, wohin, ^ was, welche, welcher, welches, welchem, welchen, wie,
    wieviel, wieviele, ^ nenne*, ^ ist, ^ sind, ^ waren, ^ hat, ^ haben, ^ darf, ^ dürfen, ^ kann, ^ können,
    ^ muss, ^ gibt, ^ wird, ^ werden, ^ soll, ^ braucht, ^ liegt, ^ gehört, ^ stimmt, ^ definier*""",
    """qui, quand, où, quel, quelle, quels, quelles, quoi, combien, comment, ^ que, qu'est-ce, qu' est-ce, est-ce,
    y a-t-il, *-t-il, *-t-elle, *-t-on, peut-on, faut-il, doit-on, est-il, est-elle, sont-ils, sont-elles,
    ^ citez, ^ nommez, ^ donne-moi, définition de""",
    """quién, quiénes, quien, ^ cuando, cuándo, dónde, ^ donde, cuál, cuáles, ^ cual, ^ cuales, cuánto, cuánta,
    cuántos, cuántas, ^ cuanto, ^ cuanta, ^ cuantos, ^ cuantas, qué, ^ que, ^ es, ^ son, ^ hay, ^ tiene, ^ puede,
    ^ se puede, ^ existe, ^ hace falta, ^ está, ^ dime, ^ nombra, definición de""",
    """谁, 何时, 何地, 什么, 哪里, 哪儿, 哪个, 哪些, 哪座, 哪年, 哪一年, 哪国, 哪位, 哪种, 哪家, 哪天, 哪部, 哪支,
    哪条, 哪所, 多少, 几个, 几年, 几点, 几月, 几次, 几岁, 几种, 多大, 多高, 多长, 多远, 多重, 多深, 多久, 多快,
    是否, 是不是, 有没有, 能不能, 可不可以, 吗, 么""",
)
ASKED = Words(
    """^ who, ^ when was, ^ when did, ^ when is, ^ where, ^ which, ^ how many, ^ how much, ^ how old, ^ how often,
    ^ in which, ^ what is a, ^ what is an, ^ what are, ^ name, ^ list, ^ define, ^ wer, ^ wann, ^ wo, ^ welche*,
    ^ wie viele, ^ was ist ein, ^ was ist eine, ^ qui, ^ quand, ^ où, ^ quel*, ^ combien, ^ quién*, ^ cuándo,
    ^ dónde, ^ cuál*, ^ cuánt*, why did, why was, why were, 谁, 哪年, 哪一年, 什么是"""
)
"""Questions for a fact, even about a fault: "When was the first bug found?"."""

MISHAPS = """breaks burns buzzes curdles dies drips drops exits freezes grinds hangs jams lags leaks loses prints sinks
skips slips smells splits stalls sticks throws tears beeps reboots restarts returns shakes wilts"""
BESIDE_MISHAP = """a after all and at blank during empty every from immediately in into it my nothing null off on out
over the under when while with"""
VERBS = """accepts appears asks becomes closes comes connects deletes does feels gets gives goes ignores keeps loads
looks makes needs opens remains runs says seems sends shows sounds spins starts stays takes tastes turns"""
BESIDE_VERB = """a all as at away bad cold down for forever hot in into it itself like loud me my no nothing off on only
out over slow the three two up very weird wet wrong empty"""
"""Verbs in statements about a fault, and the words that may follow them; common verbs allow fewer words."""
