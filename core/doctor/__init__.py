"""Door: what is wrong with an installation, why it matters, and the statement or command that mends it.

`examine` looks at the settings, the database server, rights, tables, indexes, rows, the queue, the disk, the speed of
the connection, the parts installed and, when asked to, the model. It changes nothing, and a part that cannot be looked
at is told as such while the others are still looked at.
"""

from __future__ import annotations

import os
import re
import shutil
import stat
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from datetime import timedelta
from importlib import metadata
from pathlib import Path
from typing import Any

from .. import config
from ..base import logs
from ..calls import defaults
from ..config import Settings
from ..database import config_table, registry
from ..database.engine import Database
from ..errors import ConfigError, CoreError, ModelError
from ..text.counters import resolve_counter
from ..upkeep import check, diagnosis
from ..upkeep.check import Finding
from . import rules, rules_server
from .rules import Checkup, Level, Symptom

__all__ = ["Checkup", "Level", "Symptom", "examine"]

SHOWN = 5
"""Absent parts of the schema that a pending migration is shown with."""
CHECKED_BYTES = 1 << 30
"""A larger SQLite file is not read from end to end."""
WAL_BYTES = 256 << 20
_DISTRIBUTION = "prompt-engine"
_REQUIRED = re.compile(r"^([\w.-]++)[^;]*+;[^;]*\bextra\s*==\s*['\"]([\w-]+)['\"]")
_NOT_FOR_USE = frozenset({"docs", "test"})


def examine(
    url: str | None = None,
    *,
    models: bool = False,
    db: Database | None = None,
    settings: Settings | Mapping[str, Any] | None = None,
) -> Checkup:
    """Return everything that is wrong, unwise or worth knowing, errors first.

    Args:
        url: connection string; None takes DATABASE_URL, then config.yaml, then the embedded file.
        models: ask the model of LLM_BASE_URL for one word, which costs what such an answer costs.
        db: a handle instead of `url`; it stays open.
        settings: flags that go before all others; None is those of the process.

    Returns:
        What was looked at, each with its level; `healthy` where nothing is an error. Without a database that can be
        opened the rest is still looked at.

    Raises:
        Nothing for what is wrong: that is the answer.

    >>> from prompt_engine import open_database
    >>> from prompt_engine.doctor import examine
    >>> checkup = examine(db=open_database("sqlite://"))
    >>> checkup.healthy, next(one.what for one in checkup.symptoms if one.area == "schema")
    (True, 'Rights, tables, columns and indexes are as they should be.')
    """
    symptoms: list[Symptom] = []
    handle = None if db is None else defaults.check_handle(db)
    known, told = _known(settings)
    symptoms += told
    opened: Database | None = None
    if handle is None and known is not None:
        handle, told = _opened(url, known)
        opened = handle
        symptoms += told
    try:
        if handle is not None:
            symptoms += _database(handle, known or Settings())
        symptoms += _settings(handle, known)
    finally:
        if opened is not None:
            opened.close()
    symptoms += rules.extras(_find_extras())
    if known is not None:
        symptoms += _model(known, ask=models)
        symptoms += _embedder(known, ask=models)
    return Checkup(handle.target.shown if handle is not None else "", rules.sorted_by_level(symptoms))


def _guarded(area: str, what: str, look: Callable[[], list[Symptom]]) -> list[Symptom]:
    """Return what a look shows, or that it could not be had."""
    try:
        return look()
    except CoreError as error:
        said = f"{what} could not be looked at: {error}"
        return [Symptom("warning", area, said, "Nothing is known of it.", "Mend the errors above, then look again.")]


# Settings


def _known(settings: Settings | Mapping[str, Any] | None) -> tuple[Settings | None, list[Symptom]]:
    """Return the settings, None where they cannot be read; the warnings they cause are told by `_settings` instead."""
    before, logs.logger.disabled = logs.logger.disabled, True
    try:
        return config.resolve(settings), []
    except ConfigError as error:
        why = "No flag can be read, so that every call fails."
        return None, [Symptom("error", "settings", str(error), why, "Correct what it names.")]
    finally:
        logs.logger.disabled = before


def _settings(db: Database | None, known: Settings | None) -> list[Symptom]:
    before, logs.logger.disabled = logs.logger.disabled, True
    try:
        stored: Mapping[str, str] = {}
        if db is not None:
            try:
                stored = config_table.read_values(db)
            except CoreError:
                stored = {}  # told where the database is looked at
        problems = config.check(database_values=stored)
    finally:
        logs.logger.disabled = before
    why, mend = "The flag is at its default, whatever was meant.", "prompt-engine config check lists them"
    found = [Symptom("warning", "settings", each.text, why, mend) for each in problems]
    if known is not None and known.admin_token and (said := rules.admin_token(known.admin_token)):
        found.append(Symptom("warning", "settings", said, "prompt-engine serve does not start.", mend))
    return found or [Symptom("ok", "settings", "Every flag has a value it may have, and no key is unknown.")]


# The database


def _opened(url: str | None, known: Settings) -> tuple[Database | None, list[Symptom]]:
    try:
        handle = defaults.open_bare(url, settings=known)
    except CoreError as error:
        why = "Nothing can be stored or recalled."
        return None, [Symptom("error", "server", str(error), why, "Correct DATABASE_URL or --database.")]
    if handle.target.is_missing:
        said = f"There is no database yet ({handle.target.shown})."
        why = "It is made by the first call that needs one."
        mend = f"prompt-engine db init makes it now{'' if url or known.database_url else _ELSEWHERE}"
        return None, [Symptom("note", "server", said, why, mend)]
    return handle, []


_ELSEWHERE = (
    "; where it is elsewhere, say where: --database URL, DATABASE_URL or config.yaml "
    "(sqlite:///FILE, mysql://USER:PASSWORD@HOST/NAME)"
)


def _file(db: Database) -> str:
    return str(db.target.url.database or "")


def _database(db: Database, known: Settings) -> list[Symptom]:
    """Return everything about one database; where it does not answer, that alone."""
    try:
        speed = rules.round_trip(diagnosis.measure_round_trip_ms(db))
    except CoreError as error:
        why = "Nothing can be stored or recalled; prompts are built from what the host hands in."
        return [Symptom("error", "server", str(error), why, "Follow what the sentence says, then look again.")]
    found = [Symptom("ok", "server", f"The database answers ({db.target.shown})."), speed]
    found += _guarded("schema", "Server, rights and tables", lambda: _checked(db))
    if db.family == "sqlite":
        found += _guarded("disk", "The file", lambda: list(_sqlite(db)))
    else:
        found += _guarded("server", "The server's settings", lambda: _server(db))
        found += _guarded("clock", "The server's clock", lambda: [rules.clock(diagnosis.measure_clock_seconds(db))])
    return found if rules.NO_TABLES in found else found + _tables(db, known)


def _checked(db: Database) -> list[Symptom]:
    listed = check.check_server(db)
    absent = {one.where for one in listed if (one.what, one.there) == ("table", "absent")}
    if absent.issuperset(entry.table for entry in registry.REGISTRY):
        listed = [one for one in listed if one.what not in ("table", "migration")]
        found = [rules.NO_TABLES]
    else:
        found = []
    found += [
        rules.from_finding(one.severity, one.what, one.where, f"{one.there}; needed: {one.needed}", one.remedy)
        for one in _without_what_is_to_come(listed)
    ]
    if not any(one.area in ("schema", "rights") for one in found):
        found.append(Symptom("ok", "schema", "Rights, tables, columns and indexes are as they should be."))
    return found


def _without_what_is_to_come(listed: list[Finding]) -> list[Finding]:
    """Return the findings with a pending migration and all that is absent until it has run as one of them."""
    if not any(one.what == "migration" for one in listed):
        return listed
    absent = [one for one in listed if (one.there, one.remedy) == ("absent", check.MIGRATE)]
    names = [f"{one.what} {one.where}" for one in absent]
    more = ", ".join([*names[:SHOWN], *(["more"] if names[SHOWN:] else [])])
    kept = [one for one in listed if one not in absent]
    return [
        replace(one, needed=f"{one.needed}, with {more}") if one.what == "migration" and more else one for one in kept
    ]


def _server(db: Database) -> list[Symptom]:
    facts = diagnosis.read_server_facts(db, rules_server.ASKED)
    tables = diagnosis.read_table_sizes(db)
    used = sum(rows + more for rows, more, _ in tables.values())
    found = rules_server.settings(facts.settings, used_bytes=used, connected=facts.connected)
    found.append(rules_server.encryption(facts.cipher, local=facts.local))
    found += rules.sizes(tables) if tables else []
    said = "How much room is left on the server's disk is not told to clients."
    return [*found, Symptom("note", "disk", said, "A full disk refuses every write.", "On the server: df -h")]


def _sqlite(db: Database) -> Iterator[Symptom]:
    facts = diagnosis.read_file_facts(db)
    size = int(facts["page_size"]) * int(facts["page_count"])
    free = int(facts["page_size"]) * int(facts["freelist_count"])
    yield Symptom("note", "disk", f"The file takes {rules.megabytes(size)}, {rules.megabytes(free)} of it free.")
    if size > CHECKED_BYTES:
        said = f"The file is larger than {rules.megabytes(CHECKED_BYTES)} and was not read from end to end."
        yield Symptom("note", "disk", said, "Damage would show there.", "sqlite3 FILE 'PRAGMA integrity_check'")
    elif not diagnosis.is_whole(db):
        why = "Rows may be lost or read wrongly."
        mend = "Restore a backup; or: sqlite3 FILE .recover | sqlite3 NEW, then prompt-engine db check"
        yield Symptom("error", "disk", "SQLite finds the file damaged (PRAGMA quick_check).", why, mend)
    if not db.target.in_memory:
        yield from _on_disk(Path(_file(db)), str(facts["journal_mode"]))


def _on_disk(file: Path, journal: str) -> Iterator[Symptom]:
    try:
        yield rules.disk(shutil.disk_usage(file.parent).free, str(file.parent))
        mode = file.stat().st_mode
        wal = file.with_name(f"{file.name}-wal")
        wal_bytes = wal.stat().st_size if wal.exists() else 0
    except OSError as error:
        yield Symptom("warning", "disk", f"The folder of the file cannot be looked at ({error.strerror}).")
        return
    if not os.access(file, os.W_OK) or not os.access(file.parent, os.W_OK):
        why = "Nothing is stored: every write fails. SQLite also makes files beside the database."
        mend = f"chown and chmod u+w the file and its folder for the user that runs this: {file}"
        yield Symptom("error", "disk", f"{file} or its folder may not be written.", why, mend)
    if mode & (stat.S_IROTH | stat.S_IWOTH):
        why = "Whoever has an account on this machine can read what people said."
        yield Symptom("note", "disk", f"{file} may be read by everybody.", why, f"chmod o-rwx {file}*")
    if journal != "wal":
        why = "Readers wait while one writes."
        mend = f"sqlite3 {file} 'PRAGMA journal_mode = WAL', on a disk of this machine"
        yield Symptom("warning", "disk", f"The journal is in mode {journal}, not WAL.", why, mend)
    if wal_bytes > WAL_BYTES:
        why = "Reads get slower; a reader that never ends keeps it from being folded in."
        said = f"{wal.name} takes {rules.megabytes(wal_bytes)}."
        yield Symptom(
            "warning", "disk", said, why, f"End long readers, then: sqlite3 {file} 'PRAGMA wal_checkpoint(TRUNCATE)'"
        )


def _tables(db: Database, known: Settings) -> list[Symptom]:
    """Return what rows show; a database without its tables shows nothing here, and that was told."""
    before = db.clock() - timedelta(hours=known.short_term_memory_ttl_hours)
    looks: tuple[tuple[str, str, Callable[[], list[Symptom]]], ...] = (
        ("index", "The search index", lambda: [rules.index_sample(*diagnosis.sample_index(db))]),
        ("queue", "The queue", lambda: rules.waiting(**diagnosis.count_queue(db))),  # type: ignore[arg-type]
        ("rows", "Rows of nobody", lambda: rules.orphans(diagnosis.count_orphans(db))),
        ("rows", "What has expired", lambda: rules.expired(*diagnosis.count_expired(db, before))),
    )
    return [one for area, what, look in looks for one in _guarded(area, what, look)]


# The parts around it


def _find_extras() -> dict[str, bool]:
    """Return extra to whether its packages are installed; of an installation without metadata nothing is known."""
    try:
        required = metadata.requires(_DISTRIBUTION) or []
    except metadata.PackageNotFoundError:
        return {}
    found: dict[str, bool] = {}
    for line in required:
        match = _REQUIRED.match(line)
        if match is not None and match[2] not in _NOT_FOR_USE:
            found[match[2]] = found.get(match[2], True) and _is_installed(match[1])
    return dict(sorted(found.items()))


def _is_installed(package: str) -> bool:
    """Return whether a package is there, by its own name: many a module is called otherwise."""
    try:
        metadata.version(package)
    except metadata.PackageNotFoundError:
        return False
    return True


def _embedder(known: Settings, *, ask: bool) -> list[Symptom]:
    from .. import llm  # noqa: PLC0415 - needed where an embedder is looked at
    from ..llm import embedder as embedders  # noqa: PLC0415 - likewise

    why, mend = "Searches go by the words alone, and the report of each says so.", "Correct EMBEDDER, or remove it."
    embedder = embedders.resolve(None, known)
    if embedder is None:
        return []
    try:
        name = embedders.check(embedder)
        if not ask and not embedders.is_local(embedder):
            said = f"The embedder {name} is configured; it was not asked."
            return [Symptom("note", "model", said, "", "prompt-engine doctor --models asks it for one vector")]
        numbers = len(embedders.ask(embedder, ["ok"], known.llm_timeout_seconds)[0])
    except (ConfigError, embedders.EmbedderError) as error:
        return [Symptom("error", "model", str(error), why, mend)]
    finally:
        llm.close()
    return [Symptom("ok", "model", f"The embedder {name} gives vectors of {numbers} numbers.")]


def _model(known: Settings, *, ask: bool) -> list[Symptom]:
    symptoms = [rules.counter(resolve_counter(None, known.llm_model or None)[1], known.llm_model)]
    from .. import llm  # noqa: PLC0415 - needed where a model is looked at

    try:
        model = llm.resolve(None, known)
    except (ConfigError, TypeError) as error:
        why = "Recaps and summaries are made of sentences that were said, or their operations fail."
        return [*symptoms, Symptom("error", "model", str(error), why, "Correct LLM_BASE_URL, or remove it.")]
    if model is None:
        said = "No model is configured; recaps and summaries are made of sentences that were said."
        return [
            *symptoms,
            Symptom("note", "model", said, "They are poorer than a model's.", "Set LLM_BASE_URL (docs/models.md)"),
        ]
    if not ask:
        said = "A model is configured; it was not asked."
        return [*symptoms, Symptom("note", "model", said, "", "prompt-engine doctor --models asks it for one word")]
    try:
        llm.ask(model, [{"role": "user", "content": "Answer with the word ok."}], known, max_tokens=16)
    except ModelError as error:
        why = "Recaps and summaries are tried again and then given up."
        return [
            *symptoms,
            Symptom("error", "model", str(error), why, "Look at what serves it, at LLM_MODEL and LLM_API_KEY."),
        ]
    finally:
        llm.close()
    return [*symptoms, Symptom("ok", "model", "The model answers.")]
