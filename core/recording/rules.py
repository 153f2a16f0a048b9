"""Every decision about windows, as pure functions: time, rows and answers in, decisions out.

Words: an *attempt* is one idempotency key. The same key again can never start a second recording,
so whenever it is not known whether a request was acted on, the same attempt is tried again; a new
attempt begins only after the recorder has said that it did not act, or that a recording has ended.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from core.recording.answers import (
    AskAnswer,
    CannotSay,
    NotInSession,
    NoWord,
    Proof,
    Refused,
    Says,
    StartAnswer,
    Started,
    StopAnswer,
    Stopped,
)

ARM_AHEAD = timedelta(seconds=3)
PREFLIGHT_AHEAD = timedelta(minutes=10)
MAX_ATTEMPTS = 50
STOP_LIMIT = timedelta(minutes=2)
BACKOFF = tuple(timedelta(seconds=s) for s in (0.25, 0.5, 1, 2, 4, 8))
START_LIMIT = 30.0  # seconds for a request, SPEC §4
ASK_AFTER = 1.0  # seconds of silence before the recorder is asked what it does
ERROR_LENGTH = 500


@dataclass(frozen=True, slots=True)
class Run:
    """The recording runs: enter the session."""

    session_id: str
    path: str = ""
    container: str | None = None


@dataclass(frozen=True, slots=True)
class Again:
    """Try once more at `at`. With a new attempt only when it is certain that nothing was started."""

    at: datetime
    attempt: int
    error: str


@dataclass(frozen=True, slots=True)
class Fail:
    error: str


@dataclass(frozen=True, slots=True)
class Ask:
    """Not known: ask the recorder before deciding anything."""


@dataclass(frozen=True, slots=True)
class Resend:
    """The recorder cannot be asked: only the same start again can tell the session."""


@dataclass(frozen=True, slots=True)
class Complete:
    pass


@dataclass(frozen=True, slots=True)
class StopIt:
    """The recording that runs is this window's and must end."""

    session_id: str


@dataclass(frozen=True, slots=True)
class Nothing:
    pass


def backoff(tries: int) -> timedelta:
    return BACKOFF[min(max(tries, 1), len(BACKOFF)) - 1]


def cut(error: str) -> str:
    return error[:ERROR_LENGTH]


def after_start(
    answer: StartAnswer, attempt: int, tries: int, end_at: datetime, now: datetime
) -> Run | Again | Fail:
    """What to do with the answer to a start. `tries` counts the requests of this window so far."""
    if isinstance(answer, Started):
        return Run(answer.session_id, answer.path, answer.container)
    if isinstance(answer, Refused):
        if attempt >= MAX_ATTEMPTS:
            return Fail(cut(answer.why))
        at = now + backoff(tries)
        return Fail(cut(answer.why)) if at >= end_at else Again(at, attempt + 1, cut(answer.why))
    return Again(now + backoff(tries), attempt, cut(answer.why))


def over_without_word(says: AskAnswer, window: int, attempt: int) -> Run | Resend | Ask | Nothing:
    """The window is over and it is not known whether it was ever started. Nothing: it was not."""
    if isinstance(says, NoWord):
        return Ask()
    if isinstance(says, CannotSay):
        return Resend()
    return adopt(says, window, attempt)


def ours(says: Says, window: int, attempt: int) -> bool:
    return says.recording and says.window == window and says.attempt == attempt


def adopt(says: AskAnswer, window: int, attempt: int) -> Run | Nothing:
    """A start without an answer turns out to have worked."""
    if isinstance(says, Says) and ours(says, window, attempt) and says.session_id is not None:
        return Run(says.session_id)
    return Nothing()


def after_stop(
    answer: StopAnswer, tries: int, stop_since: datetime, now: datetime, recorded: timedelta
) -> Complete | Fail | Again:
    """What to do with the answer to a stop.

    `tries` counts the stops sent for this session. A recorder that is no longer in the session after
    an earlier stop got no answer has obeyed that one; at the first stop it means that the recording
    had ended by itself.
    """
    if isinstance(answer, Stopped):
        return judge(answer.proof, recorded)
    if isinstance(answer, NotInSession):
        if tries > 1:
            return Complete()
        return Fail("The recording had ended before its window did.")
    if now - stop_since >= STOP_LIMIT:
        return Fail(cut(f"stop: {answer.why}"))
    return Again(now + backoff(tries), 0, cut(f"stop: {answer.why}"))


def judge(proof: Proof | None, recorded: timedelta) -> Complete | Fail:
    """Completed means there is a recording. A foreign recorder gives no proof and is believed."""
    if proof is None:
        return Complete()
    if not proof.readable:
        return Fail(cut(f"The recording cannot be read: {proof.finding or 'the file is damaged'}"))
    if proof.duration_s is None or proof.size_bytes <= 0:
        return Fail("The recording is empty.")
    if proof.covers is not None:
        return Complete() if proof.covers else Fail(cut(proof.finding or "The recording is too short."))
    tolerance = max(2.0, recorded.total_seconds() * 0.02)
    if proof.duration_s < recorded.total_seconds() - tolerance:
        return Fail(
            f"The recording holds {proof.duration_s:.1f} s of the {recorded.total_seconds():.1f} s that were recorded."
        )
    return Complete()


def check_running(says: AskAnswer, session_id: str, end_at: datetime, now: datetime) -> Again | Nothing:
    """A running window whose recorder, asked, is not in its session any more is started again.

    Silence proves nothing: the recorder may be recording behind a broken network.
    """
    if not isinstance(says, Says) or (says.recording and says.session_id == session_id) or now >= end_at:
        return Nothing()
    why = "The recorder stopped by itself" if not says.recording else "The recorder is in another recording"
    return Again(now, 0, why)


def settle_cancelled(
    says: AskAnswer, window: int, attempt: int, session_id: str | None, fired: bool
) -> StopIt | Resend | Complete | Ask:
    """What a cancelled window that may have been started still needs. Complete: nothing of it runs."""
    if session_id is not None:
        return StopIt(session_id)
    if isinstance(says, NoWord):
        return Ask()
    if isinstance(says, CannotSay):
        # Where no start can have gone out, the same start again would be the first.
        return Resend() if fired else Complete()
    if ours(says, window, attempt) and says.session_id is not None:
        return StopIt(says.session_id)
    return Complete()


def orphan(says: AskAnswer, owned: set[tuple[int, int]]) -> str | None:
    """The session of a recording that one of our windows once asked for and none owns now."""
    if isinstance(says, Says) and says.recording and says.window is not None and says.attempt is not None:
        return says.session_id if (says.window, says.attempt) not in owned else None
    return None


def held(status: str, mode: str, by_hand: bool, start_at: datetime, now: datetime) -> bool:
    """Due, but its recorder is in manual mode."""
    return status == "pending" and mode == "manual" and not by_hand and start_at <= now
