"""Import and export of items as files."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

from starlette.responses import Response

from ... import lifelong
from ...transfer.items import export_items, import_items
from ...transfer.items.storage import ItemImport
from ..transfer import stream_export
from . import form_values
from .page import Page, PageError

FORMATS = ("json", "jsonl", "yaml")
MOST_SHOWN = 100
"""Rows with errors that are shown; the number of all of them is."""


def show(page: Page) -> Response:
    """Return the two forms."""
    return _screen(page)


def _screen(page: Page, result: ItemImport | None = None, **given: Any) -> Response:
    return page.render(
        "transfer.html.j2",
        title="Import and export",
        screen="transfer",
        kinds=lifelong.KINDS,
        formats=FORMATS,
        result=result,
        most_shown=MOST_SHOWN,
        given={"fmt": "", "default_kind": "KeyFacts", "conversation": "", **given},
        flash=None,
    )


def export(page: Page) -> Response:
    """Return a file of items while it is read, so that a large one takes no memory."""
    fmt = form_values.choose_word(page.query("fmt"), FORMATS, "json")
    limit = form_values.parse_whole(page.query("limit"), "limit", 1000)
    exported = export_items(kind=page.queries("kind") or None, fmt=cast("Any", fmt), limit=limit, **page.asking())
    name = "".join(char if char.isascii() and (char.isalnum() or char in "-_") else "_" for char in page.persona)
    # What cannot be read at all is told on a screen, not in the middle of a file.
    return stream_export(exported, f"{name[:60]}-memories.{fmt}")


def take_in(page: Page) -> Response:
    """Import a file, or try what would become of it."""
    upload = page.upload("file")
    if upload is None:
        raise PageError("No file was chosen. Choose one, then press the button again.")
    fmt = form_values.choose_word(page.field("fmt"), FORMATS, "")
    kind = form_values.choose_word(page.field("default_kind"), lifelong.KINDS, "KeyFacts")
    conversation = page.field("conversation").strip()
    asking = page.asking()
    if conversation:
        asking["scope"] = replace(asking["scope"], conversation=conversation)
    is_trial = page.field("action") != "import"
    result = import_items(upload.file, default_kind=kind, fmt=cast("Any", fmt or None), dry_run=is_trial, **asking)
    return _screen(page, result, fmt=fmt, default_kind=kind, conversation=conversation)
