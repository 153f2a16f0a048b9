"""Pure decisions about jobs: what is due, what a failure means, what an operator may do.

Must stay true: nothing is retried at once or for ever; what a failure means is decided by its code, never by
words in its message; a job that must not be entered twice ends for good when its worker falls silent.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from core.jobs.model import CronJob, Expired, Run, RunStatus
from core.recording.recurrence import Recurrence, between, next_after

FIRST_RETRY = timedelta(seconds=2)
LONGEST_RETRY = timedelta(minutes=15)
MOST_PLANS = 1000  # runs made of one job in one pass; the rest in the next, at once
MOST_ERROR = 4000
MOST_RESULT = 16 * 1024
KEEP_COMPLETED = timedelta(hours=24)
KEEP_OTHERS = timedelta(hours=72)
SEEN_WITHIN = timedelta(seconds=15)  # a worker that has not been seen for so long is not available
FORGOTTEN_AFTER = timedelta(minutes=15)  # a handler that no worker has had for so long is gone from the code

HANDLER_ERROR = "handler_error"
STALE = "stale_timeout"
DEADLINE = "deadline"
OVERLAP = "overlap"
BY_HAND = "cancelled"
UNKNOWN_HANDLER = "unknown_handler"
TOO_LARGE = "result_too_large"


@dataclass(frozen=True)
class Plans:
    """What a job owes at an instant: the plans to run now, how many the last of them stands for, and what follows."""

    due: list[datetime]
    missed: int
    last: datetime | None
    next: datetime | None


def plans(job: CronJob, now: datetime) -> Plans:
    """Raises RecurrenceError when the expression or the zone is wrong. Looks back to the last plan that was
    handled, and at first only to the job's creation."""
    recurrence = Recurrence(job.cron, job.timezone)
    since = job.last_plan_at or job.created_at
    due = between(recurrence, since, now, MOST_PLANS)
    if job.catch_up == "every":
        missed = 0
    else:
        missed = max(0, len(due) - 1)
        while len(due) == MOST_PLANS:  # the latest of a long absence
            more = between(recurrence, due[-1], now, MOST_PLANS)
            if not more:
                break
            missed += len(more)
            due = more
        due = due[-1:]
    last = due[-1] if due else job.last_plan_at
    return Plans(due, missed, last, next_after(recurrence, due[-1] if due else max(since, now)))


def backoff(attempt: int, chance: float) -> timedelta:
    """How long after attempt number `attempt` the next may begin. `chance` (0 to 1) spreads a storm."""
    doublings: int = min(max(attempt, 1) - 1, 20)
    plain = FIRST_RETRY * float(2**doublings)
    return min(plain, LONGEST_RETRY) * (0.75 + 0.5 * chance)


@dataclass(frozen=True)
class Verdict:
    """What becomes of a run whose attempt did not succeed."""

    status: RunStatus
    code: str
    message: str
    delay: timedelta = timedelta(0)


def after_failure(
    code: str, message: str, attempt: int, max_attempts: int, chance: float, retry: bool = True
) -> Verdict:
    message = trim(message)
    if retry and attempt < max_attempts:
        return Verdict(RunStatus.RETRYABLE, code, message, backoff(attempt, chance))
    return Verdict(RunStatus.FAILED, code, message)


def rescue(run: Expired, now: datetime, chance: float) -> Verdict | None:
    """What becomes of a run that its worker no longer looks after. None: it is looked after."""
    if run.deadline_at <= now:
        return after_failure(DEADLINE, "It took longer than it may.", run.attempt, run.max_attempts, chance)
    if run.stale_at <= now:
        said = f"{run.worker or 'Its worker'} fell silent while it ran."
        # Where it is not known how far it came and it must not be done twice, that is the end of it.
        return after_failure(STALE, said, run.attempt, run.max_attempts, chance, run.stale_reentry)
    return None


def trim(message: str) -> str:
    # PostgreSQL's text and JSON cannot hold a zero byte.
    return message.replace("\0", "")[:MOST_ERROR]


def result_text(result: Mapping[str, Any] | None) -> str | None:
    """The result as it is stored. Raises ValueError when it is too large or no JSON."""
    if result is None:
        return None
    try:
        text = json.dumps(result, allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        raise ValueError("The handler's result is not JSON.") from None
    if len(text.encode()) > MOST_RESULT:
        raise ValueError(f"The handler's result is larger than {MOST_RESULT // 1024} KiB.")
    return text.replace("\\u0000", "")


def why_not_run(job: CronJob, open_run: Run | None, available: Collection[str]) -> str | None:
    """Why a job cannot be run now by hand, or None when it can."""
    if not job.enabled:
        why = f": {job.error_message}" if job.error_message else ""
        return f"{job.name} is disabled{why}. Enable it first."
    if open_run is not None and open_run.status == RunStatus.RUNNING:
        return f"{job.name} is running already, on {open_run.worker}."
    if open_run is not None:
        return f"{job.name} waits to be run already (run {open_run.id}, {open_run.status})."
    if job.handler not in available:
        return f"No worker that knows {job.handler} is available. Start the agent of a node that has it."
    return None


def why_not_retry(run: Run, open_run: Run | None, available: Collection[str]) -> str | None:
    if run.status == RunStatus.COMPLETED:
        return f"Run {run.id} of {run.job_name} is completed: there is nothing to retry."
    if run.status == RunStatus.RUNNING:
        return f"Run {run.id} of {run.job_name} is running already, on {run.worker}."
    if run.status not in (RunStatus.FAILED, RunStatus.CANCELLED, RunStatus.RETRYABLE):
        return f"Run {run.id} of {run.job_name} waits to be run already."
    if open_run is not None and open_run.id != run.id:
        return f"{run.job_name} has another run that is {open_run.status}: run {open_run.id}."
    if run.handler not in available:
        return f"No worker that knows {run.handler} is available. Start the agent of a node that has it."
    return None


def why_not_cancel(run: Run) -> str | None:
    if RunStatus(run.status).over:
        return f"Run {run.id} of {run.job_name} is {run.status} already."
    return None
