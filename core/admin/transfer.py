"""The routes of whole files: export as a stream, import of an upload, and how far it is."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from fastapi import APIRouter, File, Path, Query, Request, UploadFile
from starlette.responses import StreamingResponse

from ..errors import TransferError
from ..memories.rules import DEFAULT_KIND
from ..scope import Scope
from ..transfer.items import DEFAULT_LIMIT, ItemExport, export_items, import_items
from ..transfer.items.pieces import MAX_BYTES, MAX_ITEMS, too_large
from ..transfer.items.reader import Syntax
from .answers import ImportAnswer, ImportProgress, StoppedAnswer
from .bodies import DryRun, Kinds, MemoryAdmin, refusals, refusals_beside_text, split_commas
from .errors import Refused, refuse_bad_values

router: APIRouter = APIRouter(prefix="/memory", tags=["Export and import"])

CHUNK_CHARS = 65_536
"""What is sent at once: a piece of text an item would cost a change of threads each."""

MOST_KEPT = 100
"""Imports whose progress is known."""

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
    """Return an export as an answer of which no more than a part is held at a time; the page's too."""
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
    request: Request,
    file: Annotated[UploadFile, File(description="JSON, YAML or JSON lines, also packed; at most 20 MB.")],
    history_uid: Annotated[str | None, Query(max_length=512, description="Conversation every item is of.")] = None,
    default_kind: Annotated[str, Query(max_length=64, description="Kind of items that name none.")] = DEFAULT_KIND,
    fmt: Annotated[Syntax | None, Query(description="Without it, found out.")] = None,
    dry_run: DryRun = False,
    import_id: Annotated[
        str, Query(max_length=64, pattern=r"^[A-Za-z0-9_-]*$", description="Chosen by you, to ask how far it is.")
    ] = "",
) -> ImportAnswer:
    """Store the items of a file, each once; the same file again stores nothing. Bad rows are listed, others taken."""
    progress = _imports(request).begin(admin.call.persona, import_id)
    asking = admin.asking
    if history_uid:
        asking["scope"] = Scope(admin.call.persona, history_uid)
    answer: ImportAnswer | None = None
    try:
        if (file.size or 0) > MAX_BYTES:
            raise too_large(MAX_BYTES)
        done = import_items(
            file.file,
            default_kind=default_kind,
            fmt=fmt,
            dry_run=dry_run,
            progress=progress.tell,
            should_stop=progress.should_stop,
            **asking,
        )
        answer = ImportAnswer.model_validate(done.as_dict())
    except TransferError as error:
        if str(error) == str(too_large(MAX_BYTES)):
            raise Refused(413, str(error)) from None
        raise
    finally:
        progress.end(answer)
    return answer


@router.get("/import/{import_id}", name="progress", responses=refusals(404))
def read_progress(admin: MemoryAdmin, request: Request, import_id: ImportId) -> ImportProgress:
    """Return how far an import is, or what it came to; the last 100 of this process are known."""
    return _find_import(request, admin.call.persona, import_id).progress


@router.post("/import/{import_id}/stop", responses=refusals(404))
def stop(admin: MemoryAdmin, request: Request, import_id: ImportId) -> StoppedAnswer:
    """Let an import end after the 1,000 rows at hand; sent again, the file goes on where it was."""
    known = _find_import(request, admin.call.persona, import_id)
    known.stopping = known.progress.stage in ("looking", "storing")
    return StoppedAnswer(stopping=known.stopping)


def _imports(request: Request) -> Imports:
    """Return the imports of this application."""
    imports: Imports = request.app.state.imports
    return imports


def _find_import(request: Request, persona: str, import_id: str) -> Import:
    known = _imports(request).find(persona, import_id)
    if known is None:
        raise Refused(404, "There is no import of this id here. The last 100 since the server began are known.")
    return known


# How far the imports at hand are: what `POST /memory/import` tells, and whoever asks meanwhile reads


@dataclass(slots=True)
class Import:
    """One import that was given an id."""

    progress: ImportProgress
    stopping: bool = False

    def tell(self, stage: str, rows_done: int, rows: int) -> None:
        """Note how far it is; `transfer.items.Progress`."""
        known: Literal["looking", "storing"] = "looking" if stage == "looking" else "storing"
        self.progress = ImportProgress(import_id=self.progress.import_id, stage=known, rows_done=rows_done, rows=rows)

    def end(self, answer: ImportAnswer | None) -> None:
        """Note what it came to; None where it failed."""
        changes = {"stage": "failed" if answer is None else "done", "answer": answer}
        self.progress = self.progress.model_copy(update=changes)

    def should_stop(self) -> bool:
        """Return whether somebody asked it to end between two transactions."""
        return self.stopping


@dataclass(slots=True)
class Imports:
    """The last imports of one application, by persona and id."""

    _held: OrderedDict[tuple[str, str], Import] = field(default_factory=OrderedDict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def begin(self, persona: str, import_id: str) -> Import:
        """Return a new import; without an id nobody can ask for it."""
        begun = Import(ImportProgress(import_id=import_id, stage="looking", rows_done=0, rows=0))
        if import_id:
            with self._lock:
                self._held[persona, import_id] = begun
                while len(self._held) > MOST_KEPT:
                    self._held.popitem(last=False)
        return begun

    def find(self, persona: str, import_id: str) -> Import | None:
        """Return an import of the persona, None where it is not known, or no more."""
        return self._held.get((persona, import_id))
