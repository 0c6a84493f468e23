"""More of everything in a prompt than people are shown: what must not leak has room to do so."""

from collections.abc import Iterator

import pytest

from core.conversations import memory_prompt, section_recent
from core.memories import section_instructions


@pytest.fixture(autouse=True, scope="module")
def large_sections() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(section_recent, "RECENT_IN_PROMPT", 50)
        patch.setattr(memory_prompt, "RECENT_IN_PROMPT", 50)
        patch.setattr(section_instructions, "INSTRUCTIONS_IN_PROMPT", 50)
        yield
