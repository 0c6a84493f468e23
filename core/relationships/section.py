"""The section `relationship`: the persona's relationship to the person who gets the answer."""

from collections.abc import Sequence

from ..access.table_participants import level_of
from ..context.history import HistoryLists
from ..context.section_base import Asked, Built, StoredRows
from ..database.compiled import Branch
from ..shapes import LeftOut
from . import table
from .rules import RelationshipInPrompt, decay, inactive_days

KEY = "relationship"


def wanted(asked: Asked) -> Sequence[Branch]:
    who = asked.viewer.scope.participant
    if not asked.settings.enable_relationship or not who:
        return ()
    return table.build_branches(who, asked.viewer.person or who)


def build(asked: Asked, rows: StoredRows, lists: HistoryLists) -> Built:  # noqa: ARG001
    stored = [*table.OWN.rows_in(rows), *table.OTHERS.rows_in(rows)]
    if not stored:
        return Built()
    row = max(stored, key=lambda row: (row.at is not None, row.at, row.user_id.encode()))
    if level_of(row.strictest, asked.settings.privacy_default) == "full":
        return Built(left_out=(LeftOut(KEY, "privacy"),))
    affinity = decay(row.affinity_base, inactive_days(row.at, asked.now, row.base_days), asked.settings.decay_days)
    if not affinity and not row.trust:
        return Built()
    value: RelationshipInPrompt = {"affinity": affinity, "trust": row.trust, "interactions": row.id}
    return Built(value)
