"""Functions, masks, packed sequences and whole models beside PyTorch's."""

import pytest

torch = pytest.importorskip("torch")
import backplane as bp  # noqa: E402
import torch.nn as tnn  # noqa: E402
import torch.nn.functional as TF  # noqa: E402
from backplane import nn  # noqa: E402
from backplane.nn import functional as F  # noqa: E402
from test_nn_layers import assert_same, classes, map_tensors, over, positive, r, run_both, tensors_of  # noqa: E402

CASES = [
    ("linear", lambda: (r(2, 4), r(3, 4), r(3)), {}),
    ("bilinear", lambda: (r(2, 4), r(2, 3), r(5, 4, 3)), {}),
    ("conv1d", lambda: (r(2, 4, 7), r(6, 2, 3), r(6), 1, "same", 2, 2), {}),
    ("conv2d", lambda: (r(2, 4, 7, 8), r(6, 4, 3, 2)), dict(stride=(2, 1), padding=(1, 0))),
    ("conv2d", lambda: (r(2, 4, 7, 8), r(6, 4, 4, 2)), dict(padding="same")),
    ("conv3d", lambda: (r(4, 5, 6, 7), r(6, 4, 2, 2, 2)), dict(padding="valid")),
    ("conv_transpose2d", lambda: (r(2, 4, 5, 6), r(4, 3, 3, 3), r(6)), dict(stride=2, groups=2, output_padding=1)),
    ("pad", lambda: (r(2, 3, 4), (1, 2, -1, 0)), {}),
    ("pad", lambda: (r(2, 3, 4), (1, 2)), dict(mode="reflect")),
    ("pad", lambda: (r(2, 3, 4), (1, 2), "constant", 3.0), {}),
    ("unfold", lambda: (r(2, 3, 5, 6), (2, 3)), dict(padding=1)),
    ("fold", lambda: (r(2, 12, 20), (5, 6), (2, 2)), {}),
    ("normalize", lambda: (r(3, 4),), dict(p=1.0, dim=0)),
    ("cosine_similarity", lambda: (r(3, 4), r(3, 4)), dict(dim=0)),
    ("pairwise_distance", lambda: (r(3, 4), r(3, 4), 1.0), {}),
    ("pdist", lambda: (r(4, 3),), {}),
    ("one_hot", lambda: (classes(4, 3),), dict(num_classes=5)),
    ("softmax", lambda: (r(3, 4), 1), {}),
    ("softmax", lambda: (r(3, 4).float(), 1), dict(dtype=(torch.float64, bp.float64))),
    ("log_softmax", lambda: (r(3, 4),), dict(dim=0)),
    ("softmin", lambda: (r(3, 4), -1), {}),
    ("rrelu", lambda: (r(9),), {}),
    ("celu", lambda: (r(9), 0.5), {}),
    ("gelu", lambda: (r(9),), dict(approximate="tanh")),
    ("glu", lambda: (r(4, 3),), dict(dim=0)),
    ("prelu", lambda: (r(2, 3), r(3)), {}),
    ("embedding", lambda: (classes(5, 3), r(5, 2)), dict(padding_idx=1)),
    ("embedding", lambda: (classes(5, 3), r(5, 2)), dict(scale_grad_by_freq=True)),
    ("embedding_bag", lambda: (classes(5, 3, 2), r(5, 2)), dict(mode="sum", per_sample_weights=lambda: r(3, 2))),
    ("layer_norm", lambda: (r(3, 4), (4,), r(4), r(4)), {}),
    ("rms_norm", lambda: (r(3, 4), (4,), r(4), 1e-3), {}),
    ("group_norm", lambda: (r(3, 4, 2), 2, r(4), r(4)), {}),
    ("batch_norm", lambda: (r(3, 4), r(4), positive(4), r(4), r(4)), {}),
    ("batch_norm", lambda: (r(3, 4), None, None), dict(training=True)),
    ("instance_norm", lambda: (r(3, 4, 5),), {}),
    ("local_response_norm", lambda: (r(3, 4, 5), 3), {}),
    ("max_pool2d", lambda: (r(2, 5, 6), 2), dict(return_indices=True)),
    ("max_pool1d_with_indices", lambda: (r(2, 5, 6), 2, 1, 1), {}),
    ("avg_pool2d", lambda: (r(2, 3, 5, 6), (2, 3)), dict(stride=(2, 1), divisor_override=4)),
    ("lp_pool2d", lambda: (positive(2, 3, 5, 6), 3.0, 2), {}),
    ("adaptive_avg_pool2d", lambda: (r(2, 3, 5, 6), (None, 2)), {}),
    ("adaptive_max_pool2d", lambda: (r(2, 3, 5, 6), 2), dict(return_indices=True)),
    ("affine_grid", lambda: (r(2, 2, 3), (2, 3, 4, 5)), dict(align_corners=True)),
    ("grid_sample", lambda: (r(2, 3, 4, 5), r(2, 3, 3, 2) * 0.5), dict(align_corners=False, padding_mode="border")),
    ("pixel_shuffle", lambda: (r(8, 3, 3), 2), {}),
    ("interpolate", lambda: (r(1, 2, 5, 6),), dict(size=3, mode="area")),
    ("interpolate", lambda: (r(1, 2, 7, 9),), dict(size=(3, 4), mode="bilinear", antialias=True)),
    ("interpolate", lambda: (r(1, 2, 7, 9),), dict(scale_factor=0.45, mode="bilinear", antialias=True)),
    ("interpolate", lambda: (r(1, 2, 7, 9),), dict(size=(3, 20), mode="bicubic", antialias=True, align_corners=False)),
    ("interpolate", lambda: (r(1, 2, 7, 9),), dict(size=(3, 4), mode="bilinear", antialias=True, align_corners=True)),
    ("scaled_dot_product_attention", lambda: (r(2, 3, 4, 8), r(2, 3, 5, 8), r(2, 3, 5, 6)), {}),
    (
        "scaled_dot_product_attention",
        lambda: (r(2, 3, 4, 8), r(2, 3, 4, 8), r(2, 3, 4, 8)),
        dict(is_causal=True, scale=0.3),
    ),
    ("mse_loss", lambda: (r(3, 4), r(3, 4)), dict(weight=lambda: positive(3, 4))),
    ("l1_loss", lambda: (r(3, 4), r(3, 4)), dict(weight=lambda: positive(3, 4), reduction="sum")),
    ("huber_loss", lambda: (r(3, 4), r(3, 4)), dict(weight=lambda: positive(3, 4), reduction="none")),
    ("gaussian_nll_loss", lambda: (r(3, 4), r(3, 4), 0.5), {}),
    ("linear_cross_entropy", lambda: (r(5, 4), r(3, 2, 4), classes(3, 5, 2)), dict(linear_bias=lambda: r(3, 2))),
    ("triplet_margin_with_distance_loss", lambda: (r(3, 4), r(3, 4), r(3, 4)), dict(swap=True)),
]


@pytest.mark.parametrize("name, arguments, options", CASES, ids=[f"{name}-{i}" for i, (name, *_) in enumerate(CASES)])
def test_function(name, arguments, options):
    torch.manual_seed(1)
    args = arguments()
    drawn = {k: v() if callable(v) else v for k, v in options.items()}
    grad = lambda x: x.clone().requires_grad_() if x.is_floating_point() else x.clone()  # noqa: E731
    plain = name in ("batch_norm", "instance_norm")  # their running statistics take no part
    their_args = tuple(map_tensors(torch.clone if plain else grad, a) for a in args)
    our_args = tuple(
        map_tensors(lambda x: over(x).requires_grad_() if x.is_floating_point() and not plain else over(x), a)
        for a in args
    )
    theirs = getattr(TF, name)(*their_args, **{k: v[0] if k == "dtype" else v for k, v in drawn.items()})
    ours = getattr(F, name)(*our_args, **{k: v[1] if k == "dtype" else map_tensors(over, v) for k, v in drawn.items()})
    assert len(tensors_of(ours)) == len(tensors_of(theirs))
    for a, b in zip(tensors_of(ours), tensors_of(theirs)):
        assert_same(a, b, name)
    first = tensors_of(theirs)[0]
    if first.requires_grad:
        weight = torch.randn_like(first)
        first.backward(weight)
        tensors_of(ours)[0].backward(over(weight))
        for i, (a, b) in enumerate(zip(our_args, their_args)):
            if isinstance(b, torch.Tensor) and b.grad is not None:
                assert_same(a.grad, b.grad, f"{name}: gradient {i}", 1e-11)


def test_every_function_of_pytorch_is_here_or_named():
    absent = {
        "conv_tbc",
        "native_channel_shuffle",
        "scaled_mm",
        "scaled_grouped_mm",
        "grouped_mm",
        "scaled_addmm",
        "scaled_addmm_",
        "assert_int_or_pair",
        "boolean_dispatch",
        "handle_torch_function",
        "has_torch_function",
        "has_torch_function_unary",
        "has_torch_function_variadic",
    }
    theirs = {name for name in dir(TF) if not name.startswith("_") and name.islower() and callable(getattr(TF, name))}
    assert {name for name in theirs - absent if not hasattr(F, name)} == set()


def test_every_module_of_pytorch_is_here_or_named():
    # Containers of old, what runs on several devices, what PyTorch's own module computes otherwise than it says, and
    # options of a kernel that is not here.
    absent = {"Container", "DataParallel", "CrossMapLRN2d", "LinearCrossEntropyOptions"}
    theirs = {name for name in dir(tnn) if isinstance(getattr(tnn, name), type)}
    assert {name for name in theirs - absent if not hasattr(nn, name)} == set()


@pytest.mark.parametrize("need_weights", [True, False])
@pytest.mark.parametrize("average", [True, False])
@pytest.mark.parametrize("masks", ["none", "bool", "float", "each head", "padding", "both", "causal"])
def test_masks_of_attention(masks, average, need_weights):
    torch.manual_seed(2)
    theirs = tnn.MultiheadAttention(8, 2, batch_first=True).double()
    ours = nn.MultiheadAttention(8, 2, batch_first=True, dtype=bp.float64)
    ours.load_state_dict(theirs.state_dict())
    options = dict(need_weights=need_weights, average_attn_weights=average)
    hidden = torch.tensor([[False, True, False, False]] * 3)
    if masks in ("bool", "both"):
        options["attn_mask"] = hidden
    if masks == "float":
        options["attn_mask"] = r(3, 4)
    if masks == "each head":
        options["attn_mask"] = r(4, 3, 4)
    if masks in ("padding", "both"):
        options["key_padding_mask"] = torch.tensor([[False, False, False, True], [False, False, True, True]])
    query, key = r(2, 3, 8), r(2, 4, 8)
    if masks == "causal":
        query = key = r(2, 4, 8)
        options.update(attn_mask=torch.ones(4, 4).triu(1).bool(), is_causal=True)
    theirs_out = theirs(query, key, key, **options)
    ours_out = ours(*(over(x) for x in (query, key, key)), **{k: map_tensors(over, v) for k, v in options.items()})
    assert_same(ours_out[0], theirs_out[0], "output")
    if need_weights:
        assert_same(ours_out[1], theirs_out[1], "weights")
    else:
        assert ours_out[1] is None


@pytest.mark.parametrize("norm_first", [True, False])
def test_masks_of_the_transformer(norm_first):
    torch.manual_seed(3)
    options = dict(
        d_model=8,
        nhead=2,
        num_encoder_layers=2,
        num_decoder_layers=2,
        dim_feedforward=12,
        dropout=0.0,
        batch_first=True,
        norm_first=norm_first,
    )
    theirs, ours = tnn.Transformer(**options).double(), nn.Transformer(**options, dtype=bp.float64)
    ours.load_state_dict(theirs.state_dict())
    mask = tnn.Transformer.generate_square_subsequent_mask(4, dtype=torch.float64)
    assert_same(nn.Transformer.generate_square_subsequent_mask(4, dtype=bp.float64), mask, "mask")
    padding = torch.tensor([[False] * 5, [False] * 3 + [True] * 2])
    given = dict(tgt_mask=mask, src_key_padding_mask=padding, memory_key_padding_mask=padding)
    run_both(ours, theirs, [r(2, 5, 8), r(2, 4, 8)], **given, tgt_is_causal=True)


@pytest.mark.parametrize("enforce_sorted", [True, False])
@pytest.mark.parametrize(
    "options", [{}, {"bidirectional": True, "num_layers": 2}, {"bias": False}, {"proj_size": 2}], ids=str
)
@pytest.mark.parametrize("name", ["RNN", "LSTM", "GRU"])
def test_packed_sequences(name, options, enforce_sorted):
    if "proj_size" in options and name != "LSTM":
        pytest.skip("only an LSTM projects")
    torch.manual_seed(4)
    theirs, ours = getattr(tnn, name)(3, 4, **options).double(), getattr(nn, name)(3, 4, **options, dtype=bp.float64)
    ours.load_state_dict(theirs.state_dict())
    lengths = [5, 3, 3, 1] if enforce_sorted else [3, 5, 1, 3]
    x = r(5, 4, 3)
    a, b = over(x).requires_grad_(), x.clone().requires_grad_()
    their_packed = tnn.utils.rnn.pack_padded_sequence(b, torch.tensor(lengths), enforce_sorted=enforce_sorted)
    our_packed = nn.utils.rnn.pack_padded_sequence(a, bp.tensor(lengths), enforce_sorted=enforce_sorted)
    assert_same(our_packed.data, their_packed.data, "packed")
    assert_same(our_packed.batch_sizes, their_packed.batch_sizes, "batch_sizes")
    theirs_out, ours_out = theirs(their_packed), ours(our_packed)
    for i, (mine, other) in enumerate(zip(tensors_of(ours_out[1]), tensors_of(theirs_out[1]))):
        assert_same(mine, other, f"state {i}")
    padded, their_lengths = tnn.utils.rnn.pad_packed_sequence(theirs_out[0], padding_value=7.0)
    our_padded, our_lengths = nn.utils.rnn.pad_packed_sequence(ours_out[0], padding_value=7.0)
    assert_same(our_padded, padded, "padded")
    assert our_lengths.tolist() == their_lengths.tolist() == lengths
    (padded * padded).sum().backward()
    (our_padded * our_padded).sum().backward()
    assert_same(a.grad, b.grad, "gradient", 1e-11)


def test_ctc_of_logits():
    # PyTorch's derivative takes for granted that the input is log_softmax of something.
    for reduction in ("mean", "sum", "none"):
        x, targets = r(6, 2, 5), torch.randint(1, 5, (2, 3))
        a, b = over(x).requires_grad_(), x.clone().requires_grad_()
        theirs = TF.ctc_loss(b.log_softmax(2), targets, (6, 5), (3, 2), reduction=reduction)
        ours = nn.CTCLoss(reduction=reduction)(F.log_softmax(a, 2), over(targets), (6, 5), (3, 2))
        assert_same(ours, theirs, reduction)
        theirs.sum().backward()
        ours.sum().backward()
        assert_same(a.grad, b.grad, reduction, 1e-11)


def test_begins_as_pytorch_does():
    """Means and deviations of 20,000 numbers and more."""
    pairs = [
        ("Linear", (200, 300)),
        ("Conv2d", (20, 50, 5)),
        ("ConvTranspose2d", (20, 50, 5)),
        ("Embedding", (200, 100)),
        ("LSTM", (60, 80)),
        ("GRUCell", (60, 80)),
        ("MultiheadAttention", (120, 4)),
        ("Bilinear", (30, 30, 30)),
        ("EmbeddingBag", (200, 100)),
    ]
    for name, args in pairs:
        theirs, ours = getattr(tnn, name)(*args), getattr(nn, name)(*args)
        for (path, a), (_, b) in zip(ours.named_parameters(), theirs.named_parameters()):
            if b.numel() < 1000:
                continue
            assert abs(a.std().item() - b.std().item()) < 0.05 * b.std().item(), (name, path)
            assert abs(a.max().item() - b.max().item()) < (0.1 if b.max() < 2 else 2), (name, path)


@pytest.mark.parametrize(
    "name, args",
    [
        ("xavier_uniform_", ()),
        ("xavier_normal_", (2.0,)),
        ("kaiming_uniform_", (0.1, "fan_out")),
        ("kaiming_normal_", (0, "fan_in", "relu")),
        ("trunc_normal_", (0.0, 0.5, -0.7, 0.3)),
        ("uniform_", (-1.0, 3.0)),
        ("normal_", (1.0, 2.0)),
        ("orthogonal_", (2.0,)),
        ("sparse_", (0.3,)),
    ],
)
def test_initialization(name, args):
    theirs = getattr(tnn.init, name)(torch.empty(150, 200), *args)
    ours = getattr(nn.init, name)(bp.empty(150, 200), *args)
    ours = torch.from_dlpack(ours)
    assert abs(ours.mean() - theirs.mean()) < 0.05 * theirs.std() + 1e-6
    assert abs(ours.std() - theirs.std()) < 0.03 * theirs.std()
    assert (ours == 0).sum() == (theirs == 0).sum()
    if name == "orthogonal_":
        torch.testing.assert_close(ours @ ours.T, 4 * torch.eye(150), atol=1e-4, rtol=1e-4)


def test_eye_and_dirac():
    assert_same(nn.init.eye_(bp.empty(3, 4)), tnn.init.eye_(torch.empty(3, 4)), "eye_")
    for shape, groups in (((4, 2, 3), 1), ((6, 3, 2, 3), 2), ((2, 4, 3, 3, 2), 2)):
        assert_same(nn.init.dirac_(bp.empty(shape), groups), tnn.init.dirac_(torch.empty(shape), groups), "dirac_")


def test_clipping():
    torch.manual_seed(5)
    theirs = tnn.Linear(4, 3).double()
    ours = nn.Linear(4, 3, dtype=bp.float64)
    for norm_type in (2.0, 1.0, float("inf"), 3.0):
        for max_norm in (0.1, 100.0):
            for a, b in zip(ours.parameters(), theirs.parameters()):
                b.grad = torch.randn_like(b)
                a.grad = over(b.grad)
            total = tnn.utils.clip_grad_norm_(theirs.parameters(), max_norm, norm_type)
            assert_same(nn.utils.clip_grad_norm_(ours.parameters(), max_norm, norm_type), total, "norm")
            for a, b in zip(ours.parameters(), theirs.parameters()):
                assert_same(a.grad, b.grad, "clipped")
    tnn.utils.clip_grad_value_(theirs.parameters(), 0.01), nn.utils.clip_grad_value_(ours.parameters(), 0.01)
    for a, b in zip(ours.parameters(), theirs.parameters()):
        assert_same(a.grad, b.grad, "clipped")


def test_hooks_see_what_pytorchs_see():
    def run(library, framework, tensor):
        seen = []
        model = library.Sequential(library.Linear(3, 4), library.Tanh(), library.Linear(4, 2)).double()
        model.load_state_dict(state)
        for path, module in model.named_modules():
            module.register_forward_pre_hook(lambda m, args, path=path: seen.append((path, "pre", args)))
            module.register_forward_hook(lambda m, args, out, path=path: seen.append((path, "post", args, out)))
            module.register_full_backward_pre_hook(lambda m, grads, path=path: seen.append((path, "back pre", grads)))
            module.register_full_backward_hook(lambda m, by, of, path=path: seen.append((path, "back", by, of)))
        model[1].register_full_backward_hook(lambda m, by, of: (by[0] * 2,))
        x = tensor(data).requires_grad_()
        model(x).sum().backward()
        return seen, x.grad

    data = r(5, 3)
    state = tnn.Sequential(tnn.Linear(3, 4), tnn.Tanh(), tnn.Linear(4, 2)).double().state_dict()
    theirs, their_grad = run(tnn, torch, torch.clone)
    ours, our_grad = run(nn, bp, over)
    assert_same(our_grad, their_grad, "gradient")
    assert [each[:2] for each in ours] == [each[:2] for each in theirs]
    for a, b in zip(ours, theirs):
        for i, (mine, other) in enumerate(zip(tensors_of(a[2:]), tensors_of(b[2:]))):
            assert_same(mine, other, f"{a[:2]} {i}")


def test_checkpoints_go_both_ways(tmp_path):
    theirs = tnn.Sequential(tnn.Conv2d(3, 4, 3), tnn.BatchNorm2d(4), tnn.Flatten(), tnn.Linear(16, 2)).bfloat16()
    ours = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.Flatten(), nn.Linear(16, 2)).bfloat16()
    assert repr(ours.load_state_dict(theirs.state_dict())) == "<All keys matched successfully>"
    for key, value in theirs.state_dict().items():
        assert torch.equal(torch.from_dlpack(ours.state_dict()[key]), value)
    theirs.load_state_dict({key: torch.from_dlpack(value) for key, value in ours.state_dict().items()})
