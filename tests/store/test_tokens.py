"""Tokens (R7, R12): kept as hashes, shown once, found by what is shown, revoked, forgotten with their person."""

import asyncio
from dataclasses import replace
from datetime import timedelta
from typing import Any
from unittest.mock import Mock

import pytest
from sqlalchemy import select

from core import forgetting, tokens
from core.database.engine import Database
from core.database.schema import access_tokens
from core.errors import MessageError, ScopeError, StoreReadError
from core.scope import Scope
from core.tokens import shapes, table
from core.tokens.shapes import AccessToken
from core.web.access import TokenReader
from tests.store.relay import Relay

ANN = Scope("iris", "web/room", "web/ann", "s1")


@pytest.fixture
def db(own_db: Database) -> Database:
    return own_db


def test_r12_a_token_is_stored_as_a_hash_and_shown_once(db: Database) -> None:
    made = tokens.add_token(label="her phone", db=db, scope=ANN)
    rows = repr([tuple(row) for row in db.read(select(access_tokens), source="access_tokens")])
    assert len(made["token"]) > 45 and made["token"].split("_", 2)[2] not in rows and made["token"] not in rows
    listed = tokens.list_tokens(db=db, scope=Scope("iris"))
    assert listed == [{key: value for key, value in made.items() if key != "token"}]
    assert (listed[0]["participant"], listed[0]["label"], listed[0]["revoked_at"]) == ("web/ann", "her phone", "")


def test_r7_a_scope_token_is_its_scope(db: Database) -> None:
    made = tokens.add_token(db=db, scope=ANN)
    assert made["token"] != tokens.add_token(db=db, scope=ANN)["token"]
    known = tokens.find_token(made["token"], db=db)
    assert known is not None and (known.kind, known.scope) == ("scope", replace(ANN, privacy_from="token"))
    host = tokens.find_token(tokens.add_token("host", db=db, scope=ANN)["token"], db=db)
    assert host is not None and (host.kind, host.scope) == ("host", Scope("iris"))
    admin = tokens.find_token(tokens.add_token("admin", db=db, scope=ANN)["token"], db=db)
    assert admin is not None and (admin.kind, admin.persona) == ("admin", "")
    with pytest.raises(ScopeError):
        _ = admin.scope


def test_r12_a_token_that_is_not_the_one_is_none(db: Database) -> None:
    made, other = tokens.add_token(db=db, scope=ANN), tokens.add_token("host", db=db, scope=ANN)
    text = made["token"]
    wrong = [
        "", "x", text[:-1], text + "x", text.upper(), text[:-1] + ("A" if text[-1] != "A" else "B"),
        text.replace(str(made["id"]), str(other["id"])), text.replace(str(made["id"]), "1"),
        text.replace(str(made["id"]), "9" * 19), f" {text}", text + "\n", "pe_٣_" + text[-43:], "\x00", "\ud800",
    ]  # fmt: skip
    assert [tokens.find_token(each, db=db) for each in wrong] == [None] * len(wrong)
    assert tokens.find_token(text, db=db) is not None


def test_r12_a_revoked_token_holds_no_more_and_operators_are_listed_apart(db: Database) -> None:
    made, kept = tokens.add_token(db=db, scope=ANN), tokens.add_token(db=db, scope=ANN)
    assert not tokens.revoke_token(made["id"], db=db, scope=Scope("vera"))
    assert not tokens.revoke_token(made["id"], admin=True, db=db, scope=ANN)
    assert tokens.find_token(made["token"], db=db) is not None
    assert tokens.revoke_token(made["id"], db=db, scope=Scope("iris"))
    assert not tokens.revoke_token(made["id"], db=db, scope=Scope("iris"))
    assert tokens.find_token(made["token"], db=db) is None and tokens.find_token(kept["token"], db=db) is not None
    assert [bool(each["revoked_at"]) for each in tokens.list_tokens(db=db, scope=ANN)] == [True, False]
    operator = tokens.add_token("admin", db=db)["id"]
    assert [(each["kind"], each["persona"]) for each in tokens.list_tokens(admin=True, db=db)] == [("admin", "")]
    assert tokens.revoke_token(operator, admin=True, db=db) and tokens.list_tokens(db=db, scope=Scope("vera")) == []


def test_r12_what_is_no_token_is_not_made(db: Database) -> None:
    for kind, label, scope, field in (
        ("root", "", ANN, "kind"), ("scope", "", Scope("iris"), "participant"),
        ("scope", "", Scope("iris", participant=" "), "participant"), ("host", "x" * 101, ANN, "label"),
        ("host", "\udcff", ANN, "label"), ("host", None, ANN, "label"),
    ):  # fmt: skip
        with pytest.raises(MessageError) as caught:
            tokens.add_token(kind, label=label, db=db, scope=scope)  # type: ignore[arg-type]
        assert caught.value.fields == (field,)
    with pytest.raises(MessageError, match="host token"):
        tokens.add_token("scope", personas="*", db=db, scope=ANN)
    assert tokens.list_tokens(db=db, scope=ANN) == []


def test_r7_a_person_who_is_forgotten_has_no_token_any_more(db: Database) -> None:
    hers, his = (tokens.add_token(db=db, scope=Scope("iris", participant=who)) for who in ("web/ann", "web/bob"))
    assert forgetting.forget(participant="web/ann", dry_run=True, db=db, scope=Scope("iris"))["access_tokens"] == 1
    assert forgetting.forget(participant="web/ann", db=db, scope=Scope("iris"))["access_tokens"] == 1
    assert tokens.find_token(hers["token"], db=db) is None and tokens.find_token(his["token"], db=db) is not None


@pytest.mark.parametrize(("kind", "personas", "spoken"), [
    ("host", "", ["iris"]), ("host", "mira, vera", ["iris", "mira", "vera"]),
    ("host", "*", ["iris", "mira", "vera", "juno"]), ("scope", "*", ["iris"]),
])  # fmt: skip
def test_r40_a_host_token_alone_speaks_as_other_personas(kind: Any, personas: str, spoken: list[str]) -> None:
    token = AccessToken(1, kind, "iris", personas=personas)
    assert [name for name in ("", "iris", "mira", "vera", "juno") if token.may_speak_as(name)] == spoken


@pytest.mark.parametrize(("said", "allowed"), [
    ({}, True), ({"persona": "iris", "participant": "web/ann", "server": ""}, True),
    ({"conversation": "web/ann"}, True), ({"conversation": "web/ann/2"}, True), ({"conversation": "web/ann2"}, False),
    ({"conversation": "web/room"}, False), ({"conversation": ""}, False), ({"participant": "web/bob"}, False),
    ({"participant": ""}, False), ({"server": "s1"}, False), ({"persona": "vera"}, False),
])  # fmt: skip
def test_r12_a_scope_token_stands_for_its_scope_alone(said: dict[str, str], allowed: bool) -> None:
    token = AccessToken(1, "scope", "iris", "web/ann")
    if not allowed:
        with pytest.raises(ScopeError):
            tokens.narrow_scope(token, **said)
        return
    scope = tokens.narrow_scope(token, **said)
    assert (scope.persona, scope.participant, scope.privacy) == ("iris", "web/ann", "direct")


@pytest.mark.engines("mariadb", "mysql")  # what stands in the way of the connection needs a port
@pytest.mark.parametrize("what", ["answer", "request"])
def test_d34_a_token_of_a_lost_commit_is_made_once(relayed: tuple[Database, Relay], db: Database, what: Any) -> None:
    """Refused, the program would hold two texts that do not hold, and its person would have to connect it again."""
    lossy, relay = relayed
    first = tokens.add_token(db=lossy, scope=ANN)  # so that it is connected
    relay.lose(what)
    made = tokens.add_token(db=lossy, scope=ANN)
    assert {each["id"] for each in tokens.list_tokens(db=db, scope=ANN)} == {first["id"], made["id"]}
    relay.lose(what)
    known, new = shapes.hash_token(made["token"]), b"2" * 32
    assert table.renew_token(lossy, made["id"], known, new, lossy.clock()) and relay.lost == 2
    row = table.read_token(db, made["id"])
    assert row is not None and row[1] == new


def test_r12_a_token_whose_id_another_process_took_gets_another(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    taken = tokens.add_token(db=db, scope=ANN)["id"]
    ids, one = iter([taken]), db.ids.one
    monkeypatch.setattr(db.ids, "one", lambda: next(ids, None) or one())
    assert tokens.issue_token(db, AccessToken(0, "scope", "iris", "web/ann"))["id"] != taken


def test_r12_an_expired_token_does_not_hold_without_the_database(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    clock: Any = db.clock
    made = tokens.issue_token(db, AccessToken(0, "scope", "iris", "web/ann", expires_at=clock() + timedelta(hours=1)))
    reader = TokenReader()
    assert asyncio.run(reader.find(made["token"], db))
    monkeypatch.setattr("core.web.access.find_token", Mock(side_effect=StoreReadError("away")))
    assert asyncio.run(reader.find(made["token"], db))
    clock.forward(hours=1)
    with pytest.raises(StoreReadError):
        asyncio.run(reader.find(made["token"], db))
