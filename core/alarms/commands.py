"""What an operator can do about alarms: acknowledge, shelve, take off the shelf."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from core.alarms.model import Alarm
from core.alarms.store import SQL, build
from core.commands import Transaction, command
from core.errors import CommandRefused, NotFound

LONGEST_SHELF = timedelta(hours=24)


async def _alarm(tx: Transaction, alarm_id: int) -> Alarm:
    row = await tx.connection.fetchrow(SQL.get_for_update, alarm_id)
    if row is None:
        raise NotFound("That alarm no longer exists.")
    return build(row)


@command("Acknowledge alarm")
async def acknowledge_alarm(tx: Transaction, alarm_id: int) -> None:
    alarm = await _alarm(tx, alarm_id)
    if alarm.acked_by is not None:
        raise CommandRefused(f"{alarm.acked_by} has acknowledged it already.")
    after = await tx.connection.fetchrow(SQL.acknowledge, alarm_id, tx.actor.operator)
    await tx.audit("alarm", alarm_id, alarm.message, alarm, after and build(after))


@command("Acknowledge all alarms shown")
async def acknowledge_alarms(tx: Transaction, alarm_ids: Sequence[int]) -> int:
    """Acknowledges those of the given alarms that still ask for it, and says how many that were."""
    done = 0
    for alarm_id in sorted(alarm_ids):
        try:
            alarm = await _alarm(tx, alarm_id)
        except NotFound:
            continue
        if alarm.acked_by is None:
            after = await tx.connection.fetchrow(SQL.acknowledge, alarm_id, tx.actor.operator)
            await tx.audit("alarm", alarm_id, alarm.message, alarm, after and build(after))
            done += 1
    if not done:
        raise CommandRefused("There is nothing left to acknowledge.")
    return done


@command("Shelve alarm")
async def shelve_alarm(tx: Transaction, alarm_id: int, duration: timedelta, reason: str) -> None:
    reason = reason.strip()
    if not reason:
        raise CommandRefused("Say why the alarm is shelved: the next shift will ask.")
    if not timedelta(0) < duration <= LONGEST_SHELF:
        raise CommandRefused("An alarm can be shelved for up to 24 hours.")
    alarm = await _alarm(tx, alarm_id)
    if not alarm.open:
        raise CommandRefused("It is over and acknowledged: there is nothing to shelve.")
    after = await tx.connection.fetchrow(
        SQL.shelve, alarm_id, duration.total_seconds(), tx.actor.operator, reason[:200]
    )
    await tx.audit("alarm", alarm_id, alarm.message, alarm, after and build(after), reason)


@command("Take alarm off the shelf")
async def unshelve_alarm(tx: Transaction, alarm_id: int) -> None:
    alarm = await _alarm(tx, alarm_id)
    if alarm.shelved_until is None:
        raise CommandRefused("It is not on the shelf any more.")
    after = await tx.connection.fetchrow(SQL.unshelve, alarm_id)
    await tx.audit("alarm", alarm_id, alarm.message, alarm, after and build(after))
