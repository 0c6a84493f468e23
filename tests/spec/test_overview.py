"""What an operator lists, on every server: personas, conversations, people, a log by page, duplicates."""

from __future__ import annotations

import pytest

from core.access import table_overview as overview
from core.database.engine import Database
from core.messages import table_lines
from tests.spec.stage import Stage

pytestmark = pytest.mark.engines("sqlite")

PERSONA = "an-overview"


def test_l35_personas_conversations_and_people_are_listed_counted_and_found(db: Database) -> None:
    """Letters of a name count in any case where the server compares so; signs of a pattern are letters."""
    stage = Stage(db, PERSONA)
    for number in range(3):
        stage.say(f"line {number}", path="tg/42", minutes=50 - number, title="Tea 100% room")
    stage.say("in private", path="tg/ann", privacy="direct", minutes=5)
    Stage(db, "an-overview-of-another").say("elsewhere", path="tg/77")
    shown, total = overview.list_conversations(db, PERSONA, "", 10)
    assert [(each.key, each.messages, each.is_private) for each in shown] == [("tg/ann", 1, True), ("tg/42", 3, False)]
    assert total == 2 and overview.list_conversations(db, PERSONA, "", 1, 1)[0][0].key == "tg/42"
    assert [each.key for each in overview.list_conversations(db, PERSONA, "100%", 10)[0]] == ["tg/42"]
    assert overview.list_conversations(db, PERSONA, "%", 10)[1] == 1
    assert overview.list_conversations(db, PERSONA, "tg/77", 10) == ([], 0)
    found = overview.find_conversation(db, PERSONA, "tg/42")
    assert found is not None and (found.title, found.messages) == ("Tea 100% room", 3)
    assert overview.find_conversation(db, PERSONA, "tg/77") is None
    people, known = overview.list_people(db, PERSONA, "", 10)
    assert known == 1 and (people[0].key, people[0].name, people[0].messages) == ("tg/ann", "Ann", 4)
    assert overview.list_people(db, PERSONA, "tg/a", 10)[1] == 1
    assert [each.key for each in overview.read_identities(db, PERSONA, "tg/ann")] == ["tg/ann"]
    assert overview.read_names(db, PERSONA, ["tg/ann", "tg/bob"]) == {"tg/ann": "Ann"}
    assert {key: each.title for key, each in overview.read_titles(db, PERSONA, ["tg/42", "tg/77"]).items()} == {
        "tg/42": "Tea 100% room"
    }
    assert PERSONA in overview.list_personas(db, 10_000)
    assert overview.choose_persona(db, PERSONA) == PERSONA


def test_l35_a_log_is_read_page_by_page_without_a_gap(db: Database) -> None:
    stage = Stage(db, "a-log")
    rows = [stage.say(f"line {n}", path="tg/42", minutes=10 - n // 3) for n in range(9)]
    pages, before = [], None
    while page := table_lines.read_log(db, "a-log", "tg/42", 4, before):
        pages.append([each.line.row_id for each in page])
        before = page[0].line.row_id
    assert [row for page in reversed(pages) for row in page] == rows
    assert table_lines.read_log(db, "a-log", "tg/43", 4, rows[0]) == []
