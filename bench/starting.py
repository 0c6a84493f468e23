"""What a process pays before its first prompt: importing, opening, memory; each time in a fresh interpreter."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from typing import Any

from bench.figures import judged, load, table
from bench.loading import SQLITE, Bench, say

RUNS = 7

_IMPORT = """
import json, time
cpu, clock = time.process_time(), time.perf_counter()
import core.prompt_engine
print(json.dumps({"cpu": 1000 * (time.process_time() - cpu), "clock": 1000 * (time.perf_counter() - clock)}))
"""

_FIRST = """
import json, sys
import core.prompt_engine
from core import db as core_db
db = core_db.open_database(sys.argv[1])
message = {"message_id": "1", "date": None, "text": sys.argv[2], "interface_path": "discord/c1",
           "chat": {"id": "c1", "type": "group"}, "from_user": {"id": "u3", "full_name": "Ada", "username": "ada"}}
prompt = core.prompt_engine.build_json_prompt(message, db=db, settings={})
import pathlib, re, resource
used = resource.getrusage(resource.RUSAGE_SELF)
status = pathlib.Path("/proc/self/status")
# ru_maxrss begins with what the parent had when it started this process; VmHWM is of this program alone.
kilobytes = int(re.search(r"VmHWM:\\s+(\\d+)", status.read_text())[1]) if status.exists() else used.ru_maxrss
print(json.dumps({"mb": kilobytes / 1024, "cpu": 1000 * (used.ru_utime + used.ru_stime)}))
"""


def _fresh(script: str, *arguments: str, compiled: str) -> tuple[dict[str, Any], float]:
    """Run a script in a new interpreter; modules are compiled already, as those of an installed package are."""
    variables = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    words = [sys.executable, "-c", script, *arguments]
    began = time.perf_counter()
    done = subprocess.run(
        words, capture_output=True, text=True, check=True, env={**variables, "PYTHONPYCACHEPREFIX": compiled}
    )
    return json.loads(done.stdout), 1000 * (time.perf_counter() - began)


def measure(bench: Bench) -> None:
    """Print what starting costs; the best of several runs and the median, since other programs run too."""
    say("measuring: starting")
    rows: list[list[object]] = []
    with tempfile.TemporaryDirectory(prefix="bench-starting-") as folder:
        compiled = f"{folder}/compiled"
        _fresh(_FIRST, f"sqlite:///{folder}/warm.db", "hello", compiled=compiled)
        cpu = sorted(_fresh(_IMPORT, compiled=compiled)[0]["cpu"] for _ in range(RUNS))
        rows.append(["import core.prompt_engine, CPU ms", cpu[0], cpu[RUNS // 2], judged(cpu[RUNS // 2], 250)])
        targets = {"a new SQLite file": f"sqlite:///{folder}/new.db"}
        if SQLITE in bench.engines:
            targets |= {f"SQLite, {size:,} memories": bench.url(SQLITE, size) for size in bench.sizes}
        for name, url in targets.items():
            asked = "Do you remember the garden and Tofu?"
            runs = [_fresh(_FIRST, url.replace("new.db", f"new{n}.db"), asked, compiled=compiled) for n in range(RUNS)]
            clock = sorted(ms for _, ms in runs)
            megabytes = max(found["mb"] for found, _ in runs)
            spent = sorted(found["cpu"] for found, _ in runs)
            rows.append(
                [f"first prompt, {name}, ms from the start", clock[0], clock[RUNS // 2], judged(clock[RUNS // 2], 1000)]
            )
            rows.append([f"its CPU time, {name}, ms", spent[0], spent[RUNS // 2], ""])
            rows.append([f"most resident memory, {name}, MB", megabytes, megabytes, judged(megabytes, 100)])
    print(f"\n### Starting, {RUNS} fresh processes, {load()}\n")
    print(table(["what", "best", "median", "promised"], rows))
