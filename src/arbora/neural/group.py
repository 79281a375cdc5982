"""Processes that sum the gradients of one network, with `torch.distributed`: gloo on CPUs, NCCL on GPUs."""

from __future__ import annotations

import socket
import sys
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, distributed

from arbora.errors import InputError

THIS_MACHINE = "127.0.0.1"


class GradientGroup:
    """One of `size` processes, numbered by `rank`; all must make the same calls in the same order."""

    def __init__(self) -> None:
        self.rank, self.size = 0, 1
        self._store: Any = None

    def open(self) -> tuple[str, int]:
        """Open a port at which the others meet this process; its address."""
        host = own_address()
        listener = socket.socket()
        listener.bind((host, 0))
        listener.listen()
        port = listener.getsockname()[1]
        options: Any = {"is_master": True, "wait_for_workers": False, "master_listen_fd": listener.detach()}
        self._store = distributed.TCPStore(host, port, **options)
        return host, port

    def join(self, rank: int, size: int, host: str, port: int) -> None:
        """Meet the others; returns when all have come."""
        self.rank, self.size = rank, size
        gpus = torch.cuda.device_count() if torch.cuda.is_available() else size
        if host == THIS_MACHINE and size > gpus:
            what = f"expected at most one per GPU of this machine, which has {gpus}, got {size}"
            raise InputError(f"{what}; train with fewer, or on CPUs (-p neural.device=cpu)", field="workers")
        store = self._store or distributed.TCPStore(host, port, is_master=False)
        self.choose_device()
        backend = "cpu:gloo,cuda:nccl" if torch.cuda.is_available() else "gloo"
        distributed.init_process_group(backend, store=store, rank=rank, world_size=size)

    def choose_device(self) -> None:
        """Let processes of one machine use different GPUs, in this thread."""
        if torch.cuda.is_available():
            torch.cuda.set_device(self.rank % torch.cuda.device_count())

    def add(self, tensors: Sequence[Tensor]) -> None:
        """Replace tensors of one type by their sums over all processes. One message for all of them."""
        flat = torch.cat([each.reshape(-1) for each in tensors])
        distributed.all_reduce(flat)
        for each, total in zip(tensors, flat.split([each.numel() for each in tensors]), strict=True):
            each.copy_(total.view_as(each))


def own_address() -> str:
    """The address of this machine in its Ray cluster, or that of this machine for itself."""
    ray: Any = sys.modules.get("ray")
    if ray is not None and ray.is_initialized():
        return str(ray.util.get_node_ip_address())
    return THIS_MACHINE
