"""R31: values under names out of one database and into another, by Python and by the command."""

from __future__ import annotations

import gzip
import json
import re
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from core import privacy, transfer, values
from core.cli import main
from core.database.engine import Database
from core.db import open_database
from core.errors import MessageError, TransferError
from core.forgetting import forget
from core.scope import Scope
from core.synth_core_memory import search_memories
from core.transfer.values import read_values
from core.values import NewValue, change_values, list_values

pytestmark = pytest.mark.engines("sqlite")


def put(db: Database, scope: Scope, *new: NewValue, kind: values.table.Kind = "entry") -> None:
    change_values(lambda change: change.write(new), kind, db=db, scope=scope)


def fill(db: Database, scope: Scope) -> None:
    put(
        db, scope,
        NewValue(("ann", "facts"), "tea", '{"text":"Ann likes oolong","n":[1,null,"\\u0000"]}', "Ann likes oolong"),
        NewValue(("ann",), "short", "true", ttl_seconds=600),
        NewValue((), "root", '"🦀"'),
    )  # fmt: skip
    put(db, scope, NewValue((), "notes", None), NewValue(("notes",), "a.md", "Ann keeps sencha", "Ann keeps sencha"),
        kind="file")  # fmt: skip


def names(db: Database, scope: Scope) -> list[tuple[Any, ...]]:
    kinds: tuple[values.table.Kind, ...] = ("entry", "file")
    return [
        (
            kind,
            each.namespace,
            each.name,
            json.loads(each.value or "null") if kind == "entry" else each.value,
            each.text,
            each.ttl_seconds,
        )
        for kind in kinds
        for each in sorted(list_values((), kind, db=db, scope=scope), key=lambda each: (each.namespace, each.name))
    ]


def found(db: Database, scope: Scope, query: str) -> list[str]:
    return [hit["snippet"] for hit in search_memories(query=query, db=db, scope=scope)]


def test_r31_values_go_out_and_come_back_as_they_were(db: Database, ann: Scope, persona: str) -> None:
    """With kind, namespace, name, what is searched and how long they live; the same again stores nothing."""
    fill(db, ann)
    out = json.loads(json.dumps(transfer.export_values(db=db, scope=ann)))
    there = Scope(f"{persona}/2", "web/ann", "web/ann", privacy="direct")
    assert transfer.import_values(out, dry_run=True, db=db, scope=there).imported == 5
    assert list_values(db=db, scope=there) == []
    first = transfer.import_values(out, db=db, scope=there)
    again = transfer.import_values(out, db=db, scope=there)
    assert (first.imported, first.duplicates, first.error_count) == (5, 0, 0)
    assert (again.imported, again.duplicates, again.error_count) == (0, 5, 0)
    assert names(db, there) == names(db, ann)
    assert found(db, there, "oolong") == ["Ann likes oolong"]
    assert found(db, there, "sencha") == ["Ann keeps sencha"]


def test_r31_a_scope_gives_and_takes_its_own_values_alone(db: Database, ann: Scope, bob: Scope) -> None:
    """A file says nothing of whose its values are: they are those of the call."""
    fill(db, ann)
    assert transfer.export_values(db=db, scope=bob) == []
    out = transfer.export_values(db=db, scope=ann)
    assert not {"persona", "participant", "conversation", "audience_id"} & set(out[0])
    transfer.import_values([{**each, "participant": "web/eve"} for each in out], db=db, scope=bob)
    assert names(db, bob) == names(db, ann)
    forget(participant="web/bob", db=db, scope=bob)
    assert transfer.export_values(db=db, scope=bob) == []
    assert found(db, bob, "oolong") == []
    assert len(transfer.export_values(db=db, scope=ann)) == 5


def test_r31_bad_values_are_listed_and_the_others_taken(db: Database, ann: Scope) -> None:
    """Each with its place and the reason; what is there with another value stays."""
    put(db, ann, NewValue(("a",), "there", "1"))
    good = {"namespace": ["a"], "name": "good", "value": {"n": 1}}
    bad: list[Any] = [
        {"namespace": ["a"], "name": "there", "value": 2},
        "text",
        {"namespace": "a", "name": "k", "value": 1},
        {"namespace": ["a"], "name": "k" * 600, "value": 1},
        {"namespace": ["a", 7], "name": "k", "value": 1},
        {"namespace": ["a"], "name": "k"},
        {"namespace": ["a"], "name": "k", "value": 1, "kind": "table"},
        {"namespace": ["a"], "name": "k", "value": 1, "ttl_seconds": 0},
        {"namespace": ["a"], "name": "k", "value": 1, "text": 7},
        {"namespace": ["a"], "name": "k", "value": 1, "kind": "file"},
    ]
    done = transfer.import_values([*bad, good], db=db, scope=ann)
    assert (done.imported, done.duplicates, done.error_count) == (1, 0, len(bad))
    assert [each.row for each in done.errors] == list(range(1, len(bad) + 1))
    assert done.errors[0].reason == "another value has this name here"
    assert all(each.reason.endswith((".", "here")) for each in done.errors)
    assert [(each.name, each.value) for each in list_values(db=db, scope=ann)] == [("good", '{"n":1}'), ("there", "1")]
    with pytest.raises(MessageError, match="a list of values"):
        transfer.import_values("values", db=db, scope=ann)


def test_r31_nothing_is_imported_of_who_wants_nothing_kept(db: Database, ann: Scope, bob: Scope) -> None:
    """The import says so, value by value."""
    fill(db, bob)
    privacy.set_privacy("web/ann", "full", db=db, scope=ann)
    done = transfer.import_values(transfer.export_values(db=db, scope=bob), db=db, scope=ann)
    assert (done.imported, done.error_count) == (0, 5)
    assert done.errors[0].reason == "nothing may be kept here: privacy"


def test_r31_more_values_than_one_transaction_takes(db: Database, ann: Scope) -> None:
    """All of them come in; of one name twice in a file the second is told."""
    many = [{"namespace": ["n", str(n % 7)], "name": f"k{n}", "value": n} for n in range(450)]
    done = transfer.import_values([*many, {**many[3], "value": "other"}, many[4]], db=db, scope=ann)
    assert (done.imported, done.duplicates, done.error_count) == (450, 1, 1)
    assert len(list_values(db=db, scope=ann)) == 450


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"stored_values": {"a": 1}}', "of type dict"),
        ('{"stored_values": [], "stored_values": 5}', "5"),
        ('{"stored_values": null}', "None"),
    ],
)
def test_r31_values_that_are_no_list_are_refused_with_what_they_are(tmp_path: Path, text: str, value: str) -> None:
    path = tmp_path / "values.json"
    path.write_text(text)
    with pytest.raises(TransferError, match=re.escape(f"stored_values is {value}")) as caught:
        read_values(path)
    assert "must be a list of values" in str(caught.value) and "export --values" in str(caught.value)


@pytest.mark.parametrize(
    "held", [b"[]", b"", b"PK\x03\x04\xff\xfe", gzip.compress(b"{}", mtime=0)[:-6], b'{"stored_ values":[]}']
)
def test_r31_what_is_no_file_of_values_is_left_to_others(tmp_path: Path, held: bytes) -> None:
    path = tmp_path / "values.json"
    path.write_bytes(held)
    assert read_values(path) is None


def test_r31_values_by_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    """Out of one database and into another, for a person in a conversation; a broken file is one sentence."""
    monkeypatch.chdir(tmp_path)
    ann = Scope("iris", "web/ann", "web/ann", privacy="direct")
    one, two = "sqlite:///one.db", "sqlite:///two.db"
    with closing(open_database(one)) as db:
        fill(db, ann)

    def run(*words: str) -> tuple[int, str]:
        code = main([*words, "--persona-id", "iris", "--json"])
        said = capsys.readouterr()
        return code, said.out or said.err

    whose = ("--chat", "web/ann", "--person", "web/ann")
    code, said = run("export", "--values", "v.json", *whose, "--database", one)
    assert (code, json.loads(said)) == (0, {"file": "v.json", "values": 5})
    into = ("import", "v.json", "--conversation", "web/ann", "--user", "web/ann", "--private", "--database", two)
    assert json.loads(run(*into)[1])["imported"] == 5
    assert json.loads(run(*into)[1])["duplicates"] == 5
    with closing(open_database(one)) as db, closing(open_database(two)) as other:
        assert names(other, ann) == names(db, ann)
        assert transfer.export_values(db=other, scope=Scope("iris")) == []
    Path("v.gz").write_bytes(gzip.compress(Path("v.json").read_bytes()))
    code, said = run("import", "v.gz", *into[2:])
    assert (code, json.loads(said)["duplicates"]) == (0, 5)
    Path("v.json").write_text(Path("v.json").read_text()[:-30])
    code, said = run(*into)
    assert code != 0
    assert "breaks off" in said
