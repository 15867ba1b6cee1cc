"""OpInfo's own samples on a device of Backplane's against PyTorch's CPU: which operators are right, and which need the CPU.

    python bridges/torch/tests/opinfo.py --device backplane:0 --dtypes float32 --report report.json
    python bridges/torch/tests/opinfo.py --backward --match softmax

One worker process computes the operators one by one; where it ends or hangs, the operator is at fault and another goes on."""

import argparse
import json
import os
import select
import subprocess
import sys
import time

SKIPPED = {  # results that are random, or not defined, or about something else than values
    "empty", "empty_like", "empty_permuted", "empty_strided", "new_empty", "new_empty_strided", "bernoulli", "cauchy",
    "exponential", "geometric", "log_normal", "multinomial", "normal", "rand_like", "randint", "randint_like", "randn",
    "randn_like", "uniform", "nn.functional.dropout", "nn.functional.dropout2d", "nn.functional.dropout3d",
    "nn.functional.alpha_dropout", "nn.functional.feature_alpha_dropout", "nn.functional.rrelu", "pca_lowrank",
    "svd_lowrank", "nn.functional.fractional_max_pool2d", "nn.functional.fractional_max_pool3d", "randperm", "rand",
    "nn.functional.multi_head_attention_forward", "to_sparse", "sparse.sampled_addmm", "sparse.mm", "resize_",
    "resize_as_", "normal.number_mean",
    # eigenvectors have any phase; PyTorch needs indices of tensor_split on the CPU
    "linalg.eig", "linalg.eigvals", "linalg.eigh", "tensor_split", "torch.ops.aten._flash_attention_forward",
    "torch.ops.aten._efficient_attention_forward", "signal.windows",
}  # fmt: skip
MAX_SAMPLES = 12
# Which of equal elements is named is nobody's promise: their values alone are compared.
TIES = {"sort", "topk", "kthvalue", "mode", "msort", "argsort"}


def close(torch, ours, theirs, dtype, is_norm=False):
    """Raises where they are not. Floating results may differ by `rtol` of each element and `atol` of the largest (of 1 at least): an
    element that is small beside others is held to no more than these, since sums of large terms lose what they lose."""
    from torch.utils import _pytree as tree

    ours, theirs = tree.tree_leaves(ours), tree.tree_leaves(theirs)
    if len(ours) != len(theirs):
        raise AssertionError(f"{len(ours)} results and not {len(theirs)}")
    tolerances = {torch.float32: (1e-4, 5e-5), torch.float64: (1e-7, 1e-8), torch.bfloat16: (2e-2, 2e-2), torch.complex64: (1e-4, 2e-5)}
    for ours_part, theirs_part in zip(ours, theirs):
        if isinstance(theirs_part, torch.Tensor):
            rtol, atol = tolerances.get(theirs_part.dtype, (1e-5, 1e-6))
            if dtype == torch.bfloat16:
                rtol, atol = 3e-2, 3e-2
                if is_norm and ours_part.dtype == torch.float32:  # as CUDA, we keep statistics of norms in it
                    theirs_part = theirs_part.to(torch.float32)
            if theirs_part.is_floating_point() and theirs_part.numel():
                atol *= max(1.0, theirs_part.detach().abs().nan_to_num(0, 0, 0).max().item())
            torch.testing.assert_close(ours_part.detach().cpu(), theirs_part.detach(), rtol=rtol, atol=atol, equal_nan=True)
        elif ours_part != theirs_part and not (ours_part != ours_part and theirs_part != theirs_part):
            raise AssertionError(f"{ours_part} and not {theirs_part}")


def moved(torch, value, device):
    from torch.utils import _pytree as tree

    def move(leaf):
        if isinstance(leaf, torch.Tensor):
            return leaf.detach().to(device).requires_grad_(leaf.requires_grad)
        return torch.device(device) if isinstance(leaf, torch.device) else leaf

    return tree.tree_map(move, value)


def values_of(op, result, arguments):
    """Of an operator of TIES: the values, without their places."""
    if op.name != "argsort":
        return result[0] if isinstance(result, tuple) else result
    values, given, options = arguments
    dim = options.get("dim", given[0] if given and not isinstance(given[0], bool) else -1)
    return values.gather(dim, result) if values.dim() else values


def gradients(torch, result, inputs):
    from torch.utils import _pytree as tree

    outputs = [leaf for leaf in tree.tree_leaves(result) if isinstance(leaf, torch.Tensor) and leaf.requires_grad]
    leaves = [leaf for leaf in tree.tree_leaves(inputs) if isinstance(leaf, torch.Tensor) and leaf.requires_grad]
    if not outputs or not leaves:
        return []
    weights = []
    for number, output in enumerate(outputs):
        made = torch.Generator().manual_seed(number)
        weights.append(torch.randn(output.shape, generator=made, dtype=torch.float64).to(output.dtype).to(output.device))
    found = torch.autograd.grad(outputs, leaves, weights, allow_unused=True)
    return [torch.zeros(()) if gradient is None else gradient for gradient in found]


def try_operator(torch, bridge, op, dtype, device, backward):
    """(samples, wrong samples with their errors, CPU's operators)."""
    wrong, count = [], 0
    bridge.reset_cpu_calls()
    torch.manual_seed(0)
    for sample in op.sample_inputs("cpu", dtype, requires_grad=backward):
        if count == MAX_SAMPLES:
            break
        if sample.kwargs.get("dropout_p"):
            continue
        arguments = (sample.input, sample.args, sample.kwargs)
        try:
            ours_arguments = moved(torch, arguments, device)
            expected = op.op(sample.input, *sample.args, **sample.kwargs)
            if backward:
                expected = gradients(torch, expected, arguments)
        except Exception:  # noqa: BLE001 what PyTorch's CPU does not do is not asked of us
            continue
        count += 1
        try:
            result = op.op(ours_arguments[0], *ours_arguments[1], **ours_arguments[2])
            if backward:
                result = gradients(torch, result, ours_arguments)
            if op.name in TIES and not backward:
                result, expected = values_of(op, result, ours_arguments), values_of(op, expected, arguments)
            close(torch, result, expected, dtype, "norm" in op.name)
        except Exception as error:  # noqa: BLE001
            wrong.append(f"{type(error).__name__}: {str(error)[:300]}")
    return count, wrong, sorted(bridge.cpu_calls())


def worker(options):
    import warnings

    import torch

    import backplane_torch
    from torch.testing._internal.common_methods_invocations import op_db

    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    by_name = {(op.name, op.variant_test_name): op for op in op_db}
    print("ready", flush=True)
    for line in sys.stdin:
        name, variant, dtype_name = json.loads(line)
        op, dtype = by_name[name, variant], getattr(torch, dtype_name)
        answer = {"samples": 0, "wrong": [], "cpu": []}
        known = op.dtypes if not options.backward else (op.backward_dtypes if op.supports_autograd else ())
        if dtype in known:
            answer["samples"], answer["wrong"], answer["cpu"] = try_operator(
                torch, backplane_torch, op, dtype, options.device, options.backward
            )
        print(json.dumps(answer), flush=True)


class Worker:
    def __init__(self, arguments):
        self.process = subprocess.Popen(
            [sys.executable, __file__, "--worker", *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, text=True, bufsize=1,
        )  # fmt: skip
        self.process.stdout.readline()

    def ask(self, question, seconds):
        """The answer, or None if it died or took too long."""
        try:
            self.process.stdin.write(json.dumps(question) + "\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            return None
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            if select.select([self.process.stdout], [], [], 1)[0]:
                line = self.process.stdout.readline()
                return json.loads(line) if line.startswith("{") else None
        self.process.kill()
        return None


def names(match):
    """All operators that are tried: listed in a process of its own, since PyTorch takes seconds."""
    script = (
        "import torch,json\nfrom torch.testing._internal.common_methods_invocations import op_db\n"
        "print(json.dumps([(op.name, op.variant_test_name) for op in op_db]))"
    )
    found = json.loads(subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout)
    kept = [(name, variant) for name, variant in found if name not in SKIPPED and not name.startswith(("signal.", "_refs"))]
    kept = [pair for pair in kept if pair[1] != "partial_views"]  # of a storage that does not come along
    return [pair for pair in kept if match in pair[0]]


def run(options):
    arguments = ["--device", options.device] + (["--backward"] if options.backward else [])
    worker, report = Worker(arguments), {}
    share = [pair for place, pair in enumerate(names(options.match)) if place % options.of == options.part]
    for name, variant in share:
        for dtype in options.dtypes.split(","):
            answer = worker.ask((name, variant, dtype), 60)
            if answer is None:
                answer = {"samples": 1, "wrong": ["the process ended or hung"], "cpu": []}
                worker.process.kill()
                worker = Worker(arguments)
            if answer["samples"]:
                report[f"{name}{'.' if variant else ''}{variant} {dtype}"] = answer
    worker.process.stdin.close()
    worker.process.wait()
    return report


def summary(report):
    tried = {}
    for key, answer in report.items():
        tried.setdefault(key.split()[1], []).append(answer)
    lines = []
    for dtype, answers in tried.items():
        right = [answer for answer in answers if not answer["wrong"]]
        alone = [answer for answer in right if not answer["cpu"]]
        lines.append(f"{dtype}: {len(right)} of {len(answers)} right, {len(alone)} of them without the CPU")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="backplane:0")
    parser.add_argument("--dtypes", default="float32,float64,int64,bool,bfloat16")
    parser.add_argument("--backward", action="store_true")
    parser.add_argument("--match", default="")
    parser.add_argument("--part", type=int, default=0)
    parser.add_argument("--of", type=int, default=1)
    parser.add_argument("--report")
    parser.add_argument("--worker", action="store_true")
    options = parser.parse_args()
    if options.worker:
        return worker(options)
    report = run(options)
    if options.report:
        with open(options.report, "w") as file:
            json.dump(report, file, indent=1)
    for key, answer in report.items():
        if answer["wrong"]:
            print(f"{key}: {answer['wrong'][0].splitlines()[0][:160]}")
    print(summary(report))
    return 0


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    sys.exit(main())
