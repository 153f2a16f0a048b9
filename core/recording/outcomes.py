"""What the database is told of each conversation with a recorder: marks in bursts, ends, failed attempts, alarms.

Every write requires the window's claim token, so that one which is no longer ours changes nothing; each caller learns
whether its own row was still ours.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from core.alarms import store as alarms
from core.alarms.model import Condition
from core.clock import Clock
from core.leadership import Lead
from core.recording import conditions, rules
from core.recording.batch import Batch
from core.recording.store import SQL, Claim

GATHER = 0.004  # seconds that marks wait for company; the requests themselves do not wait


@dataclass(frozen=True)
class Begun:
    claim: Claim
    attempt: int
    session: rules.Run
    at: datetime
    lateness_ms: float


@dataclass(frozen=True)
class Finish:
    claim: Claim
    status: str
    error: str | None
    stopped: datetime | None
    alarm: Condition | None = None


class Outcomes:
    def __init__(self, lead: Lead, clock: Clock) -> None:
        self._lead = lead
        self._clock = clock
        self.starting: Batch[Claim] = Batch(self._mark_starting, lambda c: c.id, GATHER)
        self.running: Batch[Begun] = Batch(self._mark_running, lambda b: b.claim.id, GATHER)
        self.stopping: Batch[Claim] = Batch(self._mark_stopping, lambda c: c.id, 0)
        self.finishing: Batch[Finish] = Batch(self._mark_finished, lambda f: f.claim.id, GATHER)

    async def _mark_starting(self, claims: list[Claim]) -> set[int]:
        async with self._lead.pool.acquire() as connection:
            rows = await connection.fetch(
                SQL.mark_starting, [c.id for c in claims], [c.claim_token for c in claims]
            )
        return {r["id"] for r in rows}

    async def _mark_running(self, begun: list[Begun]) -> set[int]:
        async with self._lead.pool.acquire() as connection, connection.transaction():
            rows = await connection.fetch(
                SQL.mark_running,
                [b.claim.id for b in begun],
                [b.claim.claim_token for b in begun],
                [b.session.session_id for b in begun],
                [b.session.path for b in begun],
                [b.session.container for b in begun],
                [b.at for b in begun],
                [b.attempt for b in begun],
                [b.lateness_ms for b in begun],
            )
        return {r["id"] for r in rows}

    async def _mark_stopping(self, claims: list[Claim]) -> set[int]:
        async with self._lead.pool.acquire() as connection:
            rows = await connection.fetch(
                SQL.mark_stopping, [c.id for c in claims], [c.claim_token for c in claims], self._clock.now()
            )
        return {r["id"] for r in rows}

    async def _mark_finished(self, finished: list[Finish]) -> set[int]:
        """The end and its alarm together: a window must not fail without anybody being told."""
        async with self._lead.pool.acquire() as connection, connection.transaction():
            rows = await connection.fetch(
                SQL.finish,
                [f.claim.id for f in finished],
                [f.claim.claim_token for f in finished],
                [f.status for f in finished],
                [f.error for f in finished],
                [f.stopped for f in finished],
            )
            written = {r["id"] for r in rows}
            for alarm in [f.alarm for f in finished if f.alarm is not None and f.claim.id in written]:
                await alarms.raise_alarm(connection, alarm)
        return written

    async def again(self, claim: Claim, status: str, decision: rules.Again) -> bool:
        async with self._lead.pool.acquire() as connection:
            return None is not await connection.fetchval(
                SQL.mark_again,
                claim.id,
                claim.claim_token,
                status,
                max(decision.attempt, 1),
                decision.at,
                decision.error,
            )

    async def fail(self, claim: Claim, error: str, stopped: datetime | None) -> None:
        make = conditions.stop_failed if error.startswith("stop: ") else conditions.failed
        alarm = make(claim.id, claim.name, claim.recorder_id, claim.recorder_name, error)
        if await self.finishing.put(Finish(claim, "failed", error, stopped, alarm)):
            await self.clear(f"window:{claim.id}:start")

    async def note(self, claim: Claim, attempt: int, operation: str, outcome: str, message: str) -> None:
        async with self._lead.pool.acquire() as connection:
            await connection.execute(SQL.attempt, claim.id, attempt, operation, None, outcome, message)

    async def alarm(self, condition: Condition) -> None:
        async with self._lead.pool.acquire() as connection:
            await alarms.raise_alarm(connection, condition)

    async def clear(self, key: str) -> None:
        async with self._lead.pool.acquire() as connection:
            await alarms.clear_alarm(connection, key)
