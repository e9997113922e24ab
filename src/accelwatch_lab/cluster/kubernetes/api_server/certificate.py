"""The server's certificate for loopback, its own authority, as kube-apiserver makes one."""

import ssl
import subprocess
from pathlib import Path

from accelwatch.base.errors import AccelwatchError, UnmetError

# A lab does not live for so long.
_DAYS = 30


def context_of(folder: Path) -> ssl.SSLContext:
    """Of `apiserver.crt` and its key in a folder, made where they are not. Raises AccelwatchError."""
    certificate, key = folder / "apiserver.crt", folder / "apiserver.key"
    if not certificate.exists():
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        _make(certificate, key)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    return context


def _make(certificate: Path, key: Path) -> None:
    argv = (
        *(
            "openssl",
            "req",
            "-x509",
            "-nodes",
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:P-256",
        ),
        *("-subj", "/CN=accelwatch-lab", "-days", str(_DAYS)),
        *("-addext", "subjectAltName=IP:127.0.0.1,DNS:localhost"),
        *("-keyout", str(key), "-out", str(certificate)),
    )
    try:
        subprocess.run(argv, check=True, capture_output=True, timeout=60)
    except OSError as error:
        raise UnmetError("openssl is not installed; the API server needs a certificate") from error
    except subprocess.SubprocessError as error:
        raise AccelwatchError(f"openssl made no certificate: {error}") from error
