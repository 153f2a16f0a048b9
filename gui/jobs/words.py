"""How runs and jobs are said. Pure: rows and times go in, words come out."""

from __future__ import annotations

from datetime import datetime

from core.jobs.model import CronJob, Run
from core.recording.recurrence import Recurrence, describe
from core.recording.recurrence_errors import RecurrenceError
from gui.words import clock, span

TITLES = {
    "pending": "Waits",
    "queued": "No worker",
    "scheduled": "Later",
    "retryable": "Retry",
    "running": "Running",
    "completed": "Done",
    "failed": "Failed",
    "cancelled": "Cancelled",
}
GLYPHS = {"completed": "tick", "failed": "cross", "running": "running", "pending": "idle", "queued": "idle"}
RANKS = {"high": 3, "medium": 2, "low": 1}


def status_words(run: Run, now: datetime) -> str:
    if run.status in ("retryable", "scheduled"):
        left = max(0.0, (run.run_at - now).total_seconds())
        return f"{TITLES[run.status]} in {span(left)}"
    if run.status == "running" and run.progress is not None:
        return f"{run.progress * 100:.0f} %"
    return TITLES.get(run.status, run.status)


def what_about(run: Run) -> str:
    """Which thing a run is about, when it is about one."""
    return "" if run.scope_kind == "plant" else f"{run.scope_kind} {run.scope_id}"


def attempts(run: Run) -> str:
    return f"{run.attempt}/{run.max_attempts}"


def duration(run: Run) -> float | None:
    if run.started_at is None or run.finished_at is None:
        return None
    return max(0.0, (run.finished_at - run.started_at).total_seconds())


def duration_words(run: Run) -> str:
    seconds = duration(run)
    if seconds is None:
        return "–"
    return f"{seconds:.1f} s" if seconds < 60 else clock(seconds)


def last_error(run: Run) -> str:
    return str(run.errors[-1].get("message", "")) if run.errors else ""


def outcome(run: Run) -> str:
    """What a run found, or why it did not."""
    if run.status != "completed":
        return last_error(run)
    if not isinstance(run.result, dict):
        return ""
    figures = [
        ("integrated_lufs", "{:.1f} LUFS"), ("range_lu", "range {:.1f} LU"), ("true_peak_dbtp", "peak {:.1f} dBTP"),
        ("pictures", "{} pictures"), ("sent", "{} sent"), ("failed", "{} failed"), ("removed", "{} removed"),
    ]  # fmt: skip
    said = [form.format(run.result[name]) for name, form in figures if run.result.get(name) is not None]
    return ", ".join(said) or ", ".join(f"{k} {v}" for k, v in list(run.result.items())[:3])[:120]


def when_words(job: CronJob) -> str:
    try:
        return describe(Recurrence(job.cron, job.timezone))
    except RecurrenceError:
        return job.cron


def run_lines(run: Run) -> list[str]:
    """All that is known of a run, for its tooltip: each attempt with its error."""
    lines = [f"Run {run.id}: {run.job_name} ({run.handler}), {run.queue}, {run.priority} priority"]
    if run.worker:
        lines.append(f"Worker {run.worker}")
    if run.missed:
        lines.append(f"Stands for {run.missed} plans before it that were missed")
    lines += [f"Attempt {e.get('attempt')}: {str(e.get('message', ''))[:300]}" for e in run.errors[-8:]]
    return lines
