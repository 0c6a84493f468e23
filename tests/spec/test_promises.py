"""R35: each promise has a test whose name begins with its id, and each such id is on one page of docs/promises."""

import re
from collections import Counter
from pathlib import Path

import pytest

pytestmark = pytest.mark.checkout
ROOT = Path(__file__).resolve().parents[2]
PAGES = {page.name: page.read_text(encoding="utf-8") for page in sorted((ROOT / "docs" / "promises").glob("*.md"))}
PROMISE = re.compile(r"^\*\*([A-Z]\d+)\*\* ", re.MULTILINE)
NAMES = re.compile(r"^ *(?:async )?def test_((?:[a-z]\d+_)+)\w", re.MULTILINE)


def list_promised() -> list[str]:
    return [identifier for page in PAGES.values() for identifier in PROMISE.findall(page)]


def test_r35_each_promise_has_a_test_and_each_id_of_a_test_is_promised() -> None:
    files = [file.read_text(encoding="utf-8") for file in (ROOT / "tests").rglob("test_*.py")]
    names = [name for text in files for name in NAMES.findall(text)]
    promised, tested = set(list_promised()), {one.upper() for name in names for one in name.strip("_").split("_")}
    assert len(promised) > 400
    assert promised - tested == set(), "no test begins with these ids"
    assert tested - promised == set(), "no page of docs/promises holds these ids"


def test_r35_each_id_is_on_one_page_once_and_the_first_page_lists_the_others() -> None:
    assert [identifier for identifier, times in Counter(list_promised()).items() if times > 1] == []
    bold = {identifier for page in PAGES.values() for identifier in re.findall(r"\*\*([A-Z]\d+)\*\*", page)}
    assert bold - {"T21"} <= set(list_promised()), "an id in the middle of a line is no promise"
    assert set(re.findall(r"\]\(([\w-]+\.md)\)", PAGES["index.md"])) == set(PAGES) - {"index.md"}


def test_r35_a_promise_is_at_most_a_few_sentences_and_names_no_file_of_the_code() -> None:
    for name, page in PAGES.items():
        for part in PROMISE.split(page)[2::2]:
            words = len(part.partition("\n\n")[0].split())
            assert 4 <= words <= 120, (name, part[:60])
        assert re.findall(r"\b(?:core|tests)/\S*", page) == [], name
