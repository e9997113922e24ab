"""The device models of the simulator, by vendor: a new one is a module and a row."""

from accelwatch_lab.simulator.models.gpus.amd import mi300x
from accelwatch_lab.simulator.models.gpus.apple import m3_max
from accelwatch_lab.simulator.models.gpus.hygon import k100_ai
from accelwatch_lab.simulator.models.gpus.iluvatar import bi_v150
from accelwatch_lab.simulator.models.gpus.intel import max1550
from accelwatch_lab.simulator.models.gpus.jetson import agx_orin
from accelwatch_lab.simulator.models.gpus.metax import c500
from accelwatch_lab.simulator.models.gpus.mthreads import s5000
from accelwatch_lab.simulator.models.gpus.nvidia import h100
from accelwatch_lab.simulator.models.gpus.thead import zw810e
from accelwatch_lab.simulator.models.host import host
from accelwatch_lab.simulator.models.npus.accel import xdna2
from accelwatch_lab.simulator.models.npus.ascend import ascend_910b
from accelwatch_lab.simulator.models.npus.cambricon import mlu370_x8
from accelwatch_lab.simulator.models.npus.furiosa import rngd
from accelwatch_lab.simulator.models.npus.gaudi import gaudi2
from accelwatch_lab.simulator.models.npus.neuron import trainium1
from accelwatch_lab.simulator.models.npus.qualcomm import ai_100
from accelwatch_lab.simulator.models.npus.rebellions import atom_max
from accelwatch_lab.simulator.models.npus.tenstorrent import p150a
from accelwatch_lab.simulator.models.npus.tpu import v6e
from accelwatch_lab.simulator.models.rows import Model, Plan, plan

__all__ = ["MODELS", "Model", "Plan", "host", "plan"]

MODELS = {
    "nvidia": h100,
    "amd": mi300x,
    "intel": max1550,
    "rebellions": atom_max,
    "furiosa": rngd,
    "tenstorrent": p150a,
    "mthreads": s5000,
    "qualcomm": ai_100,
    "jetson": agx_orin,
    "neuron": trainium1,
    "hygon": k100_ai,
    "metax": c500,
    "habana": gaudi2,
    "iluvatar": bi_v150,
    "ascend": ascend_910b,
    "thead": zw810e,
    "cambricon": mlu370_x8,
    "tpu": v6e,
    "accel": xdna2,
    "apple": m3_max,
}
