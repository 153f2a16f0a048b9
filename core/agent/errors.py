"""What can go wrong at a recorder, as sentences, each with the HTTP status that carries it."""

from __future__ import annotations

from core.errors import AirlockError


class AgentError(AirlockError):
    """The agent cannot do what was asked."""

    status = 500


class BadRequest(AgentError):
    """The request cannot be understood."""

    status = 400


class UnknownRecorder(AgentError):
    """This node has no such recorder."""

    status = 404


class Busy(AgentError):
    """The recorder is in another session than the request is about, and goes on."""

    status = 409

    def __init__(self, message: str, current_session_id: str | None) -> None:
        super().__init__(message)
        self.current_session_id = current_session_id


class StartFailed(AgentError):
    """The recording did not begin; nothing runs."""

    status = 502


class StopFailed(AgentError):
    """The recording could not be ended."""

    status = 502
