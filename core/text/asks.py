"""Whether a message asks something, so that what stands beside a matching row may be the answer.

Called by `search`. Tables of words, in the languages of `text.question_words`; a question mark of any
script is enough.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from .folding import runs
from .languages import bare
from .question_words import WITHOUT_SPACES

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


@lru_cache(maxsize=64)
def _opening(language: str) -> frozenset[str]:
    return frozenset(_WORDS.get(language, "").split())


def asks(text: str, languages: Sequence[str]) -> bool:
    """Return whether a message asks something.

    Args:
        text: the message as said; its first 2,000 characters count.
        languages: whose question words open a question without a mark.

    >>> asks("Which agency was it?", ["en"]), asks("what did ada say", ["en"]), asks("I went home.", ["en"])
    (True, True, False)
    >>> asks("agency", ["en"]), asks("誰が来た", ["ja"])
    (False, True)
    """
    said = text[:2_000]
    if MARKS.intersection(said):
        return True
    folded = bare(said)
    opening = [run for run, _ in runs(folded[:80])]
    for language in languages:
        words = _opening(language)
        if language in WITHOUT_SPACES:
            if any(word in folded for word in words):
                return True
        elif len(opening) > 1 and opening[0] in words:
            return True
    return False
