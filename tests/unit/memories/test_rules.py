"""What a memory item is made of, how long it is kept, and modes (L1 to L3, L7 to L10, C12, C24, C25, C29)."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import pytest

from core.config import Settings
from core.config.flags import MemoryMode
from core.conversations.memory_tool import NAME, is_offered
from core.errors import MessageError
from core.memories import instructions, rules
from core.memories.rules import KINDS, MODES, asked_before, heuristic_importance, importance_of, kind_of, read_entry
from core.templates.words import load_phrases


def test_l2_snake_case_and_other_letter_case_are_the_same_kind_and_the_nearest_of_another_is_named() -> None:
    assert kind_of("facts_about_user") == "FactsAboutUser"
    for kind in KINDS:
        snake = "".join(f"_{char.lower()}" if char.isupper() else char for char in kind).strip("_")
        assert {kind_of(form) for form in (kind, kind.upper(), kind.lower(), snake, f" {snake.upper()} ")} == {kind}
    near = {"KeyFact": "KeyFacts", "fact_about_user": "FactsAboutUser", "emotion": "Emotions", "save": "saved"}
    for given, known in near.items():
        with pytest.raises(MessageError, match=f"Did you mean '{known}'") as caught:
            kind_of(given)
        assert caught.value.fields == ("kind",)


def test_f3_l1_a_text_alone_has_the_kind_of_the_call_and_cannot_say_whose_it_is() -> None:
    for text in ("a", {"content": "a"}):
        assert read_entry(text, "Mood") == {"content": "a", "kind": "Mood", "metadata": None}
    for blank in ("", "  ", None, {}, {"text": " "}, {"text": None, "content": ""}):
        assert read_entry(blank, "Mood") is None
    entry = read_entry({"text": "a", "persona_id": "other", "audience_id": 7, "metadata": {"x": 1}}, "Mood")
    assert entry is not None and entry["metadata"] == {"x": 1, "persona_id": "other", "audience_id": 7}


def test_l7_at_most_a_thousand_ids_each_once() -> None:
    assert rules.read_ids([1, 1, 2, 999]) == (1, 2, 999) and rules.read_ids(range(1000)) == tuple(range(1000))
    for wrong in ("12", [-1], [2**63]):
        with pytest.raises(MessageError):
            rules.read_ids(wrong)
    with pytest.raises(MessageError, match="id is of type str"):
        rules.read_id("a secret text")


def test_l3_l8_importance_stays_within_its_bounds_and_grows_with_length() -> None:
    assert [importance_of(value) for value in (-1, 0.3, 7, float("inf"))] == [0, 0.3, 1, 1]
    assert {importance_of(value) for value in (None, True, "1", float("nan"))} == {0.5}
    assert [heuristic_importance("x" * size) for size in (0, 40, 200, 320, 9000)] == [0.3, 0.3, 0.7, 1.0, 1.0]


DOCS = Path(__file__).resolve().parents[3] / "docs" / "conversations.md"


def test_c24_the_table_in_code_is_the_flag_and_the_documentation() -> None:
    assert tuple(MODES) == get_args(MemoryMode)
    known = {"agent": (True, True, "tool"), "plus": (True, True, "before"), "basic": (True, False, "-")}
    known["project"] = (False, False, "-")
    assert {name: (mode.reads, mode.saves, mode.how) for name, mode in MODES.items()} == known
    page = DOCS.read_text(encoding="utf-8")
    for name, mode in MODES.items():
        assert f"| {name} | {'yes' if mode.reads else 'no'} | {'yes' if mode.saves else 'no'} |" in page


@pytest.mark.parametrize("mode", get_args(MemoryMode))
def test_c25_the_tool_is_offered_in_agent_and_plus_while_it_is_on_and_named(mode: Any) -> None:
    open_to = mode in ("agent", "plus")
    on = Settings(memory_mode=mode)
    assert is_offered(on) is is_offered(replace(on, enabled_tool_ids=("other", NAME))) is open_to
    assert not is_offered(replace(on, enabled_tool_ids=("other",)))
    assert not is_offered(replace(on, enable_saved_memory=False))


@pytest.mark.parametrize(("said", "expected"), [
    ("@memory likes tea", ("likes tea", "@memory")), ("hey @Memory: likes tea", ("likes tea", "@memory")),
    ("I like tea @memory", ("I like tea", "@memory")), ("I like tea. @memory please", ("I like tea.", "@memory")),
    ("@memory please remember that", ("", "@memory")), ("@memory", ("", "@memory")), ("mail@memory.org", None),
    ("@memory.org is down", None), ("@memoryless", None),
    ("please remember that I like tea", ("please remember that I like tea", "phrase")),
    ("don't remember that I like tea", None),
])  # fmt: skip
def test_c29_what_is_saved_before_the_model_answers(said: str, expected: Any) -> None:
    assert asked_before(said, [load_phrases("en")]) == expected


LANGUAGES = sorted(path.stem for path in Path("prompts/remember").glob("*.yaml"))
FORMS = ("{} Jo", "Hi. {}, please", '{} "Jo"', '"{}" Jo', "*smiles* {} *nods a lot today* Jo", "ok\n{}: x")


@pytest.mark.parametrize("language", LANGUAGES)
def test_c12_the_quick_look_loses_no_instruction(language: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """An import of a year of talk asks this of every line."""
    phrases = load_phrases(language)
    wanted = [*phrases["wishes"][::4], *phrases["endings"][::4], *phrases["facts"][::9]]
    plain = [re.sub(r"\(([^|)]*)\|[^)]*\)", r"\1", each).rstrip("?").replace("*", "tea now") for each in wanted]
    texts = [form.format(phrase) for n, phrase in enumerate(plain) for form in FORMS[n % 2 :: 2]]
    looked, quick_look = {}, instructions.may_state
    monkeypatch.setattr(instructions, "may_state", lambda text, *more: looked.setdefault(text, quick_look(text, *more)))
    assert list(filter(None, (instructions.read_instructions(text, Settings()) for text in texts)))
    assert {True, False} == set(looked.values())
    monkeypatch.setattr(instructions, "may_state", lambda *_: True)
    # what the quick look lets through is read in full anyway
    assert [text for text, may in looked.items() if not may and instructions.read_instructions(text, Settings())] == []
