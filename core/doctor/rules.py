"""What facts about an installation mean to the person who runs it, and how it is mended."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

Level = Literal["ok", "note", "warning", "error"]
"""ok: looked at and in order. note: good to know. warning: it works, poorer or not for long. error: something does not
work or will fail."""

LEVELS: tuple[Level, ...] = ("error", "warning", "note", "ok")
"""In the order they are shown."""

SKEW_WARNED_SECONDS, SKEW_WRONG_SECONDS = 5.0, 300.0
SLOW_MS, VERY_SLOW_MS = 5.0, 50.0
ROUND_TRIPS = 3
"""Most round trips of one prompt (design, one call in a straight line)."""
DISK_LOW_BYTES, DISK_EMPTY_BYTES = 1 << 30, 64 << 20
WAITED_SECONDS = 3600
LEAST_TOKEN = 16
"""Characters of ADMIN_TOKEN: fewer could be guessed."""
SHOWN = 10


@dataclass(frozen=True, slots=True)
class Symptom:
    """One thing the doctor looked at."""

    level: Level
    area: str
    """server, rights, schema, index, rows, queue, disk, speed, encryption, settings, model, extras or clock."""
    what: str
    """What was found, as a sentence."""
    why: str = ""
    """Why it matters; blank where all is well."""
    mend: str = ""
    """The statement or command that mends it, or what to do; blank where there is nothing to mend."""


NO_TABLES = Symptom(
    "warning",
    "schema",
    "The database holds no table of this program.",
    "The first call that needs them makes them; where there should be rows, DATABASE_URL names the wrong database.",
    "prompt-engine db init makes them now",
)
"""In place of one symptom for each table."""


@dataclass(frozen=True, slots=True)
class Checkup:
    """Everything the doctor found."""

    database: str
    """The connection string, its password as dots; blank where there is none that can be used."""
    symptoms: tuple[Symptom, ...]
    """Errors first, then warnings, notes, and what is in order; within a level in the order things were looked at."""

    @property
    def healthy(self) -> bool:
        """Return whether nothing is an error."""
        return all(one.level != "error" for one in self.symptoms)


def sorted_by_level(symptoms: Iterable[Symptom]) -> tuple[Symptom, ...]:
    """Return symptoms errors first; those of one level stay in their order."""
    return tuple(sorted(symptoms, key=lambda one: LEVELS.index(one.level)))


def megabytes(size: float) -> str:
    """Return a size for people."""
    return f"{size / 2**20:,.1f} MB"


_WHY = {
    "version": ("server", "Statements of this program may fail on it."),
    "packet size": ("server", "A long text, or a batch of rows, is refused."),
    "right": ("rights", "What needs the right fails."),
    "adoption": ("schema", "This program cannot work with the tables of another."),
    "migration": ("schema", "Doors refuse a database of an earlier version."),
    "table": ("schema", "Whatever reads or writes it fails."),
    "column": ("schema", "Whatever reads or writes it fails."),
    "primary key": ("schema", "Rows may be doubled, and clusters refuse the table."),
    "engine": ("schema", "Without transactions a failure leaves half-written rows."),
    "index": ("schema", "The reads it serves take time by the size of the table."),
    "type": ("schema", "Values may be cut or refused."),
    "nullable": ("schema", "Rows may lack what they are found by."),
    "collation": ("schema", "Texts compare otherwise than on other servers: case, emoji and blanks at the end."),
    "search index": ("index", "Searches read every row, which takes time by the size of the table."),
    "row": ("rows", "The value is read as empty; the rest of the row is used."),
}


def from_finding(severity: Literal["error", "warning"], what: str, place: str, facts: str, remedy: str) -> Symptom:
    """Return a finding of `upkeep.check` as a symptom: the same, and why it matters."""
    area, why = _WHY.get(what, ("schema", ""))
    return Symptom(severity, area, f"{what} {place}: {facts}." if place else f"{what}: {facts}.", why, remedy)


def clock(ahead_seconds: float) -> Symptom:
    """Return what it means that the server's clock is ahead of the host's by this much, below 0 behind it."""
    apart = abs(ahead_seconds)
    if apart < SKEW_WARNED_SECONDS:
        return Symptom("ok", "clock", f"Host and database server agree on the time within {max(apart, 0.001):.3f} s.")
    level: Level = "error" if apart >= SKEW_WRONG_SECONDS else "warning"
    side = "ahead of" if ahead_seconds > 0 else "behind"
    return Symptom(
        level,
        "clock",
        f"The database server's clock is {apart:,.0f} s {side} the host's.",
        "Times are the host's: two hosts that differ order their messages wrongly, and leases end too early or late.",
        "Let both keep their time by NTP: timedatectl set-ntp true",
    )


def round_trip(milliseconds: float) -> Symptom:
    """Return what a round trip of this length means; a prompt takes up to three."""
    said = f"A round trip to the database takes {milliseconds:.1f} ms."
    if milliseconds < SLOW_MS:
        return Symptom("ok", "speed", said)
    level: Level = "warning" if milliseconds >= VERY_SLOW_MS else "note"
    why = f"A prompt waits for up to {ROUND_TRIPS} of them, {ROUND_TRIPS * milliseconds:.0f} ms."
    return Symptom(level, "speed", said, why, "Move host and database closer together, or connect by a socket.")


def disk(free_bytes: int, folder: str) -> Symptom:
    """Return what this much free space means where the database lies."""
    said = f"{megabytes(free_bytes)} are free where the database lies ({folder})."
    if free_bytes >= DISK_LOW_BYTES:
        return Symptom("ok", "disk", said)
    level: Level = "error" if free_bytes < DISK_EMPTY_BYTES else "warning"
    why = "A full disk refuses every write; migrations and indexes need room for a copy of a table."
    return Symptom(level, "disk", said, why, "Free space there, or move the database to a larger disk.")


def sizes(tables: Mapping[str, tuple[int, int, int]]) -> list[Symptom]:
    """Return the largest tables, and what makes them large."""
    largest = sorted(tables.items(), key=lambda item: -(item[1][0] + item[1][1]))[:5]
    shown = [f"{name} {megabytes(rows + more)} ({megabytes(more)} of it indexes)" for name, (rows, more, _) in largest]
    total = sum(rows + more for rows, more, _ in tables.values())
    found = [Symptom("note", "disk", f"{megabytes(total)} in {len(tables)} tables: {', '.join(shown)}.")]
    for name, (rows, more, free) in sorted(tables.items()):
        if free > DISK_EMPTY_BYTES and free > rows + more:
            said = f"{name} holds {megabytes(free)} that are free inside its file."
            why = "The file does not shrink by itself after many rows were deleted."
            found.append(Symptom("note", "disk", said, why, f"OPTIMIZE TABLE {name};"))
    return found


def waiting(*, left: int, left_seconds: float, failed: int, unfinished: int, oldest_seconds: float) -> list[Symptom]:
    """Return what the queue of operations shows."""
    symptoms: list[Symptom] = []
    work = "prompt-engine worker"
    if left:
        said = f"{left} operations are in progress and their lease ended, the first {left_seconds:,.0f} s ago."
        why = "Their worker died. The next worker takes them up; without one their recaps and summaries stay missing."
        symptoms.append(Symptom("warning", "queue", said, why, work))
    if failed:
        why = "What they were to make is missing, and operations that wait for them do not run."
        mend = "prompt-engine jobs shows them; prompt-engine jobs retry --all tries again"
        symptoms.append(Symptom("warning", "queue", f"{failed} operations failed.", why, mend))
    if unfinished and oldest_seconds >= WAITED_SECONDS:
        said = f"{unfinished} operations could run and the oldest has waited for {oldest_seconds / 3600:,.1f} h."
        why = "No worker seems to run: recaps, summaries and consolidation fall behind."
        symptoms.append(Symptom("warning", "queue", said, why, work))
    if not symptoms:
        symptoms.append(Symptom("ok", "queue", f"The queue is in order; {unfinished} operations wait for their turn."))
    return symptoms


def orphans(counts: Mapping[str, int]) -> list[Symptom]:
    """Return the tables with rows whose row elsewhere is gone, by table."""
    why = "They are read by nobody and take space; what was to be forgotten may still stand in them."
    found = [
        Symptom(
            "warning",
            "rows",
            f"{count} rows of {table} belong to rows that are gone.",
            why,
            "prompt-engine db maintenance orphans, then with --apply",
        )
        for table, count in counts.items()
        if count
    ]
    return found or [Symptom("ok", "rows", "No row belongs to one that is gone.")]


def expired(items: int, entries: int) -> list[Symptom]:
    """Return what lies there although nothing reads it any more."""
    if not items + entries:
        return [Symptom("ok", "rows", "Nothing that has expired waits to be removed.")]
    said = f"{items} session items and {entries} short-term entries have expired and are still stored."
    why = "Nothing reads them; they take space until somebody prunes."
    return [Symptom("note", "rows", said, why, "prompt-engine memory consolidate, or: prompt-engine worker --schedule")]


def index_sample(looked_at: int, differing: Mapping[str, int]) -> Symptom:
    """Return what a sample of the search index shows."""
    if not differing:
        return Symptom("ok", "index", f"The search index agrees with the {looked_at} rows that were looked at.")
    shown = ", ".join(f"{count} of {table}" for table, count in sorted(differing.items()))
    return Symptom(
        "error",
        "index",
        f"The search index differs from the rows: {shown} (of {looked_at} looked at).",
        "Searches miss these rows, or find them by words they do not hold.",
        "prompt-engine db verify shows all of it, prompt-engine db reindex mends it",
    )


def extras(installed: Mapping[str, bool]) -> list[Symptom]:
    """Return which optional parts are installed, and which are not."""
    there, lacking = ([name for name, known in installed.items() if known is wanted] for wanted in (True, False))
    found = []
    if there:
        found.append(Symptom("ok", "extras", f"Installed extras: {', '.join(there)}."))
    if lacking:
        said = f"Extras that are not installed: {', '.join(lacking)}."
        why = "What they are for is not there; everything else works."
        found.append(Symptom("note", "extras", said, why, f"pip install 'prompt-engine[{lacking[0]}]'"))
    return found


def counter(name: str, model: str) -> Symptom:
    """Return how tokens are counted, and what that means."""
    if name != "estimate":
        return Symptom("ok", "model", f"Tokens are counted by {name}.")
    of = f"of {model}" if model else "of a model that is not named (LLM_MODEL)"
    said = f"Tokens {of} are estimated: tiktoken knows no encoding of it, or the file of it is not on this machine."
    why = "The estimate errs high, so that a prompt is filled less than it could be."
    mend = "Pass a counter, or put the encoding's file into the folder of TIKTOKEN_CACHE_DIR (docs/doctor.md)."
    return Symptom("note", "model", said, why, mend)


def admin_token(token: str) -> str:
    """Return why the admin server does not start with a token, blank where it does; the token itself is not quoted."""
    how = "Make one with `python -c 'import secrets; print(secrets.token_urlsafe(32))'` and set it in the environment."
    if not token:
        return f"ADMIN_TOKEN is unset. The admin server does not start without one. {how}"
    if len(token) < LEAST_TOKEN:
        return f"ADMIN_TOKEN has {len(token)} characters. It must have at least {LEAST_TOKEN}. {how}"
    return ""
