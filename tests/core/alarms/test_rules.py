"""The order of the alarm list and the header's lamp, for every list that can occur."""

from __future__ import annotations

import time
from collections import Counter
from datetime import UTC, datetime, timedelta
from itertools import count

from hypothesis import given
from hypothesis import strategies as st

from core.alarms.model import Alarm, Priority, State
from core.alarms.rules import Listed, arrange, open_and_visible, summarise

NOW = datetime(2030, 1, 1, tzinfo=UTC)
KEYS = list("abcdef")
_ids = count(1)


def alarm(
    key: str, *, cause: str | None = None, priority: str = "low", cleared: bool = False, acked: bool = False,
    age: float = 0, shelved: float | None = None,
) -> Alarm:  # fmt: skip
    raised = NOW - timedelta(seconds=age)
    state = {
        (False, False): State.ACTIVE_UNACKED, (False, True): State.ACTIVE_ACKED,
        (True, False): State.CLEARED_UNACKED, (True, True): State.CLOSED,
    }[cleared, acked]  # fmt: skip
    return Alarm(
        id=next(_ids), key=key, cause_key=cause, priority=priority, source_kind="s", source_id=None, source_name="",
        message="m", effect="", action="", count=1, raised_at=raised, last_raised_at=raised,
        cleared_at=NOW if cleared else None, acked_at=NOW if acked else None, acked_by="x" if acked else None,
        shelved_until=None if shelved is None else NOW + timedelta(seconds=shelved),
        shelved_by=None if shelved is None else "x", shelve_reason=None, state=state, row_version=1,
    )  # fmt: skip


alarms = st.lists(
    st.builds(
        alarm,
        st.sampled_from(KEYS),
        cause=st.none() | st.sampled_from([*KEYS, "not there"]),
        priority=st.sampled_from([p.word for p in Priority]),
        cleared=st.booleans(),
        acked=st.booleans(),
        age=st.integers(0, 5),
        shelved=st.none() | st.integers(-5, 5),
    ),
    max_size=12,
)


def urgency(a: Alarm) -> tuple[bool, int, float]:
    return (a.acked_at is not None, a.rank, -a.raised_at.timestamp())


def families(listed: list[Listed]) -> list[list[Alarm]]:
    found: list[list[Alarm]] = []
    for entry in listed:
        if entry.consequence:
            found[-1].append(entry.alarm)
        else:
            found.append([entry.alarm])
    return found


def leads_to(start: Alarm, root: Alarm, everyone: list[Alarm]) -> bool:
    """Whether a chain of causes goes from one to the other."""
    seen, at = set(), {start.key}
    while at - seen:
        seen |= at
        if root.key in at:
            return True
        at = {a.cause_key for a in everyone if a.key in at and a.cause_key is not None}
    return False


@given(alarms)
def test_every_alarm_stands_there_once_under_its_root_most_urgent_first(given_alarms: list[Alarm]) -> None:
    listed = arrange(given_alarms)
    assert Counter(e.alarm.id for e in listed) == Counter(a.id for a in given_alarms)
    assert not listed or not listed[0].consequence
    groups = families(listed)
    keys = {a.key for a in given_alarms}
    for root, *consequences in groups:
        assert consequences == sorted(consequences, key=urgency)
        for consequence in consequences:
            assert consequence.cause_key in keys and leads_to(consequence, root, given_alarms)
    best = [min(urgency(a) for a in group) for group in groups]
    assert best == sorted(best)


@given(alarms)
def test_who_has_no_cause_in_the_list_is_a_root_and_who_has_one_is_not(given_alarms: list[Alarm]) -> None:
    roots = {e.alarm.id for e in arrange(given_alarms) if not e.consequence}
    keys = {a.key for a in given_alarms}
    for a in given_alarms:
        if a.cause_key is None or a.cause_key not in keys:
            assert a.id in roots
        elif not leads_to_itself(a, given_alarms):
            assert a.id not in roots


def leads_to_itself(a: Alarm, everyone: list[Alarm]) -> bool:
    return any(leads_to(b, a, everyone) for b in everyone if b.key == a.cause_key)


def test_a_ring_of_causes_has_one_root_the_oldest() -> None:
    ring = [alarm("a", cause="b", age=1), alarm("b", cause="c", age=3), alarm("c", cause="a", age=2)]
    outside = alarm("d", cause="a", priority="critical")
    for order in ([*ring, outside], [outside, *ring[::-1]]):
        listed = arrange(order)
        assert [e.alarm.key for e in listed if not e.consequence] == ["b"]
        assert sorted(e.alarm.key for e in listed) == ["a", "b", "c", "d"]
    itself = alarm("x", cause="x")
    assert arrange([itself]) == [Listed(itself, consequence=False)]


def test_an_acknowledged_cause_does_not_drag_its_consequence_down() -> None:
    cause = alarm("cause", priority="high", acked=True)
    consequence = alarm("consequence", cause="cause", priority="critical")
    other = alarm("other", priority="high")
    assert [e.alarm.key for e in arrange([other, cause, consequence])] == ["cause", "consequence", "other"]


def test_the_same_key_twice_is_two_alarms() -> None:
    """An outage that is over and not acknowledged yet, and the next one that this station sees by itself."""
    over, now = alarm("database:lost", cleared=True, age=60), alarm("database:lost", priority="critical")
    child = alarm("x", cause="database:lost")
    listed = arrange([now, over, child])
    assert [(e.alarm.id, e.consequence) for e in listed] == [
        (now.id, False),
        (child.id, True),
        (over.id, False),
    ]


def test_a_flood_is_arranged_at_once() -> None:
    chain = [alarm(f"k{n}", cause=f"k{n - 1}") for n in range(500)]
    star = [alarm(f"s{n}", cause="s0") for n in range(2000)]
    began = time.process_time()
    assert len(arrange(chain + star)) == 2500
    assert time.process_time() - began < 2


@given(alarms)
def test_the_lamp_counts_what_the_list_shows(given_alarms: list[Alarm]) -> None:
    summary = summarise(given_alarms, NOW)
    visible = open_and_visible(given_alarms, NOW)
    assert all(a.state != State.CLOSED and not (a.shelved_until and a.shelved_until > NOW) for a in visible)
    unacked = [a for a in visible if a.acked_at is None]
    active = [a for a in visible if a.cleared_at is None]
    assert (summary.unacked, summary.active) == (len(unacked), len(active))
    opened = [a for a in given_alarms if a.state != State.CLOSED]
    assert summary.shelved == len(opened) - len(visible)
    assert summary.worst == min((a.rank for a in unacked or active), default=None)


def test_a_quiet_plant_has_no_worst() -> None:
    assert summarise([], NOW).worst is None
    assert summarise([alarm("a", priority="critical", shelved=5)], NOW).worst is None
    assert summarise([alarm("a", priority="critical", acked=True)], NOW).worst is Priority.CRITICAL
    assert summarise([alarm("a", acked=True, priority="critical"), alarm("b")], NOW).worst is Priority.LOW
