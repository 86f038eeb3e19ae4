"""Certificates: encrypted connections, and clients that must show who they are."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

import grpc
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from mesh.kernel.errors import FailedPrecondition
from mesh.rpc.auth import TokenSigner
from mesh.rpc.channel import ChannelSettings, connect
from mesh.rpc.context import acting_as
from mesh.rpc.settings import TlsSettings
from tests.contract.mesh_rpc.echo import CALLER, KEYS, Echo, pb, serving, stubs

Authority = Callable[[str], tuple[Path, Path]]


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    """Return a function that writes a certificate and its key; `ca` names the authority's own."""
    ca_key = ec.generate_private_key(ec.SECP256R1())
    ca_name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "mesh tests")])

    def issue(name: str) -> tuple[Path, Path]:
        is_ca = name == "ca"
        key = ca_key if is_ca else ec.generate_private_key(ec.SECP256R1())
        now = datetime.now(UTC)
        certificate = (
            x509.CertificateBuilder()
            .subject_name(ca_name if is_ca else x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)]))
            .issuer_name(ca_name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - timedelta(hours=1))
            .not_valid_after(now + timedelta(hours=1))
            .add_extension(x509.BasicConstraints(ca=is_ca, path_length=None), critical=True)
            .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False)
            .sign(ca_key, hashes.SHA256())
        )
        cert_file, key_file = tmp_path / f"{name}.pem", tmp_path / f"{name}.key"
        cert_file.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
        key_file.write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
            )
        )
        return cert_file, key_file

    return issue


def _tls(authority: Authority, name: str) -> TlsSettings:
    cert_file, key_file = authority(name)
    return TlsSettings(cert_file, key_file, authority("ca")[0])


async def _say(echo: Echo, tls: TlsSettings) -> str:
    async with connect(echo.target, "echo", TokenSigner(KEYS, "tests"), ChannelSettings(tls=tls)) as channel:
        with acting_as(CALLER):
            answer = await stubs()[1].EchoServiceStub(channel).Say(pb().SayRequest(text="hidden"), timeout=10)
        return str(answer.text)


async def test_servers_with_certificates_of_one_authority_reach_each_other(authority: Authority) -> None:
    async with serving(settings={"listen": "127.0.0.1:0", "tls": _tls(authority, "echo")}) as echo:
        assert await _say(echo, _tls(authority, "gateway")) == "hidden"


async def test_client_without_a_certificate_is_turned_away(authority: Authority) -> None:
    async with serving(settings={"listen": "127.0.0.1:0", "tls": _tls(authority, "echo")}) as echo:
        for tls in (TlsSettings(ca_file=authority("ca")[0]), TlsSettings()):
            with pytest.raises(grpc.aio.AioRpcError) as caught:
                await _say(echo, tls)
            assert caught.value.code() is grpc.StatusCode.UNAVAILABLE


async def test_certificate_file_that_cannot_be_read_is_named() -> None:
    tls = TlsSettings(Path("/nowhere/cert.pem"), Path("/nowhere/key.pem"))
    with pytest.raises(FailedPrecondition, match=r"/nowhere/key\.pem"):
        async with serving(settings={"listen": "127.0.0.1:0", "tls": tls}):
            pass


def test_certificate_and_key_are_set_together() -> None:
    with pytest.raises(ValueError, match="together"):
        TlsSettings(cert_file=Path("/x"))
