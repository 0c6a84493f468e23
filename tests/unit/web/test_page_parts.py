"""What the page is made of, without a browser or a database: examples, words for everything, files in the package."""

from typing import Any

import pytest

pytest.importorskip("fastapi", reason="the page needs the extra admin")

from core.memories.rules import INSTRUCTION, KINDS
from core.search.ranking.weights import WEIGHTS
from core.web.admin.pages import formats
from core.web.admin.pages.page import environment


def test_every_kind_and_every_reason_of_the_ranking_has_words_for_people() -> None:
    words: Any = environment().get_template("_words.html.j2").module
    assert {*KINDS, INSTRUCTION, ""} == set(words.KIND_NAMES) and set(WEIGHTS) <= set(words.REASONS)


def test_the_archive_says_why_an_item_is_there() -> None:
    item = {"archived_at": "", "superseded_by": None, "tier": "session", "expires_at": "2026-03-01T12:00:00+00:00"}
    gone = {**item, "archived_at": "2026-03-02T12:00:00+00:00"}
    assert formats.archive_reason(item) == ""
    assert formats.archive_reason({**item, "superseded_by": 7}) == "replaced by another"
    assert formats.archive_reason({**item, "superseded_by": 7, "archived_at": "2026-03-02"}) == "ended by a message"
    assert formats.archive_reason(gone) == "expired"
    for other in ({"tier": "long_term"}, {"expires_at": ""}, {"expires_at": "2026-03-03T12:00:00+00:00"}):
        assert formats.archive_reason({**gone, **other}) == "deleted or pruned"
