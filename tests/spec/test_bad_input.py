"""Every named case of F60 to F78 through a door: its own error, nothing of it stored, the process goes on."""

from __future__ import annotations

import asyncio
import inspect
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from core import aio, jobs
from core.ai_diary import unarchive_entries
from core.chat_history_cache import load_chat_history, save_chat_message
from core.conversations import add_recent_conversation, list_recent_conversations
from core.database.engine import Database
from core.database.schema import chat_history_cache
from core.db import check_server, configure, forget, insert_memory, open_database
from core.errors import ConfigError, CoreError, MessageError, ScopeError, StoreError, TransferError
from core.lifelong import deep_consolidation, delete_items, search_items
from core.privacy import set_conversation_privacy, set_privacy
from core.prompt_engine import build_json_prompt, reduce_prompt_for_llm_limit
from core.scope import Scope, use_scope
from core.short_term import store_short_term_memory, write_turn
from core.stories import auto_hide_plan
from core.synth_core_memory import explain_search, search_memories, silently_record_memory
from core.transfer import export_items
from core.transfer.exports import export_chat
from tests.spec.stage import Stage
from tests.store.world import count, of_today

MESSAGE = {"message_id": "1", "date": "2026-03-10T12:00:00Z", "text": "hi", "interface_path": "tg/1"}


def _call(stage: Stage, function: Callable[..., Any], *arguments: Any, **more: Any) -> Any:
    return function(*arguments, db=stage.db, scope=more.pop("scope", stage.scope()), **more)


@pytest.mark.parametrize("bad", [0, -1, "x", True, math.nan, math.inf])
def test_f65_a_limit_that_cannot_be_is_refused_by_every_door(stage: Stage, bad: Any) -> None:
    whole = _call(stage, build_json_prompt, MESSAGE, {}, limit_tokens=None, max_chars=None)
    with pytest.raises(ValueError, match="limit"):
        _call(stage, build_json_prompt, MESSAGE, {}, limit_tokens=bad)
    with pytest.raises(ValueError, match="max_chars"):
        _call(stage, build_json_prompt, MESSAGE, {}, max_chars=bad)
    with pytest.raises(ValueError, match=r"limit|max_chars"):
        reduce_prompt_for_llm_limit(whole, bad)


@pytest.mark.parametrize(
    "value", ["k" * 600, "k" * 300, "a\x00b", "\ud800", True, 1.5, [], pytest.param(10**5000, id="digits"), b"tg/1"]
)
def test_f70_an_id_that_cannot_be_one_is_refused_by_name(stage: Stage, value: Any) -> None:
    for call, field in (
        (lambda: _call(stage, save_chat_message, value, "hi"), "interface_path"),
        (lambda: _call(stage, save_chat_message, "tg/1", "hi", sender_id=value), "sender_id"),
        (lambda: _call(stage, save_chat_message, "tg/1", "hi", message_id=value), "message_id"),
        (lambda: _call(stage, build_json_prompt, {"text": "hi", "interface_path": value}), "interface_path"),
        (lambda: stage.scope(participant=value), "participant"),
        (lambda: Scope(persona=value), "persona"),
    ):
        with pytest.raises((MessageError, ScopeError)) as raised:
            call()  # type: ignore[no-untyped-call]
        assert getattr(raised.value, "fields", (field,)), field
        assert len(str(raised.value)) < 300
    assert count(stage.db, chat_history_cache, stage.persona) == 0  # type: ignore[arg-type]


CONNECTIONS = {
    "postgres://u:canary-pw@h/n": "scheme",
    "mysql://u:canary-pw@h": "names no database",
    "mysql://u:canary-pw@127.0.0.1:1/n": "could not be reached",
    "sqlite:////no/such/folder/x.db": "does not exist",
    "persona.db": "'persona.db' is not a connection string",
    "mysql://u:canary-pw@h:port/n": "connection string",
    "mysql://u:canary-pw@h/n?tls=maybe": "off, on or verify",
    "mysql://u:canary-pw@h/n?tls_ca=/no/such/file": "cannot be read as certificates",
    "mysql://u:canary-pw\udcff@h/n": "character",
    "mysql://u:canary-pw@..../n": "host",
    "sqlite:///a\0b.db": "character",
    "sqlite://persona.db": "sqlite:///persona.db",
    "sqlite://u:canary-pw@h/persona.db": "three slashes",
    "sqlite:///a?b.db": "%3F",
    "mysql://u:canary-pw@h/n?tls": "Behind the question mark",
    "mysql://u:canary-pw@h/n?tls=": "Behind the question mark",
}


@pytest.mark.parametrize(("url", "said"), CONNECTIONS.items())
def test_f73_a_connection_string_names_its_fault_and_never_the_password(url: str, said: str) -> None:
    with pytest.raises((ConfigError, StoreError)) as raised:
        open_database(url, settings={"DB_TIMEOUT_SECONDS": 1})
    told = str(raised.value)
    assert said in told and "127.0.0.1" not in told and "canary-pw" not in told


def test_f65_a_switch_that_is_none_is_refused_by_name(stage: Stage) -> None:
    for bad in ([], {}, "no", 2, None):
        with pytest.raises(MessageError, match=r"level.*True or False"):
            _call(stage, load_chat_history, "tg/1", level=bad)


@pytest.mark.engines("mariadb", "mysql")
def test_f73_a_login_that_fails_says_what_to_look_at(db: Database) -> None:
    """On a loopback address no encryption is asked for; a server says of who needs it: access denied."""
    make = "CREATE USER tls_only IDENTIFIED BY 'canary-pw' REQUIRE SSL"
    db.transaction(lambda c: c.exec_driver_sql(make), source="test")
    try:
        for changed, said in (
            ({"username": "tls_only", "password": "canary-pw"}, r"requires TLS.*\?tls=on"),
            ({"username": "nobody_here", "password": "canary-pw"}, "user and the password"),
            ({"database": "no_such_database"}, "does not exist"),
        ):
            url = db.target.url.set(**changed).render_as_string(hide_password=False)
            with pytest.raises(StoreError, match=said) as raised:
                check_server(Database(url, timeout_seconds=5))
            assert "canary-pw" not in str(raised.value)
    finally:
        db.transaction(lambda c: c.exec_driver_sql("DROP USER tls_only"), source="test")


@pytest.mark.parametrize(
    ("name_given", "given_value"), [("db", "sqlite:///never-opened.db"), ("db", 7), ("settings", 7)]
)
def test_g25_what_is_no_handle_and_no_settings_is_no_error_from_the_depths_of_any_door(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name_given: str, given_value: object
) -> None:
    """What a call does not need it need not look at; what it takes for a handle it names."""
    monkeypatch.chdir(tmp_path)
    wrong, refused = [], 0
    public = {name: value for name, value in vars(aio).items() if inspect.iscoroutinefunction(value)}
    for name in set(public) - {"configure"}:  # which takes a connection string
        call = inspect.unwrap(public[name])
        parameters = inspect.signature(call).parameters
        if name_given not in parameters:
            continue
        needed = [each for each in parameters.values() if each.default is each.empty and "VAR" not in each.kind.name]
        given = {each.name: _anything(each) for each in needed}
        try:
            call(**{**given, name_given: given_value})
        except (AttributeError, TypeError) as error:
            refused += 1
            expected = f"{name_given} is of type {type(given_value).__name__}. Pass "
            wrong += [f"{name}: {error}"] * (not str(error).startswith(expected))
        except (CoreError, ValueError):
            pass
    assert wrong == [] and refused > 100


def _anything(parameter: inspect.Parameter) -> object:
    kind = str(parameter.annotation)
    if kind.startswith(("int", "float")):
        return 5
    if parameter.name == "message" or "Mapping" in kind:
        return MESSAGE
    return ["x"] if "Sequence" in kind or "list" in kind or "Iterable" in kind else "x"


def test_g25_a_file_that_cannot_be_written_is_an_error_of_ours(stage: Stage, tmp_path: Path) -> None:
    stage.say("hi", path="tg/1")
    with pytest.raises(TransferError, match="File name too long"):
        export_chat(tmp_path / ("x" * 300), conversation="tg/1", db=stage.db, scope=stage.scope())


def test_g25_a_value_of_any_length_is_not_repeated_whole(stage: Stage) -> None:
    for change in (set_privacy, set_conversation_privacy):
        with pytest.raises(MessageError) as raised:
            _call(stage, change, "tg/ann", "x" * 70_000)
        assert len(str(raised.value)) < 200


ENDLESS: dict[str, Callable[[Stage, Any], Any]] = {
    "a recent conversation": lambda stage, items: _call(stage, add_recent_conversation, items),
    "a short-term entry": lambda stage, items: _call(stage, store_short_term_memory, "tg/7", "tg/42", items),
    "a turn": lambda stage, items: _call(stage, write_turn, {"user": "tg/7", "channel": "tg/42"}, "hi", messages=items),
    "answers": lambda stage, items: _call(
        stage, write_turn, {"user": "tg/7", "channel": "tg/42", "messages": ["hi"]}, responses=items
    ),
    "what was recalled": lambda stage, items: _call(stage, silently_record_memory, "I like tea", recalled=items),
    "items to delete": lambda stage, items: _call(stage, delete_items, items),
    "people to search": lambda stage, items: _call(stage, search_items, participant=items),
    "operations to cancel": lambda stage, items: _call(stage, jobs.cancel, items),
    "types of operations": lambda stage, items: _call(stage, jobs.list_operations, types=items),
    "entries to restore": lambda stage, items: _call(stage, unarchive_entries, items),
}


@pytest.mark.engines("sqlite")  # no server does it differently
@pytest.mark.parametrize("name", ENDLESS)
def test_f62_endless_input_is_not_read_to_its_end(stage: Stage, name: str) -> None:
    """A generator that never ends must not hold up the host, nor look like an empty list."""
    read = 0

    def items() -> Iterator[Any]:
        nonlocal read
        while read < 100_000:
            read += 1
            yield read if " to " in name else " "

    try:
        done = ENDLESS[name](stage, items())
        assert done.reason == "error"
    except MessageError as error:
        assert "more than 10000 items" in str(error)
    assert read <= 10_001


@pytest.mark.engines("sqlite")  # no server does it differently
def test_g25_a_default_that_is_none_is_refused_where_it_is_set(stage: Stage) -> None:
    """Each later call would fail for it, far from the line that is wrong."""
    wrong: tuple[dict[str, Any], ...] = ({"db": 7}, {"settings": 7}, {"settings": {"CONTEXT_VERBOSTY": 4}})
    for given in wrong:
        with pytest.raises((TypeError, ConfigError), match=r"^(db is|settings is|'CONTEXT_VERBOSTY' is)"):
            configure(**given)
    with pytest.raises(ScopeError, match="scope is of type str"), use_scope("iris"):  # type: ignore[arg-type]
        pass


@pytest.mark.engines("sqlite")  # no server does it differently
def test_g25_a_value_of_a_wrong_type_is_named(stage: Stage) -> None:
    stage.say("hi", "tg/1")
    for name, call, bad in (
        ("ids", jobs.cancel, 7), ("ids", unarchive_entries, 7), ("states", jobs.list_operations, None),
        ("limit", jobs.list_operations, "x"), ("limit", jobs.list_operations, None), ("limit", jobs.run_pending, "x"),
        ("limit", export_items, None), ("participant", search_items, 7), ("count", auto_hide_plan, 10**30),
    ):  # fmt: skip
        with pytest.raises((MessageError, ValueError), match=rf"^{name} is "):
            _call(stage, call, **{name: bad}, scope=stage.scope("tg/1"))
    _call(stage, deep_consolidation, reason="\ud800")


@pytest.mark.engines("sqlite")  # no server does it differently
def test_f62_of_a_long_list_the_newest_are_kept(stage: Stage) -> None:
    """A host that hands in a whole chat gets a summary of how it ended."""
    texts = [f"message {n}" for n in range(20_000)]
    assert _call(stage, add_recent_conversation, texts, wait=True, scope=stage.scope("tg/42")).stored
    (listed,) = _call(stage, list_recent_conversations, scope=stage.scope("tg/42"))
    assert "message 19" in listed["summary"]


def test_f60_the_first_call_by_position_works_or_names_what_is_missing(migrated_url: str) -> None:
    """What people type first, before they read a signature."""
    with of_today(migrated_url) as db:
        insert_memory("Ann keeps a cat.", db=db)
        assert [hit["snippet"] for hit in search_memories("cat", db=db)] == ["Ann keeps a cat."]
        assert explain_search("cat", db=db)[0] == search_memories("cat", db=db)
        for call in (lambda: forget("web/ann", db=db), lambda: asyncio.run(aio.forget("web/ann", db=db))):
            with pytest.raises(
                MessageError, match=r"forget\('web/ann'\) does not say what .* forget\(participant='web/"
            ):
                call()


@pytest.mark.parametrize("door", [search_memories, explain_search])
def test_g25_an_argument_that_is_unknown_is_named_with_the_function_that_was_called(stage: Stage, door: Any) -> None:
    with pytest.raises(TypeError, match=rf"^{door.__name__}\(\) got an unexpected keyword argument 'tag'$"):
        door("cat", tag=["pets"], db=stage.db)
