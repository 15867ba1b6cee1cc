"""What devices this machine has, the same work on each, and who did it."""

import backplane as bp

results = {}
for device in bp.devices():
    with device:  # new tensors are made here
        bp.manual_seed(3)
        x = bp.randn(64, 32)
    bp.reset_call_counts()
    results[str(device)] = (x.softmax(-1) @ x.T).sum().item()
    rungs = {}
    for row in bp.call_counts():
        for rung in ("native", "generated", "decomposed", "host"):
            rungs[rung] = rungs.get(rung, 0) + row[rung]
    print(f"{str(device):24} {results[str(device)]:10.4f}  ", ", ".join(f"{n} {rung}" for rung, n in rungs.items() if n))
spread = max(results.values()) - min(results.values())
print(f"{len(results)} devices agree to {spread:.1e}")
