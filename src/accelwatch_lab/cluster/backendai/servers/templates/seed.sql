-- What the fixtures lack: an image, for rows of images come from a registry, and limits that are wide
-- enough for sessions over several nodes.
INSERT INTO images (name, project, image, tag, registry, registry_id, architecture, config_digest,
  size_bytes, is_local, type, accelerators, labels, resources, status)
SELECT 'cr.backend.ai/stable/python:3.9-ubuntu20.04', 'stable', 'stable/python', '3.9-ubuntu20.04',
  'cr.backend.ai', id, 'x86_64',
  'sha256:0000000000000000000000000000000000000000000000000000000000000000', 1000000, false, 'COMPUTE',
  'cuda,*',
  '{"ai.backend.kernelspec": "1", "ai.backend.role": "COMPUTE",
    "ai.backend.features": "batch query uid-match", "ai.backend.base-distro": "ubuntu20.04",
    "ai.backend.runtime-type": "python", "ai.backend.runtime-path": "/usr/bin/python",
    "ai.backend.resource.min.cpu": "1", "ai.backend.resource.min.mem": "64m",
    "ai.backend.accelerators": "cuda", "ai.backend.service-ports": ""}',
  '{"cpu": {"min": "1", "max": null}, "mem": {"min": "67108864", "max": null},
    "cuda.device": {"min": "0", "max": null}}', 'ALIVE'
FROM container_registries WHERE registry_name = 'cr.backend.ai' AND project = 'stable';
UPDATE keypair_resource_policies SET max_containers_per_session = 64, max_concurrent_sessions = 1000;
