"""`prompt-engine token`: made, listed, revoked."""

from __future__ import annotations

from contextlib import closing

import pytest

from core import tokens
from core.db import open_database
from tests.unit.cli.conftest import Command


def test_r12_a_token_is_made_listed_and_revoked(run: Command) -> None:
    made = run("token", "add", "--persona-id", "iris", "--participant", "web/ann", "--label", "phone").json
    assert run("token", "list", "--persona-id", "iris").json == [{k: v for k, v in made.items() if k != "token"}]
    assert made["token"] not in run("token", "list", "--persona-id", "iris", "--text").out
    assert run("token", "list").json == []
    nothing = "There are no tokens of the persona 'default'; --persona-id names another one."
    assert " ".join(run("token", "list", "--text").out.split()) == nothing
    again = run("token", "add", "--persona-id", "iris", "--host", "--text")
    assert again.out.startswith("pe_") and "this once" in again.err
    assert run("token", "revoke", made["id"]).code == 1
    assert run("token", "revoke", made["id"], "--persona-id", "iris").json == {"id": made["id"], "revoked": True}
    with closing(open_database()) as db:
        assert tokens.find_token(made["token"], db=db) is None
        assert tokens.find_token(again.out.strip(), db=db) is not None
    table = run("token", "list", "--persona-id", "iris", "--text").out
    assert "phone" in table and "host" in table


def test_r12_the_list_shows_which_personas_a_token_may_speak_as(run: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "160")
    for more in (("--participant", "web/ann"), ("--personas", "mira,noa"), ("--personas", "*")):
        assert run("token", "add", "--persona-id", "iris", *more).code == 0
    table = run("token", "list", "--persona-id", "iris", "--text").out
    assert "personas" in table and "mira,noa" in table and " * " in table


def test_r12_a_token_of_the_operator(run: Command) -> None:
    made = run("token", "add", "--admin").json
    assert (made["kind"], made["persona"]) == ("admin", "")
    assert [each["id"] for each in run("token", "list", "--admin").json] == [made["id"]]
    assert run("token", "revoke", made["id"], "--admin").code == 0


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (("--participant", "ann"), "'ann' does not say on which interface"),
        (("--participant", "web/ann", "--conversation", "42"), "'42' does not say on which interface"),
        (("--participant", "web/ann", "--personas", "mira"), "--personas goes with --host"),
        (("--admin", "--personas", "mira"), "--personas goes with --host"),
        ((), "name exactly one"),
        (("--participant", "web/ann", "--host"), "name exactly one"),
        (("--participant", ""), "participant is missing"),
    ],
)
def test_r12_a_token_that_could_not_be_used_is_not_made(run: Command, given: tuple[str, ...], said: str) -> None:
    """A token of `ann` got a 403 for every message of web/ann."""
    ran = run("token", "add", *given)
    assert ran.code == 2 and said in " ".join(ran.err.split()) and not ran.out
