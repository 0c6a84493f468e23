"""R30: Claude's memory tool over our rows: the answers of the SDK's own file tool, word for word."""

import asyncio
import inspect
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("anthropic", reason="the extra anthropic is not installed")

from anthropic.lib.tools import ToolError

from core import lifelong, privacy
from core.adapters.anthropic import AsyncMemoryTool, MemoryTool
from core.database.engine import Database
from core.forgetting import forget
from core.scope import Scope
from core.synth_core_memory import search_memories
from tests.adapters.servers import answering

Answers = Iterator[tuple[str, str]]


class Tool:
    """A memory tool that is asked as a model asks it: with the input of a tool call."""

    def __init__(self, tool: Any) -> None:
        self.tool = tool

    def __call__(self, command: str, **fields: Any) -> str:
        """Return the answer; an error as `ToolError: text`."""
        try:
            answer = self.tool.call({"command": command, **fields})
            return str(asyncio.run(answer) if inspect.isawaitable(answer) else answer)
        except ToolError as error:
            return f"ToolError: {error}"


@pytest.fixture(params=[MemoryTool, AsyncMemoryTool])
def tool(request: pytest.FixtureRequest, db: Database, ann: Scope) -> Tool:
    return Tool(request.param(db=db, scope=ann))


def reference(folder: Path) -> Tool:
    from anthropic.lib.tools._beta_builtin_memory_tool import BetaLocalFilesystemMemoryTool

    return Tool(BetaLocalFilesystemMemoryTool(base_path=str(folder)))


def _all(command: str, *paths: str) -> list[dict[str, Any]]:
    return [{"command": command, "path": f"/memories{path}"} for path in paths]


RANGES = ([2, 4], [11, -1], [0, 99], [20, 30])
COMMANDS: list[dict[str, Any]] = [
    *_all("view", "", "/none.md"),
    {"command": "create", "path": "/memories/tea.md", "file_text": "green\nblack\ngreen tea\n"},
    {"command": "create", "path": "/memories/tea.md", "file_text": "again"},
    {"command": "create", "path": "/memories/a/b/c/deep.md", "file_text": "deep"},
    {"command": "create", "path": "/memories/a/.hidden", "file_text": "x"},
    {"command": "create", "path": "/memories/empty.md", "file_text": ""},
    {"command": "create", "path": "/memories/blank.md", "file_text": " \n\n"},
    {"command": "create", "path": "/memories/big.md", "file_text": "é" * 800},
    {"command": "create", "path": "/memories/crlf.md", "file_text": "one\r\ntwo\r\n\x85three"},
    {"command": "create", "path": "/memories/notes.md", "file_text": "".join(f"line {n}\n" for n in range(12))},
    *_all("view", "", "/", "/a", "/a/../tea.md", "/tea.md", "/empty.md", "/blank.md", "/crlf.md"),
    *({"command": "view", "path": "/memories/notes.md", "view_range": lines} for lines in RANGES),
    {"command": "str_replace", "path": "/memories/tea.md", "old_str": "black", "new_str": "white\nyellow"},
    {"command": "str_replace", "path": "/memories/tea.md", "old_str": "green", "new_str": "x"},
    {"command": "str_replace", "path": "/memories/tea.md", "old_str": "none", "new_str": "x"},
    {"command": "str_replace", "path": "/memories/none.md", "old_str": "none", "new_str": "x"},
    {"command": "str_replace", "path": "/memories/a", "old_str": "none", "new_str": "x"},
    {"command": "str_replace", "path": "/memories/notes.md", "old_str": "line 10", "new_str": ""},
    {"command": "str_replace", "path": "/memories/crlf.md", "old_str": "two\r", "new_str": "2\r"},
    {"command": "view", "path": "/memories/notes.md"},
    {"command": "insert", "path": "/memories/tea.md", "insert_line": 0, "insert_text": "first\n\n"},
    {"command": "insert", "path": "/memories/tea.md", "insert_line": 5, "insert_text": "last"},
    {"command": "insert", "path": "/memories/tea.md", "insert_line": 99, "insert_text": "x"},
    {"command": "insert", "path": "/memories/tea.md", "insert_line": -1, "insert_text": "x"},
    {"command": "insert", "path": "/memories/empty.md", "insert_line": 0, "insert_text": "now"},
    {"command": "insert", "path": "/memories/crlf.md", "insert_line": 1, "insert_text": "between"},
    {"command": "insert", "path": "/memories/none.md", "insert_line": 0, "insert_text": "x"},
    {"command": "insert", "path": "/memories/a", "insert_line": 0, "insert_text": "x"},
    *_all("view", "/tea.md", "/crlf.md"),
    {"command": "rename", "old_path": "/memories/tea.md", "new_path": "/memories/drinks/hot/tea.md"},
    {"command": "rename", "old_path": "/memories/none.md", "new_path": "/memories/x.md"},
    {"command": "rename", "old_path": "/memories/notes.md", "new_path": "/memories/drinks"},
    {"command": "rename", "old_path": "/memories", "new_path": "/memories/x"},
    {"command": "rename", "old_path": "/memories/a", "new_path": "/memories/z"},
    *_all("view", "/z/b", "/a", "/drinks/hot/tea.md"),
    *_all("delete", "/drinks/hot/tea.md", "/drinks/hot/tea.md"),
    *_all("view", "/drinks"),
    *_all("delete", "/z", "", "/x/.."),
    *_all("view", "", "/../../etc/passwd"),
    {"command": "view", "path": "/etc/passwd"},
    {"command": "create", "path": "/memories/../out.md", "file_text": "x"},
    {"command": "rename", "old_path": "/memories/big.md", "new_path": "/memories/../../out.md"},
]


def _unsized(answer: str) -> str:
    """Return a listing without the sizes of folders, which differ from disk to disk."""
    lines = answer.split("\n")
    folders = [n for n, line in enumerate(lines) if n == 1 or line.endswith("/")] if "levels deep" in lines[0] else []
    return "\n".join(line.split("\t")[-1] if n in folders else line for n, line in enumerate(lines))


def test_r30_answers_are_those_of_the_sdk_word_for_word(tool: Tool, tmp_path: Path) -> None:
    other = reference(tmp_path)
    for command in COMMANDS:
        fields = dict(command)
        name = fields.pop("command")
        assert _unsized(tool(name, **fields)) == _unsized(other(name, **fields)), command


def test_r30_paths_have_no_disk_to_reach(tool: Tool) -> None:
    """A path is a name: signs of shells, disks and encodings are letters of it."""
    for path in ("/memories/%2e%2e/x", "/memories/..\\..\\x", "/memories/~/x", "/memories/C:x", "/memories/a b/🦀"):
        assert tool("create", path=path, file_text="x").startswith("File created successfully at: ")
        assert tool("view", path=path) == f"Here's the content of {path} with line numbers:\n     1\tx"
    inside = tool("create", path="/memories/a b/🦀/in", file_text="x")
    assert inside.startswith("ToolError: The path /memories/a b/🦀 is")
    assert tool("rename", old_path="/memories/~", new_path="/memories/~/y/z").startswith("ToolError: Cannot move")


def test_r30_too_many_lines_are_said_so(tool: Tool) -> None:
    assert tool("create", path="/memories/long", file_text="\n" * 999_999).startswith("File created")
    assert "exceeds maximum line limit of 999,999 lines" in tool("view", path="/memories/long")


def test_r30_files_are_searched_versioned_and_forgotten(tool: Tool, db: Database, ann: Scope, bob: Scope) -> None:
    """The text now is found; what it said before stays as a former version, until all of it goes with the person."""
    tool("create", path="/memories/tea.md", file_text="Ann drinks oolong")
    tool("str_replace", path="/memories/tea.md", old_str="oolong", new_str="sencha")

    def found(word: str, scope: Scope) -> list[str]:
        return [hit["snippet"] for hit in search_memories(query=word, db=db, scope=scope)]

    assert (found("sencha", ann), found("oolong", ann), found("sencha", bob)) == (["Ann drinks sencha"], [], [])
    former = lifelong.search_items(archived=True, db=db, scope=ann)["items"]
    assert [(item["text"], item["kind"]) for item in former] == [("Ann drinks oolong", "file")]
    stranger = Tool(MemoryTool(db=db, scope=bob))
    assert "tea.md" not in stranger("view", path="/memories")
    assert "does not exist" in stranger("view", path="/memories/tea.md")
    assert forget(participant="web/ann", db=db, scope=ann)["stored_values"] == 1
    assert "tea.md" not in tool("view", path="/memories")
    assert lifelong.search_items(archived=True, db=db, scope=ann)["items"] == []


def test_r30_who_wants_nothing_kept_is_told_so(tool: Tool, db: Database, ann: Scope) -> None:
    """The model hears why, instead of believing it has stored something."""
    privacy.set_privacy("web/ann", "full", db=db, scope=ann)
    answer = tool("create", path="/memories/tea.md", file_text="Ann drinks oolong")
    assert answer == "ToolError: Nothing was stored: this person's privacy setting forbids keeping anything of them."


def test_r30_clear_all_memory(db: Database, ann: Scope) -> None:
    tool = MemoryTool(db=db, scope=ann)
    Tool(tool)("create", path="/memories/a/b.md", file_text="x")
    assert tool.clear_all_memory() == "All memory cleared"
    assert Tool(tool)("view", path="/memories").endswith("4K\t/memories")
    assert asyncio.run(AsyncMemoryTool(db=db, scope=ann).clear_all_memory()) == "All memory cleared"


def test_r30_the_sdk_runs_it_over_a_socket(db: Database, ann: Scope) -> None:
    from anthropic import Anthropic

    asked: list[dict[str, Any]] = []

    def answer(path: str, body: dict[str, Any]) -> dict[str, Any]:
        """Call the tool once, then say something."""
        asked.append(body)
        call = {"command": "create", "path": "/memories/tea.md", "file_text": "oolong"}
        content: Any = [{"type": "tool_use", "id": "t1", "name": "memory", "input": call}]
        done = len(asked) > 1
        return {
            "id": f"m{len(asked)}", "type": "message", "role": "assistant", "model": "x", "stop_sequence": None,
            "stop_reason": "end_turn" if done else "tool_use", "usage": {"input_tokens": 1, "output_tokens": 1},
            "content": [{"type": "text", "text": "Noted."}] if done else content,
        }  # fmt: skip

    with answering(answer) as url, Anthropic(api_key="x", base_url=url, max_retries=0) as client:
        runner = client.beta.messages.tool_runner(
            model="claude-sonnet-5-5", max_tokens=100, max_iterations=3, tools=[MemoryTool(db=db, scope=ann)],
            messages=[{"role": "user", "content": "I drink oolong"}],
        )  # fmt: skip
        message = runner.until_done()
    assert message.content[0].text == "Noted."
    assert {"type": "memory_20250818", "name": "memory"} in asked[0]["tools"]
    assert "File created successfully at: /memories/tea.md" in json.dumps(asked[1])
    assert "oolong" in Tool(MemoryTool(db=db, scope=ann))("view", path="/memories/tea.md")
