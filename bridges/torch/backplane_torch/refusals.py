"""What PyTorch cannot do on these devices, said before it fails somewhere inside."""

import torch


def refuse_inductor():
    """`torch.compile` without a backend generates code, which Inductor does for devices that it knows."""
    wrapper = getattr(torch, "_TorchCompileInductorWrapper", None)
    if wrapper is None:
        return
    compile_graph = wrapper.__call__

    def refuse(self, model, inputs):
        for each in inputs:
            if isinstance(each, torch.Tensor) and each.device.type == "backplane":
                raise RuntimeError(
                    f"torch.compile: Inductor generates no code for {each.device}; write torch.compile(model, backend=\"aot_eager\"), "
                    "which takes the derivatives apart and calls the operators one by one"
                )
        return compile_graph(self, model, inputs)

    wrapper.__call__ = refuse
