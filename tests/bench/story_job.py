"""`python -m tests.bench.story_job`: a real conversation, its sessions as scenes, the queue run to its end, no model.

Shows the prompt before and after: its size, what is visible, what the running recap holds. Then the same once more with
a worker process that is killed in the middle: what stands in the tables at the end must be the same.
"""

from __future__ import annotations

import argparse
import itertools
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sqlalchemy import func, select

from core import jobs, stories
from core.config import Settings
from core.database import schema, schema_stories
from core.database.engine import Database
from core.jobs import worker as core_worker
from core.prompt_engine import build_json_prompt
from core.text.sizes import size
from tests.bench.conversations import Imported, Turn, data_folder, read_set
from tests.bench.figures import load, table
from tests.bench.loading import say
from tests.servers import SERVERS

ROOT = Path(__file__).resolve().parents[2]
LEASE_SECONDS = 10
LIMIT = 8000


def main() -> int:
    """Read the command line, do it twice, and return 1 where the two ends differ."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.story_job", description=__doc__)
    parser.add_argument("--engine", default="mariadb", choices=sorted(SERVERS))
    parser.add_argument("--set", default="locomo.dev")
    parser.add_argument("--conversation", type=int, default=0, help="which one of the set")
    given = parser.parse_args()
    turns, questions = read_set(data_folder(), given.set)
    name = list(turns)[given.conversation]
    asked = next(q["question"] for q in questions if q["conversation"] == name)
    print(f"# {name} of {given.set} on {given.engine}; {load()}\n")
    with SERVERS[given.engine]() as server:
        whole = tell_story(server.create_database("story_whole"), turns[name], asked, kill=False)
        cut = tell_story(server.create_database("story_cut"), turns[name], asked, kill=True)
    same = whole == cut
    print("\nThe end state with a worker killed in the middle is", "the same." if same else "NOT the same.")
    return 0 if same else 1


def tell_story(url: str, turns: Sequence[Turn], asked: str, *, kill: bool) -> list[Any]:
    """Import, mark scenes, run the queue; print the prompt before and after; return what the tables hold."""
    imported = Imported(url)
    imported.show(turns)
    db, scope = imported.db, imported.scope
    call: dict[str, Any] = {"db": db, "settings": Settings(), "scope": scope}
    message = imported.message("1", asked)
    before = _prompt(message, call)
    rows = {turn: row for row, turn in imported.turn_of_row.items()}
    ends = [a["id"] for a, b in itertools.pairwise(turns) if a["session"] != b["session"]]
    began = time.perf_counter()
    for end in ends:
        stories.add_scene_break(rows[end], **call)
    queued = sum(n for states in jobs.count_operations(db=db, scope=scope).values() for n in states.values())
    say(f"{len(turns)} messages, {len(ends)} scenes, {queued} operations queued in {time.perf_counter() - began:.1f} s")
    began = time.perf_counter()
    killed = _work(url, scope.persona, kill=kill, wanted=queued // 2)
    seconds = time.perf_counter() - began
    states = jobs.count_operations(db=db, scope=scope)
    db.caches.clear()
    after = _prompt(message, call)
    if not kill:
        _show(before, after, call, states, seconds)
    else:
        say(f"killed after {killed} operations, the rest done in {seconds:.1f} s: {states}")
    held = _held(db, scope.persona)
    imported.close()
    return held


def _prompt(message: dict[str, Any], call: dict[str, Any]) -> dict[int | None, Any]:
    made: dict[int | None, Any] = {}
    for limit in (None, LIMIT):
        made[limit] = build_json_prompt(message, max_chars=limit, **call)
    return made


def _work(url: str, persona: str, *, kill: bool, wanted: int) -> int:
    """Run workers until nothing is left; with `kill` the first one dies after so many operations."""
    killed = 0
    worker = _start(url, persona)
    if kill:
        assert worker.stdout is not None
        for _ in worker.stdout:
            killed += 1
            if killed >= wanted:
                break
        worker.kill()
        worker.wait()
        deadline = time.monotonic() + 3 * LEASE_SECONDS
        while time.monotonic() < deadline:
            worker = _start(url, persona)
            worker.communicate()
            if _left(url, persona) == 0:
                return killed
            time.sleep(1)
        return killed
    worker.communicate()
    return killed


def _start(url: str, persona: str) -> subprocess.Popen[str]:
    code = "import sys; from tests.bench.story_job import work; work(sys.argv[1], sys.argv[2])"
    return subprocess.Popen(
        [sys.executable, "-c", code, url, persona],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        cwd=ROOT,
    )


def work(url: str, persona: str) -> None:
    """Be a worker: a line for each operation that ended."""
    db = Database(url)
    core_worker.LEASE_SECONDS = LEASE_SECONDS
    worker = jobs.Worker(
        db,
        personas=[persona],
        settings=Settings(),
        told=lambda done: print(done.type, done.state, flush=True),
    )
    worker.run(once=True)
    db.close()


def _left(url: str, persona: str) -> int:
    db = Database(url)
    j = schema_stories.memory_jobs.c
    chosen = select(func.count()).where(j.persona_id == persona, j.status.in_(("pending", "retrying", "in_progress")))
    left = int(db.read(chosen, source="memory_jobs")[0][0])
    db.close()
    return left


def _held(db: Database, persona: str) -> list[Any]:
    """Return what the stories' tables hold, without ids and times, which differ from run to run."""
    s, r, n, c = (
        schema_stories.scenes.c,
        schema_stories.scene_recaps.c,
        schema_stories.running_recaps.c,
        schema.chat_history_cache.c,
    )
    scenes = (
        select(c.message_id, s.current_recap_index, r.version_index, r.content, r.provenance)
        .select_from(
            schema_stories.scenes.join(schema.chat_history_cache, c.id == s.break_row).outerjoin(
                schema_stories.scene_recaps, (r.scene_id == s.id) & (r.persona_id == s.persona_id)
            )
        )
        .where(s.persona_id == persona)
        .order_by(c.timestamp, c.id, r.version_index)
    )
    current = (
        select(n.content, n.scene_count, n.excluded_count, n.prev_scene_index, n.new_scene_index, n.provenance)
        .where(n.persona_id == persona, n.deleted_at.is_(None))
        .order_by(n.version.desc())
        .limit(1)
    )
    hidden = select(c.message_id).where(c.persona_id == persona, c.hidden == 1).order_by(c.message_id)
    return [[tuple(row) for row in db.read(one, source="stories")] for one in (scenes, current, hidden)]


def _show(before: Any, after: Any, call: dict[str, Any], states: Any, seconds: float) -> None:
    rows = []
    for limit in (None, LIMIT):
        for when, told in (("before", before), ("after", after)):
            prompt = told[limit]
            context = prompt["context"]
            recap = context.get("running_recap") or ""
            rows.append(
                [
                    limit or "none",
                    when,
                    size(prompt),
                    len(context["history_current_chat"]),
                    len(context.get("memories", ())),
                    len(recap),
                ]
            )
    headings = ["limit", "when", "characters", "history lines", "memories", "running recap, characters"]
    print(table(headings, rows))
    hidden = sum(len(each) for each in _held(call["db"], call["scope"].persona)[2:])
    print(f"\noperations: {states} in {seconds:.1f} s; messages hidden: {hidden}")
    print(f"running recap versions: {len(stories.get_running_recap_versions(**call))}")
    text = after[None]["context"].get("running_recap") or ""
    print(f"the running recap begins: {text[:300]!r}")


if __name__ == "__main__":
    sys.exit(main())
