"""The section `running_recap`: the story so far, cut to RUNNING_RECAP_CONTEXT_LIMIT."""

from collections.abc import Sequence
from typing import NamedTuple

from ..config import Settings
from ..context.history import HistoryLists
from ..context.section_base import Asked, Built, StoredRows
from ..database.compiled import Branch
from ..shapes import LeftOut
from ..templates.render import Renderer
from ..text.extracts import fit_text
from ..text.sizes import Counter
from . import table_running
from .calls import choose_counter
from .rules_recaps import limit_tokens

KEY = "running_recap"


def wanted(asked: Asked) -> Sequence[Branch]:
    conversation = asked.viewer.scope.conversation
    if not asked.settings.enable_running_recap or conversation is None:
        return ()
    values = {"conversation": conversation}
    return (Branch(table_running.CURRENT, table_running.select_current, values, "running_recaps"),)


def build(asked: Asked, rows: StoredRows, lists: HistoryLists) -> Built:  # noqa: ARG001
    """Return the current running recap, cut to RUNNING_RECAP_CONTEXT_LIMIT; the report names each dropped sentence."""
    for row in table_running.CURRENT.rows_in(rows):
        fitted = fit_version(row.content or "", row.provenance or "", asked.settings)
        left_out = tuple(LeftOut(KEY, "limit", f"{row.id}/{at}") for at in range(fitted.dropped))
        return Built(fitted.text or None, left_out, notes=fitted.notes)
    return Built()


class FittedRecap(NamedTuple):
    text: str = ""
    """Text that fits; "" if not even one sentence fits."""
    dropped: int = 0
    """Number of oldest sentences dropped for the limit."""
    notes: tuple[str, ...] = ()


def fit_version(content: str, provenance: str, settings: Settings, counter: Counter | None = None) -> FittedRecap:
    """Render a version of the running recap by its template, and cut it to RUNNING_RECAP_CONTEXT_LIMIT."""
    if not content.strip():
        return FittedRecap()
    count = choose_counter(counter, settings)
    limit = limit_tokens(settings.running_recap_context_limit, "percent", settings.context_tokens)
    renderer = Renderer(settings.templates_dir)

    def render(text: str) -> str:
        shown = renderer.text("running_recap.txt.j2", running_recap=text, provenance=provenance) if text else ""
        return shown.strip() or text

    text, dropped = fit_text(content, lambda part: count(render(part)) <= limit)
    return FittedRecap(render(text), dropped, tuple(renderer.notes))
