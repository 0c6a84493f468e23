"""Every statement of a call fails with every class of error: the caller is told the cause, or nothing is lost."""

import itertools
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pymysql
import pytest
from sqlalchemy import exc

from core import ai_diary, conversations, db, forgetting, jobs, prompt_engine, synth_core_memory
from core import chat_history_cache as chat
from core.database.engine import Database
from core.errors import StoreError
from tests.databases import watched
from tests.spec.stage import Stage, message

pytestmark = [pytest.mark.engines("sqlite"), pytest.mark.slow]

PASSING = {
    1040: ("Too many connections", "max_connections"), 1205: ("Lock wait timeout exceeded", "Another session holds"),
    1213: ("Deadlock found", "try again"), 1290: ("running with the --read-only option", "read only"),
    2013: ("Lost connection", "try again"),
}  # fmt: skip
"""Errors after which the same call may succeed, what the server says, and what the caller is told where it does not."""
LASTING = {
    1021: ("Disk full", "disk is full"),
    1005: ('Can\'t create table `x` (errno: 28 "No space left on device")', "disk is full"),
    3: ("Error writing file 'x' (OS errno 28 - No space left on device)", "disk is full"),
    1054: ("Unknown column 'x'", "db migrate"),
    1114: ("The table is full", "free space"),
    1142: ("INSERT command denied to user 'pe'@'h' for table 'memories'", "lacks the right INSERT"),
    1146: ("Table 'pe.memories' doesn't exist", "db migrate"),
    1153: ("Got a packet bigger than 'max_allowed_packet' bytes", "max_allowed_packet"),
}
"""Errors that stay: every statement after the first fails with it too."""
MOST_PLACES = 12
"""Statements of a long call that fail in turn; of a short one every one does."""
_numbers = itertools.count()


class Fail:
    """Raises an error before the statement with a number, and before all after it where it is lasting."""

    def __init__(self, at: int = 0, number: int = 0, said: str = "", *, is_lasting: bool = False) -> None:
        self.at, self.number, self.said, self.is_lasting, self.seen = at, number, said, is_lasting, 0

    def __call__(self, statement: str, *_: Any) -> None:
        self.seen += 1
        if self.seen == self.at or (self.is_lasting and self.seen > self.at):
            original = pymysql.err.OperationalError(self.number, self.said)
            raise exc.OperationalError(statement, {}, original, connection_invalidated=self.number == 2013)


@contextmanager
def failing(db: Database, fail: Fail) -> Iterator[None]:
    """Let `fail` see every statement of a handle, those on the driver's own cursor too."""
    db.watchers.append(fail)
    try:
        with watched(db, fail):
            yield
    finally:
        db.watchers.remove(fail)


@pytest.fixture(autouse=True)
def without_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Try again at once: how long a handle waits before is not looked at here."""
    monkeypatch.setattr(time, "sleep", lambda _: None)


CALLS: dict[str, Callable[[str, str, dict[str, Any]], Any]] = {
    "save a message": lambda path, _, given: chat.save_chat_message(path, "tofu tea", "Ann", "ann", **given),
    "save a memory": lambda _, text, given: conversations.add_saved_memory(text, **given),
    "insert a memory": lambda _, text, given: db.insert_memory(text, "Ann", "chat", ["tofu"], **given),
    "add a diary entry": lambda _, text, given: ai_diary.add_diary_entry(text, **given),
    "queue an operation": lambda *_, given: jobs.enqueue_operation("CONSOLIDATION", **given),
    "read a history": lambda path, _, given: chat.load_chat_history(path, **given),
    "search": lambda *_, given: synth_core_memory.search_memories(keywords=["tofu"], **given),
    "forget": lambda path, _, given: forgetting.forget(conversation=path, **given),
}


def _call(stage: Stage, name: str) -> None:
    number = next(_numbers)
    path = f"tg/{number}"
    CALLS[name](path, f"tofu {number}", given={"db": stage.db, "scope": stage.scope(path, participant="tg/ann")})


def _places(count: int) -> range:
    return range(1, count + 1, -(-count // MOST_PLACES))


def _count(stage: Stage, name: str) -> int:
    watch = Fail()
    for _ in range(2):  # what a handle looks up once is not counted
        watch.seen = 0
        with failing(stage.db, watch):
            _call(stage, name)
    return watch.seen


@pytest.mark.parametrize("is_lasting", [True, False])
@pytest.mark.parametrize("name", CALLS)
def test_f50_any_error_is_told_with_its_remedy_or_tried_again(stage: Stage, name: str, is_lasting: bool) -> None:
    told, places = 0, _places(_count(stage, name))
    for number, (said, remedy) in (LASTING if is_lasting else PASSING).items():
        for at in places:
            fail = Fail(at, number, said, is_lasting=is_lasting)
            with failing(stage.db, fail):
                try:
                    _call(stage, name)
                except StoreError as error:
                    told += 1
                    assert error.number == number and remedy in str(error), (name, at, number, str(error))
                    assert "tofu" not in str(error)
            assert is_lasting or fail.seen >= at
    assert told >= len(LASTING) or not is_lasting


def test_f50_a_prompt_names_the_error_of_any_statement_and_comes_all_the_same(stage: Stage) -> None:
    stage.say("tofu there", "tg/43", "Bob")
    stage.remember("Ann likes tofu", ["tofu"])

    def build() -> tuple[dict[str, Any], dict[str, Any]]:
        return prompt_engine.explain_json_prompt(message("tofu"), db=stage.db, scope=stage.scope())

    watch = Fail()
    with failing(stage.db, watch):
        whole = build()[0]
    for number, (said, remedy) in LASTING.items():
        for at in _places(watch.seen):
            with failing(stage.db, Fail(at, number, said)):
                prompt, report = build()
            assert list(prompt) == list(whole) and prompt["input"] == whole["input"]
            if prompt["context"] != whole["context"]:
                assert any(remedy in error["message"] for error in report["errors"]), (at, number, report["errors"])
