"""A model's pretrained encoder and span scores as ONNX graphs, for ONNX Runtime here and for servers elsewhere.

from nearspan.integrations.onnx import export

export(model)                                    # into runs/mine/onnx
model = nearspan.load("runs/mine", runtime="onnx")
"""

from nearspan.integrations.onnx.export import export
from nearspan.integrations.onnx.runtime import use_onnx

__all__ = ["export", "use_onnx"]
