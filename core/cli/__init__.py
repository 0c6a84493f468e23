"""The command `prompt-engine`: reads arguments, calls public functions, prints results. It needs the extra `cli`."""

import sys
from collections.abc import Sequence

MISSING = "The command prompt-engine needs the extra `cli`: pip install 'prompt-engine[cli]'"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code: 0, 1 for a failure, 2 for wrong usage.

    Args:
        arguments: arguments after the command's name; None uses those of the process.
    """
    try:
        import rich  # noqa: F401 - tells whether the extra is there
        import typer  # noqa: F401 - as above
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("typer", "rich"):
            raise
        print(MISSING, file=sys.stderr)
        return 1
    from .app import run_command
    from .output import prepare_streams

    prepare_streams()
    return run_command(sys.argv[1:] if arguments is None else list(arguments))
