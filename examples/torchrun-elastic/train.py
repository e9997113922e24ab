"""A small model in DDP over gloo, with checkpoints: what the example trains."""

import argparse
import os
import time
from pathlib import Path

import torch
import torch.distributed as dist
from checkpoints import newest, save
from torch import nn
from torch.nn.parallel import DistributedDataParallel


def main() -> None:
    """Train until all steps are done; every start goes on from the newest checkpoint."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--checkpoints", type=Path, required=True)
    parser.add_argument("--steps", type=int, default=1_000_000)
    parser.add_argument("--checkpoint-every", type=int, default=10)
    parser.add_argument("--step-seconds", type=float, default=0.05)
    options = parser.parse_args()
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(0)
    model = nn.Linear(16, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    # The first rank says which checkpoint is the newest: two that look by themselves may disagree.
    choice: list[Path | None] = [newest(options.checkpoints) if rank == 0 else None]
    dist.broadcast_object_list(choice, src=0)
    first = 1
    if choice[0] is not None:
        state = torch.load(choice[0], weights_only=True)
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        first = state["step"] + 1
    nodes = os.environ["GROUP_WORLD_SIZE"]
    print(f"training: rank {rank}, nodes {nodes}, after step {first - 1}", flush=True)
    parallel = DistributedDataParallel(model)
    for step in range(first, options.steps + 1):
        inputs = torch.randn(32, 16, generator=torch.Generator().manual_seed(step * world + rank))
        loss = (parallel(inputs) - inputs.sum(dim=1, keepdim=True)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        time.sleep(options.step_seconds)
        if rank == 0 and step % options.checkpoint_every == 0:
            state = {
                "step": step,
                "model": model.state_dict(),
                "optimizer": optimizer.state_dict(),
            }
            save(options.checkpoints, step, lambda file, state=state: torch.save(state, file))
            print(f"training: step {step}, loss {loss.item():.6f}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
