"""Recognises standing instructions in a message: `always answer in metric units`, `call me Jo`."""

from collections.abc import Sequence
from functools import partial

from ..base import logs
from ..config import Settings
from ..templates.words import phrases_for
from ..text.remember_phrases import (
    MEDICAL,
    THAT_NAME,
    THAT_RULE,
    THAT_WISH,
    Phrases,
    Statement,
    cut_fact,
    holds_word,
    may_state,
    read_statements,
)  # fmt: skip
from .rules import MODES
from .rules_instructions import Instruction
from .section_instructions import is_recorded

MOST_INSTRUCTIONS = 5
"""Maximum number of instructions of one message."""
_GROUPS = ("wishes", "endings", "stops", "permits", THAT_WISH, THAT_RULE)


def read_instruction(text: str, settings: Settings) -> Instruction:
    """Return a host's sentence as an instruction, whether or not a phrase recognises it."""
    known = phrases_for(text, settings)
    statements = read_statements(text, known)
    topics = frozenset[str]().union(*(_list_topics(each, known) for each in statements))
    return Instruction(text, topics, phrases=known, find_phrases=partial(phrases_for, settings=settings))


def _list_topics(statement: Statement, known: Sequence[Phrases]) -> frozenset[str]:
    return frozenset({MEDICAL}) if holds_word(statement.text, MEDICAL, known) else statement.topics


def read_instructions(
    text: str, settings: Settings, *, role: str = "user", excluded: bool = False
) -> tuple[Instruction, ...]:
    """Return the standing instructions of a message, the first five."""
    if role != "user" or excluded or not is_recorded(settings) or not MODES[settings.memory_mode].saves:
        return ()
    try:
        known = phrases_for(text, settings)
        statements = read_statements(text, known) if may_state(text, (*_GROUPS, "returns"), known) else []
    except (OSError, ValueError) as error:
        logs.warning("instructions_not_read", error=type(error).__name__)
        return ()
    return tuple(
        Instruction(
            cut_fact(each.text, known),
            _list_topics(each, known),
            "wishes" in each.groups, not each.groups.isdisjoint(_GROUPS[1:]),
            THAT_NAME in each.groups, "stops" in each.groups, "permits" in each.groups,
            THAT_WISH in each.groups, THAT_RULE in each.groups, bool(settings.server_in_direct), known,
            partial(phrases_for, settings=settings),
        )
        for each in statements
        if each.groups.intersection(_GROUPS)
    )[:MOST_INSTRUCTIONS]  # fmt: skip
