"""The subcommands together, and what becomes of a run: its exit code, and one sentence where it went wrong."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import typer

from ..errors import CoreError
from . import (
    build as building,
)
from . import (
    config as configuring,
)
from . import (
    db as databases,
)
from . import (
    demo,
    jobs,
    output,
    usage,
)
from . import (
    doctor as doctoring,
)
from . import (
    export as exporting,
)
from . import (
    forget as forgetting,
)
from . import (
    imports as importing,
)
from . import (
    memory as keeping,
)
from . import (
    run as running,
)
from . import (
    search as searching,
)
from . import (
    serve as serving,
)
from . import (
    tags as tagging,
)

NAME = "prompt-engine"

_WrongUsage: Any = typer.BadParameter.__base__
"""The class of every error in a command line; the library it comes from differs between versions of typer."""

app = typer.Typer(
    name=NAME,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    rich_markup_mode=None,
)


def _version(asked: bool) -> None:
    if asked:
        from importlib.metadata import PackageNotFoundError, version  # noqa: PLC0415 - only this needs it

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


building.add_to(app)
searching.add_to(app)
importing.add_to(app)
exporting.add_to(app)
tagging.add_to(app)
databases.add_to(app)
configuring.add_to(app)
keeping.add_to(app)
forgetting.add_to(app)
jobs.add_to(app)
serving.add_to(app)
doctoring.add_to(app)
demo.add_to(app)


def run(arguments: Sequence[str]) -> int:
    """Run the command and return its exit code: 0, 1 when it failed, 2 when it was called wrongly."""
    running.debugging = False
    try:
        code = typer.main.get_command(app).main(list(arguments), prog_name=NAME, standalone_mode=False)
    except typer.Exit as ended:
        return ended.exit_code
    except (typer.Abort, KeyboardInterrupt):
        return _told("Stopped.", 1)
    except _WrongUsage as error:
        return _wrong(error)
    except CoreError as error:
        if running.debugging:
            raise
        return _told(str(error), 1)
    return code if isinstance(code, int) else 0


def _wrong(error: Any) -> int:
    path = error.ctx.command_path if error.ctx is not None else NAME
    said = usage.sentence(error)
    return _told(f"{path}: {said}{'' if said.endswith('?') else '.'} See `{path} --help`.", 2)


def _told(sentence: str, code: int) -> int:
    output.note(output.clean(sentence), style="red" if code else "")
    return code
