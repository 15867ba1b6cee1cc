"""The package's functions on PyTorch's own samples, called as PyTorch's are: bp.NAME(*sample) for each entry of op_db
whose name is here.

BACKPLANE_SAMPLES of each entry, 2 by default and then in float32 and int64 alone. What differs is listed below with its
reason; a call that we refuse and
PyTorch takes must be of a listed entry, or refused because the row is not defined for the dtype.
"""

import itertools
import logging
import os
import random
import warnings

import backplane as bp
import pytest

torch = pytest.importorskip("torch")
logging.disable(logging.WARNING)
warnings.simplefilter("ignore")
db = pytest.importorskip("torch.testing._internal.common_methods_invocations")

SAMPLES = int(os.environ.get("BACKPLANE_SAMPLES", "2"))
DTYPES = (torch.float32, torch.int64, torch.bool, torch.complex64)[: 2 if SAMPLES < 3 else 4]
torch.set_num_threads(1)

RANDOM = """normal multinomial bernoulli rand_like randn_like randint randint_like randn rand empty empty_like empty_strided new_empty new_empty_strided
    nn.functional.dropout nn.functional.dropout1d nn.functional.dropout2d nn.functional.dropout3d
    nn.functional.alpha_dropout nn.functional.feature_alpha_dropout nn.functional.feature_dropout
    nn.functional.rrelu nn.functional.fractional_max_pool2d nn.functional.fractional_max_pool3d
    nn.functional.multi_head_attention_forward nn.functional.scaled_dot_product_attention""".split()
TIES = "kthvalue topk mode sort argsort msort median nanmedian".split()  # which of equal elements comes first
PHASES = (
    "linalg.eig linalg.eigvals linalg.eigh linalg.svd svd linalg.qr qr linalg.lstsq".split()
)  # order and signs are free
ORDER = (
    "where polygamma special.polygamma einsum".split()
)  # a sample's first input is not the function's first argument
OURS = {
    "matrix_exp": "one element of large numbers in float32 differs by 2e-6 of it",
    "logit": "eps above 1/2, where PyTorch leaves open what is clamped",
    "sum_to_size": "bool stays what it is where nothing is summed",
    "T": "an attribute",
    "H": "an attribute",
    "mT": "an attribute",
    "mH": "an attribute",
    **dict.fromkeys(
        "bfloat16 bool double float half int long short cdouble cfloat byte char".split(),
        "a dtype by this name; the method's arguments differ",
    ),
}
REFUSED = {
    **dict.fromkeys(["addmv", "baddbmm", "addmm", "addbmm", "addr"], "alpha and beta of integers must be whole"),
    "cdist": "no choice of an algorithm",
    "stft": "complex input has two sides",
    "istft": "as stft",
    "native_batch_norm": "another row",
    "unique": "slices along a dimension are not compared",
    "linalg.vander": "of a vector",
    "linalg.pinv": "tolerances are numbers",
    "logcumsumexp": "not of complex numbers",
    "nn.functional.linear_cross_entropy": "no options of chunking",
    "nn.functional.multilabel_margin_loss": "not of 0 dimensions",
    "nn.functional.triplet_margin_with_distance_loss": "the sample's distance is a module of PyTorch's",
    "nn.functional.batch_norm": "no channels",
    "nn.functional.embedding": "the sample's input is the weight",
    "nn.functional.embedding_bag": "the sample's input is the weight",
    "nn.functional.grid_sample": "no volumes",
    "nn.functional.alpha_dropout": "not of complex numbers",
    "nn.functional.feature_alpha_dropout": "not of complex numbers",
}
LISTED = {*RANDOM, *TIES, *PHASES, *ORDER, *OURS}
UNDEFINED = ("not defined for", "n must be an int")  # of a dtype; orders of polynomials are numbers here


def ours(value):
    if isinstance(value, torch.Tensor):
        return bp.from_dlpack(value.detach().resolve_conj().resolve_neg().clone())
    if isinstance(value, torch.dtype):
        return getattr(bp, str(value).split(".")[1])
    if isinstance(value, torch.memory_format):
        return str(value).split(".")[1]
    if isinstance(value, torch.device):
        return str(value)
    if isinstance(value, torch.Size):
        return tuple(value)
    if isinstance(value, (list, tuple)):
        return type(value)(map(ours, value))
    return {key: ours(each) for key, each in value.items()} if isinstance(value, dict) else value


def flat(value):
    return [each for item in value for each in flat(item)] if isinstance(value, (list, tuple)) else [value]


def function_named(name):
    found = bp
    for part in name.split("."):
        found = getattr(found, part, None)
    return found if callable(found) else getattr(bp.Tensor, name, None)


def assert_same(found, expected):
    found, expected = flat(found), flat(expected)
    assert len(found) == len(expected)
    for mine, its in zip(found, expected):
        if not isinstance(its, torch.Tensor):
            assert mine == its or its != its
            continue
        mine = torch.from_dlpack(mine.detach())
        assert (mine.shape, mine.dtype) == (its.shape, its.dtype)
        torch.testing.assert_close(mine, its.detach().resolve_conj(), rtol=1e-3, atol=1e-4, equal_nan=True)


ENTRIES = {}
for entry in db.op_db:
    named = not entry.name.startswith(("_", "ops.", "masked.", "signal.", "sparse", "torch.", "jiterator"))
    if named and entry.variant_test_name == "" and function_named(entry.name) and entry.name not in LISTED:
        ENTRIES[entry.name] = entry


def test_enough_entries_are_here():
    assert len(ENTRIES) > 340


@pytest.mark.parametrize("name", ENTRIES)
def test_as_pytorch(name):
    entry, function = ENTRIES[name], function_named(name)
    for dtype in DTYPES:
        if dtype not in entry.dtypes:
            continue
        torch.manual_seed(0)
        random.seed(0)
        try:
            samples = list(itertools.islice(entry.sample_inputs("cpu", dtype), 6 * SAMPLES))
        except Exception:  # some need what is not installed
            continue
        for sample in samples[:: max(1, len(samples) // SAMPLES)]:
            args, keywords = (sample.input, *sample.args), sample.kwargs
            try:
                expected = entry.op(
                    *(each.clone() if isinstance(each, torch.Tensor) else each for each in args), **keywords
                )
            except Exception:
                continue
            try:
                found = function(*map(ours, args), **ours(keywords))
            except (TypeError, ValueError, bp.Error) as error:
                if (
                    name in REFUSED
                    or any(reason in str(error) for reason in UNDEFINED)
                    or dtype != torch.float32
                    and "cast" in str(error)
                ):
                    continue
                raise
            assert_same(found, expected)
