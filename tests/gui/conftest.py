"""Async tests in this folder run on Airlock's own event loop, inside the QApplication of pytest-qt."""

from __future__ import annotations

import os

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

import asyncio
import inspect
from typing import TYPE_CHECKING

import pytest
from pytestqt import plugin as pytest_qt

from gui.loop import AirlockLoop, new_event_loop
from tests.gui.playout_rows import rows  # noqa: F401 - a fixture
from tests.gui.shell_fixtures import dressed, outage, station, window  # noqa: F401 - fixtures

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from PySide6.QtWidgets import QApplication


def pytest_asyncio_loop_factories(
    config: pytest.Config, item: pytest.Item
) -> Mapping[str, Callable[[], asyncio.AbstractEventLoop]]:
    return {"airlock": new_event_loop}


@pytest.fixture(autouse=True)
def events_only_in_the_loop(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """pytest-qt works off Qt's events between a test and its fixtures' ends, where our loop stands still; the
    program's never does while a window is open, and a timer due in that gap would find no loop to work with."""
    if inspect.iscoroutinefunction(getattr(request.node, "obj", None)):
        monkeypatch.setattr(pytest_qt, "_process_events", lambda: None)


@pytest.fixture(scope="session", autouse=True)
def application(qapp: QApplication) -> QApplication:
    """Made before any loop; closing a test's last window must not end the loop of the test."""
    qapp.setQuitOnLastWindowClosed(False)
    return qapp


@pytest.fixture(params=["platform", "portable"])
def runner(request: pytest.FixtureRequest) -> Iterator[asyncio.Runner]:
    """A runner of each of our loops: this platform's, and the one for platforms without epoll."""
    factory = new_event_loop if request.param == "platform" else AirlockLoop
    with asyncio.Runner(loop_factory=factory) as runner:
        yield runner
