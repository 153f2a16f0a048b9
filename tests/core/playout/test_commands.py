"""Every command on channels and playlists: as every role, audited, refused in one sentence, and undone by nobody."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest

from core.commands import Actor, Command, Commander
from core.db.database import Connection, Database
from core.errors import AirlockError, Changed, CommandRefused, NotAllowed, NotFound
from core.playout import commands as c
from core.roles import Role

ONE_SENTENCE = re.compile(r"[A-Za-z0-9][^\n]*\.")
Desk = Callable[..., Awaitable[Commander]]


@pytest.fixture
async def desk(login: Any) -> AsyncIterator[Desk]:
    """A commander with a login of that role; `claims` is what its program believes to be."""
    opened: list[Database] = []

    async def make(role: Role, claims: Role | None = None) -> Commander:
        database = Database(await login(f"airlock_{role.name.lower()}"), "DESK")
        await database.open()
        opened.append(database)
        return Commander(database, lambda: Actor("Olga", "DESK", claims or role))

    yield make
    for database in opened:
        await database.close()


@pytest.fixture
async def do(desk: Desk) -> Any:
    return (await desk(Role.ENGINEER)).do


@pytest.fixture
async def nodes(connection: Connection) -> list[int]:
    found = await connection.fetch(
        "INSERT INTO nodes (name, base_url, status) VALUES ('node-a', 'http://x', 'online'), "
        "('node-b', 'http://y', 'online'), ('node-c', 'http://z', 'offline') RETURNING id"
    )
    return [r["id"] for r in found]


@pytest.fixture
async def on_air(connection: Connection, channel: int, nodes: list[int]) -> int:
    """A channel that runs, with a playlist of three items."""
    await connection.execute(
        "UPDATE playout_channels SET status = 'running', node_id = $2 WHERE id = $1", channel, nodes[0]
    )
    await connection.execute(
        "INSERT INTO playout_items (channel_id, position, clip_name, path, duration_s) "
        "SELECT $1, n, 'clip ' || n, 'clip.mp4', 10 FROM generate_series(1, 3) n", channel,
    )  # fmt: skip
    return channel


async def item_ids(connection: Connection, channel: int) -> list[int]:
    found = await connection.fetch(
        "SELECT id FROM playout_items WHERE channel_id = $1 ORDER BY position", channel
    )
    return [r["id"] for r in found]


async def row(connection: Connection, channel: int) -> Any:
    return await connection.fetchrow("SELECT * FROM playout_channels WHERE id = $1", channel)


# What each does to a channel on air with items, and the lowest role that may.
DEEDS: dict[str, tuple[Role, Command[..., Any], Callable[[int, list[int]], tuple[tuple[Any, ...], dict]]]] = {
    "start_channel": (Role.OPERATOR, c.start_channel, lambda ch, it: ((ch,), {})),
    "stop_channel": (Role.OPERATOR, c.stop_channel, lambda ch, it: ((ch,), {})),
    "skip_item": (Role.OPERATOR, c.skip_item, lambda ch, it: ((ch,), {})),
    "fail_over": (Role.OPERATOR, c.fail_over, lambda ch, it: ((ch,), {})),
    "add_item": (Role.OPERATOR, c.add_item, lambda ch, it: ((ch, "New", "new.mp4"), {"before_id": it[0]})),
    "remove_items": (Role.OPERATOR, c.remove_items, lambda ch, it: ((ch, it[:2]), {})),
    "move_items": (Role.OPERATOR, c.move_items, lambda ch, it: ((ch, it[2:], it[0]), {})),
    "set_looping": (Role.OPERATOR, c.set_looping, lambda ch, it: ((ch, False), {})),
    "create_channel": (
        Role.ENGINEER, c.create_channel, lambda ch, it: (("TWO", "udp", "udp://127.0.0.1:9001"), {}),
    ),
    "edit_channel": (Role.ENGINEER, c.edit_channel, lambda ch, it: ((ch, None), {"title": "Two"})),
    "delete_channel": (Role.ENGINEER, c.delete_channel, lambda ch, it: ((ch,), {})),
}  # fmt: skip
SNAPSHOT = (
    "SELECT (SELECT coalesce(json_agg(c ORDER BY id), '[]') FROM playout_channels c)::text || "
    "(SELECT coalesce(json_agg(i ORDER BY id), '[]') FROM playout_items i)::text"
)


def test_every_command_is_here() -> None:
    made = {v.name for v in vars(c).values() if isinstance(v, Command)}
    assert made == set(DEEDS)


@pytest.mark.parametrize("name", DEEDS)
async def test_as_every_role(name: str, desk: Desk, connection: Connection, on_air: int) -> None:
    needs, deed, arguments = DEEDS[name]
    if name in ("start_channel", "delete_channel"):
        await connection.execute("UPDATE playout_channels SET wanted = 'off', status = 'stopped'")
    given, named = arguments(on_air, await item_ids(connection, on_air))
    for role in Role:
        before = await connection.fetchval(SNAPSHOT)
        if role < needs:
            with pytest.raises(NotAllowed, match=r"needs the role") as said:
                await (await desk(role)).do(deed, *given, **named)
            assert ONE_SENTENCE.fullmatch(str(said.value))
            # The program can be wrong about who it is; the database is not.
            with pytest.raises(NotAllowed, match="the database refuses"):
                await (await desk(role, Role.ENGINEER)).do(deed, *given, **named)
            assert await connection.fetchval(SNAPSHOT) == before
            assert await connection.fetchval("SELECT count(*) FROM audit_log") == 0
            continue
        await (await desk(role)).do(deed, *given, **named)
        assert await connection.fetchval(SNAPSHOT) != before
        audit = await connection.fetchrow("SELECT * FROM audit_log ORDER BY id DESC LIMIT 1")
        assert (audit["who"], audit["station"], audit["action"], audit["subject_kind"]) == (
            "Olga", "DESK", name, "channel",
        )  # fmt: skip
        assert audit["before"] or audit["after"]
        return


async def test_start_and_stop_change_what_is_wanted(do: Any, connection: Connection, channel: int) -> None:
    await do(c.start_channel, channel)
    assert (await row(connection, channel))["wanted"] == "on"
    with pytest.raises(CommandRefused, match="ONE is starting already"):
        await do(c.start_channel, channel)
    await do(c.stop_channel, channel)
    assert (await row(connection, channel))["wanted"] == "off"
    with pytest.raises(CommandRefused, match="ONE is off air already"):
        await do(c.stop_channel, channel)


async def test_start_after_an_error_is_a_new_try(do: Any, connection: Connection, on_air: int) -> None:
    await connection.execute("UPDATE playout_channels SET status = 'error', error_message = 'It crashed.'")
    await do(c.start_channel, on_air)
    after = await row(connection, on_air)
    assert (after["wanted"], after["status"], after["error_message"]) == ("on", "stopped", None)


async def test_failover_names_a_node_or_leaves_it_to_the_leader(
    do: Any, connection: Connection, on_air: int, nodes: list[int]
) -> None:
    await do(c.fail_over, on_air, nodes[1])
    after = await row(connection, on_air)
    assert (after["failover_asked"], after["failover_to"]) == (True, nodes[1])
    await do(c.fail_over, on_air)
    assert (await row(connection, on_air))["failover_to"] is None


async def test_the_playlist_keeps_its_order_and_its_number_rises(
    do: Any, connection: Connection, on_air: int
) -> None:
    one, two, three = await item_ids(connection, on_air)
    versions = [(await row(connection, on_air))["playlist_version"]]

    async def then(*expected: int) -> None:
        assert await item_ids(connection, on_air) == list(expected)
        versions.append((await row(connection, on_air))["playlist_version"])
        assert versions[-1] > versions[-2]

    new = await do(c.add_item, on_air, " New ", "new.mp4", in_s=2.0, duration_s=5.0, before_id=two)
    await then(one, new, two, three)
    await do(c.move_items, on_air, [three, one], new)
    await then(three, one, new, two)
    await do(c.move_items, on_air, [three], None)
    await then(one, new, two, three)
    await do(c.remove_items, on_air, [new, two, 999])
    await then(one, three)
    last = await do(c.add_item, on_air, "Last", "last.mp4")
    await then(one, three, last)
    await do(c.set_looping, on_air, False)
    await then(one, three, last)
    made = await connection.fetchval("SELECT clip_name FROM playout_items WHERE id = $1", last)
    assert made == "Last"


async def test_two_who_add_at_once_take_two_places(do: Any, connection: Connection, on_air: int) -> None:
    made = await asyncio.gather(*(do(c.add_item, on_air, f"N{n}", "n.mp4") for n in range(6)))
    assert set(made) < set(await item_ids(connection, on_air))
    assert len(await item_ids(connection, on_air)) == 9


BAD_ITEMS: list[tuple[tuple[Any, ...], dict[str, Any], str]] = [
    (("", "a.mp4"), {}, "1 to 200"),
    (("x" * 201, "a.mp4"), {}, "1 to 200"),
    (("A", ""), {}, "empty"),
    (("A", "-i"), {}, "minus"),
    (("A", "http://x/a.mp4"), {}, "media folder"),
    (("A", "concat:a|b"), {}, "media folder"),
    (("A", "../../etc/passwd"), {}, "outside the media folder"),
    (("A", "a\nb.mp4"), {}, "invisible"),
    (("A", "a.mp4"), {"in_s": -1.0}, "in point"),
    (("A", "a.mp4"), {"in_s": float("nan")}, "in point"),
    (("A", "a.mp4"), {"duration_s": 0.0}, "longer than zero"),
    (("A", "a.mp4"), {"duration_s": float("inf")}, "longer than zero"),
    (("A", "a.mp4"), {"asset_id": 77}, "recording no longer exists"),
    (("A", "a.mp4"), {"before_id": 999}, "no longer in the playlist"),
]


@pytest.mark.parametrize("given, named, says", BAD_ITEMS)
async def test_a_bad_item_gets_one_sentence(
    do: Any, connection: Connection, on_air: int, given: Any, named: Any, says: str
) -> None:
    before = await connection.fetchval(SNAPSHOT)
    with pytest.raises(AirlockError, match=says) as said:
        await do(c.add_item, on_air, *given, **named)
    assert ONE_SENTENCE.fullmatch(str(said.value))
    assert await connection.fetchval(SNAPSHOT) == before


BAD_CHANNELS: list[tuple[tuple[Any, ...], dict[str, Any], str]] = [
    (("", "udp", "udp://h:1"), {}, "1 to 80"),
    (("ONE", "udp", "udp://h:1"), {}, "called ONE already"),
    (("X", "smoke", "udp://h:1"), {}, "no output of that kind"),
    (("X", "udp", ""), {}, "empty"),
    (("X", "udp", "file:///etc/passwd"), {}, "udp://"),
    (("X", "udp", "udp://h:99999"), {}, "cannot be read"),
    (("X", "udp", "udp://h:1?evil=1"), {}, "not allowed"),
    (("X", "file", "../out.ts"), {}, "outside the media folder"),
    (("X", "udp", "udp://h:1"), {"settings": {"width": 7}}, "width"),
    (("X", "udp", "udp://h:1"), {"node_id": 999}, "node no longer exists"),
]


@pytest.mark.parametrize("given, named, says", BAD_CHANNELS)
async def test_a_bad_channel_gets_one_sentence(
    do: Any, connection: Connection, channel: int, given: Any, named: Any, says: str
) -> None:
    with pytest.raises(AirlockError, match=says) as said:
        await do(c.create_channel, *given, **named)
    assert ONE_SENTENCE.fullmatch(str(said.value))
    assert await connection.fetchval("SELECT count(*) FROM playout_channels") == 1
    assert await connection.fetchval("SELECT count(*) FROM audit_log") == 0


async def test_refusals_say_why(do: Any, connection: Connection, on_air: int, nodes: list[int]) -> None:
    items = await item_ids(connection, on_air)
    version = (await row(connection, on_air))["row_version"]
    cases: list[tuple[type[AirlockError], str, Command[..., Any], tuple[Any, ...], dict[str, Any]]] = [
        (CommandRefused, "ONE is on air already", c.start_channel, (on_air,), {}),
        (CommandRefused, "runs on node-a already", c.fail_over, (on_air, nodes[0]), {}),
        (CommandRefused, "node-c is offline", c.fail_over, (on_air, nodes[2]), {}),
        (NotFound, "node no longer exists", c.fail_over, (on_air, 999), {}),
        (NotFound, "no longer in the playlist", c.remove_items, (on_air, [999]), {}),
        (NotFound, "no longer in the playlist", c.move_items, (on_air, [999], None), {}),
        (NotFound, "stand before", c.move_items, (on_air, items[:1], 999), {}),
        (CommandRefused, "loops already", c.set_looping, (on_air, True), {}),
        (Changed, "changed by somebody else", c.edit_channel, (on_air, version - 1), {"title": "x"}),
        (CommandRefused, "stop it before", c.edit_channel, (on_air, None), {"output_url": "udp://h:2"}),
        (CommandRefused, "stop it first", c.delete_channel, (on_air,), {}),
        *((NotFound, "channel no longer exists", deed, (999, *rest), {}) for deed, rest in (
            (c.start_channel, ()), (c.stop_channel, ()), (c.skip_item, ()), (c.fail_over, ()),
            (c.add_item, ("A", "a.mp4")), (c.remove_items, ([1],)), (c.move_items, ([1], None)),
            (c.set_looping, (True,)), (c.edit_channel, (None,)), (c.delete_channel, ()),
        )),
    ]  # fmt: skip
    before = await connection.fetchval(SNAPSHOT)
    for kind, says, deed, given, named in cases:
        with pytest.raises(kind, match=says) as said:
            await do(deed, *given, **named)
        assert ONE_SENTENCE.fullmatch(str(said.value)), said.value
    assert await connection.fetchval(SNAPSHOT) == before
    assert await connection.fetchval("SELECT count(*) FROM audit_log") == 0


async def test_off_air_nothing_can_be_skipped_or_moved(do: Any, connection: Connection, channel: int) -> None:
    with pytest.raises(CommandRefused, match="nothing to skip"):
        await do(c.skip_item, channel)
    with pytest.raises(CommandRefused, match="Start it instead"):
        await do(c.fail_over, channel)
    await connection.execute("UPDATE playout_channels SET output_type = 'decklink', wanted = 'on'")
    with pytest.raises(CommandRefused, match="tied to its card"):
        await do(c.fail_over, channel)


async def test_a_channel_is_made_edited_and_deleted_unless_it_has_evidence(
    do: Any, connection: Connection, nodes: list[int]
) -> None:
    made = await do(
        c.create_channel, " TWO ", "udp", " udp://127.0.0.1:9001 ", title="Second", node_id=nodes[0],
        settings={"width": 640, "height": 360}, looping=False,
    )  # fmt: skip
    after = await row(connection, made)
    assert (after["name"], after["output_url"], after["looping"]) == ("TWO", "udp://127.0.0.1:9001", False)
    await do(c.edit_channel, made, after["row_version"], name="2", output_type="srt", output_url="srt://h:1")
    after = await row(connection, made)
    assert (after["name"], after["title"], after["output_type"]) == ("2", "Second", "srt")
    assert after["settings"] == {"width": 640, "height": 360}
    audit = await connection.fetchrow("SELECT * FROM audit_log ORDER BY id DESC LIMIT 1")
    assert set(audit["after"]) == {"name", "output_type", "output_url"}
    await connection.execute(
        "INSERT INTO playout_as_run (channel_id, started_at, ended_at) VALUES ($1, now(), now())", made
    )
    with pytest.raises(CommandRefused, match="evidence"):
        await do(c.delete_channel, made)
    other = await do(c.create_channel, "THREE", "file", "out.ts")
    await do(c.delete_channel, other)
    assert await row(connection, other) is None
