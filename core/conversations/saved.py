"""What `conversations` does with saved memories, apart from it."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from .. import llm
from ..audience.view import Viewer
from ..base import logs
from ..calls import screening
from ..config import Settings
from ..database.engine import Database
from ..errors import MessageError, ModelError
from ..memories import table_history as item_history
from ..scope import Scope
from ..shapes import FormerText, SavedMemory, WriteResult
from ..templates.phrases import load_phrases
from ..templates.refused import refused_patterns
from ..templates.render import Renderer
from ..text import remember_phrases as remember
from ..text.folding import one_line
from ..text.times import iso_text
from . import rules_rewrites as rewrites
from . import table_rewrites as saved_rewriting
from . import table_saved as saved
from .table_saved import Item

TEMPLATE = "saved_rewrite.txt.j2"
REWRITES_TRIED = 5
"""Times a list is looked at anew because another rewrite came in between; then the statement is saved by itself."""


# Saving


def add(
    db: Database,
    settings: Settings,
    scope: Scope,
    text: object,
    said: object = None,
    screen: screening.Screen | None = None,
) -> WriteResult:
    """Save one fact; see `conversations.add_saved_memory`."""
    read = _read(settings, text, said)
    if isinstance(read, WriteResult):
        return read
    flagged, notes = screening.is_flagged(read, "memory", settings=settings, screen=screen)
    memory = saved.new(read, now=db.clock())
    memory = replace(memory, quarantined=int(flagged), notes=(*memory.notes, *notes))
    return saved.add(db, scope, memory, privacy_default=settings.privacy_default)


def _read(settings: Settings, text: object, said: object) -> str | WriteResult:
    """Return the text as it is saved, or why it is not.

    Raises:
        MessageError: a value of another type.
    """
    for name, value in (("text", text), ("said", said)):
        if not isinstance(value, str) and not (name == "said" and value is None):
            raise MessageError(f"{name} is of type {type(value).__name__}. It must be a text.", fields=(name,))
    made = one_line(str(text)).strip()
    if not settings.enable_saved_memory:
        return WriteResult(False, None, "disabled")
    if not made:
        return WriteResult(False, None, "empty")
    if len(made) > settings.saved_memory_chars:
        note = f"it has {len(made)} characters; SAVED_MEMORY_CHARS allows {settings.saved_memory_chars}"
        return WriteResult(False, None, "too_long", notes=(note,))
    if said is not None:
        phrases = load_phrases(settings.languages, settings.remember_phrases)
        if not remember.is_explicit_wish(str(said), phrases):
            return WriteResult(False, None, "not_explicit")
    return made


def update(
    db: Database, settings: Settings, scope: Scope, statement: object, model: Any, said: object = None
) -> WriteResult:
    """Let a model rewrite the list by a statement; see `conversations.update_saved_memory`."""
    # 1. what was said, and who is asked
    read = _read(settings, statement, said)
    if isinstance(read, WriteResult):
        return read
    known = llm.resolve(model, settings)
    note = ""
    for _ in range(REWRITES_TRIED if known is not None else 0):
        # 2. the list as it is
        ready = saved_rewriting.prepare(db, scope, privacy_default=settings.privacy_default)
        if ready.reason:
            return WriteResult(False, None, ready.reason)
        if not ready.items or (ready.local_only and (scope.destination or settings.prompt_destination) != "local"):
            break
        # 3. what becomes of it
        change, note = _asked(settings, known, ready.items, read)
        if change is None:
            break
        if _is_flagged(settings, change):
            note = "a text of the model was flagged; the statement is saved by itself"
            break
        # 4. all of it, if the list is still the one the model saw
        done = saved_rewriting.apply(db, scope, ready.items, change, read, privacy_default=settings.privacy_default)
        if done is not None:
            return done
        note = "the list kept changing; the statement is saved by itself"
    # 5. otherwise the statement by itself
    stored = add(db, settings, scope, read)
    return WriteResult(*stored, notes=(*stored.notes, note)) if note else stored


def _asked(
    settings: Settings, model: Any, items: tuple[Item, ...], statement: str
) -> tuple[rewrites.Rewrite | None, str]:
    """Return what the model wants changed, or None and a note why its answer is of no use."""
    texts = [item.text for item in items]
    shown = {"items": [json.dumps(text, ensure_ascii=False) for text in texts]}
    renderer = Renderer(settings.templates_dir, settings.template_steps)
    prompt = renderer.text(TEMPLATE, **shown, statement=json.dumps(statement, ensure_ascii=False))
    try:
        reply = llm.ask(model, [{"role": "user", "content": prompt}], settings)
        patterns = refused_patterns(settings.templates_dir)
        return rewrites.read(reply, texts, most_chars=settings.saved_memory_chars, patterns=patterns), ""
    except ModelError as error:
        logs.warning("saved_rewrite_without_model", reason=error.reason, error=error.error)
        return None, f"the model failed ({error.reason}); the statement is saved by itself"
    except rewrites.ImpossibleError as error:
        logs.warning("saved_rewrite_refused", why=str(error))
        return None, f"the model's answer is not followed: {error}; the statement is saved by itself"


def _is_flagged(settings: Settings, change: rewrites.Rewrite) -> bool:
    """Return whether the screening hook flags a text that would take an item's place, or join the list."""
    texts = [text for _, text in change.replaced] + list(change.added)
    return any(screening.is_flagged(text, "memory", settings=settings)[0] for text in texts)


def delete(db: Database, viewer: Viewer, row_id: object, *, restore: bool) -> WriteResult:
    """Take a saved memory off the list or bring it back; see `conversations.delete_saved_memory`."""
    if isinstance(row_id, bool) or not isinstance(row_id, int):
        raise MessageError(f"id is of type {type(row_id).__name__}. It must be a whole number.", fields=("id",))
    if not 0 < row_id < 2**63:
        return WriteResult(False, None, "unchanged", notes=(saved.NO_SUCH,))
    change = saved.restore if restore else saved.archive
    return change(db, viewer.scope, row_id, seen=viewer.audiences, local=viewer.sees_local_only)


# Reading


def listed(db: Database, viewer: Viewer, *, former: bool = False) -> list[SavedMemory]:
    """Return the visible saved memories, oldest first."""
    found = saved.listed(db, viewer.scope.persona, viewer.audiences, local=viewer.sees_local_only, former=former)
    return [
        {
            "id": item.id,
            "text": item.text,
            "saved_at": iso_text(item.at),
            "source": item.source,
            "former": item.is_former,
            "replaced_by": item.superseded_by,
        }
        for item in found
    ]


def history(db: Database, viewer: Viewer, row_id: int) -> list[FormerText]:
    """Return every text a saved memory has had, the first one first; see `conversations.saved_memory_history`."""
    if isinstance(row_id, bool) or not isinstance(row_id, int):
        raise MessageError(f"id is of type {type(row_id).__name__}. It must be a whole number.", fields=("id",))
    items = saved.listed(db, viewer.scope.persona, viewer.audiences, local=viewer.sees_local_only, former=True)
    chain = _chain(items, row_id)
    told: dict[int, list[FormerText]] = {}
    for old in item_history.read_texts(db, viewer.scope.persona, "memories", [item.id for item in chain]):
        told.setdefault(old.item_id, []).append(
            {
                "id": old.item_id,
                "text": old.text,
                "until": iso_text(old.at),
                "reason": old.reason,
                "changed_by": old.changed_by,
            }
        )
    made: list[FormerText] = []
    for item in chain:
        before = told.get(item.id, [])
        made += before
        if not item.is_former:
            made.append({"id": item.id, "text": item.text, "until": "", "reason": "", "changed_by": ""})
        elif not before or before[-1]["text"] != item.text:
            until = iso_text(item.archived_at)
            made.append({"id": item.id, "text": item.text, "until": until, "reason": "deleted", "changed_by": ""})
    return made


def _chain(items: list[Item], row_id: int) -> list[Item]:
    """Return the memory with all that it took the place of and all that took its place, oldest first.

    >>> at = None
    >>> one, two, other = (Item(n, "", at, "user", b"", None, None, by) for n, by in ((1, 2), (2, None), (3, None)))
    >>> [item.id for item in _chain([one, two, other], 1)], _chain([one], 9)
    ([1, 2], [])
    """
    known = {item.id: item for item in items}
    wanted = {row_id} & set(known)
    grows = True
    while grows:
        later = {known[i].superseded_by for i in wanted} & set(known)
        earlier = {item.id for item in items if item.superseded_by in wanted}
        grows = not (later | earlier) <= wanted
        wanted |= {i for i in later | earlier if i is not None}
    return sorted((known[i] for i in wanted), key=lambda item: item.id)
