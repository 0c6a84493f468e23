"""How one worker gets its next operation, beside others that want the same."""

from __future__ import annotations

import os
import random
import secrets
import socket
from collections.abc import Collection, Sequence

from ..database.engine import Database
from . import rules, table, table_claiming
from .rules import Turns, Waiting
from .table_claiming import Claim

_FIRST_LOOK = 16
"""Operations looked at; eight times as many where none of them may begin."""
_LOOKS = 4
"""Looks at a queue whose operations all go to other workers, before this one turns to something else."""
_WIDEST = 32


class Claimer:
    """Claims operations for one worker."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self._name = f"{socket.gethostname()[:30]}:{os.getpid()}"
        self._width = 1

    def next(self, persona: str, types: Collection[str], *, lease_seconds: float, max_tries: int) -> Claim | None:
        """Return the next operation of a persona, claimed; None when none may begin now."""
        most, looks = _FIRST_LOOK, 0
        while looks < _LOOKS:
            batch = table_claiming.read_next(self._db, persona, types, most)
            turns = rules.choose_turns(batch.waiting, batch.states, max_tries)
            ended = self._end(persona, turns)
            if turns.ready:
                claimed = self._claim(persona, turns.ready, lease_seconds)
                if claimed is not None:
                    return claimed
                looks += 1
            elif not ended and batch.is_all:
                return None
            elif not ended:
                most *= 8
        return None

    def _end(self, persona: str, turns: Turns) -> int:
        """End what cannot begin any more, and return how many this worker ended."""
        ended = 0
        for each, dependency in turns.failed:
            ended += table.fail(self._db, persona, each, rules.error_text("DependencyFailed", str(dependency)))
        for each in turns.lost:
            ended += table.fail(self._db, persona, each, rules.error_text("WorkerLost"))
        return ended

    def _claim(self, persona: str, ready: Sequence[Waiting], lease_seconds: float) -> Claim | None:
        job_ids = [each.id for each in ready if each.priority == ready[0].priority]
        while job_ids:
            job_id = job_ids.pop(random.randrange(min(self._width, len(job_ids))))
            token = f"{self._name[:47]}:{secrets.token_hex(8)}"
            claimed = table_claiming.claim(self._db, persona, job_id, token, lease_seconds=lease_seconds)
            if claimed is not None:
                self._width = max(1, self._width - 1)
                return claimed
            self._width = min(self._width * 2, _WIDEST)
        return None
