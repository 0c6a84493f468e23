"""Writes the table of languages in docs/recall.md from the data in `prompts/`.

`python -m tests.language_table`, called by `make docs`; a test compares the page.
"""

from pathlib import Path

from core.base.resources import find
from core.text.forms.paradigms import read_families, read_paradigms, read_rules
from core.text.languages import common_words
from core.text.stems import SNOWBALL
from core.text.words import stop_words

PAGE = Path(__file__).resolve().parents[1] / "docs" / "recall.md"
START, END = "<!-- languages -->\n", "<!-- end of languages -->\n"
_OWN_RULES = ("ar", "he", "ko")
_HEAD = (
    "| Language | Stop words | Small words that tell it | Stems | Rules of endings | Irregular words | Compounds | "
    "Asks | Remember |\n|---|---|---|---|---|---|---|---|---|\n"
)


def list_languages() -> list[str]:
    folders = ("stop_words", "word_forms", "questions", "calendar", "remember")
    return sorted(SNOWBALL | {path.stem for folder in folders for path in find(f"prompts/{folder}").iterdir()})


def build_table() -> str:
    codes = list_languages()
    numbers = [code for code in codes if "numbers" not in read_rules(code)]
    days = [code for code in codes if not _has("calendar", code)]
    most = f"Words of days: {_name_all_but(days)}. Numbers: {_name_all_but(numbers)}."
    return f"{_HEAD}{''.join(map(_build_row, codes))}\n{most}\n"


def _name_all_but(codes: list[str]) -> str:
    return "all languages" + (f" but {', '.join(f'`{code}`' for code in codes)}" if codes else "")


def _build_row(code: str) -> str:
    rules = read_rules(code)
    paradigms, families = (str(len(read(code)) or "") for read in (read_paradigms, read_families))
    cells = (f"`{code}`", *(str(len(read(code)) or "") for read in (stop_words, common_words)),
             "own" if code in _OWN_RULES else "Snowball" if code in SNOWBALL else "",
             *(paradigms, families, "yes" if "links" in rules else ""),
             *("yes" if _has(folder, code) else "" for folder in ("questions", "remember")))  # fmt: skip
    return f"| {' | '.join(cells)} |\n".replace("|  |", "| |").replace("|  |", "| |")


def _has(folder: str, code: str) -> bool:
    return any(path.stem == code for path in find(f"prompts/{folder}").iterdir())


def build_page() -> str:
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(START)
    return f"{before}{START}\n{build_table()}\n{END}{rest.partition(END)[2]}"


if __name__ == "__main__":
    PAGE.write_text(build_page(), encoding="utf-8")
