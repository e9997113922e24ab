"""A session template of the manager as what an operator could have written himself."""

import uuid

import msgspec

from accelwatch.api_client.backendai.client import BackendAiClient, decoded
from accelwatch.api_client.backendai.errors import BackendAiRefusedError
from accelwatch.base.errors import ConfigError
from accelwatch_backendai.api.specification_files import WrittenSpecification

_NOT_FOUND = 404


class _Run(msgspec.Struct, frozen=True):
    # As text.
    bootstrap: str | None = None


class _Kernel(msgspec.Struct, frozen=True):
    environ: dict[str, str] | None = None
    run: _Run | None = None
    # A repository that is cloned into the session when it begins.
    git: msgspec.Raw = msgspec.Raw(b"null")


class _Spec(msgspec.Struct, frozen=True):
    kernel: _Kernel = _Kernel()
    # Where each folder is mounted; None for its default.
    mounts: dict[str, str | None] | None = None


class _Template(msgspec.Struct, frozen=True):
    spec: _Spec


class _TemplateResponse(msgspec.Struct, frozen=True):
    template: _Template


async def template_specification(client: BackendAiClient, template: str) -> WrittenSpecification:
    """By the template's id. Raises ConfigError for one of no use, and as the client does.

    Image, resources and command are left to the session's own row, which has what was made of them.
    """
    try:
        path = f"/template/session/{uuid.UUID(template)}"
    except ValueError:
        raise ConfigError(f"template: {template} is not the id of a session template") from None
    try:
        body = await client.get(path, {"format": "json"})
    except BackendAiRefusedError as error:
        if error.status == _NOT_FOUND:
            raise ConfigError(
                f"template: the manager has no session template {template}"
            ) from error
        raise
    if body.strip() == b"{}":  # so it says that there is none
        raise ConfigError(f"template: the manager has no session template {template}")
    spec = decoded(body, _TemplateResponse).template.spec
    if bytes(spec.kernel.git) != b"null":
        raise ConfigError(
            f"template: session template {template} clones a repository, which a request to create a "
            "session cannot say; name a file instead"
        )
    run = spec.kernel.run or _Run()
    paths = {folder: path for folder, path in (spec.mounts or {}).items() if path}
    return WrittenSpecification(
        bootstrap_script=run.bootstrap,
        environ=spec.kernel.environ,
        mounts=list(spec.mounts) if spec.mounts else None,
        mount_map=paths or None,
    )
