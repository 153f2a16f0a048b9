"""What can go wrong at an agent, as sentences, each with the HTTP status that carries it."""

from __future__ import annotations

from typing import Any

from core.errors import AirlockError


class AgentError(AirlockError):
    """The agent cannot do what was asked."""

    status = 500

    def details(self) -> dict[str, Any]:
        """What the answer says beside the sentence."""
        return {}


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

    def details(self) -> dict[str, Any]:
        return {"current_session_id": self.current_session_id}


class TooLarge(AgentError):
    """The request is longer than its address takes."""

    status = 413


class UnknownChannel(AgentError):
    """Nothing of that channel was ever here."""

    status = 404


class Superseded(AgentError):
    """That generation of the channel is over, or a newer one is known."""

    status = 409

    def __init__(self, message: str, generation: int) -> None:
        super().__init__(message)
        self.generation = generation

    def details(self) -> dict[str, Any]:
        return {"generation": self.generation}


class StartFailed(AgentError):
    """The recording did not begin; nothing runs."""

    status = 502


class StopFailed(AgentError):
    """The recording could not be ended."""

    status = 502
