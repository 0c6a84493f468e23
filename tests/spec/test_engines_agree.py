"""G27: the same calls on the same rows give the same results on every engine."""

from contextlib import closing

import pytest

from tests.store.scenario import differing, expected, play
from tests.store.world import open_db


@pytest.mark.slow
@pytest.mark.engines()
@pytest.mark.dialects
def test_g27_one_story_gives_the_same_on_every_engine(fresh_migrated_url: str) -> None:
    with closing(open_db(fresh_migrated_url)) as db:
        assert differing(play(db), expected()) == []
