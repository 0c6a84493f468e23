"""What the page is made of, without a browser or a database: examples, words for everything, files in the package."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

pytest.importorskip("fastapi", reason="the page needs the extra admin")

from core.memories.rules import INSTRUCTION, KINDS
from core.search.ranking.weights import WEIGHTS
from core.web.admin.pages import formats, plots

START = datetime(2026, 3, 1, tzinfo=UTC)


def test_every_kind_and_every_reason_of_the_ranking_has_words_for_people() -> None:
    """A new one without words would be shown as the program writes it."""
    assert {*KINDS, INSTRUCTION, ""} == set(formats.KIND_NAMES)
    assert set(WEIGHTS) <= set(formats.REASONS)


def test_a_plot_stays_in_its_box_whatever_the_values() -> None:
    """One point, equal values, one moment, thousands of points."""
    for values in ([0], [1], [4], [5, 5, 5], [41, 0], list(range(3000)), [10**9, 1]):
        points = [(START + timedelta(hours=n), value) for n, value in enumerate(values)]
        drawn = plots.draw_lines([("a", points)])
        assert len(drawn.lines[0].dots) == len(values) and 2 <= len(drawn.up) <= 6
        assert all(plots.TOP <= tick.at <= plots.HEIGHT - plots.BOTTOM for tick in drawn.up)
        for dot in drawn.lines[0].dots:
            assert plots.LEFT <= dot.x <= plots.WIDTH - plots.RIGHT
            assert plots.TOP <= dot.y <= plots.HEIGHT - plots.BOTTOM
    assert plots.draw_lines([("a", [])]).lines == []
    same = plots.draw_lines([("a", [(START, 1), (START, 2)])])
    assert [dot.x for dot in same.lines[0].dots] == [plots.LEFT] * 2


def test_the_archive_says_why_an_item_is_there() -> None:
    """An operator looks for a memory that the persona has lost."""
    item = {"archived_at": "", "superseded_by": None, "tier": "session", "expires_at": "2026-03-01T12:00:00+00:00"}
    gone = {**item, "archived_at": "2026-03-02T12:00:00+00:00"}
    assert formats.archive_reason(item) == ""
    assert formats.archive_reason({**item, "superseded_by": 7}) == "replaced by another"
    assert formats.archive_reason(gone) == "expired"
    for other in ({"tier": "long_term"}, {"expires_at": ""}, {"expires_at": "2026-03-03T12:00:00+00:00"}):
        assert formats.archive_reason({**gone, **other}) == "deleted or pruned"
