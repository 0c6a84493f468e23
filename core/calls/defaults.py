"""The defaults of the process: database, settings, scope, model and embedder."""

from __future__ import annotations

import atexit
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from ..access.rules import named_participant, said_privacy, split_key
from ..config import GivenSettings, Settings, resolve
from ..context.incoming import IncomingMessage, read_role
from ..database.engine import Database
from ..errors import ConfigError
from ..scope import NO_SERVER, Scope, _current, current_scope
from ..shapes import now_utc

EMBEDDED_FILE = "prompt-engine.sqlite3"
"""Default database: a file in the working directory, next to config.yaml."""
MODEL_NAME_BYTES = 100


@dataclass(slots=True)
class _Process:
    db: Database | None = None
    settings: GivenSettings = None
    model: Any = None
    embedder: Any = None


process = _Process()
_opening = threading.Lock()


def configure(
    db: Database | str | None = None, *, settings: GivenSettings = None, model: Any = None, embedder: Any = None
) -> None:
    """Set the defaults that functions of this process use for missing arguments; each call sets all four defaults.

    Args:
        db: a handle, or a connection string, which is opened at once; None goes back to DATABASE_URL, then
            config.yaml, then the embedded file.
        settings: settings, or a mapping of flag to value; None goes back to environment and file.
        model: the model for recaps and summaries: a function taking the list of messages, or an object with
            `complete(messages, ...)`; None goes back to the server of LLM_BASE_URL, or to no model.
        embedder: the model that turns texts into vectors (docs/embeddings.md): an object with `embed(texts)` and
            `name`; None goes back to EMBEDDER.

    Raises:
        ConfigError: the connection string cannot be used, or a flag is unknown.
        TypeError: `db` or `settings` of a wrong type, a model that cannot be called, an embedder without `embed` or
            `name`.

    >>> from prompt_engine import configure, open_database
    >>> from prompt_engine.db import default_database
    >>> configure(open_database("sqlite://"), settings={"CONTEXT_VERBOSITY": 4})
    >>> default_database().family
    'sqlite'
    >>> configure(None)
    """
    check_model(model)
    check_embedder(embedder)
    if settings is not None:
        resolve(settings)
    opened = open_database(db, settings=settings) if isinstance(db, str) else check_handle(db)
    if isinstance(db, str) and opened is not None:
        atexit.register(opened.close)
    with _opening:
        process.db = opened
        process.settings = settings
        process.model = model
        process.embedder = embedder


def check_model(model: Any) -> None:
    if model is not None and not callable(getattr(model, "complete", model)):
        raise TypeError(
            f"model is of type {type(model).__name__}. Pass a function taking the list of messages, "
            "or an object with complete(messages, ...)."
        )


def check_embedder(embedder: Any) -> None:
    name = getattr(embedder, "name", None)
    is_name = isinstance(name, str) and bool(name.strip()) and name.isprintable()
    is_name = is_name and len(str(name).encode()) <= MODEL_NAME_BYTES
    if embedder is not None and not (is_name and callable(getattr(embedder, "embed", None))):
        raise TypeError(
            f"embedder is of type {type(embedder).__name__}. Pass an object with embed(texts) -> vectors and a name of "
            f"1 to {MODEL_NAME_BYTES} bytes, another one for each model."
        )


def default_database() -> Database:
    """Return the database of this process, opened by `open_database` at first use.

    Returns:
        The handle of `configure`, else one opened by DATABASE_URL, config.yaml or the embedded file; the same
        at every call.

    Raises:
        ConfigError: the connection string cannot be used.
        StoreError: the database cannot be reached.

    >>> from prompt_engine import configure, open_database
    >>> from prompt_engine.db import default_database
    >>> mine = open_database("sqlite://")
    >>> configure(mine)
    >>> default_database() is mine
    True
    >>> configure(None)
    """
    if process.db is None:
        with _opening:
            if process.db is None:
                process.db = open_database(settings=process.settings)
                atexit.register(process.db.close)  # SQLite moves its log into the file when the last connection closes
    return process.db


def open_bare(url: str | None = None, *, settings: GivenSettings = None, **options: Any) -> Database:
    """Return a handle for `url`, else DATABASE_URL, else the embedded file; no tables are created."""
    known = resolve(settings)
    url = url or known.database_url or f"sqlite:///{_find_embedded()}"
    return Database(url, timeout_seconds=known.db_timeout_seconds, **options)


def _find_embedded() -> Path:
    """Return the path of the embedded file; raise if it would be in / or in a folder that was removed."""
    with suppress(OSError):  # the folder was removed
        folder = Path.cwd()
        if folder != folder.parent or (folder / EMBEDDED_FILE).exists():
            return folder / EMBEDDED_FILE
    raise ConfigError(
        "DATABASE_URL is not set, and the program was started in / or in a folder that is gone. Set it to a file, as "
        f"in sqlite:////home/you/{EMBEDDED_FILE}, or start the program in a folder of yours.",
        flag="DATABASE_URL",
    )


def open_database(url: str | None = None, *, settings: GivenSettings = None, **options: Any) -> Database:
    """Open a database; create the tables of an empty database, and migrate an older SQLite file."""
    from ..upkeep import migration as migrating  # noqa: PLC0415 - needed where a database is opened, not where one is passed

    db = open_bare(url, settings=settings, **options)
    migrating.ensure_present(db)
    return db


def handle(db: Any = None) -> Any:
    return default_database() if db is None else check_handle(db)


def check_handle(db: Any) -> Any:
    """Check that `db` is a database handle and return it; raise for a URL or any other object."""
    if db is not None and not hasattr(type(db), "read"):
        raise TypeError(
            f"db is of type {type(db).__name__}. Pass what open_database(url) returned, or leave it out for the "
            "database of the process."
        )
    return db


def settings_for(settings: GivenSettings = None) -> Settings:
    """Return a call's settings: `settings`, else those of `configure`; these override environment and config.yaml."""
    return resolve(process.settings if settings is None else settings)


def scope_for(scope: Scope | None, settings: Settings) -> Scope:
    """Return `scope`, else the scope of `use_scope`, else a scope with only the persona PERSONA_ID."""
    if scope is None and _current.get() is None:
        return Scope(settings.persona_id)
    return current_scope(scope)


def find_handle(db: Database | None = None) -> Database | None:
    """Return `db`, else the process's handle; None if the process has not opened one."""
    return process.db if db is None else check_handle(db)


def clock(db: Database | None = None) -> Callable[[], datetime]:
    """Return the clock of `db`, else of the process's database, else of the operating system."""
    known = find_handle(db)
    return known.clock if known is not None else now_utc


def scope_of(message: IncomingMessage, scope: Scope | None, settings: Settings) -> Scope:
    """Build the scope of a message. `scope` supplies values that the message lacks, and may make its chat private."""
    given = scope_for(scope, settings)
    conversation = message.interface_path or given.conversation
    privacy, privacy_from = given.privacy, given.privacy_from
    sender = message.sender
    if message.interface_path:
        # A name is used only if neither message nor scope has an id: a room may have a person's name.
        own_id = sender.id or ("" if given.participant else sender.identity)
        chat_id = message.chat_id or split_key(message.interface_path)[1]
        no_server = message.server_id == NO_SERVER
        server = "" if no_server else message.server_id
        said = said_privacy(message.is_private, message.chat_type, chat_id, own_id, server)
        # a server's channel may have its owner's id, as on Twitch
        is_own_chat = said is None and not message.server_id and bool(own_id) and chat_id == own_id
        if is_own_chat and privacy in (None, "public") and privacy_from == "host":
            privacy_from = "ids"
        found = said or ("direct" if no_server or is_own_chat else None)
        is_own = given.conversation == conversation and not given.no_server
        if privacy in (None, "public") or not (is_own or (privacy == "separate" and found == "direct")):
            privacy = found or privacy
    return replace(
        given, conversation=conversation, participant=_find_participant(message, given),
        server=message.server_id or given.server, privacy=privacy, privacy_from=privacy_from,
    )  # fmt: skip


def _find_participant(message: IncomingMessage, given: Scope) -> str | None:
    """Return the speaker's participant key: from the message's id, else from the scope, else from the name."""
    sender = message.sender
    if read_role(message.raw) == "persona":  # it is no participant; the line answers that of the scope
        return given.participant
    if sender.id:
        return f"{message.interface}/{sender.id}"
    return given.participant or named_participant(message.interface, sender.identity)
