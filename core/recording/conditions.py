"""The alarms that recording raises: each says what happened, what it means, and what to do."""

from __future__ import annotations

from core.alarms.model import Condition, Priority


def start_failing(window: int, name: str, recorder_id: int, recorder: str, why: str) -> Condition:
    return Condition(
        f"window:{window}:start", Priority.HIGH, "recorder", recorder, f"{name} is not recording yet: {why}",
        "The window is open and its beginning is being lost. Airlock goes on trying.",
        "Check the recorder and its source, or start it on another recorder.", recorder_id,
    )  # fmt: skip


def failed(window: int, name: str, recorder_id: int, recorder: str, why: str) -> Condition:
    return Condition(
        f"window:{window}:failed", Priority.HIGH, "recorder", recorder, f"{name} failed: {why}",
        "There may be no usable recording of this window.",
        "Look at the window's attempts; ask for the material elsewhere if it is needed.", recorder_id,
    )  # fmt: skip


def stop_failed(window: int, name: str, recorder_id: int, recorder: str, why: str) -> Condition:
    return Condition(
        f"window:{window}:failed", Priority.HIGH, "recorder", recorder, f"{name} could not be stopped: {why}",
        "The recorder may still be recording and its disk filling.",
        "Stop it at the recorder itself, then check the next window on it.", recorder_id,
    )  # fmt: skip


def missed(window: int, name: str, recorder_id: int, recorder: str, manual: bool) -> Condition:
    reason = "its recorder was in manual mode" if manual else "nobody could start it before its end"
    return Condition(
        f"window:{window}:missed", Priority.MEDIUM if manual else Priority.HIGH, "recorder", recorder,
        f"{name} was missed: {reason}", "There is no recording of this window.",
        "Ask for the material elsewhere if it is needed.", recorder_id,
    )  # fmt: skip


def restarted(window: int, name: str, recorder_id: int, recorder: str, why: str) -> Condition:
    return Condition(
        f"window:{window}:restarted", Priority.HIGH, "recorder", recorder, f"{name} was interrupted: {why}",
        "The recording is being started again as a second file; some seconds are lost between the two.",
        "Check the recorder's source and disk. Both files are kept.", recorder_id,
    )  # fmt: skip


def unreachable(name: str, recorder_id: int, recorder: str, why: str) -> Condition:
    return Condition(
        f"recorder:{recorder_id}:unreachable", Priority.HIGH, "recorder", recorder,
        f"Not reachable while it records {name}: {why}",
        "It may be recording all the same. Airlock cannot stop or watch it.",
        "Check the node and the network to it.", recorder_id,
    )  # fmt: skip


def preflight(
    window: int, name: str, recorder_id: int, recorder: str, starts: str, problem: str
) -> Condition:
    return Condition(
        f"window:{window}:preflight", Priority.HIGH, "recorder", recorder, f"{problem} {name} starts at {starts}.",
        "The recording will fail or be damaged unless this is mended first.",
        "Mend it now, or move the window to another recorder.", recorder_id,
    )  # fmt: skip


def orphan(recorder_id: int, recorder: str) -> Condition:
    return Condition(
        f"recorder:{recorder_id}:orphan", Priority.MEDIUM, "recorder", recorder,
        "A recording that no window owns any more was stopped",
        "It was begun for a window that was changed or cancelled at the last moment.",
        "Nothing, unless this repeats.", recorder_id,
    )  # fmt: skip


def stale_asset(asset: int, name: str) -> Condition:
    return Condition(
        f"asset:{asset}:stale", Priority.MEDIUM, "asset", name, "The recording stopped growing and nobody claims it",
        "Its file may be incomplete.", "Look at the file; record again if it is needed.", asset,
    )  # fmt: skip
