"""`python -m tests.bench.recent_job`: a real conversation as two people in three channels and a direct message.

Four processes at once, one a place, save every turn and keep it as short-term memory. Then: what each place's prompt
holds, whether a line of the direct message is in another place's prompt whatever is asked there, and whether 200 ends
reported by four processes at once leave exactly the newest on the list, in order.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from core import db as core_db
from core.chat_history_cache import save_chat_message
from core.config import Settings
from core.conversations import (
    add_recent_conversation,
    add_saved_memory,
    close_conversation,
    list_recent_conversations,
)
from core.database.engine import Database
from core.jobs import run_pending
from core.privacy import scope_of
from core.prompt_engine import explain_json_prompt
from core.scope import Scope
from core.short_term import write_turn
from core.text.folding import fold
from tests.bench.conversations import Turn, data_folder, read_set
from tests.bench.figures import load, table
from tests.bench.loading import say
from tests.servers import SERVERS

ROOT = Path(__file__).resolve().parents[2]
PERSONA, SERVER = "iris", "s1"
PLACES = ("kitchen", "garden", "workshop", "ann")
DIRECT = "ann"
PEOPLE = ("ann", "bob")
ENDS, MOST = 200, 50
LIMIT = 8000


def main() -> int:
    """Read the command line, replay, and return 1 where a private line crossed or an end was lost."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.recent_job", description=__doc__)
    parser.add_argument("--engine", default="mariadb", choices=sorted(SERVERS))
    parser.add_argument("--set", default="realmem.dev")
    parser.add_argument("--turns", type=int, default=400, help="most turns of the conversation")
    given = parser.parse_args()
    print(f"# {given.set} on {given.engine}; {load()}\n")
    with SERVERS[given.engine]() as server:
        url = server.create_database("recent_job")
        turns = _turns(given.set, given.turns)
        core_db.open_database(url).close()
        began = time.perf_counter()
        _each_place(url, f"replay:{given.set}:{given.turns}")
        say(f"{len(turns)} turns in four places by four processes in {time.perf_counter() - began:.1f} s")
        crossed = _show(url, turns)
        lost = _ends(url)
    return 1 if crossed or lost else 0


def _turns(name: str, most: int) -> list[Turn]:
    turns, _ = read_set(data_folder(), name)
    return [turn for turn in next(iter(turns.values()))[:most] if str(turn["text"]).strip()]


def _place_of(number: int) -> tuple[str, str]:
    """Return the place of an exchange and who speaks in it: people take turns, the direct message is Ann's."""
    place = PLACES[number % 4]
    return place, DIRECT if place == DIRECT else PEOPLE[number // 4 % 2]


def _message(place: str, who: str, text: str, number: int, at: datetime) -> dict[str, Any]:
    direct = place == DIRECT
    return {
        "message_id": f"m{number}",
        "date": at,
        "text": text,
        "interface_path": f"discord/{place}",
        "chat": {"id": place, "type": "private" if direct else "group"},
        "is_private": direct,
        "server": None if direct else {"id": SERVER},
        "from_user": {"id": who, "full_name": who.title(), "username": who},
    }


class Clock:
    """Stands at the time of the turn."""

    now = datetime(2026, 3, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now


def _each_place(url: str, what: str) -> None:
    code = "import sys; from tests.bench.recent_job import be; be(*sys.argv[1:])"
    running = [subprocess.Popen([sys.executable, "-c", code, url, what, str(n)], cwd=ROOT) for n in range(4)]
    ended = [process.wait() for process in running]
    if any(ended):
        raise SystemExit("a process failed")


def be(url: str, what: str, own: str) -> None:
    """Be one of the four processes."""
    clock = Clock()
    db = Database(url, clock=clock)
    kind, _, rest = what.partition(":")
    if kind == "replay":
        name, _, most = rest.partition(":")
        _replay(db, clock, _turns(name, int(most)), PLACES[int(own)])
    else:
        for number in range(int(own), ENDS, 4):
            _end(db, number)
    db.close()


def _replay(db: Database, clock: Clock, turns: Sequence[Turn], own: str) -> None:
    settings = Settings()
    lines: list[dict[str, Any]] = []
    for number in range(len(turns) // 2):
        place, who = _place_of(number)
        if place != own:
            continue
        clock.now = Clock.now + timedelta(minutes=number)
        said, answer = str(turns[2 * number]["text"]), str(turns[2 * number + 1]["text"])
        message = _message(place, who, said, number, clock.now)
        scope = scope_of(message, scope=Scope(PERSONA, server="" if place == DIRECT else SERVER))
        call: dict[str, Any] = {"db": db, "settings": settings, "scope": scope}
        path = message["interface_path"]
        save_chat_message(path, said, who.title(), who, clock.now, message_id=message["message_id"], **call)
        save_chat_message(path, answer, "Iris", "self", clock.now + timedelta(seconds=5), **call)
        line = {"type": "user", "content": said, "sender_id": who, "sender_name": who.title(), "timestamp": clock.now}
        lines.append(line)
        kept = write_turn({"messages": lines[-10:]}, answer, at=clock.now + timedelta(seconds=5), **call)
        lines.append({"type": "persona", "content": answer, "timestamp": clock.now + timedelta(seconds=5)})
        assert not kept.reason, kept
        if number % 20 in (0, 3):
            add_saved_memory(f"{who} said in {place}: {said[:60]}", **call)
    close_conversation(f"discord/{own}", db=db, settings=settings, scope=Scope(PERSONA))


def _show(url: str, turns: Sequence[Turn]) -> int:
    clock = Clock()
    db = Database(url, clock=clock)
    clock.now = Clock.now + timedelta(minutes=len(turns) // 2)
    ran = run_pending(db=db, settings=Settings(), scope=Scope(PERSONA))
    say(f"{len(ran)} operations: {sorted({one.state for one in ran})}")
    secret = [
        fold(str(turns[2 * n + side]["text"]))[:80]
        for n in range(len(turns) // 2)
        for side in (0, 1)
        if _place_of(n)[0] == DIRECT
    ]
    public = fold(" ".join(str(t["text"]) for n, t in enumerate(turns) if _place_of(n // 2)[0] != DIRECT))
    secret = [text for text in secret if len(text) >= 20 and text not in public]
    crossed, asked, rows = 0, 0, []
    for place in PLACES:
        who = DIRECT if place == DIRECT else "bob"
        for limit in (None, LIMIT):
            whole, report = _prompt(db, clock, place, who, "What did we talk about?", limit)
            context = whole["context"]
            rows.append(
                [
                    place,
                    limit or "none",
                    len(json.dumps(whole, ensure_ascii=False)),
                    *(len(context.get(key, ())) for key in ("history_current_chat", "history_recent", "memories")),
                    *(len(context.get(key, ())) for key in ("short_term", "recent_conversations", "saved_memories")),
                    len(report["left_out"]),
                ]
            )
        for text in secret if place != DIRECT else ():
            prompt, _ = _prompt(db, clock, place, who, text)
            context = fold(json.dumps(prompt["context"], ensure_ascii=False))
            asked += 1
            crossed += any(json.dumps(other, ensure_ascii=False)[1:-1] in context for other in secret if other != text)
            crossed += json.dumps(text, ensure_ascii=False)[1:-1] in context
    print(
        table(
            [
                "place",
                "limit",
                "characters",
                "history",
                "other chats",
                "memories",
                "short-term",
                "ended",
                "saved",
                "left out",
            ],
            rows,
        )
    )
    print(f"\n{len(secret)} private lines, each asked for in every public channel: {asked} prompts, {crossed} held one")
    db.close()
    return crossed


def _prompt(
    db: Database, clock: Clock, place: str, who: str, text: str, limit: int | None = None
) -> tuple[dict[str, Any], dict[str, Any]]:
    message = _message(place, who, text, 999_999, clock.now)
    scope = scope_of(message, scope=Scope(PERSONA, server="" if place == DIRECT else SERVER))
    return explain_json_prompt(message, max_chars=limit, db=db, settings=Settings(), scope=scope)


def _end(db: Database, number: int) -> None:
    at = Clock.now + timedelta(minutes=number)
    given = [{"text": f"talk number {number}", "sender_id": "ann", "timestamp": at}]
    scope = Scope("ends", f"discord/talk{number}", "discord/ann", server=SERVER)
    done = add_recent_conversation(
        given, wait=True, db=db, settings=Settings(max_recent_conversations=MOST), scope=scope
    )
    assert done.stored, done


def _ends(url: str) -> bool:
    began = time.perf_counter()
    _each_place(url, "ends")
    db = Database(url)
    scope = Scope("ends", "discord/talk0", "discord/ann", server=SERVER)
    found = list_recent_conversations(db=db, settings=Settings(max_recent_conversations=MOST), scope=scope)
    wanted = [f"discord/talk{n}" for n in range(ENDS - MOST, ENDS)]
    right = [one["conversation"] for one in found] == wanted
    print(
        f"{ENDS} ends by four processes in {time.perf_counter() - began:.1f} s left {len(found)} on the list: "
        f"{'exactly the newest, in order' if right else 'NOT the newest in order'}"
    )
    db.close()
    return not right


if __name__ == "__main__":
    sys.exit(main())
