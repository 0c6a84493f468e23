"""Nothing unrelated ends an illness, an allergy or a diet, in whatever languages they are said (C12)."""

import random
from functools import lru_cache
from pathlib import Path

import pytest

from core.config import Settings
from core.memories.instructions import read_instructions
from core.memories.rules_instructions import Instruction, takes_back

LINES = (Path(__file__).parent / "corpus" / "health.txt").read_text(encoding="utf-8").splitlines()


def load(kind: str) -> dict[str, list[str]]:
    rows = (line.split(" | ") for line in LINES)
    return {language: texts for name, language, *texts in rows if name == kind}


FOODS, STATES, ABOUT_ANOTHER, ABOUT_NO_HEALTH = map(load, ("food", "state", "another", "no health"))
OTHERS = load("other")["any"]


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
