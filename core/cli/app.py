"""The subcommands together, and what becomes of a run: its exit code, and one sentence where it went wrong."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Annotated, Any

import typer

from ..errors import CoreError
from . import (
    build,
    config,
    db,
    demo,
    export,
    forget,
    health,
    imports,
    jobs,
    mcp,
    memory,
    output,
    recap,
    run,
    search,
    serve,
    streams,
    tags,
    tokens,
)

NAME = "prompt-engine"

_WrongUsage: Any = typer.BadParameter.__base__
"""The class of every error in a command line; the library it comes from differs between versions of typer."""

app: typer.Typer = typer.Typer(
    name=NAME,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    rich_markup_mode=None,
)


def _version(asked: bool) -> None:
    if asked:
        from importlib.metadata import PackageNotFoundError, version

        try:
            print(NAME, version(NAME))
        except PackageNotFoundError:
            print(NAME, "(not installed)")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Print it.")] = False,
) -> None:
    """Turn one incoming message into one JSON prompt with the right memories and history.

    Every subcommand prints for people on a terminal, and JSON into a file or another program.
    """


def _add_group(
    name: str,
    about: str,
    commands: Mapping[str, Callable[..., None]],
    without: Collection[str] = (),
    creating: Collection[str] = (),
) -> None:
    group = typer.Typer(help=about)
    for each, function in commands.items():
        run.add_command(group, each, function, without=without, creates=each in creating)
    app.add_typer(group, name=name)


run.add_command(app, "build", build.build)
run.add_command(app, "explain", build.explain)
run.add_command(app, "search", search.search)
run.add_command(app, "remember", search.remember, creates=True)
run.add_command(app, "import", imports.import_, creates=True)
run.add_command(app, "export", export.export)
_add_group(
    "tags",
    "List, add and link tags; see those of a text.",
    {"list": tags.list_, "add": tags.add, "alias": tags.alias, "link": tags.link, "extract": tags.extract},
    creating={"add", "alias", "link"},
)
_add_group(
    "db",
    "Make, check and mend the database.",
    {
        "init": db.init,
        "migrate": db.migrate,
        "check": db.check,
        "stats": db.stats,
        "reindex": db.reindex,
        "pack": db.pack,
        "maintenance": db.run_script,
        "backup": db.backup,
    },
    creating={"init", "migrate"},
)
_add_group(
    "config",
    "List the flags, check and set them, write files of them.",
    {
        "list": config.list_,
        "check": config.check,
        "set": config.set_,
        "preset": config.preset,
        "write": config.write,
        "schema": config.schema,
    },
    creating={"set"},
)
_add_group(
    "memory",
    "Make facts of what was said, and archive them.",
    {"consolidate": memory.consolidate, "prune": memory.prune},
)
_add_group(
    "recap",
    "Look at the recaps of a story, make and mend them.",
    {
        "show": recap.show,
        "make": recap.make,
        "refresh": recap.refresh,
    },
)
run.add_command(app, "forget", forget.forget)
run.add_command(app, "worker", jobs.work, without={"persona_id"}, creates=True)
_add_group(
    "jobs",
    "Look at the work in the background, and change it.",
    {"list": jobs.list_, "cancel": jobs.cancel, "clear": jobs.clear, "retry": jobs.retry},
)
_add_group(
    "token",
    "Make, list and revoke tokens of other programs.",
    {"add": tokens.add, "list": tokens.list_, "revoke": tokens.revoke},
    creating={"add"},
)
run.add_command(app, "serve", serve.serve, without={"persona_id", "as_json"}, creates=True)
run.add_command(app, "health", health.health, without={"database", "persona_id"})
run.add_command(app, "mcp", mcp.mcp, without={"as_json"}, creates=True)
run.add_command(app, "demo", demo.demo, without={"database", "persona_id"})


def run_command(arguments: Sequence[str]) -> int:
    """Run the command and return its exit code: 0, 1 when it failed, 2 when it was called wrongly."""
    run.debugging = False
    try:
        code = _run(arguments)
        sys.stdout.flush()
    except OSError as error:
        if run.debugging:
            raise
        return _end_unwritten(error)
    return code


def _run(arguments: Sequence[str]) -> int:
    try:
        code = typer.main.get_command(app).main(list(arguments), prog_name=NAME, standalone_mode=False)
    except typer.Exit as ended:
        return ended.exit_code
    except (typer.Abort, KeyboardInterrupt):
        return _end_with("Stopped.", 1)
    except _WrongUsage as error:
        return _end_wrong_usage(error)
    except CoreError as error:
        if run.debugging:
            raise
        return _end_with(str(error), 1)
    return code if isinstance(code, int) else 0


def _end_wrong_usage(error: Any) -> int:
    path = error.ctx.command_path if error.ctx is not None else NAME
    said = str(error.format_message()).rstrip(" .")
    return _end_with(f"{path}: {said}{'' if said.endswith('?') else '.'} See `{path} --help`.", 2)


def _end_unwritten(error: OSError) -> int:
    """Say what could not be read or written; a reader that has gone away, as `head` does, is told nothing."""
    streams.abandon(sys.stdout)
    if isinstance(error, BrokenPipeError):
        return 1
    what = error.filename or "The output could not be written"
    return _end_with(f"{what}: {error.strerror or error}.", 1)


def _end_with(sentence: str, code: int) -> int:
    try:
        output.note(output.clean(sentence), style="red" if code else "")
    except OSError:  # the sentence cannot be written either
        streams.abandon(sys.stderr)
    return code
