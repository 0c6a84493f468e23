"""R30: Claude's memory tool over our rows: the answers of the SDK's own file tool, word for word."""

import asyncio
import inspect
import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("anthropic", reason="the extra anthropic is not installed")

from anthropic.lib.tools import ToolError

from core import Scope, forget, lifelong, privacy, search_memories
from core.adapters.anthropic import AsyncMemoryTool, MemoryTool
from core.database.engine import Database
from tests.adapters.servers import answering


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


FIELDS = {
    "create": ("path", "file_text"), "view": ("path", "view_range"), "str_replace": ("path", "old_str", "new_str"),
    "insert": ("path", "insert_line", "insert_text"), "rename": ("old_path", "new_path"), "delete": ("path",),
}  # fmt: skip
COMMANDS: list[tuple[Any, ...]] = [
    ("view", "~"), ("view", "~/none.md"), ("create", "~/tea.md", "green\nblack\ngreen tea\n"),
    ("create", "~/tea.md", "again"), ("create", "~/a/b/c/deep.md", "deep"), ("create", "~/a/.hidden", "x"),
    ("create", "~/empty.md", ""), ("create", "~/blank.md", " \n\n"), ("create", "~/big.md", "é" * 800),
    ("create", "~/crlf.md", "one\r\ntwo\r\n\x85three"),
    ("create", "~/notes.md", "".join(f"line {n}\n" for n in range(12))),
    *(("view", f"~{path}") for path in ("", "/", "/a", "/a/../tea.md", "/tea.md", "/empty.md", "/blank.md")),
    ("view", "~/crlf.md"),
    *(("view", "~/notes.md", lines) for lines in ([2, 4], [11, -1], [0, 99], [20, 30])),
    ("str_replace", "~/tea.md", "black", "white\nyellow"), ("str_replace", "~/tea.md", "green", "x"),
    ("str_replace", "~/tea.md", "none", "x"), ("str_replace", "~/none.md", "none", "x"),
    ("str_replace", "~/a", "none", "x"), ("str_replace", "~/notes.md", "line 10", ""),
    ("str_replace", "~/crlf.md", "two\r", "2\r"), ("view", "~/notes.md"),
    ("insert", "~/tea.md", 0, "first\n\n"), ("insert", "~/tea.md", 5, "last"), ("insert", "~/tea.md", 99, "x"),
    ("insert", "~/tea.md", -1, "x"), ("insert", "~/empty.md", 0, "now"), ("insert", "~/crlf.md", 1, "between"),
    ("insert", "~/none.md", 0, "x"), ("insert", "~/a", 0, "x"), ("view", "~/tea.md"), ("view", "~/crlf.md"),
    ("rename", "~/tea.md", "~/drinks/hot/tea.md"), ("rename", "~/none.md", "~/x.md"),
    ("rename", "~/notes.md", "~/drinks"), ("rename", "~", "~/x"), ("rename", "~/a", "~/z"),
    ("view", "~/z/b"), ("view", "~/a"), ("view", "~/drinks/hot/tea.md"), ("delete", "~/drinks/hot/tea.md"),
    ("delete", "~/drinks/hot/tea.md"), ("view", "~/drinks"), ("delete", "~/z"), ("delete", "~"), ("delete", "~/x/.."),
    ("view", "~"), ("view", "~/../../etc/passwd"), ("view", "/etc/passwd"), ("create", "~/../out.md", "x"),
    ("rename", "~/big.md", "~/../../out.md"),
]  # fmt: skip
"""A command and its fields; `~` stands for /memories."""


def _unsized(answer: str) -> str:
    """Return a listing without the sizes of folders, which differ from disk to disk."""
    lines = answer.split("\n")
    folders = [n for n, line in enumerate(lines) if n == 1 or line.endswith("/")] if "levels deep" in lines[0] else []
    return "\n".join(line.split("\t")[-1] if n in folders else line for n, line in enumerate(lines))


def test_r30_answers_are_those_of_the_sdk_word_for_word(tool: Tool, tmp_path: Path) -> None:
    from anthropic.lib.tools._beta_builtin_memory_tool import BetaLocalFilesystemMemoryTool

    other = Tool(BetaLocalFilesystemMemoryTool(base_path=str(tmp_path)))
    for name, *values in COMMANDS:
        fields = {
            field: value.replace("~", "/memories") if "path" in field else value
            for field, value in zip(FIELDS[name], values, strict=False)
        }
        assert _unsized(tool(name, **fields)) == _unsized(other(name, **fields)), (name, fields)


def test_r30_paths_have_no_disk_to_reach_and_too_many_lines_are_said_so(tool: Tool) -> None:
    """A path is a name: signs of shells, disks and encodings are letters of it."""
    for path in ("/memories/%2e%2e/x", "/memories/..\\..\\x", "/memories/~/x", "/memories/C:x", "/memories/a b/🦀"):
        assert tool("create", path=path, file_text="x").startswith("File created successfully at: ")
        assert tool("view", path=path) == f"Here's the content of {path} with line numbers:\n     1\tx"
    inside = tool("create", path="/memories/a b/🦀/in", file_text="x")
    assert inside.startswith("ToolError: The path /memories/a b/🦀 is")
    assert tool("rename", old_path="/memories/~", new_path="/memories/~/y/z").startswith("ToolError: Cannot move")
    assert tool("create", path="/memories/long", file_text="\n" * 999_999).startswith("File created")
    assert "exceeds maximum line limit of 999,999 lines" in tool("view", path="/memories/long")


def test_r30_files_are_searched_versioned_forgotten_or_refused(
    tool: Tool, db: Database, ann: Scope, bob: Scope
) -> None:
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
        asked.append(body)
        call = {"command": "create", "path": "/memories/tea.md", "file_text": "oolong"}
        content: Any = [{"type": "tool_use", "id": "t1", "name": "memory", "input": call}]
        done = len(asked) > 1
        return {"id": f"m{len(asked)}", "type": "message", "role": "assistant", "model": "x", "stop_sequence": None,
                "stop_reason": "end_turn" if done else "tool_use", "usage": {"input_tokens": 1, "output_tokens": 1},
                "content": [{"type": "text", "text": "Noted."}] if done else content}  # fmt: skip

    with answering(answer) as url, Anthropic(api_key="x", base_url=url, max_retries=0) as client:
        runner = client.beta.messages.tool_runner(
            model="claude-sonnet-5-5", max_tokens=100, max_iterations=3, tools=[MemoryTool(db=db, scope=ann)],
            messages=[{"role": "user", "content": "I drink oolong"}],
        )  # fmt: skip
        message = runner.until_done()
    assert message.content[0].text == "Noted." and {"type": "memory_20250818", "name": "memory"} in asked[0]["tools"]
    assert "File created successfully at: /memories/tea.md" in json.dumps(asked[1])
    assert "oolong" in Tool(MemoryTool(db=db, scope=ann))("view", path="/memories/tea.md")
