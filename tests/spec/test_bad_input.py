"""Bad input through every door: its own error, nothing of it stored, no secret told (F60 to F78, G19, G25, G26)."""

import asyncio
import inspect
import logging
import math
import traceback
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import typer

import core.cli
from core import aio, chat_history_cache, jobs, lifelong, llm, privacy, relationships, synth_tagging
from core.ai_diary import unarchive_entries
from core.chat_history_cache import load_chat_history, save_chat_message
from core.cli import app as command
from core.config import load, show
from core.config.levels import SECRET_FILES
from core.conversations import add_recent_conversation, export_markdown, list_recent_conversations
from core.database.engine import Database
from core.database.schema import TABLES
from core.db import check_server, configure, forget, insert_memory, migrate, open_database
from core.errors import ConfigError, CoreError, MessageError, ScopeError, StoreError
from core.lifelong import delete_items, search_items
from core.prompt_engine import build_json_prompt, explain_json_prompt, reduce_prompt_for_llm_limit, to_messages
from core.scope import Scope
from core.semantic import drop_vectors
from core.short_term import get_stats, store_short_term_memory, write_turn
from core.stories import auto_hide_plan
from core.synth_core_memory import explain_search, search_memories, silently_record_memory
from core.transfer import import_items
from tests.api_page import read_signature
from tests.spec.stage import Stage
from tests.store import scenario
from tests.store.world import count, of_today, open_db

MESSAGE = {"message_id": "1", "date": "2026-03-10T12:00:00Z", "text": "hi", "interface_path": "tg/1"}
PUBLIC = {name: inspect.unwrap(call) for name, call in vars(aio).items() if inspect.iscoroutinefunction(call)}
TURN = {"user": "tg/7", "channel": "tg/42"}
PASSWORD, KEY, TOKEN = "canary-pw-7f3a", "canary-key-7f3a", "canary-token-7f3a"
CANARIES = (PASSWORD, KEY, TOKEN)
AWAY = f"mysql://user:{PASSWORD}@127.0.0.1:1/none"
_WAITING = {("serve",), ("worker",), ("demo",), ("mcp",)}
"""Subcommands that go on for good, or bring their own database."""
_NEEDED = {
    ("build",): ["hi"], ("explain",): ["hi"], ("search",): ["hi"], ("remember",): ["hi"], ("import",): ["none.jsonl"],
    ("export",): ["out.jsonl", "--conversation", "tg/1"], ("tag",): ["hi"],
}  # fmt: skip


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
    assert count(stage.db, TABLES["chat_history_cache"], stage.persona) == 0  # type: ignore[arg-type]


@pytest.mark.parametrize(("url", "said"), {
    "postgres://u:canary-pw@h/n": "scheme", "mysql://u:canary-pw@h": "names no database",
    "mysql://u:canary-pw@127.0.0.1:1/n": "could not be reached", "sqlite:////no/such/folder/x.db": "does not exist",
    "persona.db": "'persona.db' is not a connection string", "mysql://u:canary-pw@h:port/n": "connection string",
    "mysql://u:canary-pw@h/n?tls=maybe": "off, on or verify",
    "mysql://u:canary-pw@h/n?tls_ca=/no/such/file": "cannot be read as certificates",
    "mysql://u:canary-pw\udcff@h/n": "character", "mysql://u:canary-pw@..../n": "host",
    "sqlite:///a\0b.db": "character", "sqlite://persona.db": "sqlite:///persona.db",
    "sqlite://u:canary-pw@h/persona.db": "three slashes", "sqlite:///a?b.db": "%3F",
    "mysql://u:canary-pw@h/n?tls": "Behind the question mark",
    "mysql://u:canary-pw@h/n?tls=": "Behind the question mark",
    "mysql://u:canary-pw@h/n?canary-pw=1": "Behind the question mark",
    "mysql://u:canary-pw@h/n?tls=canary-pw": "off, on or verify", "sqlite:///x.db?mode=memory": "mode=ro",
    "sqlite:///x.db?mode=ro&timeout=5": "mode=ro",
}.items())  # fmt: skip
def test_f73_a_connection_string_names_its_fault_and_never_the_password(url: str, said: str) -> None:
    with pytest.raises((ConfigError, StoreError)) as raised:
        open_database(url, settings={"DB_TIMEOUT_SECONDS": 1})
    told = str(raised.value)
    assert said in told and "127.0.0.1" not in told
    assert "canary-pw" not in told + str(vars(raised.value)) + "".join(traceback.format_exception(raised.value))
    assert "DATABASE_URL" not in told  # which the host has not set


def test_numbers_of_numpy_are_ids_limits_and_counts(stage: Stage) -> None:
    by: dict[str, Any] = {"db": stage.db, "scope": stage.scope("tg/7", participant="tg/7")}
    seven = np.int64(7)
    stored = save_chat_message("tg/7", "tea", message_id=seven, sender_id=seven, **by)
    assert save_chat_message("tg/7", "tea", message_id=7, sender_id=7, **by) == (False, stored.id, "duplicate")
    assert save_chat_message("tg/7", "more tea", reply_to=np.int32(7), **by).stored
    assert chat_history_cache.edit_chat_message(np.int64(stored.id or 0), "green tea", **by).stored
    assert explain_json_prompt({**MESSAGE, "from_user": {"id": seven}}, max_chars=np.int64(9000), **by)
    item = np.int64(insert_memory("tea", "ann", "chat", [], **by))
    assert len(search_memories(query="tea", limit=seven, exclude=[("memories", item)], **by)) == 2
    assert search_items("tea", limit=seven, offset=np.int64(0), **by)["total"] == 1
    assert delete_items([item], **by).count == 1
    assert relationships.adjust("tg/7", affinity_delta=np.int64(5), **by).relationship["affinity"] == 5
    assert len(relationships.list_recent(limit=seven, **by)) == 1 and jobs.list_operations(limit=seven, **by) == []


def test_f65_a_switch_that_is_none_is_refused_by_name(stage: Stage) -> None:
    switches: dict[str, list[Callable[..., Any]]] = {
        "level": [partial(load_chat_history, "tg/1")],
        "dry_run": [partial(forget, participant="tg/1"), lifelong.prune_ltm],
        "operator": [lifelong.search_items, partial(lifelong.profile, "tg/1"), partial(lifelong.delete_items, [1])],
        "archived": [lifelong.search_items],
        "touch": [partial(relationships.adjust, "tg/1")],
    }
    for name, function in ((name, function) for name, functions in switches.items() for function in functions):
        for bad in ([], {}, "no", 2, None):
            with pytest.raises(MessageError, match=rf"{name}.*True or False"):
                _call(stage, function, **{name: bad})


@pytest.mark.parametrize("bad", ["tg/\x00", "a" * 300, " ", b"x", True])
def test_f70_a_profile_is_of_a_key_that_can_be(stage: Stage, bad: Any) -> None:
    with pytest.raises(MessageError, match="participant"):
        _call(stage, lifelong.profile, bad, scope=stage.scope(participant="tg/1"))
    stage.say("I play the cello.", "tg/1")
    assert _call(stage, lifelong.profile, 0, scope=stage.scope("tg/1", participant="tg/ann")) == []  # 0 is an id


@pytest.mark.parametrize("bad", [True, 1.0, "5", -1])
def test_f65_a_number_of_operations_is_a_whole_one(stage: Stage, bad: Any) -> None:
    for function in (jobs.list_operations, jobs.run_pending):
        with pytest.raises(ValueError, match="limit"):
            _call(stage, function, limit=bad)


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


@pytest.mark.parametrize(("name", "value"), [("db", "sqlite:///never-opened.db"), ("db", 7), ("settings", 7)])
def test_g25_no_handle_and_no_settings_are_told_by_every_door(own_folder: Path, name: str, value: object) -> None:
    """What a call does not need it need not look at; what it takes for a handle it names."""
    wrong, refused = [], 0
    for called in set(PUBLIC) - {"configure"}:  # which takes a connection string
        call = PUBLIC[called]
        if name not in read_signature(call).parameters:
            continue
        try:
            call(**{**_needed(call), name: value})
        except (AttributeError, TypeError) as error:
            refused += 1
            expected = f"{name} is of type {type(value).__name__}. Pass "
            wrong += [f"{called}: {error}"] * (not str(error).startswith(expected))
        except (CoreError, ValueError):
            pass
    assert wrong == [] and refused > 100


def _needed(call: Callable[..., Any]) -> dict[str, object]:
    needed = [each for each in read_signature(call).parameters.values() if each.default is each.empty]
    return {each.name: _anything(each) for each in needed if "VAR" not in each.kind.name}


def _anything(parameter: inspect.Parameter) -> object:
    kind = str(parameter.annotation)
    if kind.startswith(("int", "float")):
        return 5
    if parameter.name == "message" or "Mapping" in kind:
        return MESSAGE
    return ["x"] if "Sequence" in kind or "list" in kind or "Iterable" in kind else "x"


@pytest.mark.parametrize(("name", "door"), {
    "a recent conversation": lambda stage, items: _call(stage, add_recent_conversation, items),
    "a short-term entry": lambda stage, items: _call(stage, store_short_term_memory, "tg/7", "tg/42", items),
    "a turn": lambda stage, items: _call(stage, write_turn, TURN, "hi", messages=items),
    "answers": lambda stage, items: _call(stage, write_turn, TURN, responses=items, messages=["hi"]),
    "what was recalled": lambda stage, items: _call(stage, silently_record_memory, "I like tea", recalled=items),
    "items to delete": lambda stage, items: _call(stage, delete_items, items),
    "people to search": lambda stage, items: _call(stage, search_items, participant=items),
    "operations to cancel": lambda stage, items: _call(stage, jobs.cancel, items),
    "entries to restore": lambda stage, items: _call(stage, unarchive_entries, items),
}.items())  # fmt: skip
def test_f62_endless_input_is_not_read_to_its_end(stage: Stage, name: str, door: Any) -> None:
    """A generator that never ends must not hold up the host, nor look like an empty list."""
    read = 0

    def items() -> Iterator[Any]:
        nonlocal read
        while read < 100_000:
            read += 1
            yield read if " to " in name else " "

    try:
        assert door(stage, items()).reason == "error"
    except MessageError as error:
        assert "more than 10000 items" in str(error)
    assert read <= 10_001


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
        told = r"forget\('web/ann'\) does not say what .* forget\(participant='web/"
        for call in (lambda: forget("web/ann", db=db), lambda: asyncio.run(aio.forget("web/ann", db=db))):
            with pytest.raises(MessageError, match=told):
                call()


def test_g25_an_argument_that_is_unknown_is_named_with_the_function_that_was_called(stage: Stage) -> None:
    otherwise = {"build_context", "configure", "free_memory_search", "insert_memory", "open_database", "scope_of"}
    declared, wrong = PUBLIC.keys() - otherwise, []
    for called in (explain_search, *(PUBLIC[name] for name in declared)):
        given = _needed(called)
        blank = {name: "" if value == "x" else value for name, value in given.items()}
        for each in (given, blank):
            try:
                wrong.append(f"{called.__name__}: {called(**each, scop=stage.scope())}")
            except TypeError as error:
                expected = f"{called.__name__}() got an unexpected keyword argument 'scop'"
                wrong += [f"{called.__name__}: {error}"] * (str(error) != expected)
            except (CoreError, ValueError):
                pass  # another value was refused before
    assert not wrong, "\n".join(wrong)
    assert len(declared) > 100


@pytest.fixture
def surroundings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Path]:
    monkeypatch.chdir(tmp_path)
    values = dict.fromkeys(SECRET_FILES.values(), TOKEN) | {"DATABASE_URL": AWAY, "LLM_API_KEY": KEY}
    limits = {"LLM_BASE_URL": "http://127.0.0.1:1/v1", "LLM_TIMEOUT_SECONDS": "1", "DB_TIMEOUT_SECONDS": "0.5"}
    for name, value in {**values, **limits}.items():
        monkeypatch.setenv(name, value)
    yield tmp_path
    configure()


def _leaves(group: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    for name, each in sorted(group.commands.items()):
        if hasattr(each, "commands"):
            yield from _leaves(each, (*path, name))
        else:
            yield (*path, name)


@pytest.mark.slow
def test_g19_no_subcommand_prints_a_secret(surroundings: Path, capsys: pytest.CaptureFixture[str], caplog: Any) -> None:
    caplog.set_level(logging.DEBUG)
    ran = 0
    for path in _leaves(typer.main.get_command(command.app)):
        needed = _NEEDED.get(path, [])
        calls = [[*path, "--help"]]
        if path not in _WAITING:
            calls += [[*path, *needed, "--debug"]]
            calls += [[*path, *needed, "--database", f"nope://u:{PASSWORD}@h/n"]]
        for arguments in calls:
            try:
                core.cli.main(arguments)
            except CoreError as error:  # --debug shows where it came from
                print("".join(traceback.format_exception(error)))
            ran += 1
    said = "".join(capsys.readouterr()) + caplog.text
    assert [each for each in CANARIES if each in said] == [] and ran > 60 and "could not be" in said


@pytest.mark.parametrize(("name", "door"), {
    "open_database": open_database,
    "check_server": check_server,
    "migrate": migrate,
    "search": lambda: search_memories(tags=["a"]),
    "save": lambda: chat_history_cache.save_chat_message("tg/1", "hi", sender_id="u"),
    "privacy": lambda: privacy.set_privacy("tg/1", "full"),
    "jobs": lambda: jobs.run_pending(limit=1),
    "lifelong": lambda: lifelong.search_items("a"),
    "stories": lambda: auto_hide_plan("tg/1"),
    "short_term": get_stats,
    "wrong port": lambda: open_database(f"mysql://u:{PASSWORD}@h:{PASSWORD}/n"),
    "missing folder": lambda: open_database(f"sqlite:////none/{PASSWORD[:3]}/x.db"),
    "model": lambda: llm.ask(llm.resolve(None, load()), [{"role": "user", "content": "x"}], load()),  # type: ignore[arg-type]
}.items())  # fmt: skip
def test_f73_no_error_of_a_door_holds_a_secret(name: str, door: Any, surroundings: Path, caplog: Any) -> None:
    caplog.set_level(logging.DEBUG)
    with pytest.raises((CoreError, TypeError)) as raised:
        door()
    error = raised.value
    facts = [str(each) for each in vars(error).values()] if hasattr(error, "__dict__") else []
    said = " ".join([str(error), repr(error), *facts, *traceback.format_exception(error), caplog.text])
    assert [each for each in CANARIES if each in said] == []


def test_g19_what_shows_itself_shows_no_secret(surroundings: Path, tmp_path: Path) -> None:
    known, handle = load(), Database(AWAY, timeout_seconds=0.2)
    shown = [repr(known), str(known), *map(repr, show(known)), repr(handle), str(handle), repr(handle.target)]
    shown += [repr(engine) for engine in handle.engines()] + [repr(llm.resolve(None, known)), repr(known.differing())]
    shown += [repr(check_server(open_database("sqlite://")))]
    prompt, report = explain_json_prompt(MESSAGE, {}, db=handle)
    shown += [repr(prompt), repr(report)]
    assert [each for each in CANARIES if each in " ".join(shown)] == []
    assert KEY in str(known.llm_api_key)  # it is there, and not shown
    handle.close()


@pytest.mark.slow
def test_g26_what_was_said_is_in_no_log_above_debug(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    made = open_db(f"sqlite:///{tmp_path / 'story.db'}")
    scenario.play(made)
    for table in ("search_fresh", "search_segment", "memories", "chat_history_cache", "ai_diary", "memory_jobs"):
        made.transaction(lambda c, t=table: c.exec_driver_sql(f"ALTER TABLE {t} RENAME TO gone_{t}"), source="test")
    errors = []
    more: dict[str, Any] = {"db": made, "scope": Scope(scenario.PERSONA, conversation="tg/1")}
    for call in (
        lambda: chat_history_cache.save_chat_message("tg/1", "zebrafish said this", sender_id="zebrafish", **more),
        lambda: insert_memory("zebrafish memory", "zebrafish", "zebrafish", ["zebrafish"], **more),
        lambda: search_memories(tags=["zebrafish"], keywords=["zebrafish"], **more),
        lambda: explain_json_prompt({**MESSAGE, "text": "zebrafish"}, {}, **more),
        lambda: lifelong.search_items("zebrafish", **more),
    ):
        try:
            call()  # type: ignore[no-untyped-call]
        except CoreError as error:
            errors.append("".join(traceback.format_exception(error)).split("Traceback")[-1].rpartition("\n  ")[-1])
    said = caplog.text + " ".join(errors)
    assert len(errors) >= 3 and "zebrafish" not in said
    assert [text for text in scenario.TEXTS if text[:12] in said] == []
    made.close()


class Unprintable:
    def __repr__(self) -> str:
        raise RuntimeError


@pytest.mark.parametrize("wrong", [
    lambda **by: explain_search("tea", mode="x" * 100_000, **by),
    lambda **by: search_memories("tea", offset=-(10**5000), **by),
    lambda **by: silently_record_memory("tea", recalled=[5], **by),
    lambda **by: silently_record_memory("tea", recalled=5, **by),
    lambda **by: synth_tagging.expand_tags(["tea"], vocabulary=5, **by),
    lambda **by: synth_tagging.add_tag(["tea", "coffee"], **by),
    lambda **by: drop_vectors(None, **by),
    lambda **_: to_messages({"context": {"running_recap": "x"}}, injection=5),  # type: ignore[arg-type]
    lambda **by: lifelong.find_similar_item(5, **by),
    lambda **by: import_items([5], **by),
    lambda **_: to_messages({}, Unprintable()),  # type: ignore[arg-type]
    lambda **_: Scope("a", privacy=Unprintable()),  # type: ignore[arg-type]
    lambda **_: load({Unprintable(): 1}),  # type: ignore[dict-item]
    lambda **by: search_items(since=Unprintable(), **by),
    lambda **by: export_markdown(Unprintable(), **by),
    lambda **by: privacy.set_privacy("tg/ann", "x" * 70_000, **by),
    lambda **by: privacy.set_conversation_privacy("tg/ann", "x" * 70_000, **by),  # type: ignore[arg-type]
])  # fmt: skip
def test_f60_g25_a_value_of_another_kind_is_refused_in_one_short_sentence(stage: Stage, wrong: Any) -> None:
    with pytest.raises((CoreError, TypeError, ValueError), match=r"^[^\n]{10,300}$"):
        wrong(db=stage.db, scope=Scope(stage.persona))


def test_t15_a_weight_of_any_size_is_refused(stage: Stage) -> None:
    result = synth_tagging.link_tags("tea", "rome", 10**5000, db=stage.db, scope=Scope(stage.persona))
    assert result.reason == "refused" and "a number of more than 38 digits" in result.notes[0]
