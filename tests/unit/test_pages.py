"""What README.md and the pages of docs/ show is run, and what they name and link to is there (R35, R36)."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from core.cli.app import app as cli_app
from core.config import FLAGS
from core.context.context import order_context
from core.database.engine import Database
from core.jobs.handlers import list_types
from core.prompt_engine import build_json_prompt
from core.scope import Scope
from core.transfer.imports import import_file
from tests import api_page
from tests.store.embedder import Grams

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
README = ROOT / "README.md"
ABOUT = [README, *(ROOT / f"{name}.md" for name in ("CHANGELOG", "CONTRIBUTING", "SECURITY"))]
SITE = sorted(DOCS.rglob("*.md"))
SILENT = {"which", "was", "again", "all", "had", "the", "ann"}


def read_blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)


class Model:
    """Stands in for a model of sentences: words that tell something, by what they mean."""

    def encode(self, texts: list[str]) -> list[list[float]]:
        telling = [[word for word in re.findall(r"\w{3,}", text.lower()) if word not in SILENT] for text in texts]
        return Grams().embed([" ".join(words) for words in telling])


def test_r35_the_readme_is_short_and_shows_the_ways_in_before_its_code() -> None:
    text = README.read_text(encoding="utf-8")
    assert len(text.split()) <= 700 and text.index("## Three ways in") < text.index("## Ten lines")
    first = text[: text.index("## Ten lines")]
    assert all(word in first for word in ("1.0 will mean", "**Library**", "**Proxy**", "**Server**", "MCP", "HTTP"))


def test_the_ten_lines_run_and_print_what_they_say(own_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (snippet,), (shown,) = read_blocks(README, "python"), read_blocks(README, "text")
    assert len([line for line in snippet.splitlines() if line]) <= 10
    names: dict[str, Any] = {}
    exec(compile(snippet, "README.md", "exec", dont_inherit=True), names)
    time = r"\[\d{4}-\d\d-\d\d \d\d:\d\d\]|It is \w+, [\d :-]+"
    assert re.sub(time, "[]", capsys.readouterr().out) == re.sub(time, "[]", shown) and Path("persona.db").exists()


@pytest.mark.parametrize(("page", "count"), [
    ("privacy", 2), ("embeddings", 2), ("check", 1), ("lifelong", 5), ("conversations", 1), ("forgetting", 1),
    ("relationships", 4), ("short-term", 4), ("hosting", 7), ("jobs", 3), ("models", 4),
])  # fmt: skip
def test_the_examples_run_in_order(own_folder: Path, capsys: pytest.CaptureFixture[str], page: str, count: int) -> None:
    blocks = read_blocks(DOCS / f"{page}.md", "python")
    assert len(blocks) >= count
    names: dict[str, Any] = {"model": Model()}
    try:
        for block in blocks:
            exec(compile(block, f"docs/{page}.md", "exec", dont_inherit=True), names)
            if page == "models":  # each print gives what stands beside it
                assert capsys.readouterr().out.splitlines() == re.findall(r"print\(.*\)  # (.*)", block)
    finally:
        for handle in (names.get("db"), names.get("call", {}).get("db")):
            if isinstance(handle, Database):
                handle.close()
    if page == "hosting":
        assert [names[f"saved_in_{place}"].stored for place in ("group", "private", "guild")] == [True] * 3
        assert {hit["source"] for hit in names["hits"]} == {"memories", "chat_history"}
        prompt = names["prompt"]
        assert prompt["instructions"].startswith("You are Iris.") and prompt["context"]["weather"] == "rain"
        assert list(prompt["actions"]) == ["message_discord"]
    if page == "jobs":
        assert len(names["order"]) == 3


def test_the_example_of_a_prompt_has_the_keys_of_a_prompt(own_folder: Path) -> None:
    (block,) = read_blocks(DOCS / "prompt.md", "json")
    shown, sender = json.loads(block), {"id": "a", "full_name": "Ann Miller", "username": "ann"}
    message = {"message_id": "2", "date": None, "from_user": sender, "interface_path": "web/42"}
    made = build_json_prompt(message, scope=Scope("iris"))
    assert list(shown) == list(made) == ["context", "input", "instructions", "__pre_reduction_size", "actions"]
    assert list(shown["context"]) == list(order_context(shown["context"]))
    for name in ("input", "payload", "source"):
        shown, made = shown[name], made[name]
        assert list(shown) == list(made)


def test_the_page_about_importing_names_what_a_row_needs(tmp_path: Path) -> None:
    (block,) = read_blocks(DOCS / "import.md", "json")
    row = json.loads(block)
    required = re.findall(r"^\| `(\w+)` \| required", (DOCS / "import.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert required == ["text", "speaker", "timestamp"]
    path = tmp_path / "rows.jsonl"
    rows = [{n: row[n] for n in required}, *({n: row[n] for n in row if n != name} for name in required)]
    path.write_text("\n".join(json.dumps(each) for each in rows))
    looked = import_file(path, dry_run=True)
    assert (looked.could_import, [problem.row for problem in looked.errors]) == (1, [2, 3, 4])


def test_flags_that_pages_name_exist() -> None:
    other = (
        "MOST_KNOWN MOST_EXACT DATABASE_URL_FILE ADMIN_TOKEN_FILE LLM_API_KEY_FILE CONFIG_FILE TEST_DATABASE_URL "
        "TEST_SERVERS TEST_SERVERS_DIR MARIADB_SUITE PAGE_PICTURES SBOM_EXTRAS WRITER_TURNS PROMISE_PROMPTS "
        "HOOK_NAMES NOT_SAID JSON_CONTAINS JSON_QUOTE"
    )
    known = {*FLAGS, *other.split(), *list_types()}
    for page in (*ABOUT, *SITE):
        named = set(re.findall(r"`([A-Z]+(?:_[A-Z]+)+)(?:=[^`]*)?`", page.read_text(encoding="utf-8")))
        assert named <= known, page.name


def without_code(text: str) -> str:
    return re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)


def anchors(page: Path) -> set[str]:
    titles = re.findall(r"^#{1,6} +(.+?) *#*$", without_code(page.read_text(encoding="utf-8")), re.MULTILINE)
    return {re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", title).strip().lower()) for title in titles}


def _list_commands(command: Any, *above: str) -> Iterator[str]:
    for name, each in getattr(command, "commands", {}).items():
        yield " ".join((*above, name))
        yield from _list_commands(each, *above, name)


@pytest.mark.checkout
def test_r35_commands_and_modules_that_texts_name_exist() -> None:
    commands = set(_list_commands(typer.main.get_command(cli_app)))
    groups = {each.partition(" ")[0] for each in commands if " " in each}
    forms = [path for folder in (".github", "core", "prompts") for path in (ROOT / folder).rglob("*.*")]
    texts = [path for path in forms if path.suffix in (".py", ".yml", ".yaml", ".j2", ".html")]
    wrong = []
    for path in (*ABOUT, *SITE, *texts):
        text = path.read_text(encoding="utf-8")
        for first, second in re.findall(r"(?:`|\n {4,}|: )prompt-engine ([a-z]+) ?([a-z]*)", text):
            name = f"{first} {second}".strip() if first in groups else first
            wrong += [(path.name, name)] * (name not in commands | groups)
        if path.suffix == ".py":  # a user imports `prompt_engine`: `core` is the name in a checkout
            wrong += [(path.name, each) for each in re.findall(r"\S core\.(?:db|scope|errors)\.\w+", text)]
    assert wrong == [], wrong


@pytest.mark.checkout
def test_r35_the_page_of_functions_is_up_to_date() -> None:
    assert api_page.PAGE.read_text(encoding="utf-8") == api_page.text()


@pytest.mark.checkout
def test_r35_links_lead_to_files_and_the_site_is_whole_by_itself() -> None:
    """The site holds docs/ and nothing else: a link out of it leads nowhere there."""
    broken = []
    for page in (*ABOUT, *SITE):
        for link in re.findall(r"\]\(([^)\s]+)\)", without_code(page.read_text(encoding="utf-8"))):
            path, _, anchor = link.partition("#")
            target = (page.parent / path).resolve() if path else page
            if re.match(r"[a-z]+:", link):
                continue
            is_outside = page in SITE and DOCS not in target.parents
            if is_outside or not target.exists() or (anchor and anchor not in anchors(target)):
                broken.append((page.name, link))
    assert broken == []


@pytest.mark.checkout
def test_r36_each_figure_of_the_benchmarks_has_a_command_that_exists() -> None:
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
