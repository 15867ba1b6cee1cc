"""A small training loop on one device, as a maker's first try of PyTorch: python3 -m backplane_torch.train acme:0 [STEPS]."""

import sys

import torch

import backplane_torch


def train(device, steps):
    """The loss at each step of a net that learns which points of a plane lie in a circle."""
    torch.manual_seed(0)
    points = torch.randn(256, 2)
    inside = (points.square().sum(1) < 1).long()
    points, inside = points.to(device), inside.to(device)
    net = torch.nn.Sequential(torch.nn.Linear(2, 32), torch.nn.ReLU(), torch.nn.Linear(32, 2)).to(device)
    optimizer = torch.optim.AdamW(net.parameters(), lr=0.02)
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(net(points), inside)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def main():
    arguments = sys.argv[1:]
    if not 1 <= len(arguments) <= 2 or not all(each.isdecimal() and int(each) > 0 for each in arguments[1:]):
        sys.exit("usage: python3 -m backplane_torch.train DEVICE [STEPS], for example acme:0 60")
    name, steps = arguments[0], int(arguments[1]) if len(arguments) == 2 else 60
    names = backplane_torch.devices()
    if name not in names:
        sys.exit(f"PyTorch sees no {name} but {', '.join(names)}; set BACKPLANE_PLUGIN_PATH to the folder of its library")
    losses = train(torch.device("backplane", names.index(name)), steps)
    print(f"{name} in PyTorch: loss {losses[0]:.3f} -> {losses[-1]:.3f} in {steps} steps")
    print("by PyTorch's CPU:", backplane_torch.cpu_calls() or "nothing")
    print(backplane_torch.calls())  # which operators the device's own kernels served


if __name__ == "__main__":
    main()
