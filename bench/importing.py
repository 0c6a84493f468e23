"""`python -m bench.importing`: exports of other programs into the history: lines a second, memory, going on.

Each import runs in a process of its own, whose most memory is told. The third figure is the same export again, the
fourth one that was stopped half way and run again, until its end.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from bench.figures import load, table
from bench.loading import say
from core.database.engine import Database
from core.scope import Scope
from core.transfer.imports import import_file
from core.upkeep import migration as migrating
from tests.servers import SERVERS

LINES = 100_000
MOST_MB = 300
_WORDS = [f"{a}{b}{c}" for a in ("ka", "lo", "mi", "ne", "ru") for b in ("ban", "del", "fis", "gor") for c in "aeiou"]
_BEGUN = 1_650_000_000
_PEOPLE = ("Ann", "Bob", "Iris")


def _text(rng: random.Random) -> str:
    return " ".join(rng.choices(_WORDS, k=rng.randint(4, 24)))


def _discord(folder: Path, lines: int, rng: random.Random) -> Path:
    people = [{"id": str(500 + n), "name": name, "nickname": name, "isBot": False} for n, name in enumerate(_PEOPLE)]
    messages = [
        {"id": str(n), "type": "Default", "timestamp": _iso(n), "timestampEdited": None, "content": _text(rng),
         "author": people[n % 3], "attachments": [], "embeds": [], "reactions": [], "mentions": [],
         **({"reference": {"messageId": str(n - 3)}} if n % 10 == 9 else {})}
        for n in range(lines)
    ]  # fmt: skip
    value = {"guild": {"id": "1", "name": "g"}, "channel": {"id": "7", "type": "GuildTextChat", "name": "c"}}
    path = folder / "discord.json"
    path.write_text(json.dumps({**value, "messages": messages, "messageCount": lines}, indent=1), encoding="utf-8")
    return path


def _telegram(folder: Path, lines: int, rng: random.Random) -> Path:
    messages = [
        {"id": n, "type": "message", "date_unixtime": str(_BEGUN + 60 * n), "from": _PEOPLE[n % 3],
         "from_id": f"user{n % 3}", "text": _text(rng), "text_entities": []}
        for n in range(lines)
    ]  # fmt: skip
    chats = [{"name": "g", "type": "private_supergroup", "id": 5, "messages": messages}]
    path = folder / "result.json"
    path.write_text(json.dumps({"about": "x", "chats": {"list": chats}}, indent=1), encoding="utf-8")
    return path


def _whatsapp(folder: Path, lines: int, rng: random.Random) -> Path:
    path = folder / "WhatsApp Chat with Ann.txt"
    with path.open("w", encoding="utf-8") as file:
        for n in range(lines):
            at = time.strftime("%d/%m/%y, %H:%M", time.gmtime(_BEGUN + 60 * n))
            file.write(f"{at} - {_PEOPLE[n % 3]}: {_text(rng)}\n")
    return path


def _chatgpt(folder: Path, lines: int, rng: random.Random) -> Path:
    conversations = []
    for c in range(lines // 20):
        mapping: dict[str, Any] = {}
        for n in range(20):
            key, role = f"{c}-{n}", "assistant" if n % 2 else "user"
            message = {
                "id": key, "author": {"role": role}, "create_time": _BEGUN + 9000 * c + 60 * n, "weight": 1.0,
                "content": {"content_type": "text", "parts": [_text(rng)]}, "recipient": "all", "metadata": {},
            }  # fmt: skip
            mapping[key] = {"id": key, "message": message, "parent": f"{c}-{n - 1}" if n else None, "children": []}
        conversations.append({"title": f"t{c}", "id": str(c), "mapping": mapping, "current_node": f"{c}-19"})
    path = folder / "chatgpt.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("conversations.json", json.dumps(conversations))
    return path


def _slack(folder: Path, lines: int, rng: random.Random) -> Path:
    path, days = folder / "slack.zip", max(1, lines // 500)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("users.json", json.dumps([{"id": f"U{n}", "name": name} for n, name in enumerate(_PEOPLE)]))
        archive.writestr("channels.json", json.dumps([{"id": "C1", "name": "general"}]))
        for day in range(days):
            begun = _BEGUN + 86_400 * day
            said = [
                {"type": "message", "user": f"U{n % 3}", "text": _text(rng), "ts": f"{begun + 60 * n}.000100"}
                for n in range(lines // days)
            ]
            archive.writestr(f"general/{time.strftime('%Y-%m-%d', time.gmtime(begun))}.json", json.dumps(said))
    return path


def _iso(n: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S+00:00", time.gmtime(_BEGUN + 60 * n))


FORMATS: dict[str, Callable[[Path, int, random.Random], Path]] = {
    "discord": _discord, "telegram": _telegram, "whatsapp": _whatsapp, "chatgpt": _chatgpt, "slack": _slack,
}  # fmt: skip


def measure(engines: Sequence[str], lines: int = LINES, formats: Sequence[str] = tuple(FORMATS)) -> int:
    """Print what each format takes on each engine; return 1 where a line is missing or memory is over its limit."""
    print(f"\n## Imports of {lines:,} lines\n")
    rows, failed = [], 0
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        paths = {name: make(folder, lines, random.Random(7)) for name, make in FORMATS.items() if name in formats}
        for engine in engines:
            url = f"sqlite:///{folder / 'bench.db'}"
            if engine != "sqlite":
                url = stack.enter_context(SERVERS[engine]()).create_database("bench_import")
            for name, path in paths.items():
                say(f"{engine} {name}")
                first, again = _run(url, f"{name}-a", path), _run(url, f"{name}-a", path)
                half, rest = _run(url, f"{name}-b", path, lines // 2), _run(url, f"{name}-b", path)
                is_whole = first["imported"] == lines == half["imported"] + rest["imported"] and not again["imported"]
                most = max(each["mb"] for each in (first, again, half, rest))
                failed += not is_whole or most > MOST_MB
                rows.append(
                    (engine, name, first["seconds"], lines / first["seconds"], again["seconds"],
                     half["seconds"] + rest["seconds"], most, "all" if is_whole else "NOT ALL")
                )  # fmt: skip
    head = ["engine", "export", "s", "lines/s", "again, s", "stopped and gone on, s", "most MB", "lines there"]
    print(table(head, rows))
    return int(bool(failed))


def _run(url: str, persona: str, path: Path, stop_after: int = 0) -> dict[str, Any]:
    command = [sys.executable, "-m", "bench.importing", "--child", url, persona, str(path), str(stop_after)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return dict(json.loads(done.stdout.splitlines()[-1]))


def _child(url: str, persona: str, path: str, stop_after: str) -> int:
    """Import in this process and print what it took."""
    db = Database(url)
    migrating.ensure_present(db)
    done, most = [0], int(stop_after)

    def progress(what: str, count: int, _total: int) -> None:
        done[0] = count if what == "storing" else 0
        if most and done[0] >= most:
            raise KeyboardInterrupt

    began = time.perf_counter()
    try:
        imported = import_file(path, db=db, scope=Scope(persona), progress=progress).imported
    except KeyboardInterrupt:
        imported = done[0]
    seconds = time.perf_counter() - began
    db.close()
    mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"imported": imported, "seconds": seconds, "mb": mb}))
    return 0


def main() -> int:
    """Read the command line and measure."""
    if "--child" in sys.argv:
        return _child(*sys.argv[2:6])
    parser = argparse.ArgumentParser(prog="python -m bench.importing", description=__doc__)
    parser.add_argument("--engines", default="sqlite", help=f"of sqlite, {', '.join(sorted(SERVERS))}")
    parser.add_argument("--lines", type=int, default=LINES)
    parser.add_argument("--formats", default=",".join(FORMATS), help="of %(default)s")
    given = parser.parse_args()
    print(f"# {load()}")
    return measure(given.engines.split(","), given.lines, given.formats.split(","))


if __name__ == "__main__":
    sys.exit(main())
