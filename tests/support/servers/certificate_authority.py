"""A certificate authority for tests of TLS."""

import datetime
import ipaddress
import ssl
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


class Authority:
    """A certificate authority in a folder; its certificates are for 127.0.0.1 and given names."""

    def __init__(self, folder: Path, name: str = "test authority") -> None:
        self.folder = folder
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        certificate = self._build(self._name, self._key, ca=True, names=[])
        self.file = folder / "ca.crt"
        self.file.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))

    def issue(
        self, stem: str, *names: str, loopback: bool = True, ended_days: float = -1
    ) -> tuple[Path, Path]:
        """Certificate and key files for the names; it ended so many days ago, or will in as many."""
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, stem)])
        certificate = self._build(
            subject, key, ca=False, names=list(names), loopback=loopback, ended_days=ended_days
        )
        paths = self.folder / f"{stem}.crt", self.folder / f"{stem}.key"
        paths[0].write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
        paths[1].write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.PKCS8,
                serialization.NoEncryption(),
            )
        )
        return paths

    def _build(
        self,
        subject: x509.Name,
        key: ec.EllipticCurvePrivateKey,
        *,
        ca: bool,
        names: list[str],
        loopback: bool = True,
        ended_days: float = -1,
    ) -> x509.Certificate:
        end = datetime.datetime.now(datetime.UTC) - datetime.timedelta(days=ended_days)
        alternatives: list[x509.GeneralName] = [x509.DNSName(name) for name in names]
        if loopback:
            alternatives.append(x509.IPAddress(ipaddress.ip_address("127.0.0.1")))
        builder = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(end - datetime.timedelta(days=2))
            .not_valid_after(end)
            .add_extension(x509.BasicConstraints(ca=ca, path_length=None), critical=True)
            .add_extension(x509.SubjectAlternativeName(alternatives), critical=False)
        )
        return builder.sign(self._key, hashes.SHA256())

    def client(self, pair: tuple[Path, Path] | None = None) -> ssl.SSLContext:
        """A client that trusts the authority, with a certificate of its own if given."""
        context = ssl.create_default_context(cafile=str(self.file))
        if pair is not None:
            context.load_cert_chain(*pair)
        return context
