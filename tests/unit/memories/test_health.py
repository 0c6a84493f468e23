"""Nothing unrelated ends an illness, an allergy or a diet, in whatever languages they are said (C12)."""

import random
from functools import lru_cache

import pytest

from core.config import Settings
from core.memories.instructions import read_instructions
from core.memories.rules_instructions import Instruction, takes_back

FOODS = {
    "en": ("nuts", "fish", "eggs"), "nl": ("noten", "vis", "eieren"), "de": ("Nüsse", "Fisch", "Eier"),
    "es": ("nueces", "pescado", "huevos"), "fr": ("noix", "poisson", "œufs"), "it": ("noci", "pesce", "uova"),
    "pt": ("nozes", "peixe", "ovos"), "ru": ("орехи", "рыбу", "яйца"), "ja": ("ナッツ", "魚", "卵"),
    "zh": ("花生", "海鲜", "鸡蛋"),
}  # fmt: skip
STATES = {
    "en": ("I'm allergic to {}", "I have an allergy to {}", "I don't eat {}"),
    "nl": ("Ik ben allergisch voor {}", "Ik eet geen {}"),
    "de": ("Ich bin allergisch gegen {}", "Ich esse keine {}", "Ich vertrag keine {}"),
    "es": ("Soy alérgico a {}", "No como {}"), "fr": ("Je suis allergique aux {}", "Je ne mange pas de {}"),
    "it": ("Sono allergico a {}", "Non mangio {}"), "pt": ("Sou alérgico a {}", "Não como {}"),
    "ru": ("У меня аллергия на {}",), "ja": ("{}アレルギーです",), "zh": ("我对{}过敏",),
}  # fmt: skip
OTHERS = ("I'm vegan", "I'm diabetic", "I have epilepsy", "I can't have dairy", "Milch vertrag ich nicht",
          "J'ai de l'asthme", "Ik ben veganist", "Ich bin Vegetarier", "Soy celíaca", "Je suis végétarien",
          "Sono vegana", "Sou vegano", "Я веган", "私はビーガンです", "我吃素", "我有糖尿病")  # fmt: skip
ABOUT_ANOTHER = {
    "en": ("I'm not allergic to {} anymore", "My {} allergy is gone"), "nl": ("Ik ben niet meer allergisch voor {}",),
    "de": ("Ich bin nicht mehr allergisch gegen {}",), "es": ("Ya no soy alérgico a {}",),
    "fr": ("Je ne suis plus allergique aux {}",), "it": ("Non sono più allergico a {}",),
    "pt": ("Não sou mais alérgico a {}",), "ru": ("У меня больше нет аллергии на {}",),
    "ja": ("もう{}アレルギーではありません", "{}アレルギーが治りました"), "zh": ("我不再对{}过敏了",),
}  # fmt: skip
ABOUT_NO_HEALTH = {
    "en": ("Please do not bring up the accident again", "You can mention {} again", "Stop talking about {}",
           "Don't forget that I'm allergic to {}", "No need to mention the {} anymore", "Spoilers are fine again"),
    "nl": ("Begin niet meer over het ongeluk", "Je mag weer over {} praten", "Stop met praten over {}",
           "Vergeet niet dat ik allergisch ben voor {}", "Vergeet nooit dat ik geen {} eet"),
    "de": ("Sprich den Unfall bitte nicht mehr an", "Du darfst wieder über {} reden", "Hör auf, von {} zu reden",
           "Vergiss nicht, dass ich gegen {} allergisch bin", "Vergiss nie, dass ich keine {} esse"),
    "es": ("No vuelvas a mencionar el accidente", "Puedes volver a hablar de {}", "Deja de hablar de {}",
           "No olvides que soy alérgico a {}"),
    "fr": ("Ne reparle plus de l'accident", "Tu peux reparler des {}", "Arrête de parler des {}",
           "N'oublie pas que je suis allergique aux {}"),
    "it": ("Non parlare più dell'incidente", "Puoi parlare di nuovo di {}", "Smetti di parlare di {}",
           "Non dimenticare che sono allergico a {}"),
    "pt": ("Não fale mais do acidente", "Pode voltar a falar de {}", "Pare de falar de {}",
           "Não esqueça que sou alérgico a {}"),
    "ru": ("Больше не говори об аварии", "Можешь снова говорить про {}", "Не забудь, что у меня аллергия на {}"),
    "ja": ("事故の話はもうしないで", "{}の話をまたしていいよ", "{}アレルギーだと忘れないで"),
    "zh": ("不要再提那次事故了", "你可以再谈{}了", "别忘了我对{}过敏", "我不再吃{}了"),
}  # fmt: skip


@lru_cache(maxsize=1000)
def read(text: str) -> tuple[Instruction, ...]:
    return read_instructions(text, Settings())


def ends(said: str, state: str) -> bool:
    stated, endings = read(state), [each for each in read(said) if each.ends]
    assert stated, state
    return any(takes_back(each, old.text, old.topics) for each in endings for old in stated)


def test_c12_nothing_unrelated_ends_an_illness_an_allergy_or_a_diet() -> None:
    draw, wrong = random.Random(12), set()
    for _ in range(1000):
        mine, theirs, food = draw.choice([*FOODS]), draw.choice([*FOODS]), draw.randrange(3)
        state = draw.choice((*STATES[mine], *OTHERS)).format(FOODS[mine][food])
        if draw.random() < 0.4:
            said = draw.choice(ABOUT_ANOTHER[theirs]).format(FOODS[theirs][food - 1])
        else:
            said = draw.choice(ABOUT_NO_HEALTH[theirs]).format(draw.choice(FOODS[theirs]))
        if ends(said, state):
            wrong.add((state, said))
    assert not wrong


@pytest.mark.parametrize("language", FOODS)
def test_c12_what_names_the_allergy_ends_it(language: str) -> None:
    for food in FOODS[language]:
        for said in ABOUT_ANOTHER[language]:
            assert ends(said.format(food), STATES[language][0].format(food)), (said, food)
