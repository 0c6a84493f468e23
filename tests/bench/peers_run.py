"""Asks one program the questions of the data sets, in its own environment, and writes what it found as JSON.

`python peers_run.py NAME --harness retrieval.py --data FOLDER --json FILE [--sets ...] [--limit N]`.
Started by `tests.bench.peers`; imports nothing of this project but the adapters beside it.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import statistics
import sys
from pathlib import Path
from typing import Any


def module_of(path: Path) -> Any:
    """Return a module by its file."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


def main() -> None:
    """Run one program over the sets."""
    parser = argparse.ArgumentParser()
    parser.add_argument("name")
    parser.add_argument("--harness", type=Path, required=True)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--json", type=Path, required=True)
    parser.add_argument("--sets", nargs="+", required=True)
    parser.add_argument("--limit", type=int)
    given = parser.parse_args()
    sys.dont_write_bytecode = True
    retrieval = module_of(given.harness)
    adapters = module_of(Path(__file__).with_name("peers_adapters.py"))
    kind = adapters.ADAPTERS[given.name]
    made: dict[str, Any] = {}
    for name in given.sets:
        sizes: dict[int, tuple[int, int]] = {}

        class Measured(kind):  # type: ignore[misc,valid-type]
            def close(self, sizes: dict[int, tuple[int, int]] = sizes) -> None:
                """Note what is on disk, by the number of turns held."""
                sizes[len(self.turns)] = (len(self.turns), self.bytes_on_disk())

        kind._held.clear()
        result = retrieval.run(Measured, given.data, name, given.limit)
        turns, size = max(sizes.values(), default=(0, 0))
        overall = result["overall"]
        counted = [r["ms"] for r in result["rows"] if r["category"] not in retrieval.NOT_IN_OVERALL]
        made[name] = {
            "n": overall["n"],
            "recall@10": overall["recall@10"],
            "hit@10": overall["hit@10"],
            "c2000": overall["c2000"],
            "p50": statistics.median(counted) if counted else 0.0,
            "bytes_a_turn": size / turns if turns else 0.0,
        }
        given.json.write_text(json.dumps(made), encoding="utf-8")


if __name__ == "__main__":
    main()
