"""Signal and disk faults as alarms. Pure: facts go in, conditions come out."""

from __future__ import annotations

from dataclasses import dataclass

from core.alarms.model import Condition, Priority

FAULTS = ("black", "freeze", "silence", "stalled")
LEAST_FREE = 1024**3
SOON = 3600.0  # a disk that is full within the hour

_WORDS = {
    "black": ("records a black picture", "The recording holds no picture.", Priority.HIGH),
    "freeze": ("records a picture that stands still", "The source may have stopped.", Priority.MEDIUM),
    "silence": ("records silence", "The recording holds no sound.", Priority.HIGH),
    "stalled": ("has stopped growing its file", "Nothing is being recorded now.", Priority.CRITICAL),
}  # fmt: skip


@dataclass(frozen=True)
class Disk:
    path: str
    total: int
    free: int


def fault_key(recorder_id: int, fault: str) -> str:
    return f"recorder:{recorder_id}:{fault}"


def disk_key(node: str) -> str:
    return f"node:{node}:disk"


def signal_alarm(recorder_id: int, recorder: str, fault: str) -> Condition:
    words, effect, priority = _WORDS[fault]
    return Condition(
        key=fault_key(recorder_id, fault),
        priority=priority,
        source_kind="recorder",
        source_id=recorder_id,
        source_name=recorder,
        message=f"{recorder} {words}",
        effect=effect,
        action="Check the source and its line.",
    )


def disk_alarm(node: str, disk: Disk, bytes_a_second: float) -> Condition | None:
    """Low space is judged by what the running recordings write, and by a floor for everything else."""
    left = disk.free / bytes_a_second if bytes_a_second > 0 else float("inf")
    if disk.free >= LEAST_FREE and left >= SOON:
        return None
    when = f", full in about {max(left / 60, 1):.0f} min" if left < SOON * 24 else ""
    return Condition(
        key=disk_key(node),
        priority=Priority.CRITICAL if left < 600 or disk.free < LEAST_FREE // 4 else Priority.HIGH,
        source_kind="node",
        source_name=node,
        message=f"Only {disk.free / 1024**3:.1f} GB are free on {node}{when}",
        effect="Recordings stop when the disk is full.",
        action=f"Make room in {disk.path}, or end recordings that are not needed.",
    )
