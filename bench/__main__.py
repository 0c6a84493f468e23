"""`python -m bench`: speed on large tables. Databases are made once and kept in `.bench/`.

For developers: `--quick` (10,000 memories, SQLite), `--sizes 10k,100k`, `--engines sqlite,mariadb`, `--only search`.
The proxy and MCP: `--only faces --engines sqlite --sizes 10k,1m`. With `--only search --json cost.json` the times are
also written, for `bench.plots`.
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bench import faces, importing, reducing, speed, starting, writing
from bench.figures import load, table
from bench.loading import ENGINES, SQLITE, Bench, parsed_sizes, say

PARTS = ("search", "reduce", "write", "start", "import", "faces")


def main() -> int:
    """Read the command line, make what is missing, measure."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--sizes", type=parsed_sizes, help="memories, such as 10k,100k,1m")
    parser.add_argument("--engines", help="of " + ", ".join(ENGINES))
    parser.add_argument("--only", help="of " + ", ".join(PARTS))
    parser.add_argument("--quick", action="store_true", help="10,000 memories on SQLite")
    parser.add_argument("--rebuild", action="store_true", help="make the databases again")
    parser.add_argument("--json", type=Path, help="write the times of searches and prompts here")
    given = parser.parse_args()
    sizes = given.sizes or ([10_000] if given.quick else [10_000, 100_000, 1_000_000])
    engines = given.engines.split(",") if given.engines else [SQLITE] if given.quick else list(ENGINES)
    parts = given.only.split(",") if given.only else PARTS
    for name, known in [*((e, ENGINES) for e in engines), *((p, PARTS) for p in parts)]:
        if name not in known:
            parser.error(f"{name!r} is not one of {', '.join(known)}")
    print(f"# {', '.join(engines)}; {', '.join(f'{size:,}' for size in sizes)} memories; {load()}")
    if "reduce" in parts:
        reducing.measure()
    if "write" in parts:
        writing.measure(engines)
    if "import" in parts:
        importing.measure(engines, importing.LINES // 10 if given.quick else importing.LINES)
    if {"search", "start", "faces"} & set(parts):
        with Bench(engines, sizes, rebuild=given.rebuild) as bench:
            if "start" in parts:
                starting.measure(bench)
            if "search" in parts:
                _write(speed.measure(bench), given.json)
            if "faces" in parts:
                faces.measure(bench)
    say("done")
    return 0


def _write(figures: Sequence[Mapping[str, Any]], path: Path | None) -> None:
    """Print the table of docs/benchmarks.md, and write the figures if a file was named."""
    times = {(row["engine"], row["memories"], row["what"]): f"{row['p50']} / {row['p95']}" for row in figures}
    kinds = list(dict.fromkeys(row["what"] for row in figures))
    places = dict.fromkeys((row["engine"], row["memories"]) for row in figures)
    print("\n### p50 / p95 in milliseconds\n")
    rows = [[*place, *(times[(*place, kind)] for kind in kinds)] for place in places]
    print(table(["engine", "memories", *kinds], rows))
    if path is not None:
        about = f"{platform.machine()}, Python {platform.python_version()}, database on the same machine"
        path.write_text(json.dumps({"about": about, "cost": figures}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
