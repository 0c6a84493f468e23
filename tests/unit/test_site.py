"""R35: the documentation site: every page has its place, every link leads somewhere, llms.txt lists what there is."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
MADE = ("api.md", "config.md", "schema.md")
"""Pages that `make docs-site` writes from the code."""
PAGES = [page for page in sorted(DOCS.rglob("*.md")) if page.name not in MADE]
pytestmark = pytest.mark.checkout


def without_code(text: str) -> str:
    """Return a page without its blocks of code."""
    return re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)


def anchors(page: Path) -> set[str]:
    """Return the names of a page's headings, as the site makes them."""
    titles = re.findall(r"^#{1,6} +(.+?) *#*$", without_code(page.read_text(encoding="utf-8")), re.MULTILINE)
    return {re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", title).strip().lower()) for title in titles}


def test_r35_links_lead_to_pages_and_headings_of_the_site() -> None:
    """The site holds docs/ and nothing else: a link out of it leads nowhere there."""
    broken = []
    for page in PAGES:
        for link in re.findall(r"\]\(([^)\s]+)\)", without_code(page.read_text(encoding="utf-8"))):
            path, _, anchor = link.partition("#")
            target = (page.parent / path).resolve() if path else page
            if re.match(r"[a-z]+:", link) or (target.parent == DOCS and target.name in MADE):
                continue
            if DOCS not in target.parents or not target.is_file() or (anchor and anchor not in anchors(target)):
                broken.append((page.name, link))
    assert broken == []


def test_r36_each_figure_of_the_benchmarks_has_a_command_that_exists() -> None:
    """A figure nobody can repeat is no figure."""
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    for page in ("benchmarks", "scale"):
        text = (DOCS / f"{page}.md").read_text(encoding="utf-8")
        for name in re.findall(r"`make ([\w-]+)", text):
            assert name in targets, name
        for module, _, options in re.findall(r"`python -m (bench(\.\w+)?)([^`|]*)`", text):
            file = ROOT / (module.replace(".", "/") + ("/__main__.py" if module == "bench" else ".py"))
            source = file.read_text(encoding="utf-8")
            assert [option for option in re.findall(r"--[\w-]+", options) if f'"{option}"' not in source] == [], module
    text = (DOCS / "benchmarks.md").read_text(encoding="utf-8")
    tables = re.split(r"^## ", text, flags=re.MULTILINE)[1:]
    assert {table.split("\n")[0] for table in tables} >= {"Recall alone", "Recall at size", "Cost at size"}
    with_figures = [table for table in tables if "\n|---" in table]
    assert [table.split("\n")[0] for table in with_figures if not re.search(r"`(make|python -m)", table)] == []
