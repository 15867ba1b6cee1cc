"""What PyTorch offers and Backplane's devices lack answers with a sentence that says what to do."""

import pytest
import torch

WHERE = "backplane:0"
DENSE = r"Backplane's devices have no sparse tensors; use dense ones there \(to_dense\(\)\), or keep this one on the CPU"
MADE = {
    "made sparse there": lambda: torch.eye(3, device=WHERE).to_sparse(),
    "made sparse there, by rows": lambda: torch.eye(3, device=WHERE).to_sparse_csr()._nnz(),
    "brought there": lambda: torch.eye(3).to_sparse().to(WHERE),
    "brought there, by rows": lambda: torch.eye(3).to_sparse_csr().to(WHERE)._nnz(),
    "made of indices": lambda: torch.sparse_coo_tensor([[0]], [1.0], (2,), device=WHERE),
}


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("make", MADE.values(), ids=MADE.keys())
def test_sparse_tensors(make):
    with pytest.raises(NotImplementedError, match=DENSE):
        make()


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_quantized_tensors():
    with pytest.raises(NotImplementedError, match="Backplane's devices have no quantized tensors; use integers with a scale"):
        torch.quantize_per_tensor(torch.ones(3, device=WHERE), 0.1, 0, torch.qint8)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_nested_tensors():
    with pytest.raises(NotImplementedError, match="Backplane's devices have no nested tensors; pad the parts to one shape"):
        torch.nested.nested_tensor([torch.ones(2), torch.ones(3)], device=WHERE).unbind()


def test_named_tensors():
    """PyTorch itself has taken them away; where it has them, they are tensors of our devices with names."""
    if hasattr(torch.Tensor, "refine_names"):
        assert torch.ones(2, 3, device=WHERE).refine_names("a", "b").names == ("a", "b")
    else:
        with pytest.raises(TypeError, match="unexpected keyword argument 'names'"):
            torch.ones(2, 3, names=("a", "b"), device=WHERE)


def test_inductor_names_the_way_out():
    x = torch.ones(3, device=WHERE)
    with pytest.raises(Exception, match=r'Inductor generates no code for backplane:0; write torch.compile\(model, backend="aot_eager"\)'):
        torch.compile(lambda value: value * 2 + 1)(x)
    assert torch.compile(lambda value: value * 2 + 1, backend="aot_eager")(x).cpu().tolist() == [3, 3, 3]


def test_inductor_serves_the_cpu_as_before():
    called = []
    import torch._inductor.compile_fx as inductor

    original = inductor.compile_fx
    inductor.compile_fx = lambda model, inputs, **options: called.append(model) or model.forward
    try:
        assert torch.compile(lambda value: value * 2)(torch.ones(2)).tolist() == [2, 2]
    finally:
        inductor.compile_fx = original
    assert called
