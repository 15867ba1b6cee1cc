"""The peer's side on a card: PyTorch, eager, doing what bench/cuda/bench_cuda.cpp does under the same names.

Runs in a process of its own that stays for all rounds: `python3 cuda_pytorch.py` reads a line, the name of a group or of one
product or attention, and answers with a line of JSON, {name: [value, unit]}, or {"error": text}.
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
            group = name.partition("_")[0]
            answer = GROUPS[name]() if name in GROUPS else TAKING_TURNS[group](name)
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


def norm():
    x, grad, weight, bias = normal(ROWS, ROW), normal(ROWS, ROW), normal(ROW), normal(ROW)
    aten, sizes = torch.ops.aten, [ROW]
    _, mean, rstd = aten.native_layer_norm(x, sizes, weight, bias, 1e-5)
    figures = {
        "layer_norm_1gib": (2 * GIB / device_ns(lambda: aten.native_layer_norm(x, sizes, weight, bias, 1e-5)), "GB/s"),
        "rms_norm_1gib": (2 * GIB / device_ns(lambda: torch.rms_norm(x, sizes, weight)), "GB/s"),
        "layer_norm_backward_1gib": (3 * GIB / device_ns(lambda: aten.native_layer_norm_backward(
            grad, x, sizes, mean, rstd, weight, bias, [True, True, True])), "GB/s"),
    }
    x.requires_grad_(), weight.requires_grad_()
    with torch.enable_grad():
        result = torch.rms_norm(x, sizes, weight)
    figures["rms_norm_backward_1gib"] = (
        3 * GIB / device_ns(lambda: torch.autograd.grad(result, (x, weight), grad, retain_graph=True)), "GB/s")
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


def attention(only=None):
    query, key, value, gradient = (normal(8, 16, 4096, 128, dtype=torch.bfloat16) for _ in range(4))
    name, attend = "attention_8x16x4096x128_bf16", torch.nn.functional.scaled_dot_product_attention
    figures = {}
    if only in (None, f"{name}_forward"):
        figures[f"{name}_forward"] = (device_ns(lambda: attend(query, key, value)) / 1e3, "us")
    if only in (None, name):
        leaves = [each.requires_grad_() for each in (query, key, value)]

        def both():
            for leaf in leaves:
                leaf.grad = None
            attend(*leaves).backward(gradient)

        with torch.enable_grad():
            figures[name] = (device_ns(both) / 1e3, "us")
    return figures


# From, to, size, kernel, stride, padding: those of bench/peers/resnet_layers.hpp.
LAYERS = [(3, 64, 224, 7, 2, 3), (64, 64, 56, 1, 1, 0), (64, 64, 56, 3, 1, 1), (64, 256, 56, 1, 1, 0), (256, 64, 56, 1, 1, 0),
          (256, 128, 56, 1, 1, 0), (128, 128, 56, 3, 2, 1), (128, 512, 28, 1, 1, 0), (256, 512, 56, 1, 2, 0),
          (512, 128, 28, 1, 1, 0), (128, 128, 28, 3, 1, 1), (512, 256, 28, 1, 1, 0), (256, 256, 28, 3, 2, 1),
          (256, 1024, 14, 1, 1, 0), (512, 1024, 28, 1, 2, 0), (1024, 256, 14, 1, 1, 0), (256, 256, 14, 3, 1, 1),
          (1024, 512, 14, 1, 1, 0), (512, 512, 14, 3, 2, 1), (512, 2048, 7, 1, 1, 0), (1024, 2048, 14, 1, 2, 0),
          (2048, 512, 7, 1, 1, 0), (512, 512, 7, 3, 1, 1)]


def convolution():
    """With the library's first guess, as PyTorch does by itself, and with its own measuring."""
    figures = {}
    for suffix, torch.backends.cudnn.benchmark in (("", False), ("_measured", True)):
        times = {"forward": [], "backward": []}
        for sizes in LAYERS:
            for way, call in layer_calls(*sizes).items():
                times[way].append(device_ns(call, settling_ms=20) / 1e3)
        for way, each in {**times, "": times["forward"] + times["backward"]}.items():
            name = f"convolutions_bf16{'_' + way if way else ''}{suffix}"
            figures[name] = (statistics.geometric_mean(each), "us")
        if not suffix:
            for way, each in times.items():
                for sizes, us in zip(LAYERS, each):
                    figures["conv_{}_{}_{}_k{}_s{}".format(*sizes) + f"_bf16_{way}"] = (us, "us")
    return figures


def layer_calls(channels, to, size, kernel, stride, padding, pictures=32):
    def last(*shape):
        return normal(*shape, dtype=torch.bfloat16).to(memory_format=torch.channels_last)

    result = (size + 2 * padding - kernel) // stride + 1
    a, weight, gradient = (last(pictures, channels, size, size), last(to, channels, kernel, kernel),
                           last(pictures, to, result, result))
    windows = ([stride, stride], [padding, padding], [1, 1], False, [0, 0], 1)
    wanted = [channels != 3, True, False]
    return {"forward": lambda: torch.convolution(a, weight, None, *windows),
            "backward": lambda: torch.ops.aten.convolution_backward(gradient, a, weight, None, *windows, wanted)}


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


GROUPS = {"hello": hello, "memory": memory, "norm": norm, "order": order, "matmul": matmul, "attention": attention,
          "convolution": convolution, "calls": calls, "chain": chain}
TAKING_TURNS = {"matmul": matmul, "attention": attention}

if __name__ == "__main__":
    main()
