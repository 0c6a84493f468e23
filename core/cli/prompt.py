"""`prompt-engine build` and `explain`: one message in, one prompt out, or the report on it."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from typer import Argument, BadParameter, Option

from . import output
from .run import ConversationOption, LocalOption, Run, ServerOption, command, participant, refusals

TextArgument = Annotated[
    str | None, Argument(metavar="TEXT", help="What was said; - reads standard input.", show_default=False)
]
FileOption = Annotated[
    Path | None,
    Option(
        "--message-file",
        metavar="FILE",
        help="The message as your program has it, a JSON object with message_id and date; - reads standard input.",
    ),
]
UserOption = Annotated[
    str | None, Option("--user", metavar="ID", help="Id of who says it; interface/id without --conversation.")
]
NameOption = Annotated[str | None, Option("--name", help="Full name of who says it.")]
PrivateOption = Annotated[bool, Option("--private", help="The conversation is a direct message.")]
MaxCharsOption = Annotated[
    int | None, Option("--max-chars", min=1, help="Most characters of the prompt. Without it MAX_PROMPT_CHARS.")
]
LiteOption = Annotated[bool, Option("--lite", help="Few items of each kind, as PROMPT_LITE_MODE.")]


@command("build")
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
    messages: Annotated[
        Literal["openai", "alternating", "anthropic"] | None,
        Option(help="Print chat messages of this kind of provider."),
    ] = None,
) -> None:
    """Print the prompt for a message."""
    message, interface = _read_message(text, message_file, conversation, user, name, server, private)
    asking = _gather_arguments(run, interface, max_chars, lite, local)
    from ..prompt_engine import build_json_prompt, build_messages

    with refusals():
        if messages is None:
            output.print_json(build_json_prompt(message, **asking))
        else:
            output.print_json(build_messages(message, dialect=messages, **asking))


@command("explain")
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
        raise BadParameter("give the message either as TEXT or by --message-file")
    if file is not None:
        if conversation is not None or user is not None or name is not None or server or private:
            raise BadParameter(
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
        return json.loads(sys.stdin.read() if str(file) == "-" else file.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise BadParameter(f"{shown} cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError):
        raise BadParameter(f"{shown} is not JSON in UTF-8; it must hold one object, the message") from None


# For people


def _print_report(report: Mapping[str, Any]) -> None:
    def list_reasons(section: str) -> str:
        counts = Counter(item["reason"] for item in report["left_out"] if item["section"] == section)
        return ", ".join(f"{count} {reason}" for reason, count in counts.items())

    search = report["search"]
    keywords = [(title, ", ".join(search[key]) or "-") for title, key in (("Tags", "tags"), ("Words", "words"))]
    limit = "no limit" if report["limit"] is None else f"limit {report['limit']}"
    over = ", over the limit" if report["over_limit"] else ""
    tokens = f", {report['tokens']} tokens by {report['counter']}" if report["tokens"] is not None else ""
    output.facts([*keywords, ("Size", f"{report['size']} characters ({limit}{over}){tokens}")])
    output.heading("Sections")
    output.table(
        ("section", "found", "kept", "left out"),
        [(name, part["found"], part["kept"], list_reasons(name)) for name, part in report["sections"].items()],
        right=(1, 2),
    )
    if report["errors"]:
        output.heading("Failed")
        output.table(("source", "why"), [(each["source"], each["message"]) for each in report["errors"]])
    if report["notes"]:
        output.heading("Notes")
        output.lines(f"- {note}" for note in report["notes"])
