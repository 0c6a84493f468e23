"""A setting that is changed acts on stories by itself (S37, G17)."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from sqlalchemy import Connection, select

from core import config, jobs, stories
from core.database.engine import Database
from core.database.schema import chat_history_cache as chat_table
from core.database.schema_stories import memory_jobs
from core.messages import table_refreshing
from core.scope import Scope
from tests.spec.stage import Stage
from tests.spec.story import Story
from tests.store.world import open_db, rows_of


@pytest.fixture
def own() -> Iterator[Database]:
    """A database of the test's own, as a setting concerns every persona in it."""
    db = open_db("sqlite://")
    yield db
    db.close()


def told(db: Database, scenes: int = 3) -> Story:
    """Return a story of some scenes of two messages, nothing of it hidden."""
    story = Story(Stage(db), auto_hide_scene_count=-1)
    for _ in range(scenes):
        story.set(story.say("one", "two")[-1], "scene_break", True)
    return story


def hidden(story: Story) -> list[bool]:
    return [bool(row.hidden) for row in rows_of(story.db, chat_table, story.stage.persona)]


def work(story: Story) -> list[tuple[str, str]]:
    """Do what waits as a worker would that was told of no settings."""
    return [(run.type, run.state) for run in jobs.run_pending(db=story.db, scope=Scope(story.stage.persona))]


def test_s37_g17_a_changed_setting_hides_what_it_says_without_a_further_call(own: Database) -> None:
    story, other = told(own), told(own)
    assert not any(hidden(story))
    assert config.set_value("AUTO_HIDE_SCENE_COUNT", 2, own).stored
    assert config.set_value("INCLUDE_USER_MESSAGES", 0, own).stored
    assert work(story) == [("REFRESH", "completed")]
    assert hidden(story) == [True, True, True, True, False, False]
    assert (work(other), sum(hidden(other))) == ([("REFRESH", "completed")], 4)
    assert config.set_value("AUTO_HIDE_SCENE_COUNT", 2, own).reason == "unchanged"
    assert work(story) == []


def test_s37_g17_another_process_goes_by_the_stored_value_at_once(own: Database) -> None:
    story = told(own)
    held = config.database_values_of(own)
    config.set_value("AUTO_HIDE_SCENE_COUNT", 3, own)
    held._written.clear()  # as in a process that has read the table a moment before
    held.fill({})
    assert work(story) == [("REFRESH", "completed")]
    assert sum(hidden(story)) == 2


def test_s37_g17_only_open_stories_are_refreshed_and_only_by_flags_that_decide(own: Database) -> None:
    story = told(own)
    plain = Story(Stage(own))
    plain.say("no story here")
    config.set_value("DIARY_HISTORY_DAYS", 3, own)
    assert work(story) == []
    off = told(own)
    stories.switch_stories(False, off.path, db=own, scope=off.scope)
    config.set_value("TOKEN_CORRECTION", 1.5, own)
    assert [work(each) for each in (plain, off, story)] == [[], [], [("REFRESH", "completed")]]


class UndoneError(Exception):
    """Takes back what a transaction has written: other personas of the database keep their queues."""


def test_s37_g17_stories_are_found_on_every_engine(stage: Stage) -> None:
    assert stage.db is not None
    story = told(stage.db)
    jobs_of = select(memory_jobs.c.type).where(memory_jobs.c.persona_id == story.stage.persona)
    found: list[str] = []

    def tried(connection: Connection) -> None:
        table_refreshing.queue_refreshes(connection, story.db)
        table_refreshing.queue_refreshes(connection, story.db)
        found[:] = connection.execute(jobs_of).scalars()
        raise UndoneError

    with pytest.raises(UndoneError):
        story.db.transaction(tried, source="test")
    assert found.count("REFRESH") == 1
