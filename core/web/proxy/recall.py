"""Recall memories for the last message of a request to a model server, for the proxy and wrapped clients."""

from collections.abc import Mapping, Sequence
from typing import Any

from ...calls.call import Call
from ...memories.rules import MODES
from ...prompt.message_lines import HEAD
from ...prompt.pipeline import build_records
from ...prompt.request import PromptRequest
from ...transcripts import find_replaced


def recall(
    call: Call, message: Mapping[str, Any], lines: Sequence[Mapping[str, Any]], held: Sequence[str], *, after: str
) -> str:
    """Return the memories for a message, or ""; they do not repeat the texts in `held`, which the request contains.

    Stored lines that `lines` change or lack are left out, unless the request continues the response with id `after`.
    """
    settings = call.settings
    if settings.proxy_context_chars <= len(HEAD):  # 0: nothing is to be added
        return ""
    if MODES[settings.memory_mode].how == "tool":  # the model gets no tool here, so requests to remember are saved
        settings = settings.replace(memory_mode="plus")
    asking: dict[str, Any] = {"db": call.db, "settings": settings, "scope": call.scope}
    rows = frozenset[int]() if after else find_replaced(lines, **asking)
    request = PromptRequest(dict(message), max_chars=settings.proxy_context_chars, replaced_rows=rows, **asking)
    return build_records(request, held).text
