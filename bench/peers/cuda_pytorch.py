"""The peer's side on a card: PyTorch, eager, doing what bench/cuda/bench_cuda.cpp does under the same names.

Runs in a process of its own that stays for all rounds: `python3 cuda_pytorch.py` reads a line, the name of a group or of a
product, and answers with a line of JSON, {name: [value, unit]}, or {"error": text}.
"""

import json
import statistics
import sys
import time

import torch

DEVICE = "cuda"
ELEMENTS, ROW = 1 << 28, 4096
ROWS = ELEMENTS // ROW
GIB = ELEMENTS * 4.0


def main():
    torch.set_grad_enabled(False)
    for line in sys.stdin:
        name = line.strip()
        try:
            answer = matmul(name) if name.startswith("matmul_") else GROUPS[name]()
        except Exception as error:  # an answer must come, or the other side waits
            answer = {"error": f"{name}: {error}".splitlines()[0]}
        torch.cuda.empty_cache()
        print(json.dumps(answer), flush=True)


def device_ns(call, samples=15, least_ms=4, most_calls=512, settling_ms=300):
    """As bench::device_ns."""
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))

    def sample_ms(count):
        start.record()
        for _ in range(count):
            call()
        end.record()
        end.synchronize()
        return start.elapsed_time(end)

    for _ in range(3):
        call()
    torch.cuda.synchronize()
    count = 1
    while count < most_calls and sample_ms(count) < least_ms:
        count *= 2
    spent = 0
    while spent < settling_ms:
        spent += sample_ms(count)
    return statistics.median(sample_ms(count) * 1e6 / count for _ in range(samples))


def host_us(call, samples=25, count=400):
    """As bench::host_ns, in microseconds."""
    def sample():
        begin = time.perf_counter()
        for _ in range(count):
            call()
        taken = (time.perf_counter() - begin) / count * 1e6
        torch.cuda.synchronize()
        return taken

    sample()
    return statistics.median(sample() for _ in range(samples))


def normal(*shape, dtype=torch.float32):
    return torch.randn(shape, device=DEVICE).to(dtype)


def memory():
    figures = {}

    def rate(name, num_bytes, call):
        figures[name] = (num_bytes / device_ns(call), "GB/s")

    x, y = normal(ROWS, ROW), normal(ROWS, ROW)
    to = torch.empty_like(x)
    rate("memcpy_1gib", 2 * GIB, lambda: to.copy_(x))
    del to
    rate("copy_1gib", 2 * GIB, lambda: x.clone())
    rate("add_1gib", 3 * GIB, lambda: torch.add(x, y))
    rate("tanh_1gib", 2 * GIB, lambda: torch.tanh(x))
    rate("sum_all_1gib", GIB, lambda: torch.sum(x))
    rate("sum_rows_1gib", GIB, lambda: torch.sum(x, -1))
    rate("sum_columns_1gib", GIB, lambda: torch.sum(x, 0))
    rate("softmax_1gib", 2 * GIB, lambda: torch.softmax(x, -1))
    rate("cast_1gib", 1.5 * GIB, lambda: x.to(torch.float16))
    square = x.view(16384, 16384)
    rate("transpose_1gib", 2 * GIB, lambda: square.t().contiguous())
    upper, lower = x[:ROWS // 2], y[:ROWS // 2]
    rate("cat_1gib", 2 * GIB, lambda: torch.cat((upper, lower), 0))
    index = torch.randint(0, ROW, (ROWS, ROW), device=DEVICE)
    rate("gather_1gib", 4 * GIB, lambda: torch.gather(x, 1, index))
    return figures


def order():
    line, lines = normal(1 << 24), normal(16384, 1024)
    mask = line > 1.0
    calls = {
        "sort_16m": lambda: torch.sort(line, dim=0, stable=True),
        "sort_rows_1024": lambda: torch.sort(lines, dim=1, stable=True),
        "cumsum_16m": lambda: torch.cumsum(line, 0),
        "cumsum_rows_1024": lambda: torch.cumsum(lines, 1),
        "nonzero_16m": lambda: torch.nonzero(mask),
    }
    return {name: ((1 << 24) / device_ns(call), "Gelem/s") for name, call in calls.items()}


def matmul(only=None):
    figures = {}

    def product(name, make):
        if only not in (None, name):
            return
        x, y = make()
        batch = x.shape[0] if x.dim() == 3 else 1
        flop = 2.0 * batch * x.shape[-2] * x.shape[-1] * y.shape[-1]
        figures[name] = (flop / device_ns(lambda: torch.matmul(x, y)) / 1e3, "TFLOP/s")

    def products_of(dtype, name):
        def factors(x, y):
            return normal(*x, dtype=dtype), normal(*y, dtype=dtype)

        def turned(x, y, which):
            pair = list(factors(x, y))
            pair[which] = pair[which].transpose(-1, -2)
            return pair

        for size in (1024, 2048, 4096, 8192):
            product(f"matmul_{name}_{size}", lambda: factors((size, size), (size, size)))
        product(f"matmul_{name}_batched", lambda: factors((64, 1024, 1024), (64, 1024, 1024)))
        product(f"matmul_{name}_heads", lambda: turned((192, 64, 512), (192, 64, 512), 0))
        product(f"matmul_{name}_skinny", lambda: factors((16, 8192), (8192, 8192)))
        product(f"matmul_{name}_skinny_transposed", lambda: turned((16, 8192), (8192, 8192), 1))
        product(f"matmul_{name}_vector", lambda: factors((1, 8192), (8192, 8192)))

    torch.backends.cuda.matmul.allow_tf32 = False
    products_of(torch.bfloat16, "bf16")
    products_of(torch.float16, "f16")
    product("matmul_f32_4096", lambda: (normal(4096, 4096), normal(4096, 4096)))
    torch.backends.cuda.matmul.allow_tf32 = True
    products_of(torch.float32, "tf32")
    return figures


def calls():
    x, y, out = (torch.ones(1, device=DEVICE) for _ in range(3))
    left, right = normal(64, 64), normal(64, 64)
    return {
        "add_1_element": (host_us(lambda: torch.add(x, y)), "us"),
        "add_out_1_element": (host_us(lambda: torch.add(x, y, out=out)), "us"),
        "matmul_64": (host_us(lambda: torch.matmul(left, right)), "us"),
        "replay_of_100": (replay_us(x, y, out), "us"),
    }


def replay_us(x, y, out, operators=100, replays=20):
    graph = torch.cuda.CUDAGraph()
    torch.cuda.synchronize()
    with torch.cuda.graph(graph):
        for _ in range(operators // 2):
            torch.add(x, y, out=out)
            torch.mul(out, y, out=out)

    def sample():
        begin = time.perf_counter()
        for _ in range(replays):
            graph.replay()
        torch.cuda.synchronize()
        return (time.perf_counter() - begin) / (operators * replays) * 1e6

    sample()
    return statistics.median(sample() for _ in range(9))


def chain():
    x = normal(ROWS, ROW)

    def five():
        return (torch.relu(x * 2.0 + 1.0) - x) * x

    return {"chain_of_5_1gib": (2 * GIB / device_ns(five), "GB/s")}


def hello():
    """What is measured on: for the person who reads the table."""
    return {"name": (f"PyTorch {torch.__version__}, {torch.cuda.get_device_name()}", "")}


GROUPS = {"hello": hello, "memory": memory, "order": order, "matmul": matmul, "calls": calls, "chain": chain}

if __name__ == "__main__":
    main()
