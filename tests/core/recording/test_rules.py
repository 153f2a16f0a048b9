"""The rules of windows, case by case, without a database or a clock."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import product

import pytest

from core.recording import rules
from core.recording.answers import CannotSay, NotInSession, NoWord, Proof, Refused, Says, Started, Stopped

NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)
FAR, SOON = NOW + timedelta(hours=1), NOW + timedelta(milliseconds=100)


def test_a_started_recording_runs_whatever_the_time():
    for end, tries in product([FAR, SOON, NOW], [1, 9]):
        assert rules.after_start(Started("s"), 1, tries, end, NOW) == rules.Run("s")


def test_a_refusal_begins_a_new_attempt_while_the_window_is_open():
    decision = rules.after_start(Refused("no signal"), 3, 2, FAR, NOW)
    assert decision == rules.Again(NOW + rules.backoff(2), 4, "no signal")


def test_a_refusal_with_no_time_left_or_no_attempts_left_fails():
    assert rules.after_start(Refused("no"), 1, 1, SOON, NOW) == rules.Fail("no")
    assert rules.after_start(Refused("no"), rules.MAX_ATTEMPTS, 1, FAR, NOW) == rules.Fail("no")


def test_silence_never_begins_a_new_attempt():
    for attempt, tries, end in product([1, 7, rules.MAX_ATTEMPTS], [1, 5], [FAR, SOON]):
        decision = rules.after_start(NoWord("timeout"), attempt, tries, end, NOW)
        assert isinstance(decision, rules.Again)
        assert decision.attempt == attempt


def test_errors_are_cut_to_what_the_table_holds():
    decision = rules.after_start(Refused("x" * 900), 1, 1, SOON, NOW)
    assert isinstance(decision, rules.Fail)
    assert len(decision.error) == 500


@pytest.mark.parametrize(
    "says, mine",
    [
        (Says(True, "s", 5, 2), True),
        (Says(True, "s", 5, 1), False),
        (Says(True, "s", 6, 2), False),
        (Says(True, "s"), False),
        (Says(False, None, 5, 2), False),
        (NoWord(""), False),
        (CannotSay(), False),
    ],
)
def test_a_recording_is_adopted_only_when_it_is_this_attempt_of_this_window(says, mine):
    assert isinstance(rules.adopt(says, 5, 2), rules.Run) is mine


def test_over_without_a_word():
    assert rules.over_without_word(NoWord("x"), 5, 2) == rules.Ask()
    assert rules.over_without_word(CannotSay(), 5, 2) == rules.Resend()
    assert rules.over_without_word(Says(False, None), 5, 2) == rules.Nothing()
    assert rules.over_without_word(Says(True, "s", 5, 2), 5, 2) == rules.Run("s")
    assert rules.over_without_word(Says(True, "s", 9, 1), 5, 2) == rules.Nothing()


TEN = timedelta(seconds=10)


@pytest.mark.parametrize(
    "proof, good",
    [
        (None, True),
        (Proof(True, 10.0, 1000, "p"), True),
        (Proof(True, 8.5, 1000, "p"), True),
        (Proof(True, 7.0, 1000, "p"), False),
        (Proof(False, 10.0, 1000, "p", "no moov"), False),
        (Proof(True, None, 1000, "p"), False),
        (Proof(True, 10.0, 0, "p"), False),
        (Proof(True, 7.0, 1000, "p", "", True), True),
        (Proof(True, 9.9, 1000, "p", "The file holds 9.9 s of 12 s.", False), False),
    ],
)
def test_completed_means_there_is_a_recording(proof, good):
    decision = rules.after_stop(Stopped(proof), 1, NOW, NOW, TEN)
    assert isinstance(decision, rules.Complete) is good


def test_not_in_session_after_an_unanswered_stop_is_its_success():
    assert isinstance(rules.after_stop(NotInSession(None), 2, NOW, NOW, TEN), rules.Complete)
    assert isinstance(rules.after_stop(NotInSession("other"), 1, NOW, NOW, TEN), rules.Fail)


@pytest.mark.parametrize("answer", [NoWord("x"), Refused("x")])
def test_a_stop_is_tried_for_two_minutes_and_then_says_stop(answer):
    young = rules.after_stop(answer, 3, NOW, NOW + timedelta(seconds=119), TEN)
    assert isinstance(young, rules.Again)
    old = rules.after_stop(answer, 3, NOW, NOW + timedelta(seconds=120), TEN)
    assert isinstance(old, rules.Fail)
    assert old.error.startswith("stop: ")


def test_a_running_window_is_restarted_only_on_the_recorders_word():
    assert isinstance(rules.check_running(Says(False, None), "s", FAR, NOW), rules.Again)
    assert isinstance(rules.check_running(Says(True, "other"), "s", FAR, NOW), rules.Again)
    for says in (Says(True, "s"), NoWord("x"), CannotSay()):
        assert rules.check_running(says, "s", FAR, NOW) == rules.Nothing()
    assert rules.check_running(Says(False, None), "s", NOW, NOW) == rules.Nothing()


def test_a_cancelled_window_stops_only_its_own_session():
    assert rules.settle_cancelled(NoWord(""), 5, 2, "s", True) == rules.StopIt("s")
    assert rules.settle_cancelled(NoWord(""), 5, 2, None, True) == rules.Ask()
    assert rules.settle_cancelled(Says(True, "t", 9, 1), 5, 2, None, True) == rules.Complete()
    assert rules.settle_cancelled(Says(True, "t", 5, 2), 5, 2, None, True) == rules.StopIt("t")
    assert rules.settle_cancelled(CannotSay(), 5, 2, None, True) == rules.Resend()
    assert rules.settle_cancelled(CannotSay(), 5, 2, None, False) == rules.Complete()


def test_an_orphan_is_a_recording_one_of_our_windows_asked_for_and_none_owns():
    assert rules.orphan(Says(True, "s", 5, 2), {(5, 2)}) is None
    assert rules.orphan(Says(True, "s", 5, 1), {(5, 2)}) == "s"
    assert rules.orphan(Says(True, "s"), set()) is None, "somebody else's recording is not ours to stop"
    assert rules.orphan(NoWord(""), set()) is None


def test_backoff_grows_and_is_bounded():
    steps = [rules.backoff(n) for n in range(1, 12)]
    assert steps == sorted(steps)
    assert steps[-1] == rules.BACKOFF[-1]


@pytest.mark.parametrize(
    "mode, by_hand, start, held",
    [
        ("manual", False, NOW, True),
        ("manual", True, NOW, False),
        ("auto", False, NOW, False),
        ("manual", False, FAR, False),
    ],
)
def test_held(mode, by_hand, start, held):
    assert rules.held("pending", mode, by_hand, start, NOW) is held
