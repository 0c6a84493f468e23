"""Standing instructions are read alike with and without the quick look that spares most messages the slow one."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from core.config import Settings
from core.memories import instructions
from core.templates.words import load_phrases

LANGUAGES = sorted(path.stem for path in Path("prompts/remember").glob("*.yaml"))
FORMS = ("{} Jo", "Hi. {}, please", '{} "Jo"', '"{}" Jo', "*smiles* {} *nods a lot today* Jo", "ok\n{}: x")


@pytest.mark.parametrize("language", LANGUAGES)
def test_c12_the_quick_look_loses_no_instruction(language: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """An import of a year of talk asks this of every line."""
    phrases = load_phrases([language])
    wanted = [*phrases["wishes"][::4], *phrases["endings"][::4], *phrases["facts"][::9]]
    plain = [re.sub(r"\(([^|)]*)\|[^)]*\)", r"\1", each).rstrip("?").replace("*", "tea now") for each in wanted]
    texts = [form.format(phrase) for phrase in plain for form in FORMS]
    quick = [instructions.read_instructions(text, Settings()) for text in texts]
    monkeypatch.setattr(instructions, "may_state", lambda *_: True)
    assert quick == [instructions.read_instructions(text, Settings()) for text in texts]
    assert any(quick)
