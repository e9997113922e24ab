"""The device models of the simulator, by vendor: a new one is a module and a row."""

from accelwatch_lab.simulator.models.accel import xdna2
from accelwatch_lab.simulator.models.amd import mi300x
from accelwatch_lab.simulator.models.apple import m3_max
from accelwatch_lab.simulator.models.ascend import ascend_910b
from accelwatch_lab.simulator.models.cambricon import mlu370_x8
from accelwatch_lab.simulator.models.furiosa import rngd
from accelwatch_lab.simulator.models.gaudi import gaudi2
from accelwatch_lab.simulator.models.host import host
from accelwatch_lab.simulator.models.hygon import k100_ai
from accelwatch_lab.simulator.models.iluvatar import bi_v150
from accelwatch_lab.simulator.models.intel import max1550
from accelwatch_lab.simulator.models.jetson import agx_orin
from accelwatch_lab.simulator.models.metax import c500
from accelwatch_lab.simulator.models.mthreads import s5000
from accelwatch_lab.simulator.models.neuron import trainium1
from accelwatch_lab.simulator.models.nvidia import h100
from accelwatch_lab.simulator.models.qualcomm import ai_100
from accelwatch_lab.simulator.models.rebellions import atom_max
from accelwatch_lab.simulator.models.rows import Model, Plan, plan
from accelwatch_lab.simulator.models.tenstorrent import p150a
from accelwatch_lab.simulator.models.thead import zw810e
from accelwatch_lab.simulator.models.tpu import v6e

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
