"""One sentence for the operator."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Message:
    text: str
    refused: bool = True  # something asked for did not happen
