"""Counts the words of README, CHANGELOG and docs/, and fails above the budget; `make docs-site` runs it.

Pages made from the code (functions, settings, tables) do not count.
"""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BUDGET = 52_000
GENERATED = {"api.md", "config.md", "schema.md"}


def count_words() -> dict[str, int]:
    """Return the words of each page, as `wc -w` counts them."""
    pages = [page for page in sorted((ROOT / "docs").rglob("*.md")) if page.name not in GENERATED]
    return {
        str(page.relative_to(ROOT)): len(page.read_text(encoding="utf-8").split())
        for page in (ROOT / "README.md", ROOT / "CHANGELOG.md", *pages)
    }


if __name__ == "__main__":
    words = count_words()
    total = sum(words.values())
    print(f"{total} words in {len(words)} pages, at most {BUDGET}")
    if total > BUDGET:
        longest = sorted(words.items(), key=lambda pair: -pair[1])[:10]
        sys.exit("Shorten: " + ", ".join(f"{page} {count}" for page, count in longest))
