"""`python -m bench`: speed on large tables. Databases are made once and kept in `.bench/`.

For developers: `--quick` (10,000 memories, SQLite), `--sizes 10k,100k`, `--engines sqlite,mariadb`, `--only search`.
The proxy and MCP: `--only faces --engines sqlite --sizes 10k,1m`.
"""

from __future__ import annotations

import argparse
import sys

from bench import faces, importing, reducing, speed, starting, writing
from bench.figures import load
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
                speed.measure(bench)
            if "faces" in parts:
                faces.measure(bench)
    say("done")
    return 0


if __name__ == "__main__":
    sys.exit(main())
