"""`search`, `conversations`, `privacy`, `remember`, `forget` and `memory`: read and change stored content."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Argument, BadParameter, Option

from ..access.rules import plain_key
from ..base.wire_ids import find_id
from ..scope import Scope
from ..shapes import Hit
from ..text.times import iso_text
from . import output
from .run import ConversationOption, DryOption, LocalOption, Run, ServerOption, UserOption, command, key_of, refusals

if TYPE_CHECKING:
    from ..forgetting import Forgotten

_SHOWN = 20
TagOption = Annotated[list[str] | None, Option("--tag", metavar="TAG", help="A tag; may be repeated.")]


@command("search")
def search(
    run: Run,
    query: str | None = Argument(None, metavar="TEXT", help="A question or words to search for."),
    tag: TagOption = None,
    word: list[str] | None = Option(None, metavar="WORD", help="A word or phrase; may be repeated."),
    limit: int = Option(5, "--limit", "-n", metavar="N", min=1, max=200, help="Maximum number of hits."),
    since: str | None = Option(None, metavar="TIME", help="Only hits since this time or 'last week'."),
    until: str | None = Option(None, metavar="TIME", help="Only hits before this time, or in this day."),
    conversation: ConversationOption = None,
    user: UserOption = None,
    server: ServerOption = "",
    local: LocalOption = False,
) -> None:
    """Search memories, diary and chat, with reasons."""
    if not (query or tag or word):
        raise BadParameter("say what to look for: TEXT, --tag or --word")
    from ..synth_core_memory import explain_search

    scope = run.scope(conversation, key_of(conversation, user), server, "local" if local else None)
    asked: dict[str, Any] = {"limit": limit, "since": since, "until": until}
    with refusals():
        hits, report = explain_search(query=query, tags=tag, keywords=word, db=run.db, scope=scope, **asked)
    run.answer({"hits": hits, "report": report}, lambda: _print_hits(hits, report))
    if not hits:
        run.warn_of_scope(scope)


def _print_hits(hits: list[Hit], report: Mapping[str, Any]) -> None:
    reasons = {(one["source"], one["id"]): one for one in report["hits"]}
    if not hits:
        output.say("Nothing was found.")
    for hit in hits:
        why = reasons.get((hit["source"], hit["id"]), {})
        matched = [*(f"#{tag}" for tag in why.get("tags", ())), *why.get("words", ())]
        time = hit["timestamp"][:16].replace("T", " ") or "no time"
        output.say(f"{time}  {hit['source']} {hit['id']}", style="bold")
        output.indented(f"{hit['speaker']}: {hit['snippet']}" if hit.get("speaker") else hit["snippet"])
        output.indented(f"matched {', '.join(matched) or '-'}; score {why.get('score', 0):.2f}", style="dim")
    for name, source in report["sources"].items():
        if source["error"]:
            output.note(f"{name} could not be read: {source['error']}", style="red")
    output.warn(*report["notes"])


@command("conversations")
def list_conversations(
    run: Run,
    words: str = Argument("", metavar="[TEXT]", help="Part of a key or title.", show_default=False),
    limit: int = Option(50, "--limit", "-n", metavar="N", min=1, max=100_000, help="Maximum number of conversations."),
) -> None:
    """List conversations, the latest first, with key, server, privacy and number of messages."""
    from ..access import overview

    persona = run.scope().persona
    page, total = overview.list_conversations(run.db, persona, words, limit)
    rows = [
        {
            "conversation": plain_key(each.key),
            "server": each.server_id,
            "privacy": each.privacy,
            "user": each.person,
            "messages": each.messages,
            "last_at": iso_text(each.last_at),
            "title": each.title,
        }
        for each in page
    ]
    run.answer(rows, nothing="There are no such conversations.")
    if total > len(rows):
        output.note(f"{total - len(rows):,} more: --limit N, or part of a key or title.")
    if not rows:
        run.warn_of_persona(persona)


@command("privacy")
def list_privacy(run: Run) -> None:
    """List privacy levels of people (for all personas), and conversations that are not public or are local only."""
    from .. import privacy

    run.answer(privacy.list_privacy(**run.asking()), nothing="No level is set, and every conversation is public.")


@command("remember", creates=True)
def remember(
    run: Run,
    text: str = Argument(metavar="TEXT", help="Text to remember."),
    tag: TagOption = None,
    conversation: ConversationOption = None,
    user: UserOption = None,
    server: ServerOption = "",
) -> None:
    """Store a memory. Without --conversation all conversations of the persona see it."""
    from .. import db, lifelong

    scope = run.scope(conversation, key_of(conversation, user), server)
    similar = lifelong.find_similar_item(text, db=run.db, settings=run.settings, scope=scope)
    row_id = db.insert_memory(text, "user", "cli", tag, scope, db=run.db)
    said = f"Stored as {row_id}."
    if similar is not None:
        said += f" An older one is about the same, {similar['id']} of {similar['day']}: {similar['text']}"
    run.answer({"stored": True, "id": row_id, "similar": similar}, said)


@command("forget")
def forget(
    run: Run,
    participant: str | None = Option(
        None, metavar="KEY", help="Delete a person, interface/id, and all linked identities."
    ),
    conversation: ConversationOption = None,
    memory: int | None = Option(None, metavar="ID", help="Delete one memory item."),
    message: str | None = Option(
        None, metavar="ID", help="Delete a message: its number in `search`, or id in --conversation."
    ),
    server: str | None = Option(
        None, metavar="ID", help="Delete a server, with its conversations and own rows; or: that of KEY."
    ),
    dry_run: DryOption = False,
    yes: bool = Option(False, "--yes", "-y", help="Do not ask for confirmation."),
) -> None:
    """Delete a person, conversation, message, memory or server.

    It cannot be undone. --dry-run counts the rows of each table; without --yes you are asked first. The exit code is 1
    if there is nothing to delete.
    """
    from ..access import overview
    from ..forgetting import forget as forget_rows

    own = run.scope(destination="local")
    if conversation is not None:
        own, server = replace(own, server=overview.choose_server(run.db, own.persona, conversation, server or "")), None
    if message is not None and (participant, memory, server) == (None, None, None):
        _forget_line(run, own, message, conversation, dry_run=dry_run, yes=yes)
        return
    given = {"participant": participant, "conversation": conversation, "memory": memory, "server": server}
    wanted: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    if len(wanted) != 1 or message is not None:
        raise BadParameter("name exactly one of --participant, --conversation, --message, --memory and --server")
    call: dict[str, Any] = {"db": run.db, "scope": own}
    if not dry_run and not yes:
        counted = forget_rows(**wanted, dry_run=True, **call)
        if counted.total:
            tables = output.count(sum(map(bool, counted.values())), "table")
            _require_consent(f"Delete or change {output.count(counted.total, 'row')} in {tables} for good?")
    ((kind, key),) = wanted.items()
    identities = [each.key for each in overview.read_identities(run.db, own.persona, participant or "")]
    done = forget_rows(**wanted, dry_run=dry_run, **call)
    run.answer(done.as_dict(), lambda: _print_counts(done))
    person: dict[str, Any] = {"identities": identities, "is_known": bool(done.total), "option": "--persona-id "}
    output.warn(*overview.list_notes(run.db, own.persona, kind, str(key), **person))
    if not done.total:
        raise typer.Exit(1)


def _forget_line(run: Run, scope: Scope, message: str, conversation: str | None, *, dry_run: bool, yes: bool) -> None:
    from ..calls.call import Call, find_key
    from ..chat_history_cache import delete_chat_message
    from ..messages import find_named, read_lines

    key = None if conversation is None else find_key(Call(run.db, run.settings, scope), conversation)
    named = find_named(run.db, scope.persona, message if conversation else find_id(message) or 0, key)
    if named is None:
        output.warn(f"No message of the persona {scope.persona!r} has the id {message!r} here.")
        raise typer.Exit(1)
    (line,) = read_lines(run.db.read, scope.persona, [named[0]])
    what = f"the message of {line.sender_name or line.sender_id} in {plain_key(named[1])}: {line.text[:80]}"
    left: Sequence[str] = ()
    if not dry_run:
        if not yes:
            _require_consent(f"Delete {what} for good?")
        scope = replace(scope, conversation=named[1])
        left = delete_chat_message(named[0], db=run.db, settings=run.settings, scope=scope).notes
    value = {"dry_run": dry_run, "id": named[0], "conversation": named[1], "out_of_reach": left}
    run.answer(value, f"Nothing was changed. It would delete {what}" if dry_run else f"Deleted {what}")
    output.warn(*(f"Out of reach: {path}" for path in left))


def _require_consent(question: str) -> None:
    if not sys.stdin.isatty():
        raise BadParameter("nobody can be asked here: add --yes to delete, or --dry-run to see what goes")
    if not typer.confirm(question, err=True):
        raise typer.Abort


def _print_counts(done: Forgotten) -> None:
    if not done.total:
        return
    output.table(("table", "rows"), [(table, count) for table, count in done.items() if count], right=(1,))
    output.say("Nothing was changed." if done.dry_run else f"Deleted or changed: {output.count(done.total, 'row')}.")
    if done.operations:
        output.say(f"Operations that write texts again without it: {done.operations}.")
    for path in done.files:
        output.say(f"Written again: {path}")
    output.warn(*(f"Out of reach: {path}" for path in done.out_of_reach))


@command("memory consolidate")
def consolidate(run: Run) -> None:
    """Make memory items of new messages, and archive expired items."""
    from .. import lifelong, llm

    try:
        done = lifelong.run_cycle(reason="by hand", **run.asking())
    finally:
        llm.close()
    archived = f"{done.pruned} archived, {done.merged} said before"
    items, chats = output.count(done.stored, "item"), output.count(done.conversations, "conversation")
    lines = [f"{items} stored from {chats}, {archived}."]
    lines += [output.sentence(f"One part gave nothing: {done.reason}")] if done.reason else []
    run.answer(asdict(done), lambda: output.lines(lines))


@command("memory prune")
def prune(run: Run, dry_run: DryOption = False) -> None:
    """Archive long-term items that are old, unimportant, or both.

    PRUNE_MAX_AGE_DAYS, PRUNE_MAX_IMPORTANCE and PRUNE_MODE set the limits. Pinned and saved items stay; archived items
    can be restored.
    """
    from .. import lifelong

    done = lifelong.prune_ltm(dry_run=dry_run, **run.asking())
    items = [{"id": item, "why": why} for item, why in done.items]

    def show() -> None:
        output.say(f"{output.count(int(done), 'item')} {'would be archived' if dry_run else 'archived'}.")
        if items:
            output.table(("item", "because of"), [(item, ", ".join(why)) for item, why in done.items[:_SHOWN]])
        if len(items) > _SHOWN:
            output.say(f"and {len(items) - _SHOWN} more")

    run.answer({"count": int(done), "dry_run": dry_run, "items": items, "notes": done.notes}, show)
