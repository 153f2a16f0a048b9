"""The channel wall over a real plant: what rows say stands in the tiles, and a press becomes what is wanted."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path

import pytest
from aiohttp import web
from PySide6.QtCore import QBuffer, QIODevice, Qt
from PySide6.QtGui import QColor, QImage
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QMenu

from core.roles import Role
from core.station import Station
from gui.channels.state import Look
from gui.channels.tile import Tile
from gui.channels.wall import ChannelWall
from gui.main_window import MainWindow
from gui.recorders.guard import ARMED_FOR, DEAF_FOR, Guard
from tests.gui.playout_rows import Rows, until
from tests.gui.shell_fixtures import Eventually, Outage, open_room, running_station

LEFT = Qt.MouseButton.LeftButton
SHIFT, CTRL = Qt.KeyboardModifier.ShiftModifier, Qt.KeyboardModifier.ControlModifier


@pytest.fixture
async def wall(window: MainWindow) -> ChannelWall:
    assert window.room is not None
    window.activateWindow()
    return window.room.channels


async def tile_of(wall: ChannelWall, id: int, eventually: Eventually) -> Tile:
    await eventually(lambda: id in wall.tiles and wall.tiles[id].look is not None, what="the tile")
    return wall.tiles[id]


def look_of(tile: Tile) -> Look:
    assert tile.look is not None
    return tile.look


async def playing(wall: ChannelWall, rows: Rows, eventually: Eventually) -> tuple[int, Tile]:
    """A channel on air on the first of two nodes."""
    first, _ = await rows.node("play-01"), await rows.node("play-02")
    id = await rows.channel("CH-1", first, "Roundup", "Promo", looping=True)
    await rows.on_air(id)
    tile = await tile_of(wall, id, eventually)
    await eventually(lambda: look_of(tile).clip == "Roundup" and look_of(tile).lit, what="the clip on air")
    return id, tile


class FakeTime:
    """A guard whose seconds pass when the test says so."""

    def __init__(self, guard: Guard) -> None:
        self.now = 1000.0
        guard._time = lambda: self.now


# What the rows say


async def test_a_tile_says_what_the_rows_say(wall: ChannelWall, rows: Rows, eventually: Eventually) -> None:
    id, tile = await playing(wall, rows, eventually)
    await rows.set(id, restart_count=2)
    await eventually(lambda: look_of(tile).place == "UDP · play-01 · 2 restarts")
    look = look_of(tile)
    assert (look.name, look.title, look.tally) == ("CH-1", "Main", "ON AIR")
    assert look.total == "of 00:10:00" and look.next_clip == "Promo" and look.following.startswith("Next ")
    elapsed, remaining = (sum(int(p) * f for p, f in zip(t.split(":"), (3600, 60, 1), strict=True))
                          for t in (look.elapsed, look.remaining))  # fmt: skip
    assert 59 <= elapsed <= 120 and 599 <= elapsed + remaining <= 601, "they add up to the clip's length"
    assert look.beat == "12 ms" and tile.accessibleDescription().startswith("ON AIR, Roundup")
    before = look.remaining
    await eventually(lambda: look_of(tile).remaining != before, what="a countdown")


async def test_the_last_clip_of_a_loop_is_followed_by_the_first(
    wall: ChannelWall, rows: Rows, eventually: Eventually
) -> None:
    id = await rows.channel("CH-1", await rows.node("play-01"), "Roundup", "Promo", looping=True)
    await rows.on_air(id, position=2)
    tile = await tile_of(wall, id, eventually)
    await eventually(lambda: look_of(tile).clip == "Promo" and look_of(tile).next_clip == "Roundup")
    await rows.set(id, looping=False)
    await eventually(lambda: look_of(tile).next_clip == "Nothing follows")


async def test_off_air_and_errors_have_their_words(
    wall: ChannelWall, rows: Rows, eventually: Eventually
) -> None:
    stopped = await tile_of(wall, await rows.channel("CH-1", None, "Roundup"), eventually)
    empty = await tile_of(wall, await rows.channel("CH-2"), eventually)
    broken = await tile_of(
        wall,
        await rows.channel("CH-3", None, wanted="on", status="error", error_message="It gave up."),
        eventually,
    )
    await eventually(lambda: look_of(broken).chip == "ERROR")
    assert look_of(stopped).tally == "OFF AIR" and not look_of(stopped).lit
    assert "1 clip in the playlist" in look_of(stopped).words
    assert "playlist is empty" in look_of(empty).words
    assert look_of(broken).words == "It gave up." and broken.controls.buttons["start"].isEnabled()


async def test_fifty_channels_scroll_and_only_those_in_sight_are_worked_out(
    wall: ChannelWall, rows: Rows, window: MainWindow, eventually: Eventually
) -> None:
    await rows.connection.execute(
        "INSERT INTO playout_channels (name, output_type, output_url, position) "
        "SELECT 'CH-' || n, 'udp', 'udp://x', n FROM generate_series(1, 50) n"
    )
    await eventually(lambda: len(wall.tiles) == 50, what="fifty tiles")
    await eventually(lambda: wall.tiles[wall._order[0]].look is not None)
    last = wall._order[-1]
    assert wall.tiles[last].look is None and len(wall.in_sight()) <= 6
    wall.area.setFocus()
    QTest.keyClick(wall.area, Qt.Key.Key_End)
    assert wall.selected == last and last in wall.in_sight()
    assert wall.tiles[last].look is not None
    QTest.keyClick(window, Qt.Key.Key_F4)
    await eventually(lambda: wall.is_compact and len(wall.in_sight()) >= 15, what="strips")


async def test_beats_and_misses_are_drawn_as_they_come(
    wall: ChannelWall, rows: Rows, eventually: Eventually
) -> None:
    id, tile = await playing(wall, rows, eventually)
    beats = len(tile.beats.samples)
    await rows.connection.execute(
        "UPDATE playout_channels SET last_heartbeat_at = clock_timestamp(), heartbeat_ms = 40, restart_count = 1"
    )
    await eventually(
        lambda: len(tile.beats.samples) > beats and tile.beats.samples[-1].ms == 40, what="a beat"
    )
    await rows.set(id, misses=3)
    await eventually(lambda: look_of(tile).missed == "3 missed" and look_of(tile).worry, what="misses")
    assert look_of(tile).trouble == "No answer, 3 in a row"
    await rows.set(id, misses=0, generation=9)
    await rows.connection.execute(
        "UPDATE playout_channels SET last_heartbeat_at = clock_timestamp(), restart_count = 2"
    )
    await eventually(lambda: tile.beats.samples[-1].failover, what="the mark of the failover")


# Pictures


@pytest.fixture
async def sidecar() -> AsyncIterator[str]:
    image = QImage(320, 180, QImage.Format.Format_RGB32)
    image.fill(QColor("red"))
    buffer = QBuffer()
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    image.save(buffer, "JPG")  # type: ignore[call-overload]
    jpeg = bytes(buffer.data().data())

    async def preview(_request: web.Request) -> web.Response:
        return web.Response(body=jpeg, content_type="image/jpeg")

    app = web.Application()
    app.router.add_get("/preview.jpg", preview)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    await runner.cleanup()


async def test_the_picture_comes_from_the_sidecar(
    wall: ChannelWall, rows: Rows, sidecar: str, eventually: Eventually
) -> None:
    id, tile = await playing(wall, rows, eventually)
    assert wall.pictures.shot(id) is None
    await rows.set(id, sidecar_url=sidecar)
    await eventually(lambda: wall.pictures.shot(id) is not None, within=10, what="a picture")
    shot = wall.pictures.shot(id)
    assert shot is not None and (shot.pixmap.width(), shot.pixmap.height()) == (176, 99)
    shown = tile.grab().toImage().pixelColor(100, 90)
    assert shown.red() > 150 > 100 > shown.green() > 20, "red, at seven tenths of its saturation"
    wall.set_compact(True)
    assert wall._to_picture() == [], "strips show none, and ask for none"


# One press and two


async def test_start_is_one_press(wall: ChannelWall, rows: Rows, eventually: Eventually) -> None:
    id = await rows.channel("CH-1", None, "Roundup")
    tile = await tile_of(wall, id, eventually)
    start, stop = tile.controls.buttons["start"], tile.controls.buttons["stop"]
    assert start.isEnabled() and not stop.isEnabled() and "off air already" in stop.toolTip()
    QTest.mouseClick(start, LEFT)
    assert not start.isEnabled(), "pending until the feed confirms it"
    await until(partial(rows.column, id, "wanted"), "on")
    await eventually(lambda: look_of(tile).tally == "STARTING")
    assert await rows.connection.fetchval("SELECT action FROM audit_log") == "start_channel"


@pytest.mark.parametrize(
    "kind, column, wanted",
    [("stop", "wanted", "off"), ("skip", "skip_requested", 1), ("failover", "failover_asked", True)],
)
async def test_what_ends_something_needs_two_steps(
    wall: ChannelWall, rows: Rows, eventually: Eventually, kind: str, column: str, wanted: object
) -> None:
    id, tile = await playing(wall, rows, eventually)
    controls = tile.controls
    QTest.mouseClick(controls.buttons[kind], LEFT)
    assert controls.armed is not None and controls.armed[2] == kind
    assert controls.confirm.isVisible() and not controls.buttons[kind].isVisible()
    assert controls.hint.full_text == f"ARMED {ARMED_FOR:.0f} s"
    assert await rows.column(id, column) != wanted, "armed is not fired"
    # The confirm button does not lie where the pressed one was: a double click cannot fire.
    assert not controls.confirm.geometry().contains(controls.buttons[kind].geometry().center())
    QTest.mouseClick(controls.confirm, LEFT)
    await until(partial(rows.column, id, column), wanted)


@pytest.mark.parametrize("kind", ["stop", "skip", "failover"])
async def test_a_double_click_does_nothing(
    wall: ChannelWall, rows: Rows, eventually: Eventually, kind: str
) -> None:
    id, tile = await playing(wall, rows, eventually)
    button = tile.controls.buttons[kind]
    spot = button.mapTo(tile, button.rect().center())
    if kind == "failover":
        spot.setX(spot.x() - 20)
    QTest.mouseClick(button, LEFT, pos=button.mapFrom(tile, spot))
    # The second press of the double click goes to whatever stands there now.
    below = tile.childAt(spot)
    if below is not None:
        QTest.mouseClick(below, LEFT, pos=below.mapFrom(tile, spot))
    await asyncio.sleep(0.1)
    for column, calm in (("wanted", "on"), ("skip_requested", 0), ("failover_asked", False)):
        assert await rows.column(id, column) == calm


async def test_esc_disarms_and_the_keyboard_alone_is_enough(
    wall: ChannelWall, rows: Rows, window: MainWindow, eventually: Eventually
) -> None:
    id, tile = await playing(wall, rows, eventually)
    await eventually(window.isActiveWindow)
    wall.go_to(id)
    QTest.keyClick(wall.area, Qt.Key.Key_O, SHIFT)
    assert wall.guard.armed == ("channel", id, "stop", None)
    QTest.keyClick(wall.area, Qt.Key.Key_Escape)
    assert wall.guard.armed is None and tile.controls.buttons["stop"].isVisible()
    QTest.keyClick(wall.area, Qt.Key.Key_Return, CTRL)
    assert await rows.column(id, "wanted") == "on", "nothing was armed"
    QTest.keyClick(wall.area, Qt.Key.Key_N, SHIFT)
    QTest.keyClick(wall.area, Qt.Key.Key_Return, CTRL)
    await until(partial(rows.column, id, "skip_requested"), 1)


async def test_an_armed_button_disarms_by_itself_and_is_deaf_after_firing(
    wall: ChannelWall, rows: Rows, eventually: Eventually
) -> None:
    id, tile = await playing(wall, rows, eventually)
    time, controls = FakeTime(wall.guard), tile.controls
    controls.press("stop")
    time.now += ARMED_FOR + 0.1
    await eventually(lambda: wall.guard.armed is None, what="the time to pass")
    controls.press("skip")
    controls.fire()
    await until(partial(rows.column, id, "skip_requested"), 1)
    await rows.set(id, skip_done=1)
    await eventually(lambda: controls.buttons["skip"].isEnabled(), what="Skip again")
    QTest.mouseClick(controls.buttons["skip"], LEFT)
    assert wall.guard.armed is None, "within a second of firing"
    time.now += DEAF_FOR
    QTest.mouseClick(controls.buttons["skip"], LEFT)
    assert controls.armed is not None


async def test_one_thing_is_armed_in_the_whole_window(
    wall: ChannelWall, window: MainWindow, rows: Rows, eventually: Eventually
) -> None:
    assert window.room is not None
    id, tile = await playing(wall, rows, eventually)
    other = await rows.channel("CH-2", None, "Roundup")
    await rows.on_air(other)
    second = await tile_of(wall, other, eventually)
    await eventually(lambda: second.controls.buttons["stop"].isEnabled())
    tile.controls.press("stop")
    second.controls.press("stop")
    assert tile.controls.armed is None and second.controls.armed is not None
    window.room.recorders.guard.press(("stop", 1))
    assert wall.guard.armed is None
    tile.controls.press("skip")
    assert window.room.recorders.guard.armed is None and wall.guard.armed == ("channel", id, "skip", None)


@pytest.mark.qt_log_ignore("This plugin does not support", extend=True)  # what a menu asks of a screen
async def test_a_failover_goes_to_the_node_that_was_chosen(
    wall: ChannelWall, rows: Rows, eventually: Eventually
) -> None:
    id, tile = await playing(wall, rows, eventually)
    third = await rows.node("play-03")
    await rows.node("record-only", "record")
    await eventually(lambda: len(wall.deeds.nodes(tile.channel)) == 2, what="the nodes that can take it")
    menu = tile.controls.open_nodes()
    assert isinstance(menu, QMenu) and [a.text() for a in menu.actions()] == ["play-02 (best)", "play-03"]
    menu.actions()[1].trigger()
    menu.close()
    assert tile.controls.confirm.text() == "Confirm failover to play-03"
    QTest.mouseClick(tile.controls.confirm, LEFT)
    await until(partial(rows.column, id, "failover_to"), third)


async def test_a_decklink_channel_is_not_moved(wall: ChannelWall, rows: Rows, eventually: Eventually) -> None:
    id, tile = await playing(wall, rows, eventually)
    await rows.set(id, output_type="decklink")
    failover = tile.controls.buttons["failover"]
    await eventually(lambda: not failover.isEnabled() and "tied to the card" in failover.toolTip())


# Who may, and when


async def test_a_viewer_sees_why_not(
    wall: ChannelWall, rows: Rows, station: Station, eventually: Eventually
) -> None:
    id, tile = await playing(wall, rows, eventually)
    tile.controls.press("stop")
    station.role = Role.VIEWER
    wall._session.abilities_changed.emit()
    assert wall.guard.armed is None, "what may no longer be done is not armed any more"
    for button in tile.controls.buttons.values():
        assert not button.isEnabled() and "Needs the role Operator; you are Viewer." in button.toolTip()
    assert await rows.column(id, "wanted") == "on"


async def test_a_follower_operates_like_the_leader(
    plant: str, wall: ChannelWall, rows: Rows, station: Station, tmp_path: Path, eventually: Eventually
) -> None:
    await eventually(lambda: station.leading, within=10)
    id = await rows.channel("CH-1", None, "Roundup")
    async with (
        running_station(plant, "STATION-3", "Kim") as other,
        open_room(other, tmp_path / "3") as window,
    ):
        assert window.room is not None and not other.leading
        tile = await tile_of(window.room.channels, id, eventually)
        QTest.mouseClick(tile.controls.buttons["start"], LEFT)
        leaders = await tile_of(wall, id, eventually)
        await eventually(lambda: look_of(leaders).tally == "STARTING", what="it at the leader's too")
        assert await rows.connection.fetchval("SELECT who FROM audit_log") == "Kim"


async def test_without_the_database_everything_says_why(
    wall: ChannelWall, rows: Rows, outage: Outage, eventually: Eventually
) -> None:
    _, tile = await playing(wall, rows, eventually)
    tile.controls.press("stop")
    await outage.begin()
    await eventually(lambda: wall._session.stale, within=15, what="the loss to be seen")
    assert wall.guard.armed is None and wall.hint.full_text == "Overrides need the database"
    for button in tile.controls.buttons.values():
        assert not button.isEnabled() and "Needs the database" in button.toolTip()
    await outage.end()
    await eventually(lambda: tile.controls.buttons["stop"].isEnabled(), within=20, what="Stop again")


async def test_a_refusal_stands_in_its_tile(wall: ChannelWall, rows: Rows, eventually: Eventually) -> None:
    id, tile = await playing(wall, rows, eventually)
    stale = tile.channel
    await rows.set(id, wanted="off", status="stopped")
    await eventually(lambda: look_of(tile).tally == "OFF AIR")
    wall.deeds.do("skip", stale)  # as if the press had come before the news
    await eventually(lambda: "nothing to skip" in look_of(tile).trouble, what="the reason")


async def test_a_double_click_on_a_tile_opens_its_playlist(
    wall: ChannelWall, window: MainWindow, rows: Rows, eventually: Eventually
) -> None:
    assert window.room is not None
    await rows.channel("CH-1", None, "Roundup")
    tile = await tile_of(wall, await rows.channel("CH-2", None, "Promo"), eventually)
    QTest.mouseDClick(tile, LEFT)
    group = window.room.panels.groups["left"].current()
    assert group is not None and group.id == "playlist"
    panel = window.room.playlist
    await eventually(
        lambda: [line.item.clip_name for line in panel.model.rows] == ["Promo"], what="its clips"
    )
