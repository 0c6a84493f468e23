"""Public functions that turn one message into one prompt."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from .base import logs
from .config import GivenSettings
from .context.context import INJECTED
from .hooks import set_hook
from .prompt import messages
from .prompt.fit import Fitted, Space, fit
from .prompt.messages import Messages
from .prompt.request import PromptRequest
from .prompt.rules_answer import Answer, parse_answer
from .scope import Scope
from .text.sizes import resolve_counter, to_json
from .text.strict_json import make_strict

if TYPE_CHECKING:
    from .database.engine import Database
    from .synth_tagging import expand_tags, extract_tags

__all__ = ["Answer", "Messages", "build_json_prompt", "build_messages", "expand_tags", "explain_json_prompt",
           "explain_messages", "extract_tags", "fit_prompt", "parse_answer", "reduce_prompt_for_llm_limit",
           "set_hook", "to_json", "to_messages"]  # fmt: skip


def __getattr__(name: str) -> Any:
    """Import a tagging function on first use, so that this module offers it too."""
    if name in ("extract_tags", "expand_tags"):
        from . import synth_tagging  # noqa: PLC0415 - loads the database packages

        return getattr(synth_tagging, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def build_json_prompt(
    message: Any,
    context_memory: Any = None,
    interface_name: str | None = None,
    image_data: Any = None,
    attachments: Any = None,
    max_chars: int | None = None,
    *,
    limit_tokens: int | None = None,
    counter: Callable[[str], int] | None = None,
    destination: str | None = None,
    replacing: str | int | None = None,
    db: Database | None = None,
    settings: GivenSettings = None,
    scope: Scope | None = None,
) -> dict[str, Any]:
    """Return the finished prompt for one message: plain JSON values, never larger than its limit.

    Args:
        message: an object or dict with `message_id` and `date`, and anything else the host knows; or a list of chat
        messages `{role, content}`: the last, a user's, is answered, earlier ones are lines of this conversation, and
        system messages come before the persona's text.
        context_memory: mapping of conversation keys to live messages, of metadata names to values, or of both.
        interface_name: platform of the message, such as `discord`.
        image_data, attachments: put into `input` unchanged; for `attachments`, None takes those of the message.
        max_chars: maximum number of characters of the prompt; None asks the hook `engine_limit`, then MAX_PROMPT_CHARS.
        limit_tokens, counter: a second limit, in tokens; the function that counts a text's tokens (None estimates).
        destination: `remote` or `local`; only a local prompt contains local_only rows.
        replacing: the platform's id, or row id, of a stored message of this conversation, to replace it by `message` or
            answer it again. The prompt leaves out the stored message and the persona's lines after it. Nothing stored
            changes.
        db, settings, scope: those of the process by default.

    Returns:
        Keys in this order: context, input, instructions, __pre_reduction_size, actions. A source that fails leaves its
        section empty; `explain_json_prompt` names it.

    Raises:
        MessageError: the message is unusable.
        PromptTooLargeError: the parts that are never cut exceed the limit.
        ValueError: an invalid limit or destination.

    Example:
        >>> from prompt_engine import build_json_prompt, open_database
        >>> db = open_database("sqlite://")
        >>> message = {"message_id": 1, "date": "2026-03-10T12:00:00Z", "text": "Any tea?", "interface_path": "web/7"}
        >>> prompt = build_json_prompt(message, db=db)
        >>> list(prompt)
        ['context', 'input', 'instructions', '__pre_reduction_size', 'actions']
        >>> prompt["input"]["payload"]["text"]
        'Any tea?'
        >>> db.close()
    """
    request = PromptRequest(
        message, context_memory, interface_name, image_data, attachments, max_chars, limit_tokens, counter,
        destination, db, settings, scope, replacing,
    )  # fmt: skip
    from .prompt import pipeline  # noqa: PLC0415 - loads the database packages, which take longer than all the rest

    return pipeline.build(request)[0]


def build_messages(
    message: Any,
    context_memory: Any = None,
    interface_name: str | None = None,
    max_chars: int | None = None,
    *,
    dialect: str = "openai",
    limit_tokens: int | None = None,
    counter: Callable[[str], int] | None = None,
    destination: str | None = None,
    replacing: str | int | None = None,
    cite: bool = False,
    db: Database | None = None,
    settings: GivenSettings = None,
    scope: Scope | None = None,
) -> Messages | dict[str, Any]:
    """Return the prompt for one message as chat messages: plain lines, together never larger than the limit.

    The system message holds the persona's text, the instructions and standing wishes. The chat follows as turns. The
    last message holds the memories, one line each, and then the text to answer.

    Args:
        message, context_memory, interface_name, destination, replacing, db, settings, scope: as for
            `build_json_prompt`.
        max_chars: maximum number of characters in total; None asks the hook `engine_limit`, then MAX_PROMPT_CHARS.
        dialect: `openai`; `alternating`, for models that refuse two messages of one role in a row; `anthropic`.
        limit_tokens, counter: a second limit, in tokens; the function that counts a text's tokens (None estimates).
        cite: put a mark such as `[m3]` before each memory. `citations`, an attribute of the list and a key of the
        report of `explain_messages`, maps `m3` to its row: source, id, conversation, speaker, timestamp.

    Returns:
        openai, alternating: a list of `{role, content}`. anthropic: `{system, messages}` of text blocks. The best
        memories are added while they fit, at most MEMORY_ITEMS; without it at most 50 to 200, more in longer prompts.
        Attachments are only named; to show a picture, add it to the last message.

    Raises:
        MessageError: the message is unusable.
        PromptTooLargeError: the system message and the text alone exceed the limit.
        ValueError: an unknown dialect, or an invalid limit or destination.

    Example:
        >>> from prompt_engine import Scope, build_messages, insert_memory, open_database
        >>> db, scope = open_database("sqlite://"), Scope("iris", "web/7")
        >>> _ = insert_memory("Ann likes green tea", "Ann", "web", ["tea"], scope, db=db)
        >>> message = {"message_id": 1, "date": "2026-03-10T12:00:00Z", "text": "Any tea?", "interface_path": "web/7"}
        >>> messages = build_messages(message, db=db, scope=scope)
        >>> [each["role"] for each in messages], "Ann: Ann likes green tea" in messages[-1]["content"]
        (['system', 'user'], True)
        >>> db.close()
    """
    request = PromptRequest(
        message, context_memory, interface_name, None, None, max_chars, limit_tokens, counter,
        destination, db, settings, scope, replacing, cite=cite,
    )  # fmt: skip
    from .prompt import pipeline  # noqa: PLC0415 - as above

    return pipeline.build_messages(request, dialect)[0]


def explain_messages(
    message: Any,
    context_memory: Any = None,
    interface_name: str | None = None,
    max_chars: int | None = None,
    *,
    dialect: str = "openai",
    limit_tokens: int | None = None,
    counter: Callable[[str], int] | None = None,
    destination: str | None = None,
    replacing: str | int | None = None,
    cite: bool = False,
    db: Database | None = None,
    settings: GivenSettings = None,
    scope: Scope | None = None,
) -> tuple[Messages | dict[str, Any], dict[str, Any]]:
    """Return `(messages, report)`: the messages of `build_messages`, and a report like that of `explain_json_prompt`.

    Arguments and errors are those of `build_messages`.

    Example:
        >>> from prompt_engine import open_database
        >>> db = open_database("sqlite://")
        >>> message = {"message_id": 1, "date": "2026-03-10T12:00:00Z", "text": "Any tea?", "interface_path": "web/7"}
        >>> messages, report = explain_messages(message, max_chars=4000, db=db)
        >>> report["limit"], report["size"] == len("\\n\\n".join(each["content"] for each in messages))
        (4000, True)
        >>> db.close()
    """
    request = PromptRequest(
        message, context_memory, interface_name, None, None, max_chars, limit_tokens, counter,
        destination, db, settings, scope, replacing, cite=cite,
    )  # fmt: skip
    from .prompt import pipeline  # noqa: PLC0415 - as above

    messages, report = pipeline.build_messages(request, dialect)
    return messages, report.as_dict()


def explain_json_prompt(
    message: Any,
    context_memory: Any = None,
    interface_name: str | None = None,
    image_data: Any = None,
    attachments: Any = None,
    max_chars: int | None = None,
    *,
    limit_tokens: int | None = None,
    counter: Callable[[str], int] | None = None,
    destination: str | None = None,
    replacing: str | int | None = None,
    db: Database | None = None,
    settings: GivenSettings = None,
    scope: Scope | None = None,
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return `(prompt, report)`: the prompt of `build_json_prompt`, and what was kept, cut and left out, with reasons.

    Arguments and errors are those of `build_json_prompt`.

    Returns:
        The report is JSON: limits, sizes, items found and kept by section, every item left out with its reason and id
        (never its text), errors by source, notes, and the search terms with their hits.

    Example:
        >>> from prompt_engine import explain_json_prompt, open_database
        >>> db = open_database("sqlite://")
        >>> message = {"message_id": 1, "date": "2026-03-10T12:00:00Z", "text": "Any tea?", "interface_path": "web/7"}
        >>> prompt, report = explain_json_prompt(message, db=db)
        >>> report["search"]["words"], report["left_out"], report["over_limit"]
        (['tea'], [], False)
        >>> db.close()
    """
    request = PromptRequest(
        message, context_memory, interface_name, image_data, attachments, max_chars, limit_tokens, counter,
        destination, db, settings, scope, replacing,
    )  # fmt: skip
    from .prompt import pipeline  # noqa: PLC0415 - as above

    prompt, report = pipeline.build(request)
    return prompt, report.as_dict()


def reduce_prompt_for_llm_limit(prompt: Mapping[str, Any], max_chars: int | None = None) -> dict[str, Any]:
    """Return a new prompt that fits the limit; the argument is not changed.

    As many items stay as fit, the most valuable first. Memories are ranked by the words of the message in `input`. An
    item that alone takes more than a quarter of the space for items is shortened. The parts that are never cut may
    still exceed the limit: `fit_prompt` reports that.

    Args:
        prompt: from `build_json_prompt`.
        max_chars: maximum number of characters; None returns an equal prompt and logs a warning.

    Raises:
        ValueError: `max_chars` is not a whole number of at least 1.

    Example:
        >>> reduce_prompt_for_llm_limit({"context": {"history_current_chat": ["a" * 30, "b"]}, "input": {}}, 60)
        {'context': {'history_current_chat': ['b']}, 'input': {}}
    """
    reduced: dict[str, Any] = _fit(prompt, Space(max_chars)).prompt
    return reduced


def fit_prompt(
    prompt: Mapping[str, Any],
    max_chars: int | None = None,
    *,
    limit_tokens: int | None = None,
    counter: Callable[[str], int] | None = None,
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return `(prompt, report)`; the report's `over_limit` says whether the parts that are never cut exceed the limit.

    Args:
        prompt: from `build_json_prompt`.
        max_chars: maximum number of characters; None for no limit.
        limit_tokens: maximum number of tokens, counted by `counter`.
        counter: function that returns the number of tokens of a text; None estimates the number.

    Returns:
        The report has the keys of `explain_json_prompt`'s report; keys that do not concern fitting are empty.

    Raises:
        ValueError: a limit that is not a whole number of at least 1.

    Example:
        >>> prompt, report = fit_prompt({"context": {"history_current_chat": ["a" * 30, "b"]}, "input": {}}, 60)
        >>> report["sections"]["history_current_chat"]["kept"], report["size"] <= 60, report["over_limit"]
        (1, True, False)
    """
    from .prompt.call import Report  # noqa: PLC0415 - as above

    count, name = resolve_counter(counter) if counter is not None or limit_tokens is not None else (None, None)
    space = Space(max_chars, limit_tokens, count)
    report = Report()
    fitted = _fit(prompt, space)
    report.add(fitted, space, name)
    return fitted.prompt, report.as_dict()


def _fit(prompt: Mapping[str, Any], space: Space) -> Fitted:
    """Cut the prompt to its limits. Log a warning if no limit is given, an error if a limit cannot be met."""
    if space.most is None:
        logs.warning("no_limit", function="fit_prompt")
    if not isinstance(prompt, Mapping):
        raise TypeError(f"prompt is of type {type(prompt).__name__}. Pass the dict build_json_prompt gave.")
    plain, notes = make_strict(prompt)
    fitted = fit(plain, space)
    if fitted.broken is not None:
        logs.event(40, "prompt_over_limit", size=fitted.size, limit=space.most, unit=fitted.broken)
    return replace(fitted, notes=(*notes, *fitted.notes))


def to_messages(
    prompt: Mapping[str, Any],
    dialect: str = "openai",
    *,
    injection: Mapping[str, Any] | None = None,
    settings: GivenSettings = None,
) -> Messages | dict[str, Any]:
    """Return a JSON prompt as messages: one system message, then a message for each part that is not empty.

    `build_messages` gives turns and plain lines; this function is for hosts that build the JSON prompt. The parts are
    the static context, the history, the volatile context and the input, in this order. Each is one JSON object with
    keys of the prompt.

    Args:
        prompt: from `build_json_prompt`, reduced or not.
        dialect: `openai`, `alternating` or `anthropic`.
        injection: `position`, `depth` and `role` of the running recap, as `stories.get_running_recap_injection` returns
        them. None takes SCENE_RECAP_POSITION, SCENE_RECAP_DEPTH and SCENE_RECAP_ROLE.
        settings: those of the process by default.

    Returns:
        openai: a list of `{role, content}` with the attribute `breakpoints`. anthropic: `{system, messages}` of text
            blocks; `cache_control` is set on the last system block and on the static context.

    Raises:
        ValueError: an unknown dialect, position, depth or role.
        TypeError: the prompt is not a mapping.

    Example:
        >>> prompt = {"context": {"history_current_chat": ["Ann: hi"]}, "input": {"text": "?"}, "instructions": "Go."}
        >>> [message["role"] for message in to_messages(prompt)]
        ['system', 'user', 'user']
    """
    context = prompt.get("context") if isinstance(prompt, Mapping) else None
    if injection is None and isinstance(context, Mapping) and context.get(INJECTED):
        from .calls import defaults  # noqa: PLC0415 - loads the database packages, and is of use with a recap alone

        s = defaults.settings_for(settings)
        injection = {"position": s.scene_recap_position, "depth": s.scene_recap_depth, "role": s.scene_recap_role}
    return messages.to_messages(prompt, dialect, injection=injection)
