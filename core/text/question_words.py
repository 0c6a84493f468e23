"""How languages ask: whether a message asks something, for a time or a number, and how they say `I` and `you`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

from .folding import all_runs, fold
from .languages import bare

WHEN: Mapping[str, str] = {
    "en": "when since_when how_long what_date what_day what_month what_year what_time what_week which_date which_day "
    "which_month which_year which_time which_week how_recently",
    "de": "wann seit_wann bis_wann wie_lange welches_datum welchem_datum welcher_tag welchem_tag an_welchem "
    "welches_jahr "
    "welchem_jahr welchem_monat welcher_monat wieviel_uhr wie_viel_uhr um_wie_viel",
    "fr": "quand depuis_quand combien_de_temps quel_jour quelle_date quel_mois quelle_annee quelle_heure "
    "quelle_semaine",
    "es": "cuando desde_cuando cuanto_tiempo que_dia que_fecha que_mes que_ano que_hora en_que_ano",
    "it": "quando da_quando da_quanto quanto_tempo che_giorno quale_giorno che_data quale_data che_mese quale_mese "
    "che_anno quale_anno che_ora",
    "pt": "quando desde_quando quanto_tempo que_dia qual_dia que_data qual_data que_mes que_ano que_horas qual_ano "
    "qual_mes",
    "nl": "wanneer sinds_wanneer hoe_lang welke_dag welke_datum welke_maand welk_jaar hoe_laat",
    "ru": "когда сколько_времени как_давно как_долго какого_числа какой_день в_каком_году в_каком_месяце каком_году "
    "каком_месяце какую_дату с_каких_пор",
    "ja": "いつ 何日 何月 何年 何曜 何時 どのくらい前 どれくらい前",
    "zh": "什么时候 什麼時候 何时 何時 几时 幾時 哪天 哪一天 哪年 哪一年 几月 幾月 几号 幾號 多久 哪个月 哪個月",
    "ko": "언제 며칠 몇월 몇_월 몇년 몇_년 무슨_요일 얼마나_오래",
    "ar": "متى منذ_متى اي_يوم",
    "he": "מתי ממתי באיזה_יום",
    "el": "ποτε απο_ποτε ποια_μερα",
    "hi": "कब किस_दिन",
    "th": "เมื่อไหร่ เมื่อไร วันไหน ปีไหน เดือนไหน",
    "pl": "kiedy od_kiedy ktorego_dnia",
    "cs": "kdy od_kdy ktery_den",
    "tr": "zaman hangi_gun",
    "sv": "nar hur_lange vilken_dag",
}
"""What asks for a day or a span."""

COUNT: Mapping[str, str] = {
    "en": "how_many how_much how_often how_long how_old what_number how_far how_tall how_big what_percentage",
    "de": "wie_viel wie_viele wieviel wieviele wie_oft wie_alt wie_lange wie_weit wie_hoch",
    "fr": "combien quel_age a_quelle_frequence",
    "es": "cuanto cuanta cuantos cuantas que_edad",
    "it": "quanto quanta quanti quante che_eta",
    "pt": "quanto quanta quantos quantas que_idade qual_idade",
    "nl": "hoeveel hoe_vaak hoe_oud hoe_ver",
    "ru": "сколько как_часто который_раз",
    "ja": "いくつ 何人 何個 何回 何歳 何本 何枚 何匹 何冊 いくら 何度 何才",
    "zh": "多少 几个 幾個 几次 幾次 几岁 幾歲 多大 几只 幾隻 几本 多高",
    "ko": "몇 얼마나",
    "ar": "كم",
    "he": "כמה בן_כמה בת_כמה",
    "el": "ποσο ποσα ποσοι ποσες ποσων",
    "hi": "कितने कितना कितनी",
    "th": "กี่ เท่าไหร่ เท่าไร",
    "pl": "ile",
    "cs": "kolik",
    "tr": "kac",
    "sv": "hur_manga hur_mycket hur_ofta",
}
"""What asks for a number."""

SELF: Mapping[str, str] = {
    "en": "i me my mine myself im ive",
    "de": "ich mich mir mein meine meinen meinem meiner meines",
    "fr": "je j moi me m mon ma mes mien mienne",
    "es": "yo me mi mis mio mia mios mias conmigo",
    "it": "io mi me mio mia miei mie",
    "pt": "eu me mim meu minha meus minhas comigo",
    "nl": "ik mij me mijn mezelf",
    "ru": "я меня мне мной мною мои моя мое моего моеи моих моим моему мою моими",
    "ja": "私 僕 俺 わたし ぼく おれ あたし",
    "zh": "我",
    "ko": "나 나는 내 내가 나의 나를 나한테 저 저는 제 제가 저의 저를",
    "ar": "انا لي عندي",
    "he": "אני שלי אותי לי אצלי",
    "el": "εγω μου με εμενα",
    "hi": "मैं मुझे मेरा मेरी मेरे मैंने",
    "th": "ผม ฉัน ดิฉัน ของฉัน",
    "pl": "ja mnie mi moj moja moje mojego mojej",
    "cs": "ja me mne mi muj moje meho",
    "tr": "ben bana beni benim",
    "sv": "jag mig min mitt mina",
}
"""Who asks, speaking of themselves."""

OTHER: Mapping[str, str] = {
    "en": "you your yours yourself",
    "de": "du dich dir dein deine deinen deinem deiner deines ihnen",
    "fr": "tu te t toi ton ta tes tien vous votre vos",
    "es": "tu te ti tus tuyo tuya usted contigo",
    "it": "tu ti te tuo tua tuoi tue",
    "pt": "tu te ti teu tua teus tuas voce voces contigo",
    "nl": "jij je jou jouw jullie u uw",
    "ru": "ты тебя тебе тобои твои твоя твое твоего твоеи вы вас вам ваш ваша ваше",
    "ja": "あなた 君 きみ お前",
    "zh": "你 您",
    "ko": "너 너는 네가 니가 너의 너를 당신",
    "ar": "انت لك عندك",
    "he": "אתה את שלך אותך לך",
    "el": "εσυ σου εσενα",
    "hi": "तुम तुम्हें तुम्हारा तुम्हारी आप आपका आपकी आपने तू",
    "th": "คุณ เธอ",
    "pl": "ty ciebie ci twoj twoja twoje",
    "cs": "ty tebe ti tvuj tvoje",
    "tr": "sen sana seni senin siz",
    "sv": "du dig din ditt dina",
}
"""Whom they ask: the persona."""

REQUEST: Mapping[str, str] = {
    "en": "can_you could_you would_you will_you please",
    "de": "kannst_du konntest_du wurdest_du konnen_sie konnten_sie bitte",
    "fr": "peux_tu pouvez_vous pourrais_tu pourriez_vous tu_peux",
    "es": "puedes podrias puede podria",
    "it": "puoi potresti puo",
    "pt": "pode podes poderia voce_pode",
    "nl": "kun_je kan_je wil_je",
    "ru": "можешь можете мог_бы",
    "ja": "ください 下さい",
    "zh": "请 請 你能 你可以",
    "pl": "mozesz czy_mozesz",
    "sv": "kan_du",
}
"""What a message begins with that wants something done, not something told."""

COURTESY = frozenset(
    bare(
        "thanks thank hello hi hey bye goodbye please sorry welcome okay cheers danke dank hallo tschuss tschau bitte "
        "entschuldigung gruss merci bonjour bonsoir salut pardon gracias hola adios perdon grazie ciao buongiorno "
        "scusa prego obrigado obrigada ola tchau desculpa bedankt dag doei sorry tack hej dziekuje dzieki czesc "
        "спасибо привет пока здравствуйте пожалуйста 谢谢 謝謝 你好 您好 再见 再見 ありがとう こんにちは "
        "안녕 안녕하세요 감사합니다 고마워 شكرا مرحبا שלום תודה"
    ).split()
)
"""What people say to each other whatever they talk about."""

NUMBERS: Mapping[str, str] = {
    "en": "one two three four five six seven eight nine ten eleven twelve dozen couple several twice once first second "
    "third hundred thousand half",
    "de": "eins zwei drei vier funf sechs sieben acht neun zehn elf zwolf dutzend einmal zweimal dreimal erste zweite "
    "dritte hundert tausend",
    "fr": "deux trois quatre cinq six sept huit neuf dix onze douze douzaine cent mille premier premiere deuxieme",
    "es": "uno dos tres cuatro cinco seis siete ocho nueve diez once doce docena cien mil primero primera segundo",
    "it": "uno due tre quattro cinque sei sette otto nove dieci undici dodici dozzina cento mille primo prima secondo",
    "pt": "dois duas tres quatro cinco seis sete oito nove dez onze doze duzia cem mil primeiro primeira segundo",
    "nl": "twee drie vier vijf zes zeven acht negen tien elf twaalf dozijn honderd duizend eerste tweede derde",
    "ru": "один одна два две три четыре пять шесть семь восемь девять десять двенадцать сто тысяча дважды первыи "
    "второи",
    "ko": "하나 한 둘 두 셋 세 넷 네 다섯 여섯 일곱 여덟 아홉 열",
    "ar": "واحد اثنان ثلاثة اربعة خمسة ستة سبعة ثمانية تسعة عشرة",
    "he": "אחד אחת שניים שתי שלושה שלוש ארבעה ארבע חמישה חמש שישה שש שבעה שבע שמונה תשעה תשע עשרה עשר",
    "el": "ενα δυο τρια τρεις τεσσερα τεσσερις πεντε εξι επτα οκτω εννεα δεκα",
    "hi": "एक दो तीन चार पांच पाँच छह सात आठ नौ दस",
}
"""Number words; those that are articles as well are left out."""

WITHOUT_SPACES = frozenset({"ja", "zh", "th"})


MARKS = frozenset("?\uff1f\u061f\u037e\u055e\u2e2e")

_WORDS = {
    "en": "what who whom whose which where when why how did does do is are was were can could would should has have "
    "had will remember remind recall tell",
    "de": "was wer wen wem wessen welche welcher welches welchen wo wohin woher wann warum wieso weshalb wie hat habe "
    "hast ist sind war kannst weisst erinnerst",
    "fr": "que quoi qui quel quelle quels quelles ou quand pourquoi comment combien est as a peux sais souviens",
    "es": "que quien quienes cual cuales donde cuando por como cuanto cuantos cuanta cuantas puedes sabes recuerdas",
    "it": "che cosa chi quale quali dove quando perche come quanto quanti quanta quante puoi sai ricordi",
    "pt": "que quem qual quais onde quando por como quanto quantos quanta quantas pode sabes lembra",
    "nl": "wat wie welke welk waar wanneer waarom hoe hoeveel kun kan weet herinner",
    "ru": "что кто кого кому чей какой какая какое какие где куда когда почему зачем как сколько помнишь",
    "ja": "何 誰 どこ いつ なぜ どう どの どれ いくつ か。 ですか ますか の?",
    "zh": "什么 什麼 谁 誰 哪 几 幾 怎么 怎麼 为什么 為什麼 多少 吗 嗎 呢",
    "ko": "무엇 뭐 누구 어디 언제 왜 어떻게 어떤 몇 얼마",
    "ar": "ما ماذا من اين متى لماذا كيف كم هل اي",
    "he": "מה מי איפה מתי למה איך כמה האם איזה",
    "el": "τι ποιος ποια ποιο που ποτε γιατι πως ποσο ποσα",
    "hi": "क्या कौन कहाँ कब क्यों कैसे कितने कितना किस",
    "th": "อะไร ใคร ที่ไหน เมื่อไหร่ ทำไม อย่างไร ยังไง กี่ ไหม",
    "pl": "co kto kogo jaki jaka jakie gdzie kiedy dlaczego jak ile czy",
    "cs": "co kdo koho jaky jaka jake kde kdy proc jak kolik",
    "tr": "ne kim hangi nerede neden nasil kac mi mu",
    "sv": "vad vem vilken vilket vilka var nar varfor hur",
    "da": "hvad hvem hvilken hvilket hvor hvornar hvorfor hvordan",
    "no": "hva hvem hvilken hvilket hvor nar hvorfor hvordan",
    "fi": "mika mita kuka kenen missa milloin miksi miten kuinka",
    "hu": "mi mit ki kit melyik hol mikor miert hogyan hany",
    "ro": "ce cine care unde cand de cum cat cate",
    "uk": "що хто кого який яка яке де куди коли чому як скільки чи",
}


_TABLES: Mapping[str, Mapping[str, str]] = {
    "WHEN": WHEN, "COUNT": COUNT, "SELF": SELF, "OTHER": OTHER, "REQUEST": REQUEST,
}  # fmt: skip

LOOKED_AT = 4_000
"""Characters of a question that are read; a longer message asks at its beginning or not at all."""


@lru_cache(maxsize=128)
def _phrases(name: str, language: str) -> tuple[str, ...]:
    phrases = (bare(phrase).replace("_", " ") for phrase in _TABLES[name].get(language, "").split())
    padded = language not in WITHOUT_SPACES
    return tuple(f" {phrase} " if padded else phrase for phrase in phrases)


def asked_words(text: str) -> str:
    """Return the words of a text as phrases are looked for in it: bare, one space between and at both ends."""
    return f" {' '.join(all_runs(bare(text[:LOOKED_AT])))} "


def holds(words: str, name: str, languages: Sequence[str]) -> bool:
    """Return whether the words hold a phrase of a table in one of the languages."""
    for language in languages:
        for phrase in _phrases(name, language):  # a generator would be a frame for each
            if phrase in words:
                return True
    return False


def is_request(words: str, languages: Sequence[str]) -> bool:
    """Return whether a message begins by asking the other side to do something; `words` as of `asked_words`."""
    return any(words.lstrip().startswith(phrase.lstrip()) for code in languages for phrase in _phrases("REQUEST", code))


def self_words(languages: Sequence[str]) -> list[str]:
    """Return the words by which somebody speaks of themselves in the languages, folded."""
    return list(dict.fromkeys(fold(word) for code in languages for word in SELF.get(code, "").split()))


@lru_cache(maxsize=64)
def _opening(language: str) -> frozenset[str]:
    return frozenset(bare(_WORDS.get(language, "")).split())


def is_question(text: str, languages: Sequence[str]) -> bool:
    """Return whether a message asks something."""
    said = text[:2_000]
    if MARKS.intersection(said):
        return True
    folded = bare(said)
    opening = all_runs(folded[:80])
    for language in languages:
        words = _opening(language)
        if language in WITHOUT_SPACES:
            if any(word in folded for word in words):
                return True
        elif len(opening) > 1 and opening[0] in words:
            return True
    return False
