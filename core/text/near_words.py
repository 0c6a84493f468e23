"""Words that may stand in one of two texts alone without the two saying something else.

Called by `text.near_duplicates`. Left out on purpose: negations, pronouns and possessives, prepositions, numbers,
question words: each of them makes another statement.
"""

from __future__ import annotations

WEAK = (
    # English
    "a an the is am are was were be been do does did has have had will would that this it so just really very please "
    "also too well oh ah hey hi hello ok okay yes yeah yep btw actually quite lot lots much definitely totally like "
    "literally basically anyway honestly simply kindly thanks thank today's s m re ve d ll t um uh hmm lol haha and "
    "but "
    # German
    "der die das den dem des ein eine einen einem einer ist bin sind war hat habe haben wird auch ja doch mal halt "
    "eben "
    "bitte sehr wirklich echt so also ach hallo hey hi naja danke eigentlich ubrigens gerade total ganz es dass und "
    "aber "
    # French
    "le la les l un une des du de est suis sont etait a ai as c ce ca cela d j que qu vraiment tres bien aussi donc oh "
    "ah eh salut bonjour merci s il plait te vous oui ben bah bon alors et mais "
    # Spanish
    "el la los las un una unos unas lo es soy son era esta estoy ha he muy mucho realmente tambien pues bueno hola oye "
    "por favor gracias si ya que de y pero "
    # Italian
    "il lo la i gli le l un uno una e sono era ha ho molto davvero anche allora beh ciao ehi per favore grazie si gia "
    "che di del della proprio ma "
    # Portuguese
    "o a os as um uma e sou sao era esta estou tem tenho muito mesmo realmente tambem bom oi ola por favor obrigado "
    "obrigada sim ja que de do da mas "
    # Dutch
    "de het een is ben zijn was heeft heb wordt ook ja toch even wel erg heel echt dus nou hallo hoi hey alsjeblieft "
    "bedankt eigenlijk dat en maar "
    # Russian
    "это есть был была было очень правда тоже также ну вот же ли ой привет пожалуйста спасибо да уже просто вообще что "
    "и а но "
    # Japanese and Chinese, character by character
    "は が を に と も の な で す だ よ ね し た ま て わ ー 的 了 吗 嗎 呢 啊 吧 呀 哦 很 也 请 請 "
    # Korean, Greek, Arabic, Hebrew, Hindi
    "정말 진짜 너무 아주 좀 그냥 안녕 네 응 음 ο η το ειναι ειμαι πολυ και γεια ναι هو هي جدا حقا نعم مرحبا من فضلك ال "
    "הוא היא מאוד באמת כן היי את ה है हैं था थी हूँ हूं बहुत सच नमस्ते हाँ भी ही तो"
)

CLITICS = (
    # Korean particles and polite endings
    "은 는 이 가 을 를 에 의 도 요 이요 예요 이에요 입니다 습니다 어요 아요 에서 "
    # Russian and Czech case endings, for names and nouns alike
    "а у ы и е о ом ой ою ем ей я ю ам ах"
)
"""Endings that do not make another word of one."""
