"""Tests of the OpenAI Agents SDK for sessions (SQLite, SQLAlchemy) with our session in the place of theirs.

Each file or URL of theirs is a persona; one in memory is a new one each time.
"""

import uuid
from typing import Any

import agents
import agents.extensions.memory.sqlalchemy_session as theirs
import agents.memory
from ours import SetAside, database, scope_of
from prompt_engine.adapters.openai_agents import Session


class Ours(Session):
    def __init__(self, session_id: str, place: Any = ":memory:", session_settings: Any = None, **_: Any) -> None:
        where = uuid.uuid4() if ":memory:" in str(place) else place
        super().__init__(session_id, db=database(), scope=scope_of(where), session_settings=session_settings)

    def close(self) -> None:
        pass


class _Engine:
    async def dispose(self) -> None:
        pass


class OursSQLAlchemy(Ours):
    engine = _Engine()

    def __init__(self, session_id: str, *, engine: Any, session_settings: Any = None, **_: Any) -> None:
        super().__init__(session_id, str(engine.url), session_settings)

    @classmethod
    def from_url(cls, session_id: str, *, url: str, session_settings: Any = None, **_: Any) -> Any:
        made = cls.__new__(cls)
        Ours.__init__(made, session_id, url, session_settings)
        return made


for module in (agents, agents.memory):
    module.SQLiteSession = Ours  # type: ignore[attr-defined]
theirs.SQLAlchemySession = OursSQLAlchemy  # type: ignore[misc]

_INSIDE = """
sqlite_session_close_closes_worker_thread_connections sqlite_session_reaps_connections_from_exited_worker_threads
sqlite_session_closes_retired_connections_before_the_next_allocation
sqlite_session_keeps_connections_of_live_worker_threads sqlite_session_closed_rejects_empty_add_items
sqlite_session_file_lock_is_shared_across_instances sqlite_session_failed_add_items_releases_write_lock
sqlite_session_failed_clear_session_rolls_back sqlite_session_failed_pop_item_releases_write_lock
sqlite_session_rollback_failure_evicts_connection sqlite_session_close_retries_quarantined_connection
sqlite_session_post_commit_cancellation_propagates_after_known_outcome
sqlite_fallback_reserves_writer_before_tail_claim pop_item_supports_unknown_delete_rowcount
pop_item_retries_returning_claim_lost_to_concurrent_delete mutation_cancellation_waits_for_transaction_exit
add_items_waits_for_transient_sqlite_write_lock add_items_cancelled_waiter_does_not_strand_table_init_lock
create_tables_false_does_not_allocate_shared_init_lock engine_property_from_url engine_property_from_external_engine
engine_property_is_read_only sqlite_configuration_registry_releases_collected_engines
sqlite_configuration_registry_does_not_grow_unbounded
"""
_ROWS = """
sqlite_session_pop_item_skips_corrupt_most_recent
sqlite_session_pop_item_returns_none_after_dropping_only_corrupt_rows
sqlite_session_get_items_limit_skips_corrupt_newest_rows
sqlite_session_get_items_session_settings_limit_skips_corrupt_rows
sqlalchemy_session_defaults_to_escaped_non_ascii_storage
sqlalchemy_session_can_store_non_ascii_without_escaping pop_item_skips_corrupt_most_recent
get_items_limit_skips_corrupt_newest_rows pop_item_returns_none_after_dropping_only_corrupt_rows
get_items_same_timestamp_consistent_order pop_item_same_timestamp_returns_latest get_items_orders_by_id_for_ties
"""
_REASONS = {"connections, locks and engines inside theirs": _INSIDE,
            "rows written into their tables by hand, damaged or with one time": _ROWS}  # fmt: skip
ASIDE = {reason: tuple(f"test_{name}" for name in names.split()) for reason, names in _REASONS.items()}


def pytest_configure(config: Any) -> None:
    config.pluginmanager.register(SetAside(ASIDE), "set_aside")
