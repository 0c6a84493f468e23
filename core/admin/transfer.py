"""The routes of whole files: export as a stream, import of an upload."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Annotated, Any

from fastapi import APIRouter, File, Path, Query, Request, UploadFile
from starlette.responses import StreamingResponse

from ..errors import TransferError
from ..memories.rules import DEFAULT_KIND
from ..scope import Scope
from ..transfer.items import DEFAULT_LIMIT, ItemExport, export_items, import_items
from ..transfer.items.pieces import MAX_BYTES, MAX_ITEMS, too_large
from ..transfer.items.reader import Syntax
from .answers import ImportAnswer, ImportProgress, StoppedAnswer
from .bodies import ConfUid, DryRun, Kinds, Memory, says, says_in_json, split
from .context import AdminContext
from .errors import Refused, refusing
from .import_progress import Import, Imports

router = APIRouter(prefix="/memory", tags=["Export and import"])

CHUNK_CHARS = 65_536
"""What is sent at once: a piece of text an item would cost a change of threads each."""

ImportId = Annotated[
    str, Path(min_length=1, max_length=64, pattern=r"^[A-Za-z0-9_-]+$", description="As POST /memory/import was given.")
]

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


@router.get("/export", response_class=StreamingResponse, responses=says_in_json() | _EXPORTED)
def export(
    context: Memory,
    conf_uid: ConfUid = "default",
    kind: Kinds = None,
    fmt: Annotated[Syntax, Query(description="json, yaml, or jsonl for one item a line.")] = "json",
    limit: Annotated[int, Query(ge=1, le=MAX_ITEMS, description="Most items.")] = DEFAULT_LIMIT,
    after: Annotated[
        str | None,
        Query(max_length=80, description="Go on behind an item: its timestamp, a slash, its id.", examples=["/7"]),
    ] = None,
) -> StreamingResponse:
    """Return the persona's memory items as a file, oldest first, sent while it is read."""
    with refusing():
        made = export_items(kind=split(kind), fmt=fmt, limit=limit, after=after, **context.asking(conf_uid))
    return streamed(made, f"memories.{fmt}")


def streamed(made: ItemExport, name: str) -> StreamingResponse:
    """Return an export as an answer of which no more than a part is held at a time.

    Raises:
        StoreReadError: not even the first part could be read. Later ones end the connection.
    """
    parts = chunks(made)
    first = next(parts, "")

    def whole() -> Iterator[str]:
        yield first
        yield from parts

    return StreamingResponse(
        whole(), media_type=made.media_type, headers={"Content-Disposition": f'attachment; filename="{name}"'}
    )


def chunks(pieces: Iterable[str], most: int = CHUNK_CHARS) -> Iterator[str]:
    """Yield the same text in parts of about `most` characters.

    >>> list(chunks(["ab", "c", "def", "g"], 3))
    ['abc', 'def', 'g']
    """
    held: list[str] = []
    size = 0
    for piece in pieces:
        held.append(piece)
        size += len(piece)
        if size >= most:
            yield "".join(held)
            held, size = [], 0
    if held:
        yield "".join(held)


@router.post("/import", name="import", responses=says())
def import_file(
    context: Memory,
    request: Request,
    file: Annotated[UploadFile, File(description="JSON, YAML or JSON lines, also packed; at most 20 MB.")],
    conf_uid: ConfUid = "default",
    history_uid: Annotated[str | None, Query(max_length=512, description="Conversation every item is of.")] = None,
    default_kind: Annotated[str, Query(max_length=64, description="Kind of items that name none.")] = DEFAULT_KIND,
    fmt: Annotated[Syntax | None, Query(description="Without it, found out.")] = None,
    dry_run: DryRun = False,
    import_id: Annotated[
        str, Query(max_length=64, pattern=r"^[A-Za-z0-9_-]*$", description="Chosen by you, to ask how far it is.")
    ] = "",
) -> ImportAnswer:
    """Store the items of a file, each once; the same file again stores nothing. Bad rows are listed, others taken."""
    known = imports_of(request).begin(context.scope(conf_uid).persona, import_id)
    return imported(context, file, known, conf_uid, history_uid, default_kind, fmt, dry_run=dry_run)


def imported(
    context: AdminContext,
    file: UploadFile,
    known: Import,
    conf_uid: str,
    history_uid: str | None,
    default_kind: str,
    fmt: Syntax | None,
    *,
    dry_run: bool,
) -> ImportAnswer:
    """Return what became of an upload.

    Raises:
        Refused: 413, it is larger than 20 MB, packed or unpacked.
        TransferError, MessageError: as `transfer.import_items`.
    """
    answer: ImportAnswer | None = None
    given = context.asking(conf_uid)
    if history_uid:
        given["scope"] = Scope(given["scope"].persona, history_uid)
    try:
        if (file.size or 0) > MAX_BYTES:
            raise too_large(MAX_BYTES)
        done = import_items(
            file.file,
            default_kind=default_kind,
            fmt=fmt,
            dry_run=dry_run,
            progress=known.tell,
            should_stop=known.should_stop,
            **given,
        )
        answer = ImportAnswer.model_validate(done.as_dict())
    except TransferError as error:
        if str(error) == str(too_large(MAX_BYTES)):
            raise Refused(413, str(error)) from None
        raise
    finally:
        known.end(answer)
    return answer


@router.get("/import/{import_id}", responses=says(404))
def progress(context: Memory, request: Request, import_id: ImportId, conf_uid: ConfUid = "default") -> ImportProgress:
    """Return how far an import is, or what it came to; the last 100 of this process are known."""
    return _found(request, context.scope(conf_uid).persona, import_id).progress


@router.post("/import/{import_id}/stop", responses=says(404))
def stop(context: Memory, request: Request, import_id: ImportId, conf_uid: ConfUid = "default") -> StoppedAnswer:
    """Let an import end after the 1,000 rows at hand; sent again, the file goes on where it was."""
    known = _found(request, context.scope(conf_uid).persona, import_id)
    known.stopping = known.progress.stage in ("looking", "storing")
    return StoppedAnswer(stopping=known.stopping)


def imports_of(request: Request) -> Imports:
    """Return the imports of this application."""
    held: Imports = request.app.state.imports
    return held


def _found(request: Request, persona: str, import_id: str) -> Import:
    known = imports_of(request).find(persona, import_id)
    if known is None:
        raise Refused(404, "There is no import of this id here. The last 100 since the server began are known.")
    return known
