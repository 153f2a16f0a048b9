"""Carrying a window through its recorder: start it, stop it, end what was cancelled.

Each operation is a conversation with one recorder, one request at a time. What an answer means is
decided in rules.py; here it is only carried out. Any of these may be cut off at any point, by a lost
lead or a kill: the database then holds enough for the next leader to go on.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from core.clock import Clock
from core.leadership import Lead
from core.recording import conditions, rules
from core.recording.answers import NotInSession, NoWord, Says, StartAnswer, Started, StopAnswer, Stopped
from core.recording.outcomes import Begun, Finish, Outcomes
from core.recording.recorder_client import PreparedStart, RecorderClient, StartRequest
from core.recording.store import SQL, Claim
from core.recording.volley import Volleys
from core.recording.wire import acquire_now

log = logging.getLogger(__name__)

ASK_LIMIT = 2.0
PROOF_TIME = 10.0  # an agent looks at the finished file before it answers a stop
YIELD_TO_STOP = 5.0
PREPARE_AT_ONCE = 16


@dataclass
class Operation:
    kind: str  # start, stop or cancel
    claim: Claim
    task: asyncio.Task[None] | None = None
    acting: bool = False  # no longer just waiting for its time: must not be dropped
    first_try: asyncio.Event = field(default_factory=asyncio.Event)
    prepared: PreparedStart | None = None  # the first request, ready to be sent
    fired: datetime | None = None  # when it was; its recorder's lock is held for it


class Operations:
    """All conversations of one term of leadership."""

    def __init__(self, lead: Lead, clock: Clock, client: RecorderClient, plant: str) -> None:
        self._lead = lead
        self._clock = clock
        self._client = client
        self._plant = plant
        self._locks: defaultdict[int, asyncio.Lock] = defaultdict(asyncio.Lock)
        self.in_hand: dict[int, Operation] = {}
        self._told = Outcomes(lead, clock)
        self._volleys: Volleys[Operation] = Volleys(clock, self._fire)
        self._preparing = asyncio.Semaphore(PREPARE_AT_ONCE)
        self._armed: Counter[tuple[datetime, str | None]] = Counter()

    # -- starting ------------------------------------------------------------------------------

    async def start(self, operation: Operation) -> None:
        try:
            if operation.claim.status == "pending":
                await self._until_due(operation)
            await self._start(operation)
        finally:
            if operation.prepared is not None:
                operation.prepared.drop()

    async def _until_due(self, operation: Operation) -> None:
        """Opens the connection while there is time, and waits with the others of that instant."""
        claim = operation.claim
        left = (claim.start_at - self._clock.now()).total_seconds()
        if left <= 0:
            return
        # Of those with the same way to go at the same time each sees to one line more.
        mine = (claim.start_at, claim.base_url)
        self._armed[mine] += 1
        try:
            await self._prepare(operation, self._armed[mine], left)
            await self._volleys.wait(claim.start_at, operation)
        finally:
            self._armed[mine] -= 1
            if not self._armed[mine]:
                del self._armed[mine]

    async def _prepare(self, operation: Operation, together: int, limit: float) -> None:
        claim = operation.claim
        try:
            async with asyncio.timeout(limit), self._preparing:
                request = self._request(claim, claim.attempt)
                operation.prepared = await self._client.prepare(claim.address, request, together)
        except TimeoutError:
            pass  # it is tried again when the start is sent, and that says what is wrong

    def _fire(self, operations: list[Operation]) -> None:
        """Sends the first request of each window whose turn it is on its recorder; the others send theirs later."""
        stopping = {o.claim.recorder_id for o in self.in_hand.values() if o.kind != "start"}
        for operation in operations:
            claim, prepared = operation.claim, operation.prepared
            lock, now = self._locks[claim.recorder_id], self._clock.now()
            if (
                prepared is None
                or claim.recorder_id in stopping
                or now >= claim.end_at
                or not self._lead.trusted()
            ):
                continue
            if acquire_now(lock):
                if prepared.send():
                    operation.acting = True
                    operation.fired = now
                else:
                    lock.release()

    async def _start(self, operation: Operation) -> None:
        claim = operation.claim
        operation.acting = True
        if operation.fired is None:
            if self._clock.now() >= claim.end_at:
                await self._over_without_word(claim, claim.attempt, "")
                return
            await self._let_stops_go_first(claim)
        attempt, tries, marked = claim.attempt, 0, claim.status == "starting"
        while self._lead.trusted():
            tries += 1
            async with self._turn(operation) as fired:
                request = asyncio.create_task(self._start_and_hear(operation, attempt))
                try:
                    if not marked:
                        # Beside the request. Not ours any more: changed or cancelled at the last moment.
                        marked = await self._told.starting.put(claim)
                    answer = await request
                finally:
                    request.cancel()
            if not marked:
                await self._end_disowned(claim, attempt, answer)
                return
            now = self._clock.now()
            decision = rules.after_start(answer, attempt, tries, claim.end_at, now)
            if isinstance(decision, rules.Run):
                late = (fired - claim.start_at).total_seconds() * 1000
                if not await self._told.running.put(Begun(claim, attempt, decision, now, late)):
                    await self._end_disowned(claim, attempt, answer)
                elif tries > 1:
                    await self._told.clear(f"window:{claim.id}:start")
                return
            if isinstance(decision, rules.Fail):
                await self._told.note(claim, attempt, "start", "failed", decision.error)
                await self._told.fail(claim, decision.error, None)
                return
            await self._told.note(claim, attempt, "start", "retried", decision.error)
            if not await self._told.again(claim, "starting", decision):
                await self._end_disowned(claim, attempt, answer)
                return
            if decision.at >= claim.end_at:
                await self._over_without_word(claim, attempt, decision.error)
                return
            await self._told.alarm(
                conditions.start_failing(
                    claim.id, claim.name, claim.recorder_id, claim.recorder_name, decision.error
                )
            )
            attempt = decision.attempt
            await self._clock.sleep_until(decision.at)

    @asynccontextmanager
    async def _turn(self, operation: Operation) -> AsyncIterator[datetime]:
        """The recorder is ours alone for the block. Says when its request goes, or went, out."""
        lock = self._locks[operation.claim.recorder_id]
        fired, operation.fired = operation.fired, None
        if fired is None:
            await lock.acquire()
        try:
            yield fired or self._clock.now()
        finally:
            lock.release()

    def _send(self, operation: Operation, attempt: int) -> Coroutine[Any, Any, StartAnswer]:
        prepared, operation.prepared = operation.prepared, None
        if prepared is not None and prepared.sent:
            return prepared.answer(rules.START_LIMIT)
        return self._client.start(
            operation.claim.address, self._request(operation.claim, attempt), rules.START_LIMIT
        )

    async def _start_and_hear(self, operation: Operation, attempt: int) -> StartAnswer:
        """Sends the start; when the answer takes long, asks the recorder whether it has begun."""
        claim = operation.claim
        request = asyncio.create_task(self._send(operation, attempt))
        try:
            while True:
                done, _ = await asyncio.wait({request}, timeout=rules.ASK_AFTER)
                if done:
                    return request.result()
                says = await self._client.ask(claim.address, ASK_LIMIT)
                found = rules.adopt(says, claim.id, attempt)
                if isinstance(found, rules.Run):
                    return Started(found.session_id)
                if self._clock.now() >= claim.end_at:
                    return NoWord("The recorder did not answer while the window was open.")
        finally:
            request.cancel()

    def _request(self, claim: Claim, attempt: int) -> StartRequest:
        key = f"{self._plant}-{claim.id}-{attempt}"
        return StartRequest(key, claim.id, attempt, claim.name, claim.end_at.isoformat(), claim.source)

    async def _let_stops_go_first(self, claim: Claim) -> None:
        """Back to back on one recorder: the earlier window's stop goes out before this start."""
        stops = [
            o for o in self.in_hand.values()
            if o.claim.recorder_id == claim.recorder_id and o.kind != "start" and o.claim.id != claim.id
        ]  # fmt: skip
        for stop in stops:
            try:
                async with asyncio.timeout(YIELD_TO_STOP):
                    await stop.first_try.wait()
            except TimeoutError:
                log.warning(
                    "%s starts although the stop of %s has no answer yet", claim.name, stop.claim.name
                )

    async def _over_without_word(self, claim: Claim, attempt: int, error: str) -> None:
        await self._clock.sleep_until(claim.end_at)
        tries = 0
        while self._lead.trusted():
            tries += 1
            says = await self._client.ask(claim.address, ASK_LIMIT)
            decision = rules.over_without_word(says, claim.id, attempt)
            if isinstance(decision, rules.Resend):
                answer = await self._client.start(
                    claim.address, self._request(claim, attempt), rules.START_LIMIT
                )
                decision = rules.Run(answer.session_id) if isinstance(answer, Started) else rules.Nothing()
            now = self._clock.now()
            if isinstance(decision, rules.Run):
                # It runs after all: enter it, and the ordinary stop will end and judge it.
                await self._told.running.put(Begun(claim, attempt, decision, claim.start_at, 0.0))
                return
            if isinstance(decision, rules.Nothing):
                await self._never_began(claim, error)
                return
            if now - claim.end_at > rules.STOP_LIMIT:
                await self._told.fail(claim, f"stop: {error or 'The recorder does not answer.'}", None)
                return
            await self._clock.sleep_until(now + rules.backoff(tries))

    async def _never_began(self, claim: Claim, error: str) -> None:
        if claim.status != "pending" or error:
            await self._told.fail(claim, rules.cut(error or "The recorder never answered."), None)
            return
        alarm = conditions.missed(claim.id, claim.name, claim.recorder_id, claim.recorder_name, manual=False)
        await self._told.finishing.put(
            Finish(claim, "missed", "Nobody could start it before its end.", None, alarm)
        )

    async def _end_disowned(self, claim: Claim, attempt: int, answer: StartAnswer) -> None:
        """The window was changed or cancelled while its start was on the way: end what that began."""
        async with self._lead.pool.acquire() as connection:
            if await connection.fetchval(SQL.still_wanted, claim.id, attempt):
                return
        session = answer.session_id if isinstance(answer, Started) else None
        await self._end_session(claim, attempt, session)

    # -- stopping ------------------------------------------------------------------------------

    async def stop(self, operation: Operation) -> None:
        claim = operation.claim
        if claim.status == "running" and claim.stop_asked_at is None:
            await self._clock.sleep_until(claim.end_at)
        if not self._lead.trusted():
            return
        operation.acting = True
        if not await self._told.stopping.put(claim):
            return
        # A stop that an earlier leader sent may have worked: then "not in that session" is its success.
        tries = 0 if claim.status == "running" else 1
        since = claim.stop_since or self._clock.now()
        session = claim.session_id or ""
        while self._lead.trusted():
            tries += 1
            async with self._locks[claim.recorder_id]:
                answer = await self._stop_and_hear(claim, session)
            operation.first_try.set()
            now = self._clock.now()
            recorded = now - (claim.session_started_at or now)
            decision = rules.after_stop(answer, tries, since, now, recorded)
            if isinstance(decision, rules.Complete):
                await self._told.finishing.put(Finish(claim, "completed", None, now))
                return
            if isinstance(decision, rules.Fail):
                await self._told.note(claim, claim.attempt, "stop", "failed", decision.error)
                await self._told.fail(claim, decision.error, now)
                return
            await self._told.note(claim, claim.attempt, "stop", "retried", decision.error)
            if not await self._told.again(claim, "stopping", decision):
                return
            await self._clock.sleep_until(decision.at)

    async def _stop_and_hear(self, claim: Claim, session: str) -> StopAnswer:
        request = asyncio.create_task(self._client.stop(claim.address, session, rules.START_LIMIT))
        patience = rules.ASK_AFTER if claim.node_id is None else PROOF_TIME
        try:
            while True:
                done, _ = await asyncio.wait({request}, timeout=patience)
                if done:
                    return request.result()
                says = await self._client.ask(claim.address, ASK_LIMIT)
                if isinstance(says, Says) and says.session_id != session:
                    return Stopped()
        finally:
            request.cancel()

    # -- cancelling ----------------------------------------------------------------------------

    async def cancel(self, operation: Operation) -> None:
        operation.acting = True
        claim = operation.claim
        await self._end_session(claim, claim.attempt, claim.session_id, operation)

    async def _end_session(
        self, claim: Claim, attempt: int, session: str | None, operation: Operation | None = None
    ) -> None:
        """Asks, and stops, until the recorder has confirmed that nothing of this window runs."""
        tries = 0
        while self._lead.trusted():
            tries += 1
            async with self._locks[claim.recorder_id]:
                ended = await self._try_to_end(claim, attempt, session)
            if operation is not None:
                operation.first_try.set()
            now = self._clock.now()
            if ended:
                async with self._lead.pool.acquire() as connection:
                    await connection.execute(SQL.settle_cancelled, claim.id, claim.claim_token, now)
                return
            await self._clock.sleep_until(now + rules.backoff(tries))

    async def _try_to_end(self, claim: Claim, attempt: int, session: str | None) -> bool:
        says = (
            NoWord("not asked") if session is not None else await self._client.ask(claim.address, ASK_LIMIT)
        )
        fired = self._clock.now() >= claim.start_at
        decision = rules.settle_cancelled(says, claim.id, attempt, session, fired)
        if isinstance(decision, rules.Complete):
            return True
        if isinstance(decision, rules.Ask):
            return False
        if isinstance(decision, rules.Resend):
            answer = await self._client.start(claim.address, self._request(claim, attempt), rules.START_LIMIT)
            if not isinstance(answer, Started):
                return not isinstance(answer, NoWord)
            decision = rules.StopIt(answer.session_id)
        session = decision.session_id
        return isinstance(
            await self._client.stop(claim.address, session, rules.START_LIMIT), Stopped | NotInSession
        )
