"""Certificates from files to gRPC credentials."""

from __future__ import annotations

from pathlib import Path

import grpc

from mesh.kernel.errors import FailedPrecondition
from mesh.kernel.reasons import Reason
from mesh.rpc.settings import TlsSettings


def server_credentials(settings: TlsSettings) -> grpc.ServerCredentials:
    """Return the credentials of a server; with authorities, clients must show a certificate."""
    return grpc.ssl_server_credentials(
        [(_read(settings.key_file) or b"", _read(settings.cert_file) or b"")],
        root_certificates=_read(settings.ca_file),
        require_client_auth=settings.ca_file is not None,
    )


def channel_credentials(settings: TlsSettings) -> grpc.ChannelCredentials:
    """Return the credentials of a client; with a certificate of its own it shows that."""
    return grpc.ssl_channel_credentials(
        root_certificates=_read(settings.ca_file),
        private_key=_read(settings.key_file),
        certificate_chain=_read(settings.cert_file),
    )


def _read(path: Path | None) -> bytes | None:
    if path is None:
        return None
    try:
        return path.read_bytes()
    except OSError as error:
        raise FailedPrecondition(
            Reason.CONFIGURATION_INVALID,
            f"the certificate file {path} cannot be read; set MNEMESH_TLS_* to files that can",
        ) from error
