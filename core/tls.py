"""Certificates: whom we trust, and who we are. TLS 1.2 at least; whoever is not who they should be is not spoken to."""

from __future__ import annotations

import ssl
from pathlib import Path

from core.errors import SettingsError


def trust(authority: Path) -> ssl.SSLContext:
    """For connecting: the other side must have a certificate of this authority, for the name we used."""
    try:
        return ssl.create_default_context(cafile=str(authority))
    except OSError as error:
        raise SettingsError(
            f"The authority's certificate {authority} cannot be used: {_why(error)}."
        ) from error


def identity(certificate: Path, key: Path | None) -> ssl.SSLContext:
    """For listening: what we show to whoever connects."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        # A key with a pass phrase would make the program ask on a terminal that nobody watches.
        context.load_cert_chain(certificate, key, password=lambda: "")
    except OSError as error:
        raise SettingsError(f"The certificate {certificate} cannot be used: {_why(error)}.") from error
    return context


def _why(error: OSError) -> str:
    if isinstance(error, ssl.SSLError):
        return "it is not a PEM file, or the key does not belong to it"
    return error.strerror or type(error).__name__
