from __future__ import annotations

import asyncio
import time
from collections import deque

import pytest
from PySide6.QtCore import QTimer

from gui.lag import KEPT, PERIOD, LagMeter


@pytest.fixture
def meter():
    meter = LagMeter()
    meter.start()
    yield meter
    meter.stop()


async def test_a_quiet_loop_has_hardly_any_lag(meter):
    await asyncio.sleep(0.6)
    assert len(meter._lags) > 3
    assert sorted(meter._lags)[len(meter._lags) // 2] < 0.02


@pytest.mark.parametrize("blocked_by", ["callback", "slot"])
async def test_a_stall_is_seen_whoever_causes_it(meter, blocked_by):
    await asyncio.sleep(0.05)
    if blocked_by == "callback":
        asyncio.get_running_loop().call_soon(time.sleep, 0.4)
    else:
        QTimer.singleShot(0, lambda: time.sleep(0.4))
    await asyncio.sleep(0.6)
    assert 0.4 - PERIOD - 0.01 < meter.maximum < 2


async def test_a_stall_weighs_as_many_ticks_as_it_swallowed(meter):
    await asyncio.sleep(0.02)
    time.sleep(1)  # noqa: ASYNC251 - the stall
    await asyncio.sleep(0.15)
    assert len([lag for lag in meter._lags if lag > PERIOD]) >= 8


async def test_it_wakes_the_processor_seldom(meter):
    """Waking is what measuring costs; the bench says how much that is."""
    await asyncio.sleep(1)
    assert 3 < len(meter._lags) <= 12


async def test_nothing_is_measured_after_the_stop(meter):
    meter.stop()
    before = len(meter._lags)
    await asyncio.sleep(0.25)
    assert len(meter._lags) == before


def test_only_a_minute_is_kept():
    meter = LagMeter()
    meter._lags.extend([1.0] * 10)
    assert meter.maximum == 1.0
    meter._lags.extend([0.001] * KEPT)
    assert meter.maximum == meter.p999 == 0.001
    meter._lags.append(0.5)
    meter._lags.append(0.4)
    assert meter.maximum == meter.p999 == 0.5
    assert meter.last == 0.4
    assert round(KEPT * PERIOD) == 60


def test_the_percentile_leaves_out_one_in_a_thousand():
    meter = LagMeter()
    meter._lags = deque([0.001] * 1997 + [0.3, 0.2, 0.1])
    assert meter.p999 == 0.1
