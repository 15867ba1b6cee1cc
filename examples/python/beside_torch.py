"""Layers of PyTorch and a layer on a plugin's device in one network, trained by PyTorch: beside_torch.py [DEVICE]"""

import sys

import backplane as bp
import torch

device = sys.argv[1] if len(sys.argv) > 1 else "reference:0"
host = bp.zeros(1, device="cpu").device


def lend(tensor):
    """A tensor of PyTorch's, on the device: over the same memory where the device is the processor."""
    return bp.from_dlpack(tensor.detach().contiguous()).to(device)


def give_back(tensor):
    return torch.from_dlpack(tensor.detach().to(host))


class OnDevice(torch.autograd.Function):
    """Calls a function of Backplane's on tensors of PyTorch's, which asks it for the derivatives as well."""

    @staticmethod
    def forward(ctx, function, *inputs):
        ctx.inputs = [lend(x).requires_grad_() for x in inputs]
        ctx.output = function(*ctx.inputs)
        return give_back(ctx.output)

    @staticmethod
    def backward(ctx, gradient):
        return None, *map(give_back, bp.grad(ctx.output, ctx.inputs, lend(gradient)))


def attention(q, k, v):
    return bp.scaled_dot_product_attention(q, k, v)


x = torch.arange(6.0)
shared = bp.from_dlpack(x)
shared.mul_(2)
print("PyTorch sees what was written on", shared.device, "into its memory:", x.tolist())

inputs = [torch.randn(2, 4, 5, 8, generator=torch.Generator().manual_seed(i), requires_grad=True) for i in range(3)]
both = OnDevice.apply(attention, *inputs), torch.nn.functional.scaled_dot_product_attention(*inputs)
slopes = [torch.autograd.grad(y.square().sum(), inputs) for y in both]
differences = [(a - b).abs().max().item() for a, b in zip([both[0], *slopes[0]], [both[1], *slopes[1]])]
print(f"attention and its derivatives on {device} and by PyTorch differ by {max(differences):.1e}")

torch.manual_seed(1)
before, after = torch.nn.Linear(8, 24), torch.nn.Linear(8, 1)
sequences = torch.randn(64, 5, 8)
wanted = sequences.amax(dim=(1, 2)).unsqueeze(-1)  # the largest number of a sequence
optimizer = torch.optim.Adam([*before.parameters(), *after.parameters()], lr=0.02)
for step in range(61):
    seen = OnDevice.apply(attention, *before(sequences).chunk(3, -1))
    loss = torch.nn.functional.mse_loss(after(seen.mean(1)), wanted)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 20 == 0:
        print(f"step {step}: loss {loss.item():.3f}")
