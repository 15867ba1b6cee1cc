"""What people try first who know NumPy or PyTorch: it works, or says what to write."""

import signal
import subprocess
import sys
import time

import backplane as bp
import numpy as np
import pytest


class Foreign:
    """Another library's tensor, as PyTorch's: an index and a float by name, and neither in truth."""

    def __init__(self, array):
        self.array, self.ndim, self.dtype = array, array.ndim, "foreign.int64"

    def __dlpack__(self, **how):
        return self.array.__dlpack__()

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()

    def __index__(self):
        raise TypeError("only integer tensors of a single element can be converted to an index")

    def __float__(self):
        raise TypeError("only tensors of one element are floats")


@pytest.mark.parametrize("name", ["float16", "float32", "float64", "int8", "uint8", "int32", "int64", "bool", "complex64"])
def test_a_dtype_may_be_numpys(name):
    wanted, dtype = getattr(bp, name), np.dtype(name)
    for given in (dtype, dtype.type, name):
        assert bp.zeros(2, dtype=given).dtype == bp.tensor([1], dtype=given).dtype == wanted
        assert bp.ones(2).to(dtype=given).dtype == wanted


def test_what_is_no_dtype_is_named():
    with pytest.raises(ValueError, match="no type is called 'str_'"):
        bp.zeros(2, dtype=np.str_)
    for wrong in (dict, Foreign, 3, np):
        with pytest.raises(TypeError, match="dtype"):
            bp.zeros(2, dtype=wrong)


@pytest.mark.parametrize("dtype", [bp.uint8, bp.int8, bp.int16, bp.uint16, bp.int32, bp.uint32, bp.int64, bp.uint64])
def test_a_number_that_its_dtype_does_not_hold_is_refused(dtype):
    info = np.iinfo(dtype.name)
    least, most = int(info.min), int(info.max)
    assert bp.tensor([least, most], dtype=dtype).tolist() == [least, most]
    wrong = [[1, float("nan")], [float("inf")], 1e30]
    if info.bits < 64:
        wrong += [most + 1, [0, most + 1], most * 2.0]
    for each in wrong:
        with pytest.raises(ValueError, match="does not hold"):
            bp.tensor(each, dtype=dtype)
    assert bp.tensor([1.5, True, 2], dtype=dtype).tolist() == [1, 1, 2]


def test_another_librarys_tensor_is_an_index_and_no_number():
    x, other = bp.arange(4), Foreign(np.array([2, 0]))
    assert x[other].tolist() == [2, 0]
    x[other] = 9
    assert x.tolist() == [9, 1, 9, 3]
    for call in (lambda: x + other, lambda: other * x, lambda: x.add_(other), lambda: bp.full((2,), other)):
        with pytest.raises(TypeError, match="Foreign"):
            call()


@pytest.mark.parametrize("name", ["array", "cuda", "FloatTensor", "LongTensor", "astype"])
def test_a_name_of_numpy_or_pytorch_says_what_there_is_here(name):
    assert not hasattr(bp, name)
    with pytest.raises(AttributeError, match=f"no attribute '{name}'; .*backplane|x[.]to"):
        getattr(bp, name)


def test_names_complete_before_they_are_imported():
    code = "import backplane; print([n for n in ('nn', 'optim', 'data', 'fft', 'linalg', 'amp') if n not in dir(backplane)])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "[]\n"


@pytest.mark.parametrize("call", [
    "while True: x @ x",
    "while True: (x @ x).requires_grad_().sum().backward()",
    """
from backplane.data import DataLoader
for _ in DataLoader(range(10 ** 7), num_workers=2): pass""",
], ids=["kernel", "backward", "loader"])  # fmt: skip
def test_control_c_ends_it(call):
    code = f"import backplane as bp\nx = bp.ones(400, 400)\nprint('on', flush=True)\n{call}"
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        process.stdout.readline()
        time.sleep(0.7)
        process.send_signal(signal.SIGINT)
        try:
            _, said = process.communicate(timeout=20)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
    assert said.strip().endswith("KeyboardInterrupt") and said.count("Traceback") == 1, said
