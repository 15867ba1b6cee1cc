#!/usr/bin/env python3
"""Holds what Autocast makes of every row against PyTorch's torch.autocast, on the row's samples: the dtypes of the results.

    tests/pytorch/compare_casts.py [--build build/release] [--row NAME] [--verbose]

Against autocast of CUDA devices, on tensors without memory, so that no such device has to be there; then against that of the
CPU. Prints a line for each row that differs and a verdict; exits 0, 1 if a row differs or has a rule and no call that both take,
77 without PyTorch.
"""

import argparse
import collections
import json
import logging
import mmap
import pathlib
import subprocess
import sys
import tempfile
import warnings

from compare_rows import ROOT, Call, torch
from functions import called, function_of
from torch._subclasses import FakeTensorMode

PAGE = ROOT / "docs/amp.md"


def by_row(reasons):
    return {row: reason for reason, rows in reasons.items() for row in rows.split()}


# Where our rules differ from PyTorch's lists for CUDA devices, and why.
CUDA_DIFFERS = by_row({
    "CUDA devices compute none of them in 16 bits; the CPU's list has them in float32":
        "linalg_cholesky linalg_solve_triangular cholesky_solve cholesky_inverse linalg_lu_factor lu_unpack linalg_solve linalg_det "
        "linalg_matrix_exp linalg_qr linalg_eigh linalg_eigvalsh linalg_eig linalg_eigvals linalg_svd linalg_svdvals",
    "powers of a matrix lose as much as solving does": "linalg_matrix_power",
    "CUDA devices refuse two dtypes; the CPU's list has the wider one": "index_copy",
    "torch.cross is on the list, torch.linalg.cross is not": "cross",
    "each mode as the others, which are on the list": "interpolate",
    "it promotes its arguments": "normal",
    "PyTorch gives an input without elements back": "local_response_norm",
    "along a dimension in the middle PyTorch composes it, and its norm is float32": "weight_norm",
})
# Rows with a rule that no call compares there: PyTorch refuses the first, and asks for a driver by the second.
CUDA_UNCOMPARED = {"binary_cross_entropy", "ctc_loss"}
# Where PyTorch's autocast of the CPU differs from that of CUDA devices, which we follow on every device.
CPU_DIFFERS = by_row({
    "float32 for CUDA devices, and not on the CPU's list":
        "acos asin cosh sinh tan erfinv exp expm1 log log10 log1p log2 reciprocal rsqrt pow softplus square cosine_similarity "
        "cumprod cumsum logsumexp norm normalize pairwise_distance pdist sum softmax log_softmax softmin layer_norm rms_norm "
        "native_rms_norm group_norm interpolate local_response_norm lp_pool1d lp_pool2d",
    "the lower dtype for CUDA devices, and not on the CPU's list": "addr addmv mv convolution lstm gru",
    "the lower dtype for CUDA devices, and by its products on the CPU": "einsum",
    "the widest for CUDA devices, and by their products on the CPU": "inner tensordot",
    "the widest for CUDA devices, and promoted by the CPU, where a number in a tensor is no more than a number":
        "addcmul addcdiv atan2 normal",
    "float32 for the CPU alone": "trace avg_pool avg_pool3d max_pool3d adaptive_avg_pool3d adaptive_max_pool3d "
        "adaptive_max_pool_with_indices max_unpool1d max_unpool2d max_unpool3d pad",
    "float32 for the CPU, the widest for CUDA devices": "grid_sample",
    "float32, where the CPU's list has the rows that PyTorch composes them of":
        "linalg_lu_factor lu_unpack linalg_det linalg_matrix_power linalg_matrix_exp linalg_matrix_norm linalg_pinv",
    "PyTorch's is a product in 16 bits there": "affine_grid",
})
# Rows whose function in functions.py is made of several of PyTorch's.
COMPOSED = set(
    "native_attention native_layer_norm native_batch_norm mean_variance_normalization linalg_adjugate linalg_lstsq".split())


class Peer:
    """One of PyTorch's autocasts."""

    def __init__(self, device, differs):
        self.device, self.differs, self.compared, self.wrong = device, differs, collections.Counter(), {}
        self.as_said = set()

    def dtypes(self, call, schema, elements):
        """None if PyTorch refuses the call."""
        made = Call(call, schema, elements)
        try:
            if self.device == "cpu":
                with torch.no_grad(), torch.autocast("cpu", torch.bfloat16):
                    return dtypes_of(called(made.name, schema, detached(made.named)))
            with FakeTensorMode(allow_non_fake_inputs=True), torch.no_grad():
                named = moved(made.named, self.device)
                torch.set_autocast_enabled(self.device, True)
                torch.set_autocast_dtype(self.device, torch.bfloat16)
                return dtypes_of(called(made.name, schema, named))
        except Exception:
            return None
        finally:
            torch.set_autocast_enabled("cuda", False)

    def judge(self, call, schema, rule, elements):
        theirs = self.dtypes(call, schema, elements)
        if theirs is None:
            return
        name = call["row"]
        self.compared[name] += 1
        where = f"{name} ({call['recipe']}, {call['dtype']})"
        if "error" in call and rule == "none":
            return  # as without autocast: of two dtypes together, mostly
        if "error" in call:
            self.note(name, f"{where}: refused: {call['error']}")
        elif (ours := call["dtypes"][: len(theirs)]) != theirs[: len(ours)]:
            self.note(name, f"{where}: {', '.join(map(str, ours))} instead of {', '.join(map(str, theirs))}")

    def note(self, name, problem):
        if name in self.differs:
            self.as_said.add(name)
        else:
            self.wrong.setdefault(name, []).append(problem)

    def report(self, verbose):
        for name in self.differs.keys() - self.as_said:
            self.wrong.setdefault(name, [f"{name}: differs no more; take it from the list"])
        for problems in self.wrong.values():
            for problem in problems if verbose else problems[:1]:
                print(f"{self.device}: {problem}{'' if verbose or len(problems) == 1 else f' (and {len(problems) - 1} more)'}")
        print(f"pytorch: autocast of {self.device}: {len(self.compared)} rows on {sum(self.compared.values())} calls, "
              f"{len(self.differs)} differ as docs/amp.md says, {len(self.wrong)} otherwise")
        return bool(self.wrong)


def detached(named):
    return {name: each(value, torch.Tensor.detach) for name, value in named.items()}


def moved(named, device):
    """Tensors alike, without memory."""
    alike = lambda one: torch.empty(one.shape, dtype=one.dtype, device=device)
    return {name: each(value, alike) for name, value in named.items()}


def each(value, change):
    if isinstance(value, list):
        return [each(one, change) for one in value]
    return change(value) if isinstance(value, torch.Tensor) else value


def dtypes_of(results):
    results = [results] if isinstance(results, torch.Tensor) else list(results)
    return [None if one is None else str(one.dtype).removeprefix("torch.") for one in results]


def read_calls(file):
    """Yields (call, schema, rule, elements)."""
    binary = open(f"{file}.bin", "rb")
    elements = mmap.mmap(binary.fileno(), 0, access=mmap.ACCESS_COPY)
    schema = rule = None
    for line in open(f"{file}.json"):
        call = json.loads(line)
        if "schema" in call:
            schema, rule = call["schema"], call["cast"]
        else:
            yield call, schema, rule, elements


def is_told(peers):
    """Does docs/amp.md name every row that differs?"""
    page = PAGE.read_text()
    missing = [name for peer in peers for name in peer.differs if f"`{name}`" not in page]
    if missing:
        print(f"docs/amp.md does not say that these rows differ: {', '.join(missing)}")
    return not missing


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release")
    parser.add_argument("--row", help="this one alone")
    parser.add_argument("--verbose", action="store_true", help="every call that differs, not the first of a row")
    options = parser.parse_args()
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder, "casts")
        subprocess.run([options.build / "tests/write_casts", file], check=True)
        sys.exit(judge(file, options))


def judge(file, options):
    peers, ruled = [Peer("cuda", CUDA_DIFFERS), Peer("cpu", CPU_DIFFERS)], set()
    for call, schema, rule, elements in read_calls(file):
        if call["row"] in COMPOSED or function_of(call["row"]) is None or (options.row and call["row"] != options.row):
            continue
        if rule != "none":
            ruled.add(call["row"])
        for peer in peers:
            peer.judge(call, schema, rule, elements)
    cuda = peers[0].compared
    uncompared = sorted(name for name in ruled if not cuda[name] and name not in CUDA_UNCOMPARED)
    if uncompared:
        print(f"no call that PyTorch takes of rows that have a rule: {', '.join(uncompared)}")
    bad = [peer.report(options.verbose) for peer in peers]
    return 1 if any(bad) or uncompared or not is_told(peers) else 0


if __name__ == "__main__":
    main()
