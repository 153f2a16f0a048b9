"""Decisions about jobs, without a database or a clock."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest

from core.jobs import rules
from core.jobs.model import CronJob, Expired, Run, RunStatus
from core.recording.recurrence_errors import RecurrenceError

NOON = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
MINUTE = timedelta(minutes=1)


def a_job(**changes: Any) -> CronJob:
    job = CronJob(
        1, "nightly", "*/10 * * * *", "UTC", "work", {}, "plant", "default", "medium", 3, 10 * MINUTE, MINUTE, True,
        "latest", "skip", True, None, None, None, NOON, 1,
    )  # fmt: skip
    return replace(job, **changes)


def a_run(**changes: Any) -> Run:
    run = Run(
        7, 1, "nightly", "work", {}, "plant", "", None, NOON, 0, True, "default", "medium", "failed", 3, 3, NOON,
        "w1", NOON, NOON, None, [], None, None, NOON, NOON, NOON,
    )  # fmt: skip
    return replace(run, **changes)


def expired(**changes: Any) -> Expired:
    return replace(
        Expired(7, "nightly", "", "medium", 1, 3, True, NOON, NOON + 9 * MINUTE, uuid4(), "w1"), **changes
    )


# -- plans -----------------------------------------------------------------------------------------


def test_a_new_job_looks_back_only_to_its_creation() -> None:
    found = rules.plans(a_job(), NOON + 5 * MINUTE)
    assert found.due == [] and found.next == NOON + 10 * MINUTE


def test_latest_runs_the_last_missed_plan_once_and_says_how_many_it_stands_for() -> None:
    found = rules.plans(a_job(last_plan_at=NOON), NOON + timedelta(hours=1))
    assert found.due == [NOON + timedelta(hours=1)]
    assert (found.missed, found.next) == (5, NOON + timedelta(hours=1, minutes=10))


def test_every_runs_each_missed_plan_in_order() -> None:
    found = rules.plans(a_job(last_plan_at=NOON, catch_up="every"), NOON + timedelta(hours=1))
    assert found.due == [NOON + timedelta(minutes=10 * n) for n in range(1, 7)]
    assert found.missed == 0


def test_a_long_absence_is_made_up_in_portions_and_none_is_left_out() -> None:
    job = a_job(cron="* * * * *", last_plan_at=NOON, catch_up="every")
    now = NOON + timedelta(minutes=2500)
    made = []
    for _ in range(3):
        found = rules.plans(job, now)
        made += found.due
        job = replace(job, last_plan_at=found.last)
    assert made == [NOON + n * MINUTE for n in range(1, 2501)]
    assert rules.plans(job, now).due == []


def test_the_latest_of_a_very_long_absence_is_the_latest() -> None:
    found = rules.plans(a_job(cron="* * * * *", last_plan_at=NOON), NOON + timedelta(minutes=2500))
    assert found.due == [NOON + timedelta(minutes=2500)]
    assert found.missed == 2499


def test_a_job_keeps_its_wall_clock_time_over_a_clock_change() -> None:
    job = a_job(
        cron="30 2 * * *", timezone="Europe/Berlin", last_plan_at=datetime(2026, 3, 28, 2, tzinfo=UTC)
    )
    spring = rules.plans(job, datetime(2026, 3, 30, 12, tzinfo=UTC))
    assert spring.due == [datetime(2026, 3, 30, 0, 30, tzinfo=UTC)] and spring.missed == 1
    autumn = rules.plans(
        replace(job, catch_up="every", last_plan_at=datetime(2026, 10, 24, 1, tzinfo=UTC)),
        datetime(2026, 10, 25, 12, tzinfo=UTC),
    )
    assert autumn.due == [
        datetime(2026, 10, 25, 0, 30, tzinfo=UTC)
    ]  # 02:30 comes twice that night and is run once


@pytest.mark.parametrize("wrong", [{"cron": "61 * * * *"}, {"timezone": "Mars/Base"}])
def test_a_wrong_definition_is_said(wrong: dict[str, str]) -> None:
    with pytest.raises(RecurrenceError):
        rules.plans(a_job(**wrong), NOON)


# -- failures --------------------------------------------------------------------------------------


def test_retries_wait_longer_each_time_with_a_spread_and_a_limit() -> None:
    plain = [rules.backoff(n, 0.5) for n in range(1, 20)]
    assert plain[:4] == [timedelta(seconds=s) for s in (2, 4, 8, 16)]
    assert plain == sorted(plain) and plain[-1] == rules.LONGEST_RETRY
    assert rules.backoff(1, 0) == timedelta(seconds=1.5) and rules.backoff(1, 1) == timedelta(seconds=2.5)


def test_attempts_end() -> None:
    assert rules.after_failure("x", "no", 2, 3, 0.5).status == RunStatus.RETRYABLE
    assert rules.after_failure("x", "no", 3, 3, 0.5).status == RunStatus.FAILED
    assert rules.after_failure("x", "no", 1, 3, 0.5, retry=False).status == RunStatus.FAILED


def test_the_words_of_an_error_decide_nothing() -> None:
    for word in ("stale", "stale_timeout", "deadline", "retry", "timeout"):
        assert rules.after_failure(rules.HANDLER_ERROR, word, 3, 3, 0.5).status == RunStatus.FAILED


def test_an_error_is_kept_to_its_limit() -> None:
    assert len(rules.after_failure("x", "a\0" * 9000, 1, 3, 0).message) == rules.MOST_ERROR


def test_a_silent_worker_s_run_is_retried_after_a_while_or_ended_where_it_must_not_be_done_twice() -> None:
    again = rules.rescue(expired(), NOON, 0.5)
    assert again is not None and again.status == RunStatus.RETRYABLE and again.code == rules.STALE
    assert again.delay > timedelta(0)
    ended = rules.rescue(expired(stale_reentry=False), NOON, 0.5)
    assert ended is not None and ended.status == RunStatus.FAILED and ended.code == rules.STALE
    last = rules.rescue(expired(attempt=3), NOON, 0.5)
    assert last is not None and last.status == RunStatus.FAILED


def test_a_run_past_its_deadline_is_told_apart_from_a_stale_one() -> None:
    found = rules.rescue(expired(deadline_at=NOON), NOON, 0.5)
    assert found is not None and found.code == rules.DEADLINE
    assert rules.rescue(expired(stale_at=NOON + MINUTE), NOON, 0.5) is None


# -- results ---------------------------------------------------------------------------------------


def test_a_result_is_small_json() -> None:
    assert rules.result_text({"a": 1}) == '{"a": 1}'
    assert rules.result_text(None) is None
    with pytest.raises(ValueError, match="16 KiB"):
        rules.result_text({"a": "x" * 17000})
    for wrong in ({"a": object()}, {"a": float("nan")}):
        with pytest.raises(ValueError, match="not JSON"):
            rules.result_text(wrong)


# -- refusals --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "job, open_run, known, said",
    [
        (a_job(enabled=False), None, {"work"}, "disabled"),
        (a_job(enabled=False, error_message="No such zone"), None, {"work"}, "No such zone"),
        (a_job(), a_run(status="running"), {"work"}, "running already, on w1"),
        (a_job(), a_run(status="queued"), {"work"}, "waits to be run already"),
        (a_job(), None, {"other"}, "No worker that knows work"),
        (a_job(), None, {"work"}, None),
    ],
)
def test_why_a_job_cannot_be_run_now(
    job: CronJob, open_run: Run | None, known: set[str], said: str | None
) -> None:
    why = rules.why_not_run(job, open_run, known)
    assert why is None if said is None else said in (why or "")


@pytest.mark.parametrize(
    "run, open_run, known, said",
    [
        (a_run(status="completed"), None, {"work"}, "completed"),
        (a_run(status="running"), None, {"work"}, "running already"),
        (a_run(status="pending"), None, {"work"}, "waits to be run"),
        (a_run(), a_run(id=8, status="pending"), {"work"}, "another run"),
        (a_run(), None, set(), "No worker"),
        (a_run(), None, {"work"}, None),
        (a_run(status="cancelled"), None, {"work"}, None),
        (a_run(status="retryable"), a_run(status="retryable"), {"work"}, None),
    ],
)
def test_why_a_run_cannot_be_retried(
    run: Run, open_run: Run | None, known: set[str], said: str | None
) -> None:
    why = rules.why_not_retry(run, open_run, known)
    assert why is None if said is None else said in (why or "")


def test_what_is_over_cannot_be_cancelled() -> None:
    assert "failed already" in (rules.why_not_cancel(a_run()) or "")
    assert rules.why_not_cancel(a_run(status="running")) is None
