"""What can go wrong, as types. Each message is a sentence that a person can act on.

Anything derived from AirlockError may be shown to an operator as it is; anything else is a fault
of ours and goes to the log.
"""

from __future__ import annotations


class AirlockError(Exception):
    """Something went wrong and the message says what to do about it."""


class SettingsError(AirlockError):
    """A flag, an environment variable or airlock.toml says something that cannot be used."""


class PlantError(AirlockError):
    """The plant cannot be opened."""


class EmbeddedPlantError(PlantError):
    """The embedded database cannot be started from its folder."""


class SchemaError(PlantError):
    """The database's tables do not fit this program."""


class PoolerError(PlantError):
    """A proxy between us and the database breaks session locks."""


class DatabaseLost(AirlockError):
    """The database cannot be reached right now."""


class NotLeading(AirlockError):
    """This station no longer leads, so it may not act."""


class CommandRefused(AirlockError):
    """An operator's command cannot be carried out, and nothing was changed."""


class NotAllowed(CommandRefused):
    """The operator's role does not include this command."""


class NotFound(CommandRefused):
    """The thing the command is about no longer exists."""


class Changed(CommandRefused):
    """Somebody else changed it since it was shown."""
