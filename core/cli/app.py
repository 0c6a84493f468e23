"""The command with all subcommands, and the output and exit code of a failed run."""

import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Annotated, Any

import typer

from ..errors import CoreError, StoreError
from . import output, run
from .run import app

NAME = "prompt-engine"

_WrongUsage: Any = typer.BadParameter.__base__
"""Base class of errors of wrong usage; the library that defines it depends on typer's version."""


def _version(asked: bool) -> None:
    if asked:
        from importlib.metadata import PackageNotFoundError, version

        try:
            print(NAME, version(NAME))
        except PackageNotFoundError:
            print(NAME, "(not installed)")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def _root(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Print it.")] = False,  # noqa: ARG001 - its callback reads it
) -> None:
    """Turn one incoming message into the prompt for a model, with the right memories and history.

    Every subcommand prints for people on a terminal, and JSON into a file or another program.
    """
    if context.invoked_subcommand is None:
        print(context.get_help())


for name in ("demo", "prompt", "memory", "imports", "exports", "db", "config", "jobs", "serve"):  # order of the help
    import_module(f".{name}", __package__)


def run_command(arguments: Sequence[str]) -> int:
    run.debugging = False
    try:
        code = _run(arguments)
        sys.stdout.flush()
    except OSError as error:
        if run.debugging:
            raise
        output.abandon_stream(sys.stdout)
        if isinstance(error, BrokenPipeError):  # the program that reads the output ended early
            return 1
        what = error.filename or "The output could not be written"
        return _end_with(f"{what}: {error.strerror or error}.", 1)
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
        server = f" The server is {error.server}." if isinstance(error, StoreError) and error.server else ""
        return _end_with(f"{error}{server}", 1)
    return code if isinstance(code, int) else 0


def _end_wrong_usage(error: Any) -> int:
    path = error.ctx.command_path if error.ctx is not None else NAME
    sentence = str(error.format_message()).rstrip(" .")
    word = sentence.partition("No such command '")[2].rstrip("'")
    parts = getattr(error.ctx and error.ctx.command, "commands", {}).items()
    near = [f"'{name} {word}'" for name, part in parts if word in getattr(part, "commands", ())]
    sentence += f". Did you mean {', '.join(near)}?" if near else ""
    return _end_with(f"{path}: {sentence}{'' if sentence.endswith('?') else '.'} See `{path} --help`.", 2)


def _end_with(sentence: str, code: int) -> int:
    try:
        output.note(sentence, style="red" if code else "")
    except OSError:  # this sentence cannot be written either
        output.abandon_stream(sys.stderr)
    return code
