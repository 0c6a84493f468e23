"""`prompt-engine build` and `explain`: the prompt for one message, or the report on it."""

import sys
from collections import Counter
from collections.abc import Mapping
from operator import itemgetter
from typing import Any, Literal, NamedTuple

from typer import Argument, Option

from . import output
from .run import ConversationOption, LocalOption, Run, ServerOption, UserOption, command, key_of

_SHOWN, _CHARS = 20, 80
"""Maximum number of memories in a list, and of characters of each memory's text."""
_KEPT = "kept"


class MessageOptions(NamedTuple):
    text: str = Argument(metavar="TEXT", help="Message text; - reads standard input.")
    conversation: ConversationOption = None
    user: UserOption = None
    name: str | None = Option(None, metavar="NAME", help="Full name of the speaker.")
    server: ServerOption = ""
    private: bool = Option(False, "--private", help="The conversation is a direct message.")
    max_chars: int | None = Option(
        None, metavar="N", min=1, help="Maximum characters of the prompt. Default: MAX_PROMPT_CHARS."
    )
    local: LocalOption = False
    messages: Literal["openai", "alternating", "anthropic"] | None = Option(
        None, help="Chat messages in this provider's format, not the JSON prompt."
    )


@command("build")
def build(run: Run, options: MessageOptions) -> None:
    """Print the prompt for a message."""
    output.print_json(_explain(run, options)[0])


@command("explain")
def explain(run: Run, options: MessageOptions) -> None:
    """Print the contents of the prompt for a message, with reasons.

    For each section: how many items were found, kept and left out, and why; which memories; and what failed.
    """
    report = _explain(run, options)[1]
    run.answer(report, lambda: _print_report(run, report))
    if not any(part["found"] for part in report["sections"].values()):
        run.warn_of_scope(run.scope(options.conversation, server=options.server))


def _explain(run: Run, options: MessageOptions) -> tuple[Any, dict[str, Any]]:
    """Return (JSON prompt or chat messages, report)."""
    from ..prompt_engine import explain_json_prompt, explain_messages

    message, asking = _read_options(run, options)
    if options.messages is None:
        return explain_json_prompt(message, **asking)
    return explain_messages(message, dialect=options.messages, **asking)


def _read_options(run: Run, given: MessageOptions) -> tuple[dict[str, Any], dict[str, Any]]:
    interface, _, user = (key_of(given.conversation, given.user) or "").partition("/")
    message: dict[str, Any] = {"text": sys.stdin.read() if given.text == "-" else given.text}
    if given.conversation is not None:
        message["interface_path"] = given.conversation
    if user or given.name is not None:
        message["from_user"] = {"id": user or None, "full_name": given.name or user, "username": user or None}
    if given.server:
        message["server_id"] = given.server
    if given.private:
        message["is_private"] = True
    return message, {
        "interface_name": interface or None,
        "max_chars": given.max_chars,
        "destination": "local" if given.local else None,
        "db": run.db,
        "scope": run.scope() if run.persona is not None else None,
    }


def _print_report(run: Run, report: Mapping[str, Any]) -> None:
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
    hits = sorted(search.get("hits", ()), key=itemgetter("rank"))
    reasons = {f"{hit['source']}/{hit['id']}": _KEPT for hit in hits}
    reasons |= {item["id"]: item["reason"] for item in report["left_out"] if item["section"] == "memories"}
    _print_memories(run, "Memories kept", {name: why for name, why in reasons.items() if why == _KEPT})
    _print_memories(run, "Memories left out", {name: why for name, why in reasons.items() if why != _KEPT})
    if report["errors"]:
        output.heading("Failed")
        output.table(("source", "why"), [(each["source"], each["message"]) for each in report["errors"]])
    if report["notes"]:
        output.heading("Notes")
        output.lines(f"- {note}" for note in report["notes"])


def _print_memories(run: Run, title: str, reasons: Mapping[str, str]) -> None:
    """Print the first memories, each with its reason and text; the keys of `reasons` are `source/id`."""
    from .. import memories, messages

    if not reasons:
        return
    shown, persona = list(reasons)[:_SHOWN], run.scope().persona
    items, lines = (
        [int(each.partition("/")[2]) for each in shown if each.startswith(source)]
        for source in ("memories/", "chat_history/")
    )
    texts = {f"memories/{row}": text for row, text in memories.read_item_texts(run.db, persona, items).items()}
    for line in messages.read_lines(run.db.read, persona, lines):
        texts[f"chat_history/{line.row_id}"] = f"{line.sender_name}: {line.text}"
    output.heading(title)
    output.table(("why", "memory", "text"), [(reasons[each], each, texts.get(each, "")[:_CHARS]) for each in shown])
    if len(reasons) > _SHOWN:
        output.say(f"... and {len(reasons) - _SHOWN} more; --json lists all.")
