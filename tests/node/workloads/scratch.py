"""What Backend.AI's agent and Docker keep of a session's kernel, on a made-up node."""

import json

from node.workloads.fake_node import FakeNode

SESSION = "5a0e0000-0000-4000-8000-000000000007"
KERNEL = "5a0e0000-0000-4000-8000-000000000008"
USER = "5a0e0000-0000-4000-8000-000000000009"
PROJECT = "5a0e0000-0000-4000-8000-00000000000a"
SCRATCHES = "var/lib/backend.ai/scratches"
# What must never be seen anywhere.
SECRETS = {"BACKENDAI_ACCESS_KEY": "AKIAHUSH", "BACKENDAI_USER_EMAIL": "hush@example.com"}
VARIABLES = {
    "BACKENDAI_USER_UUID": USER,
    "BACKENDAI_USER_NAME": "ada",
    "BACKENDAI_SESSION_ID": SESSION,
    "BACKENDAI_SESSION_NAME": "pretraining",
    "BACKENDAI_KERNEL_ID": KERNEL,
    **SECRETS,
}


def kernel(
    node: FakeNode,
    shares: str,
    *,
    kernel_id: str = KERNEL,
    container: str = "",
    root: str = SCRATCHES,
    **variables: str,
) -> None:
    """The scratch folder of a kernel, as 26.9 writes it."""
    known = {**VARIABLES, "BACKENDAI_KERNEL_ID": kernel_id, **variables}
    folder = f"{root}/{kernel_id}/config"
    text = 'SCRATCH_SIZE=0m\nMOUNTS=\nSLOTS={"cpu":"8","mem":"17179869184"}\nUNIFIED_DEVICES=[]\n'
    text += f"CPU_SHARES=0:1,1:1\nMEM_SHARES=root:16g\n{shares}\n"
    text += f"CID={container}\n" if container else ""
    node.file(f"{folder}/resource.txt", text)
    node.file(
        f"{folder}/environ.txt", "".join(f"{name}={value}\n" for name, value in known.items())
    )


def docker(node: FakeNode, container: str, **labels: str) -> None:
    """Docker's file of a session's container."""
    own = {
        "ai.backend.agent-id": "i-gpu1",
        "ai.backend.kernel-id": KERNEL,
        "ai.backend.session-id": SESSION,
        "ai.backend.owner": "i-gpu1",
        "ai.backend.owner-user-id": USER,
        "ai.backend.owner-project-id": PROJECT,
        "ai.backend.customized-image.user.email": "hush@example.com",
    }
    config = {
        "Name": f"/kernel.python.{KERNEL}",
        "Config": {
            "Env": [f"{name}={value}" for name, value in VARIABLES.items()],
            "Labels": {**own, **labels},
        },
    }
    node.file(f"var/lib/docker/containers/{container}/config.v2.json", json.dumps(config))
