"""What a recorder can be understood to have said. Whoever decides sees these, never HTTP."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Proof:
    """What an agent found when it looked at the finished file."""

    readable: bool
    duration_s: float | None
    size_bytes: int
    path: str
    finding: str = ""
    covers: bool | None = None  # whether it covers the time recorded, as the agent itself reckons


@dataclass(frozen=True, slots=True)
class Started:
    session_id: str
    path: str = ""
    container: str | None = None


@dataclass(frozen=True, slots=True)
class Stopped:
    proof: Proof | None = None


@dataclass(frozen=True, slots=True)
class NotInSession:
    """It is not recording the session that was to be stopped."""

    current_session_id: str | None


@dataclass(frozen=True, slots=True)
class Refused:
    """It answered that it did not do it."""

    why: str


@dataclass(frozen=True, slots=True)
class NoWord:
    """No answer, or none that can be understood: it may have acted all the same."""

    why: str


@dataclass(frozen=True, slots=True)
class Says:
    """What it is doing. `window` and `attempt` are known only of recorders that repeat them."""

    recording: bool
    session_id: str | None
    window: int | None = None
    attempt: int | None = None


@dataclass(frozen=True, slots=True)
class CannotSay:
    """It speaks the contract but has no such question: recovery relies on the idempotent start."""


StartAnswer = Started | Refused | NoWord
StopAnswer = Stopped | NotInSession | Refused | NoWord
AskAnswer = Says | CannotSay | NoWord
