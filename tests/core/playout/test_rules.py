"""Every decision about a channel, without a database or a clock."""

from __future__ import annotations

import dataclasses
import itertools
from datetime import UTC, datetime, timedelta

import pytest

from core.playout import rules
from core.playout.model import AsRunRow, Channel, Item, Miss, Placement, Status
from core.playout.rules import Begin, Drop, GiveUp, Place, Resume, Stop
from core.recording.model import Node

NOW = datetime(2030, 5, 1, 12, tzinfo=UTC)
SECOND = timedelta(seconds=1)


def channel(**more):
    values = dict.fromkeys(f.name for f in dataclasses.fields(Channel))
    values |= {"id": 1, "name": "ONE", "output_type": "udp", "wanted": "on", "status": "running", "generation": 3,
               "node_id": 1, "failover_asked": False, "misses": 0}  # fmt: skip
    return Channel(**values | more)


def node(id, **more):
    values = {"id": id, "name": f"n{id}", "base_url": "http://n", "capabilities": ["playout"], "status": "online",
              "last_heartbeat_at": NOW, "signed_off_at": None, "version": "", "volumes": [], "error_message": None,
              "demo": False, "row_version": 1}  # fmt: skip
    return Node(**values | more)


PLACED = Placement(
    1, 3, 1, "http://n", "http://s", "start", NOW - 60 * SECOND, None, 0, 0.0, None, None, None
)


def decide(made, placement=PLACED, restarts=(), misses=0):
    return rules.decide(made, placement, restarts, misses, NOW)


@pytest.mark.parametrize("status", ["stopped", "starting", "running", "stopping", "error"])
@pytest.mark.parametrize("placement", [PLACED, None])
def test_unwanted_it_is_stopped_until_nothing_of_it_is_left(status, placement):
    done = status == "stopped" and placement is None
    assert decide(channel(wanted="off", status=status, dead_generation=3), placement, misses=9) == (
        None if done else Stop()
    )


@pytest.mark.parametrize(
    "status, expected", [("stopped", Place), ("stopping", Place), ("starting", Begin), ("running", type(None)),
                         ("error", type(None))],
)  # fmt: skip
def test_wanted(status, expected):
    assert isinstance(decide(channel(status=status)), expected)


def test_every_case_gives_an_action_that_fits():
    """All states, deaths, misses and histories at once: never moved when it must not be."""
    for output, status, dead, misses, n, asked in itertools.product(
        ("udp", "decklink"), ("starting", "running", "error"), (None, 2, 3), range(5), range(7), (False, True)
    ):
        made = channel(output_type=output, status=status, dead_generation=dead, failover_asked=asked)
        action = decide(made, restarts=[NOW - SECOND] * n, misses=misses)
        failed = dead == 3 or (status == "running" and misses >= 3)
        if status == "error":
            assert action is None
        elif asked:
            assert isinstance(action, Drop if output == "decklink" else Place)
        elif failed and (output == "decklink" or n >= 5):
            assert action == GiveUp(action.why, crash_loop=output != "decklink")
        elif failed:
            assert isinstance(action, Place) and action.reason == "failover"
        else:
            assert action == (Begin() if status == "starting" else None)


def test_restarts_back_off_and_old_ones_are_forgotten():
    just = dataclasses.replace(PLACED, placed_at=NOW)
    waits = [decide(channel(dead_generation=3), just, [NOW] * n).at - NOW for n in range(5)]
    assert waits == sorted(waits) and waits[0] == timedelta(0) < waits[1]
    old = [NOW - timedelta(minutes=11)] * 9
    assert isinstance(decide(channel(dead_generation=3), restarts=old), Place)


def test_misses_count_in_a_row():
    misses = 0
    for answer, expected in ((Miss("x"), 1), (Miss("x"), 2), (Status(1, "a", NOW), 0), (Miss("x"), 1)):
        misses = rules.count_miss(misses, answer)
        assert misses == expected


def test_another_generation_is_no_sign_of_life():
    assert isinstance(rules.check_answer(Status(1, "a", NOW, generation=2), 3), Miss)
    assert isinstance(rules.check_answer(Status(1, "a", NOW, generation=3), 3), Status)
    assert isinstance(rules.check_answer(Status(1, "a", NOW), 3), Status)


@pytest.mark.parametrize(
    "nodes, load, failed, expected",
    [
        ([node(1), node(2)], {1: 2, 2: 1}, (), 2),
        ([node(1), node(2)], {2: 5}, (1,), 2),
        ([node(1)], {}, (1,), 1),
        ([node(1), node(2, status="draining")], {1: 5}, (), 1),
        ([node(1), node(2, last_heartbeat_at=NOW - 6 * SECOND)], {1: 5}, (), 1),
        ([node(1), node(2, capabilities=["record"])], {1: 5}, (), 1),
        ([node(1, status="offline")], {}, (), None),
        ([], {}, (), None),
    ],
)
def test_the_best_node(nodes, load, failed, expected):
    found = rules.choose_node(channel(), nodes, load, NOW, failed)
    assert (found.id if found else None) == expected


def test_a_card_and_a_chosen_node_are_not_replaced_by_another():
    two = [node(1, capabilities=["decklink"]), node(2, capabilities=["decklink"])]
    assert rules.choose_node(channel(output_type="decklink", node_id=2), two, {}, NOW, (2,)).id == 2
    asked = channel(failover_asked=True, failover_to=2)
    assert rules.choose_node(asked, [node(1), node(2)], {2: 9}, NOW, (1,)).id == 2
    assert rules.choose_node(asked, [node(1)], {}, NOW, ()) is None


def row(item, result="played", ended=None):
    return AsRunRow(1, 1, None, item, "a", NOW, ended, None, result, None, 1, 1, None, None)


ITEMS = [Item(n, 1, n, None, f"c{n}", "p", 2.0, 10.0, 1) for n in (1, 2, 3)]


@pytest.mark.parametrize(
    "last, looping, expected",
    [
        (None, True, None),
        (row(99), True, None),
        (row(1), True, Resume(1, 6.0)),
        (row(1, "interrupted", NOW + 3 * SECOND), True, Resume(1, 5.0)),
        (row(1, "played", NOW + 3 * SECOND), True, Resume(2, 2.0)),
        (row(3, "played", NOW + SECOND), True, Resume(1, 2.0)),
        (row(3, "played", NOW + SECOND), False, Resume(3, 12.0)),
        (row(1, "interrupted", NOW + 30 * SECOND), True, Resume(2, 2.0)),
    ],
)
def test_it_goes_on_where_as_run_says(last, looping, expected):
    assert rules.resume(ITEMS, looping, last, 2.0, NOW + 4 * SECOND) == expected
