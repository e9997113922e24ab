"""How a server is checked, and which certificate it is shown."""

import ssl

from accelwatch.base.errors import ConfigError
from accelwatch.system.files.file_rights import check_not_open


def tls_context(
    base: str, ca_file: str, cert_file: str = "", key_file: str = ""
) -> ssl.SSLContext | None:
    """For the server at a URL; None for plain http. Raises ConfigError.

    `ca_file` names the authorities by which it is checked, empty the system's.
    """
    if not base.startswith("https:"):
        return None
    check_not_open(ca_file, cert_file, key_file)
    try:
        context = ssl.create_default_context(cafile=ca_file or None)
    except (OSError, ssl.SSLError) as error:
        raise ConfigError(f"ca_file: {ca_file}: no certificates can be read from it") from error
    if cert_file:
        try:
            context.load_cert_chain(cert_file, key_file, password=_no_password)
        except (OSError, ssl.SSLError, ValueError) as error:
            raise ConfigError(
                f"cert_file: {cert_file}: not a certificate with the key of {key_file}"
            ) from error
    return context


def _no_password() -> str:
    raise ValueError("the key is encrypted, which is not supported")
