"""The routes of whole files: export as a stream, import of an upload."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Annotated, Any

from fastapi import APIRouter, File, Query, UploadFile
from starlette.responses import StreamingResponse

from ..errors import TransferError
from ..memories.rules import DEFAULT_KIND
from ..scope import Scope
from ..transfer.items import DEFAULT_LIMIT, ItemExport, export_items, import_items
from ..transfer.items.pieces import MAX_BYTES, MAX_ITEMS, too_large
from ..transfer.items.reader import Syntax
from .answers import ImportAnswer
from .bodies import DryRun, Kinds, MemoryAdmin, refusals, refusals_beside_text, split_commas
from .errors import Refused, refuse_bad_values

router: APIRouter = APIRouter(prefix="/memory", tags=["Export and import"])

CHUNK_CHARS = 65_536
"""What is sent at once: a piece of text an item would cost a change of threads each."""

_ITEMS = {
    "type": "object", "required": ["items"], "properties": {"items": {"type": "array", "items": {"type": "object"}}}
}  # fmt: skip
_EXPORTED: dict[int | str, dict[str, Any]] = {
    200: {
        "description": 'The file: {"items": [...]}, or with jsonl one item a line.',
        "content": {
            "application/json": {"schema": _ITEMS},
            "application/yaml": {"schema": _ITEMS},
            "application/x-ndjson": {"schema": {"type": "string"}},
        },
    }
}


@router.get("/export", response_class=StreamingResponse, responses=refusals_beside_text() | _EXPORTED)
def export(
    admin: MemoryAdmin,
    kind: Kinds = None,
    fmt: Annotated[Syntax, Query(description="json, yaml, or jsonl for one item a line.")] = "json",
    limit: Annotated[int, Query(ge=1, le=MAX_ITEMS, description="Most items.")] = DEFAULT_LIMIT,
    after: Annotated[
        str | None,
        Query(max_length=80, description="Go on behind an item: its timestamp, a slash, its id.", examples=["/7"]),
    ] = None,
) -> StreamingResponse:
    """Return the persona's memory items as a file, oldest first, sent while it is read."""
    with refuse_bad_values():
        exported = export_items(kind=split_commas(kind), fmt=fmt, limit=limit, after=after, **admin.asking)
    return stream_export(exported, f"memories.{fmt}")


def stream_export(exported: ItemExport, name: str) -> StreamingResponse:
    """Return an export as an answer of which no more than a part is held at a time."""
    parts = chunks(exported)
    first = next(parts, "")

    def whole() -> Iterator[str]:
        yield first
        yield from parts

    return StreamingResponse(
        whole(), media_type=exported.media_type, headers={"Content-Disposition": f'attachment; filename="{name}"'}
    )


def chunks(pieces: Iterable[str], most: int = CHUNK_CHARS) -> Iterator[str]:
    """Yield the same text in parts of about `most` characters."""
    waiting: list[str] = []
    size = 0
    for piece in pieces:
        waiting.append(piece)
        size += len(piece)
        if size >= most:
            yield "".join(waiting)
            waiting, size = [], 0
    if waiting:
        yield "".join(waiting)


@router.post("/import", name="import", responses=refusals())
def import_file(
    admin: MemoryAdmin,
    file: Annotated[UploadFile, File(description="JSON, YAML or JSON lines, also packed; at most 20 MB.")],
    history_uid: Annotated[str | None, Query(max_length=512, description="Conversation every item is of.")] = None,
    default_kind: Annotated[str, Query(max_length=64, description="Kind of items that name none.")] = DEFAULT_KIND,
    fmt: Annotated[Syntax | None, Query(description="Without it, found out.")] = None,
    dry_run: DryRun = False,
) -> ImportAnswer:
    """Store the items of a file, each once; the same file again stores nothing. Bad rows are listed, others taken."""
    asking = admin.asking
    if history_uid:
        asking["scope"] = Scope(admin.call.persona, history_uid)
    if (file.size or 0) > MAX_BYTES:
        raise Refused(413, str(too_large(MAX_BYTES)))
    try:
        done = import_items(file.file, default_kind=default_kind, fmt=fmt, dry_run=dry_run, **asking)
    except TransferError as error:
        if str(error) == str(too_large(MAX_BYTES)):
            raise Refused(413, str(error)) from None
        raise
    return ImportAnswer.model_validate(done.as_dict())
