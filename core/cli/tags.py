"""`prompt-engine tags`: the vocabulary of tags of a persona."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated

import typer

from ..shapes import WriteResult
from . import output
from .run import Run, refusals

TagArgument = Annotated[str, typer.Argument(metavar="TAG", show_default=False)]
AliasArgument = Annotated[str, typer.Argument(metavar="ALIAS", show_default=False)]
OtherArgument = Annotated[str, typer.Argument(metavar="OTHER", show_default=False)]
TextArgument = Annotated[str, typer.Argument(metavar="TEXT", show_default=False)]
WeightOption = Annotated[float, typer.Option("--weight", help="How closely the two belong together.")]
LimitOption = Annotated[int, typer.Option("--limit", "-n", min=1, max=10_000, help="Most tags.")]

_SHOWN_LINKS = 4


def list_(run: Run, limit: LimitOption = 100) -> None:
    """List the tags, the most used first."""
    from ..synth_tagging import list_tags

    tags = list_tags(db=run.db, scope=run.scope())[:limit]
    rows = [(each["tag"], each["uses"], ", ".join(each["aliases"]), _link_words(each["links"])) for each in tags]
    run.answer(
        tags,
        lambda: (
            output.table(("tag", "uses", "also written", "linked with"), rows, right=(1,))
            if rows
            else output.say("There are no tags yet.")
        ),
    )


def _link_words(links: Mapping[str, float]) -> str:
    most = sorted(links.items(), key=lambda pair: (-pair[1], pair[0]))
    shown = [f"{tag} {weight:g}" for tag, weight in most[:_SHOWN_LINKS]]
    return ", ".join([*shown, "..."] if len(most) > _SHOWN_LINKS else shown)


def add(run: Run, tag: TagArgument) -> None:
    """Make a tag known."""
    from ..synth_tagging import add_tag

    with refusals():
        _answer_written(run, add_tag(tag, db=run.db, scope=run.scope()))


def alias(run: Run, alias: AliasArgument, tag: TagArgument) -> None:
    """Make ALIAS another spelling of TAG."""
    from ..synth_tagging import add_alias

    with refusals():
        _answer_written(run, add_alias(alias, tag, db=run.db, scope=run.scope()))


def link(run: Run, tag: TagArgument, other: OtherArgument, weight: WeightOption = 1.0) -> None:
    """Link two tags: whoever looks for one finds the other too."""
    from ..synth_tagging import link_tags, list_tags

    scope = run.scope()
    known = {each["tag"] for each in list_tags(db=run.db, scope=scope)}
    with refusals():
        written = link_tags(tag, other, weight, db=run.db, scope=scope)
    links = {each["tag"]: each["links"] for each in list_tags(db=run.db, scope=scope)} if written.stored else {}
    _answer_written(
        run, written, [f"made tag {tag_made}" for tag_made in links if tag_made not in known and links[tag_made]]
    )


def extract(run: Run, text: TextArgument) -> None:
    """Print the tags of a text."""
    from ..synth_tagging import extract_tags
    from ..tags.table import current

    tags = extract_tags(text, current(run.db, run.scope().persona))
    run.answer(tags, ", ".join(map(output.clean, tags)) or "This text has no tags.")


def _answer_written(run: Run, written: WriteResult, more: Sequence[str] = ()) -> None:
    notes = [*written.notes, *more]
    said = ("Done" if written.stored else "Nothing changed", "; ".join(notes) or written.reason)
    run.answer(
        {"stored": written.stored, "reason": written.reason, "notes": notes},
        output.sentence(output.clean(": ".join(filter(None, said)))),
    )
    if not written.stored and written.reason not in ("duplicate", "unchanged"):
        raise typer.Exit(1)
