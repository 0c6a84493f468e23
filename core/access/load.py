"""The first statement of a prompt: what its scope sees."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar, cast

from ..base import logs
from ..database import statements
from ..database.engine import Database
from ..database.stored_values import from_key, read_whole
from ..errors import StoreError, StoreReadError
from ..index.lookups import NO_MATCH
from ..scope import Privacy, Scope
from ..shapes import Vocabulary
from . import selects
from .rules import (
    SEPARATE,
    UNSTATED,
    AudienceKey,
    AudienceKind,
    choose_threads,
    own_audience,
    parent_key,
    plain_key,
    seen_audiences,
)
from .view import AccessSnapshot, ConversationFacts, Recent, Request, Viewer

LIVE_KEYS = 400

_UNREADABLE = frozenset({1142, 1143, 1146})
"""A table is missing, or may not be read."""

T = TypeVar("T")


def load_snapshot(
    db: Database, scope: Scope, request: Request, *, destination: str, private_stays_private: bool = True
) -> AccessSnapshot:
    """Work out what a scope sees, in one statement; two more where others inserted rows by SQL since."""
    try:
        rows = _ask(db, scope, request, not private_stays_private)
    except StoreReadError as error:
        if error.number not in _UNREADABLE or not request.inserted_into:
            raise
        # A table of rows that cannot be read is no reason to see nothing: whoever reads it says so.
        request = replace(request, inserted_into=())
        rows = _ask(db, scope, request, not private_stays_private)
    left = 0
    if any(row[0] == selects.INSERTED for row in rows):
        done, left = _index_external_rows(db, scope.persona)
        rows = _ask(db, scope, request, not private_stays_private) if done else rows
    snapshot = _read(rows, scope, request, destination, private_stays_private)
    return snapshot if not left else replace(snapshot, viewer=replace(snapshot.viewer, unindexed=left))


def _ask(db: Database, scope: Scope, request: Request, wide: bool) -> Sequence[Any]:
    values: list[Any] = []
    text = _statement(db.family, request, _values(scope, request), wide, values)
    return db.read_driver(text, values, source="the visible audiences")


def _index_external_rows(db: Database, persona: str) -> tuple[int, int]:
    """Index rows that others inserted by SQL; return how many, and how many are left for later."""
    from . import external_rows  # noqa: PLC0415 - it writes, and few databases have such rows

    try:
        done = external_rows.index_rows(db, persona, external_rows.MOST_AT_A_READ)
        left = external_rows.count_waiting(db, persona) if done >= external_rows.MOST_AT_A_READ else 0
    except StoreError as error:
        logs.warning("inserted_rows_left", error=type(error).__name__, number=error.number)
        return 0, 0
    if left:
        logs.warning("rows_not_indexed", rows=left)
    return done, left


def _values(scope: Scope, request: Request) -> dict[str, Any]:
    parent = parent_key(scope.conversation) if scope.conversation else None
    has_threads = bool(scope.conversation) and parent is None
    room = plain_key(scope.conversation or "")
    keys = [k for k in (scope.conversation, parent, *request.live_keys[:LIVE_KEYS]) if k]
    return {
        "persona": scope.persona,
        "conversation": scope.conversation or "",
        # The keys of its threads, where it is no thread itself; the sign after the slash ends them.
        "threads_from": f"{room}/" if has_threads else NO_MATCH,
        "threads_to": f"{room}0" if has_threads else NO_MATCH,
        "participant": scope.participant or "",
        "server": scope.server,
        "keys": list(dict.fromkeys(keys)) or [""],
        "version": request.vocabulary_version,
        "recent": request.recent,
    }


def _statement(family: str, request: Request, shared: Mapping[str, Any], wide: bool, into: list[Any]) -> str:
    """Return the statement for what is asked, and append its values to `into`."""
    seen = selects.seen(wide, family).text(shared, into)
    parts = [*selects.always(family)]
    parts += [selects.inserted(request.inserted_into, family)] if request.inserted_into else []
    parts += selects.vocabulary(family) if request.vocabulary_version is not None else ()
    parts += selects.recent(wide, family) if request.recent else ()
    branches = [part.text(shared, into) for part in parts]
    return f"WITH seen AS ({seen}) {statements.union(branches, family)}"


def _read(rows: Sequence[Any], scope: Scope, request: Request, destination: str, closed: bool) -> AccessSnapshot:
    by_part: dict[int, list[Any]] = {}
    for row in rows:
        by_part.setdefault(row[0], []).append(row)
    facts = {f.key: f for f in map(_facts, by_part.get(selects.CONVERSATION, ()))}
    people = {from_key(r[5]): from_key(r[6]) for r in by_part.get(selects.PARTICIPANT, ())}
    audiences = by_part.get(selects.AUDIENCE, ())
    listed = [(r[1], cast("AudienceKind", from_key(r[5])), r[6], r[7]) for r in audiences]
    audience_ids = {AudienceKey(kind, from_key(own), from_key(ref)): audience for audience, kind, own, ref in listed}
    privacy, server, person = _place(scope, facts, people)
    seen = seen_audiences(privacy, server, scope.conversation, person)
    if privacy == "restricted" and scope.conversation:
        seen += choose_threads(audience_ids, server, scope.conversation)
    if closed:
        ids = [audience_ids[key] for key in seen if key in audience_ids]
    else:
        wide = {i for key, i in audience_ids.items() if key.kind == "persona" or key.server == server}
        ids = sorted(wide | {audience_ids[key] for key in seen if key in audience_ids})
    visible = set(ids)
    viewer = Viewer(
        scope=scope,
        destination=destination,
        privacy=privacy,
        person=person,
        own=own_audience(privacy, server, scope.conversation, person) if scope.conversation else AudienceKey("persona"),
        audiences=tuple(dict.fromkeys(ids)),
        conversations=facts,
    )
    version = next((read_whole(r[1]) or 0 for r in by_part.get(selects.VERSION, ())), 0)
    changed = request.vocabulary_version is not None and version != request.vocabulary_version
    return AccessSnapshot(
        viewer,
        _recent(by_part.get(selects.RECENT, ()), visible),
        version,
        _vocabulary(by_part) if changed else None,
    )


def _recent(rows: Sequence[Any], visible: set[int]) -> tuple[Recent, ...]:
    newest = sorted({(from_key(r[6]), from_key(r[5]), r[2], r[8]) for r in rows if r[1] in visible}, reverse=True)
    return tuple(Recent(key, "" if title is None else from_key(title), bool(local)) for _, key, local, title in newest)


def _facts(row: Any) -> ConversationFacts:
    person = None if row[6] is None else from_key(row[6])
    private, local = row[2], bool(row[3])
    return ConversationFacts(
        row[4], from_key(row[5]), row[1], from_key(row[7]), bool(private), local, person, private == SEPARATE,
        private == UNSTATED,
    )  # fmt: skip


def _place(
    scope: Scope, facts: Mapping[str, ConversationFacts], people: Mapping[str, str]
) -> tuple[Privacy, str, str | None]:
    """Return privacy, server and person of the scope's conversation: as stored, else as its parent, else as said."""
    person = people.get(scope.participant or "", scope.participant)
    if scope.conversation is None:
        return "public", scope.server, person
    stored = facts.get(scope.conversation)
    if stored is None:
        parent = facts.get(parent_key(scope.conversation) or "")
        if parent is not None and parent.is_private and not parent.is_separate and scope.privacy in (None, "public"):
            stored = parent
    if stored is not None and stored.is_private:
        if stored.direct_person is not None:
            privacy: Privacy = "separate" if stored.is_separate else "direct"
            return privacy, "", people.get(stored.direct_person, stored.direct_person)
        return "restricted", stored.server, person
    server = stored.server if stored is not None else scope.server
    return scope.privacy or "public", server, person


def _vocabulary(by_part: Mapping[int, Sequence[Any]]) -> Vocabulary:
    links: dict[str, dict[str, float]] = {}
    for row in by_part.get(selects.LINK, ()):
        a, b, weight = from_key(row[5]), from_key(row[6]), float(row[1]) / 1000
        for one, other in ((a, b), (b, a)):
            near = links.setdefault(one, {})
            near[other] = max(weight, near.get(other, 0.0))
    return Vocabulary(
        tags={from_key(r[5]): read_whole(r[1]) or 0 for r in by_part.get(selects.A_TAG, ())},
        aliases={from_key(r[5]): from_key(r[6]) for r in by_part.get(selects.ALIAS, ())},
        links={tag: tuple(near.items()) for tag, near in links.items()},
    )
