"""`prompt-engine search` and `remember`: looking into the memory by hand, and putting something into it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

import typer

from ..scope import Scope
from ..shapes import Hit
from . import output
from .run import ConversationOption, LocalOption, Run, ServerOption, UserOption, participant, refusals

QueryArgument = Annotated[
    str | None, typer.Argument(metavar="TEXT", help="What to look for, in any words.", show_default=False)
]
TagOption = Annotated[list[str] | None, typer.Option("--tag", help="A tag that rows have; may be repeated.")]
WordOption = Annotated[list[str] | None, typer.Option("--word", help="A word or phrase in the text; may be repeated.")]
LimitOption = Annotated[int, typer.Option("--limit", "-n", min=1, max=200, help="Most hits.")]
RankingOption = Annotated[
    Literal["relevance", "recency"] | None, typer.Option("--ranking", help="Best or newest. Without it MEMORY_RANKING.")
]
SinceOption = Annotated[str | None, typer.Option("--since", metavar="TIME", help="Earliest time, included.")]
UntilOption = Annotated[str | None, typer.Option("--until", metavar="TIME", help="Latest time, not included.")]
NoChatOption = Annotated[bool, typer.Option("--no-chat", help="Memories and diary only.")]
ContentArgument = Annotated[str, typer.Argument(metavar="TEXT", help="What to remember.", show_default=False)]
LabelOption = Annotated[str, typer.Option("--label", help="What kind of memory it is.")]
AuthorOption = Annotated[str, typer.Option("--author", help="Who says so.")]


def search(
    run: Run,
    query: QueryArgument = None,
    tag: TagOption = None,
    word: WordOption = None,
    limit: LimitOption = 5,
    ranking: RankingOption = None,
    since: SinceOption = None,
    until: UntilOption = None,
    no_chat: NoChatOption = False,
    conversation: ConversationOption = None,
    user: UserOption = None,
    server: ServerOption = "",
    local: LocalOption = False,
) -> None:
    """Search memories, diary and chat, with reasons."""
    if not (query or tag or word):
        raise typer.BadParameter("say what to look for: TEXT, --tag or --word")
    from ..synth_core_memory import explain_search

    scope = run.scope(conversation, participant(conversation, user), server, "local" if local else None)
    with refusals():
        hits, report = explain_search(
            query=query,
            tags=tag,
            keywords=word,
            include_chat=not no_chat,
            limit=limit,
            ranking=ranking,
            since=since,
            until=until,
            db=run.db,
            scope=scope,
        )
    run.answer({"hits": hits, "report": report}, lambda: _print_hits(hits, report))
    if not hits:
        for sentence in _describe_elsewhere(run, scope):
            output.note(sentence, style="yellow")


def _describe_elsewhere(run: Run, scope: Scope) -> list[str]:
    """Return what stands where this search did not look, most first: a wrong place looks like an empty memory."""
    from ..audience import table_overview, table_places

    found = []
    places = table_places.count_places(run.db, scope.persona)
    for place in places:
        rows = f"{place.rows} rows"
        if place.kind in ("direct", "saved", "conversation") and scope.conversation is None:
            found.append(f"{rows} in private conversations: --conversation KEY --user ID")
        elif place.kind == "server" and place.server != scope.server:
            server = output.clean(place.server)
            found.append(f"{rows} in server {server}: --server {server}")
        elif place.kind == "public" and scope.server:
            found.append(f"{rows} in public conversations of no server: leave out --server")
    if not places:
        others = [each for each in table_overview.list_personas(run.db, 6) if each != scope.persona]
        if others:
            told = ", ".join(output.clean(each) for each in others[:5])
            found.append(f"Nothing is stored of the persona {scope.persona!r}, but of {told}: --persona-id KEY")
    return found[:5]


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
            output.note(f"{name} could not be read: {output.clean(source['error'])}", style="red")
    for note in report["notes"]:
        output.note(output.clean(note), style="yellow")


def remember(
    run: Run,
    text: ContentArgument,
    tag: TagOption = None,
    label: LabelOption = "general",
    author: AuthorOption = "user",
    conversation: ConversationOption = None,
    user: UserOption = None,
    server: ServerOption = "",
) -> None:
    """Store a memory. Without --tag it gets the known tags of the text, else its words that say something.

    Without --conversation it is seen everywhere within the persona.
    """
    from .. import db as door

    scope = run.scope(conversation, participant(conversation, user), server)
    with refusals():
        tags = _choose_tags(run, text, scope) if tag is None else tag
        row_id = door.insert_memory(text, author, "cli", tags, scope, label=label, db=run.db)
    run.answer(
        {"stored": True, "id": row_id, "tags": list(tags)},
        f"Stored as {row_id}, tags: {', '.join(map(output.clean, tags)) or 'none'}.",
    )


def _choose_tags(run: Run, text: str, scope: Scope) -> list[str]:
    from ..synth_tagging import extract_keywords, extract_tags
    from ..tags.table import current
    from ..text.search_words import TAGS_LIMIT

    settings = run.settings
    known = extract_tags(text, current(run.db, scope.persona), settings=settings)
    return known or extract_keywords(text, settings=settings)[:TAGS_LIMIT]
