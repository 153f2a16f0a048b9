"""What an operator can do with channels and their playlists.

A command writes what is wanted; the leader does it. Plain SQL on the same columns does the same (0003_playout.sql).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import asyncpg

from core.commands import Transaction, command, require_version
from core.db.queries import beside
from core.errors import CommandRefused, NotFound
from core.model import builder
from core.playout.model import Channel, Item
from core.playout.outputs import Raster, check_clip, check_output
from core.roles import Role

SQL = beside(__file__, "commands.sql")
build_channel = builder(Channel)
build_item = builder(Item)


async def _channel(tx: Transaction, channel_id: int) -> Channel:
    row = await tx.connection.fetchrow(SQL.channel, channel_id)
    if row is None:
        raise NotFound("That channel no longer exists.")
    return build_channel(row)


async def _change(
    tx: Transaction, before: Channel, statement: str, *arguments: object, reason: str | None = None
) -> None:
    row = await tx.connection.fetchrow(statement, before.id, *arguments)
    assert row is not None  # it is locked
    await tx.audit("channel", before.id, before.name, before, build_channel(row), reason)


# -- on and off air --------------------------------------------------------------------------------


@command("Start channel")
async def start_channel(tx: Transaction, channel_id: int) -> None:
    before = await _channel(tx, channel_id)
    if before.wanted == "on" and before.status != "error":
        raise CommandRefused(f"{before.name} is {_state(before)} already.")
    await _change(tx, before, SQL.want, "on")


@command("Stop channel")
async def stop_channel(tx: Transaction, channel_id: int) -> None:
    before = await _channel(tx, channel_id)
    if before.wanted == "off":
        raise CommandRefused(f"{before.name} is {_state(before)} already.")
    await _change(tx, before, SQL.want, "off")


@command("Skip to next")
async def skip_item(tx: Transaction, channel_id: int) -> None:
    before = await _channel(tx, channel_id)
    if before.status != "running" or before.wanted != "on":
        raise CommandRefused(f"{before.name} is not on air: there is nothing to skip.")
    await _change(tx, before, SQL.skip)


@command("Fail over channel")
async def fail_over(tx: Transaction, channel_id: int, node_id: int | None = None) -> None:
    before = await _channel(tx, channel_id)
    if before.output_type == "decklink":
        raise CommandRefused(f"{before.name} is tied to its card and cannot move to another node.")
    if before.wanted != "on":
        raise CommandRefused(f"{before.name} is not on air. Start it instead.")
    if node_id is not None:
        node = await tx.connection.fetchrow(SQL.node, node_id)
        if node is None:
            raise NotFound("That node no longer exists.")
        if node["status"] == "offline":
            raise CommandRefused(f"{node['name']} is offline. Choose another node.")
        if node_id == before.node_id:
            raise CommandRefused(f"{before.name} runs on {node['name']} already.")
    await _change(tx, before, SQL.fail_over, node_id)


def _state(channel: Channel) -> str:
    off = "starting" if channel.wanted == "on" else "off air"
    return {"running": "on air", "stopped": off, "error": off}.get(channel.status, channel.status)


# -- playlist --------------------------------------------------------------------------------------


async def _items(tx: Transaction, channel_id: int) -> list[Item]:
    return [build_item(r) for r in await tx.connection.fetch(SQL.items, channel_id)]


async def _order(tx: Transaction, channel_id: int, ids: Sequence[int]) -> None:
    await tx.connection.execute(SQL.order_items, channel_id, list(ids))


def _before(ids: Sequence[int], moving: Sequence[int], before_id: int | None) -> list[int]:
    rest = [i for i in ids if i not in set(moving)]
    if before_id is None:
        return [*rest, *moving]
    if before_id not in rest:
        raise NotFound("The item it should stand before is no longer in the playlist.")
    at = rest.index(before_id)
    return [*rest[:at], *moving, *rest[at:]]


def _check_item(clip_name: str, path: str, in_s: float, duration_s: float | None) -> tuple[str, str]:
    clip_name, path = clip_name.strip(), path.strip()
    if not clip_name or len(clip_name) > 200:
        raise CommandRefused("A clip's name has 1 to 200 characters.")
    if not math.isfinite(in_s) or in_s < 0:
        raise CommandRefused("The in point is zero or later.")
    if duration_s is not None and (not math.isfinite(duration_s) or duration_s <= 0):
        raise CommandRefused("The duration must be longer than zero.")
    return clip_name, check_clip(path)


@command("Add to playlist")
async def add_item(
    tx: Transaction,
    channel_id: int,
    clip_name: str,
    path: str,
    *,
    asset_id: int | None = None,
    in_s: float = 0.0,
    duration_s: float | None = None,
    before_id: int | None = None,
) -> int:
    """At the end, or before another item. The item on air is not dropped."""
    clip_name, path = _check_item(clip_name, path, in_s, duration_s)
    channel = await _channel(tx, channel_id)  # locked: two who add at once do not take the same position
    if asset_id is not None and await tx.connection.fetchval(SQL.asset, asset_id) is None:
        raise NotFound("That recording no longer exists.")
    there = await _items(tx, channel_id)
    last = max((i.position for i in there), default=0)
    made: int = await tx.connection.fetchval(
        SQL.add_item, channel_id, last + 1, asset_id, clip_name, path, in_s, duration_s
    )
    if before_id is not None:
        await _order(tx, channel_id, _before([i.id for i in there], [made], before_id))
    after = {"item": made, "clip_name": clip_name, "path": path, "in_s": in_s, "duration_s": duration_s}
    await tx.audit("channel", channel_id, channel.name, None, after)
    return made


@command("Remove from playlist")
async def remove_items(tx: Transaction, channel_id: int, item_ids: Sequence[int]) -> None:
    channel = await _channel(tx, channel_id)
    gone = {i.id: i.clip_name for i in await _items(tx, channel_id) if i.id in set(item_ids)}
    if not gone:
        raise NotFound("Those items are no longer in the playlist.")
    await tx.connection.execute(SQL.remove_items, channel_id, list(gone))
    await tx.audit("channel", channel_id, channel.name, {"items": gone}, None)


@command("Move in playlist")
async def move_items(
    tx: Transaction, channel_id: int, item_ids: Sequence[int], before_id: int | None
) -> None:
    """Puts items, in the order given, before another one, or at the end."""
    channel = await _channel(tx, channel_id)
    ids = [i.id for i in await _items(tx, channel_id)]
    moving = [i for i in dict.fromkeys(item_ids) if i in ids]
    if not moving:
        raise NotFound("Those items are no longer in the playlist.")
    wanted = _before(ids, moving, before_id)
    await _order(tx, channel_id, wanted)
    await tx.audit("channel", channel_id, channel.name, {"order": ids}, {"order": wanted})


@command("Loop playlist")
async def set_looping(tx: Transaction, channel_id: int, looping: bool) -> None:
    before = await _channel(tx, channel_id)
    if before.looping == looping:
        raise CommandRefused(f"{before.name} {'loops' if looping else 'does not loop'} already.")
    await _change(tx, before, SQL.set_looping, looping)


# -- the channel itself ----------------------------------------------------------------------------


def _checked_name(name: str) -> str:
    name = name.strip()
    if not name or len(name) > 80:
        raise CommandRefused("A channel's name has 1 to 80 characters.")
    return name


@command("New channel", Role.ENGINEER)
async def create_channel(
    tx: Transaction,
    name: str,
    output_type: str,
    output_url: str,
    *,
    title: str = "",
    settings: Mapping[str, Any] | None = None,
    node_id: int | None = None,
    looping: bool = True,
) -> int:
    output_url = output_url.strip()
    check_output(output_type, output_url)
    Raster.parse(settings or {})
    try:
        async with tx.connection.transaction():
            row = await tx.connection.fetchrow(
                SQL.create, _checked_name(name), title.strip(), output_type, output_url, dict(settings or {}),
                node_id, looping,
            )  # fmt: skip
    except asyncpg.UniqueViolationError:
        raise CommandRefused(f"There is a channel called {name.strip()} already.") from None
    except asyncpg.ForeignKeyViolationError:
        raise NotFound("That node no longer exists.") from None
    assert row is not None
    made = build_channel(row)
    await tx.audit("channel", made.id, made.name, None, made)
    return made.id


@command("Edit channel", Role.ENGINEER)
async def edit_channel(
    tx: Transaction,
    channel_id: int,
    row_version: int | None,
    *,
    name: str | None = None,
    title: str | None = None,
    output_type: str | None = None,
    output_url: str | None = None,
    settings: Mapping[str, Any] | None = None,
    node_id: int | None = None,
) -> None:
    """What is not given stays. Where and how it plays can change only while it is off air."""
    before = await _channel(tx, channel_id)
    require_version(row_version, before.row_version, before.name)
    new_type, new_url = output_type or before.output_type, (output_url or before.output_url).strip()
    new_settings = before.settings if settings is None else dict(settings)
    moved = (new_type, new_url, new_settings, node_id or before.node_id) != (
        before.output_type, before.output_url, before.settings, before.node_id,
    )  # fmt: skip
    if moved and (before.wanted == "on" or before.status not in ("stopped", "error")):
        raise CommandRefused(f"{before.name} is on air: stop it before its output is changed.")
    if moved:  # what somebody entered by SQL does not stand in the way of a new title
        check_output(new_type, new_url)
        Raster.parse(new_settings)
    try:
        async with tx.connection.transaction():
            await _change(
                tx, before, SQL.edit, before.name if name is None else _checked_name(name),
                before.title if title is None else title.strip(), new_type, new_url, new_settings,
                node_id or before.node_id,
            )  # fmt: skip
    except asyncpg.UniqueViolationError:
        raise CommandRefused(f"There is a channel called {(name or '').strip()} already.") from None
    except asyncpg.ForeignKeyViolationError:
        raise NotFound("That node no longer exists.") from None


@command("Delete channel", Role.ENGINEER)
async def delete_channel(tx: Transaction, channel_id: int, row_version: int | None = None) -> None:
    before = await _channel(tx, channel_id)
    require_version(row_version, before.row_version, before.name)
    if before.wanted == "on" or before.status not in ("stopped", "error"):
        raise CommandRefused(f"{before.name} is on air: stop it first.")
    if await tx.connection.fetchval(SQL.has_log, channel_id):
        raise CommandRefused(
            f"{before.name} has an as-run log, which is evidence and stays. Leave the channel stopped."
        )
    await tx.connection.execute(SQL.delete, channel_id)
    await tx.audit("channel", channel_id, before.name, before, None)
