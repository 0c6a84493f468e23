"""`prompt-engine tags`: the vocabulary of tags of a persona."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated

import typer

from ..shapes import WriteResult
from . import output
from .options import refusals
from .run import Run, command

TagArgument = Annotated[str, typer.Argument(metavar="TAG", show_default=False)]
AliasArgument = Annotated[str, typer.Argument(metavar="ALIAS", show_default=False)]
OtherArgument = Annotated[str, typer.Argument(metavar="OTHER", show_default=False)]
TextArgument = Annotated[str, typer.Argument(metavar="TEXT", show_default=False)]
WeightOption = Annotated[float, typer.Option("--weight", help="How closely the two belong together.")]
LimitOption = Annotated[int, typer.Option("--limit", "-n", min=1, max=10_000, help="Most tags.")]

_SHOWN_LINKS = 4


def add_to(app: typer.Typer) -> None:
    """Add `tags` and what is under it."""
    tags = typer.Typer(help="List, add and link tags; see those of a text.")
    command(tags, "list")(list_)
    command(tags, "add")(add)
    command(tags, "alias")(alias)
    command(tags, "link")(link)
    command(tags, "extract")(extract)
    app.add_typer(tags, name="tags")


def list_(run: Run, limit: LimitOption = 100) -> None:
    """List the tags, the most used first."""
    from ..synth_tagging import list_tags  # noqa: PLC0415 - kept out of the start of other subcommands

    found = list_tags(db=run.db, scope=run.scope())[:limit]
    rows = [(each["tag"], each["uses"], ", ".join(each["aliases"]), _links(each["links"])) for each in found]
    run.answer(
        found,
        lambda: (
            output.table(("tag", "uses", "also written", "linked with"), rows, right=(1,))
            if rows
            else output.say("There are no tags yet.")
        ),
    )


def _links(links: Mapping[str, float]) -> str:
    most = sorted(links.items(), key=lambda pair: (-pair[1], pair[0]))
    shown = [f"{tag} {weight:g}" for tag, weight in most[:_SHOWN_LINKS]]
    return ", ".join([*shown, "..."] if len(most) > _SHOWN_LINKS else shown)


def add(run: Run, tag: TagArgument) -> None:
    """Make a tag known."""
    from ..synth_tagging import add_tag  # noqa: PLC0415 - as above

    with refusals():
        _told(run, add_tag(tag, db=run.db, scope=run.scope()))


def alias(run: Run, alias: AliasArgument, tag: TagArgument) -> None:
    """Make ALIAS another spelling of TAG."""
    from ..synth_tagging import add_alias  # noqa: PLC0415 - as above

    with refusals():
        _told(run, add_alias(alias, tag, db=run.db, scope=run.scope()))


def link(run: Run, tag: TagArgument, other: OtherArgument, weight: WeightOption = 1.0) -> None:
    """Link two tags: whoever looks for one finds the other too."""
    from ..synth_tagging import link_tags, list_tags  # noqa: PLC0415 - as above

    scope = run.scope()
    known = {each["tag"] for each in list_tags(db=run.db, scope=scope)}
    with refusals():
        written = link_tags(tag, other, weight, db=run.db, scope=scope)
    links = {each["tag"]: each["links"] for each in list_tags(db=run.db, scope=scope)} if written.stored else {}
    _told(run, written, [f"made tag {made}" for made in links if made not in known and links[made]])


def extract(run: Run, text: TextArgument) -> None:
    """Print the tags of a text."""
    from ..synth_tagging import extract_tags  # noqa: PLC0415 - as above
    from ..tags.table import current  # noqa: PLC0415 - as above

    tags = extract_tags(text, current(run.db, run.scope().persona))
    run.answer(tags, lambda: output.say(", ".join(map(output.clean, tags)) or "This text has no tags."))


def _told(run: Run, written: WriteResult, more: Sequence[str] = ()) -> None:
    notes = [*written.notes, *more]
    said = ("Done" if written.stored else "Nothing changed", "; ".join(notes) or written.reason)
    run.answer(
        {"stored": written.stored, "reason": written.reason, "notes": notes},
        lambda: output.say(output.sentence(output.clean(": ".join(filter(None, said))))),
    )
    if not written.stored and written.reason not in ("duplicate", "unchanged"):
        raise typer.Exit(1)
