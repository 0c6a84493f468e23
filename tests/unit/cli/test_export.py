"""`prompt-engine export`, and the page about it."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from pathlib import Path

import pytest

from tests.unit.cli.conftest import ROOT, Command

SAMPLE = ROOT / "tests" / "samples" / "tavern_chat.jsonl"
PAGE = ROOT / "docs" / "import.md"


def test_s48_export_writes_the_file_that_was_imported(run: Command, tmp_path: Path) -> None:
    """Into a file, over one that is there only when told so, and onto stdout as the bytes of the file."""
    assert run("import", SAMPLE).json["story"]["alternatives"] == 5
    ran = run("export", "--chat", "import/tavern_chat", "out.jsonl")
    assert (ran.code, ran.json["messages"], ran.json["bytes"]) == (0, 13, SAMPLE.stat().st_size)
    assert Path("out.jsonl").read_bytes() == SAMPLE.read_bytes()
    again = run("export", "--chat", "import/tavern_chat", "out.jsonl")
    assert (again.code, "is there already" in again.err) == (1, True)
    assert "Messages      13" in run("export", "--chat", "import/tavern_chat", "out.jsonl", "--force", "--text").out
    assert run("export", "--chat", "import/tavern_chat", "-").out.encode() == SAMPLE.read_bytes()


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("out.jsonl",), 2, "--chat"),
        (("--chat", "import/nothing", "out.jsonl"), 1, "no conversation 'import/nothing'"),
        (("--chat", "x", "out.jsonl", "--format", "xml"), 2, "It must be sillytavern"),
        (("--chat", " ", "out.jsonl"), 1, "conversation"),
    ],
)
def test_f78_what_cannot_be_exported_is_one_sentence(
    made: Command, arguments: tuple[str, ...], code: int, said: str
) -> None:
    """And no file."""
    ran = made("export", *arguments)
    assert (ran.code, said in ran.err, len(ran.err.splitlines())) == (code, True, 1)
    assert not Path("out.jsonl").exists()


def test_the_examples_of_the_page_run(run: Command, tmp_path: Path) -> None:
    """Every command in its order, and the lines of Python with what they print."""
    text = PAGE.read_text(encoding="utf-8")
    shutil.copy(SAMPLE, tmp_path / "Iris - 2025.jsonl")
    shutil.make_archive(str(tmp_path / "export"), "zip", SAMPLE.parent / "exports" / "chatgpt")
    commands = re.findall(r"^    prompt-engine (.*?)(?:  +#.*)?$", text, re.MULTILINE)
    assert len(commands) == 6
    card = {"name": "Mira", "description": "Mira keeps bees.", "first_mes": "Hello."}
    (tmp_path / "mira.png").write_text(json.dumps(card))
    (block,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    wanted = [line.strip() for line in re.findall(r"^print\(.*?\) +# (.*)$", block, re.MULTILINE)]
    printed: list[str] = []
    from core import db
    from core.calls import defaults

    handle = db.open_database()
    defaults.configure(db=handle)
    try:
        exec(
            compile(block, "docs/import.md", "exec", dont_inherit=True),
            {"print": lambda value: printed.append(str(value))},
        )
    finally:
        defaults.configure()
        handle.close()
    assert printed == wanted
    Path("out.jsonl").unlink()
    for command in commands:
        assert run(*shlex.split(command)).code == 0, command
    assert Path("out.jsonl").read_bytes() == SAMPLE.read_bytes()
