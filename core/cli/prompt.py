"""`prompt-engine build` and `explain`: one message in, one prompt out, or the report on it."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from . import output
from .run import ConversationOption, LocalOption, Run, ServerOption, add_command, participant, refusals

TextArgument = Annotated[
    str | None,
    typer.Argument(metavar="TEXT", help="What was said; - reads standard input.", show_default=False),
]
FileOption = Annotated[
    Path | None,
    typer.Option(
        "--message-file",
        metavar="FILE",
        help="The message as your program has it, a JSON object with message_id and date; - reads standard input.",
    ),
]
UserOption = Annotated[
    str | None, typer.Option("--user", metavar="ID", help="Id of who says it; interface/id without --conversation.")
]
NameOption = Annotated[str | None, typer.Option("--name", help="Full name of who says it.")]
PrivateOption = Annotated[bool, typer.Option("--private", help="The conversation is a direct message.")]
MaxCharsOption = Annotated[
    int | None, typer.Option("--max-chars", min=1, help="Most characters of the prompt. Without it MAX_PROMPT_CHARS.")
]
LiteOption = Annotated[bool, typer.Option("--lite", help="Few items of each kind, as PROMPT_LITE_MODE.")]
MessagesOption = Annotated[
    Literal["openai", "alternating", "anthropic"] | None,
    typer.Option("--messages", help="Print chat messages of this kind of provider."),
]


def build(
    run: Run,
    text: TextArgument = None,
    message_file: FileOption = None,
    conversation: ConversationOption = None,
    user: UserOption = None,
    name: NameOption = None,
    server: ServerOption = "",
    private: PrivateOption = False,
    max_chars: MaxCharsOption = None,
    lite: LiteOption = False,
    local: LocalOption = False,
    messages: MessagesOption = None,
) -> None:
    """Print the prompt for a message."""
    message, interface = _read_message(text, message_file, conversation, user, name, server, private)
    asking = _gather_arguments(run, interface, max_chars, lite, local)
    if messages is not None:
        from ..prompt_engine import build_messages

        with refusals():
            output.print_json(build_messages(message, dialect=messages, **asking))
        return
    from ..prompt_engine import build_json_prompt

    with refusals():
        output.print_json(build_json_prompt(message, **asking))


def explain(
    run: Run,
    text: TextArgument = None,
    message_file: FileOption = None,
    conversation: ConversationOption = None,
    user: UserOption = None,
    name: NameOption = None,
    server: ServerOption = "",
    private: PrivateOption = False,
    max_chars: MaxCharsOption = None,
    lite: LiteOption = False,
    local: LocalOption = False,
) -> None:
    """Print what the prompt for a message holds, and why.

    For each section: how many items were found, kept and left out, and why; and what failed.
    """
    message, interface = _read_message(text, message_file, conversation, user, name, server, private)
    from ..prompt_engine import explain_json_prompt

    with refusals():
        _, report = explain_json_prompt(message, **_gather_arguments(run, interface, max_chars, lite, local))
    run.answer(report, lambda: _print_report(report))


def _gather_arguments(
    run: Run, interface: str | None, max_chars: int | None, lite: bool, local: bool
) -> dict[str, Any]:
    return {
        "interface_name": interface,
        "max_chars": max_chars,
        "destination": "local" if local else None,
        "db": run.db,
        "settings": {"PROMPT_LITE_MODE": True} if lite else None,
        "scope": run.scope() if run.persona is not None else None,
    }


def _read_message(
    text: str | None,
    file: Path | None,
    conversation: str | None,
    user: str | None,
    name: str | None,
    server: str,
    private: bool,
) -> tuple[Any, str | None]:
    """Return the message to build for, the file's or one made of the options, and the interface it came from."""
    if (text is None) == (file is None):
        raise typer.BadParameter("give the message either as TEXT or by --message-file")
    if file is not None:
        if conversation is not None or user is not None or name is not None or server or private:
            raise typer.BadParameter(
                "--message-file says where and by whom it was said; leave out --conversation, --user, --name, --server "
                "and --private"
            )
        return _read_message_file(file), None
    message: dict[str, Any] = {"message_id": None, "date": None, "text": sys.stdin.read() if text == "-" else text}
    if conversation is not None:
        message["interface_path"] = conversation
    interface = None
    if user is not None and conversation is None:
        interface, _, user = (participant(None, user) or "").partition("/")
    if user is not None or name is not None:
        message["from_user"] = {"id": user, "full_name": name or user, "username": user}
    if server:
        message["server_id"] = server
    if private:
        message["is_private"] = True
    return message, interface


def _read_message_file(file: Path) -> Any:
    shown = "standard input" if str(file) == "-" else repr(str(file))
    try:
        content = sys.stdin.read() if str(file) == "-" else file.read_text(encoding="utf-8-sig")
        return json.loads(content)
    except UnicodeDecodeError:
        raise typer.BadParameter(f"{shown} is not UTF-8") from None
    except OSError as error:
        raise typer.BadParameter(f"{shown} cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError):
        raise typer.BadParameter(f"{shown} is not JSON; it must hold one object, the message") from None


# For people


def _print_report(report: Mapping[str, Any]) -> None:
    search = report["search"]
    keywords = [(title, ", ".join(search[key]) or "-") for title, key in (("Tags", "tags"), ("Words", "words"))]
    output.facts([*keywords, _size(report)])
    output.heading("Sections")
    output.table(
        ("section", "found", "kept", "left out"),
        [(name, part["found"], part["kept"], _reasons(report, name)) for name, part in report["sections"].items()],
        right=(1, 2),
    )
    if report["errors"]:
        output.heading("Failed")
        output.table(("source", "why"), [(each["source"], each["message"]) for each in report["errors"]])
    if report["notes"]:
        output.heading("Notes")
        output.lines(f"- {note}" for note in report["notes"])


def _size(report: Mapping[str, Any]) -> tuple[str, str]:
    limit = "no limit" if report["limit"] is None else f"limit {report['limit']}"
    over = ", over the limit" if report["over_limit"] else ""
    tokens = f", {report['tokens']} tokens by {report['counter']}" if report["tokens"] is not None else ""
    return "Size", f"{report['size']} characters ({limit}{over}){tokens}"


def _reasons(report: Mapping[str, Any], section: str) -> str:
    counts = Counter(item["reason"] for item in report["left_out"] if item["section"] == section)
    return ", ".join(f"{count} {reason}" for reason, count in counts.items())


def register(app: typer.Typer) -> None:
    """Add the subcommands to the command."""
    add_command(app, "build", build)
    add_command(app, "explain", explain)
