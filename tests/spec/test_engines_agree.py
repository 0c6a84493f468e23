"""G27: the same calls on the same rows give the same results on every engine."""

from __future__ import annotations

import pytest

from tests.store.scenario import differing, expected, play
from tests.store.world import open_db


@pytest.mark.slow
@pytest.mark.dialects
def test_g27_one_story_gives_the_same_on_every_engine(fresh_migrated_url: str) -> None:
    """Saves, edits, tags, links, diary, both ways of searching, lists and prompts, compared with SQLite in memory."""
    db = open_db(fresh_migrated_url)
    try:
        told = play(db)
    finally:
        db.close()
    assert differing(told, expected()) == []


def test_g27_the_story_is_worth_comparing() -> None:
    """A search that finds nothing on any engine says nothing: most find rows, and scopes see different ones."""
    told = expected()
    kinds = ("recency", "relevance", "free", "load", "diary by")
    searches = {name: found for name, found in told.items() if name.startswith(kinds)}
    empty = [name for name, found in searches.items() if not found]
    assert len(empty) < 0.2 * len(searches), empty
    prompts = [told[name][0]["context"] for name in told if name.startswith("prompt")]
    assert sum(bool(context["memories"]) for context in prompts) > len(prompts) / 2
    assert len({str(context) for context in prompts}) == len(prompts)
    assert told["verify_index"] == told["differences"] == []
