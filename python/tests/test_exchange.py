"""Memory shared with NumPy, and DLPack's protocol."""

import gc
import weakref

import backplane as bp
import numpy as np
import pytest

DTYPES = "float32 float64 float16 int64 int32 int16 int8 uint8 uint16 uint32 uint64 bool complex64 complex128".split()


@pytest.mark.parametrize("dtype", DTYPES)
def test_memory_is_shared_both_ways(dtype):
    array = np.zeros((3, 4), dtype=dtype)
    x = bp.from_dlpack(array)
    assert x.dtype.name == dtype and x.shape == (3, 4)
    array[1, 2] = 1
    assert x[1, 2].item() == 1
    x[0, 0] = 1
    back = x.numpy()
    assert array[0, 0] == 1 and back.dtype == array.dtype and np.shares_memory(array, back)
    assert np.shares_memory(np.from_dlpack(bp.from_numpy(array)), array)


@pytest.mark.parametrize(
    "view",
    [
        lambda a: a.T,
        lambda a: a[::2],
        lambda a: a[:, 1],
        lambda a: a[1:1],
        lambda a: a[1, 1:2],
        lambda a: a[None, ..., None],
        lambda a: a[:, 1:3],
        lambda a: a.reshape(2, 2, 5),
    ],
    ids=range(8),
)
def test_strides_are_kept(view):
    array = view(np.arange(20.0).reshape(4, 5))
    x = bp.from_dlpack(array)
    assert x.tolist() == array.tolist() and x.numpy().tolist() == array.tolist() and np.asarray(x).shape == array.shape
    assert array.size == 0 or np.shares_memory(array, x.numpy())


def test_what_is_not_shared():
    read_only = np.ones(3)
    read_only.flags.writeable = False
    with pytest.raises((ValueError, BufferError)):
        bp.from_dlpack(read_only)
    with pytest.raises((ValueError, BufferError)):
        bp.from_numpy(read_only)
    assert bp.from_dlpack(read_only, accept_read_only=True).tolist() == [1, 1, 1]
    own = bp.from_dlpack(read_only, copy=True)
    own[0] = 5
    assert (
        read_only[0] == 1
        and bp.tensor(read_only).tolist() == [1, 1, 1]
        and bp.as_tensor(read_only).tolist() == [1, 1, 1]
    )
    with pytest.raises((ValueError, BufferError)):
        bp.from_dlpack(np.ones(3)[::-1])
    for wrong in (3, None, "a", [1.0], object(), np.float32):
        with pytest.raises((TypeError, AttributeError)):
            bp.from_dlpack(wrong)
    with pytest.raises(TypeError):
        bp.from_numpy([1.0])
    for dtype in ("O", "U1", "M8[s]"):
        with pytest.raises((TypeError, ValueError, BufferError)):
            bp.from_dlpack(np.zeros(2, dtype=dtype))


def test_numpy_does_not_have_all():
    for dtype in (bp.bfloat16, bp.float8_e5m2):
        with pytest.raises(TypeError, match="NumPy has no"):
            bp.ones(2).to(dtype).numpy()
    x = bp.ones(2, requires_grad=True)
    with pytest.raises(TypeError, match="detach"):
        x.numpy()
    with pytest.raises(TypeError, match="detach"):
        np.asarray(x)
    assert x.detach().numpy().tolist() == x.numpy(force=True).tolist() == [1, 1]
    with bp.no_grad():
        assert np.asarray(x).tolist() == [1, 1]
    assert np.asarray(bp.ones(2), dtype=np.float64).dtype == np.float64
    assert np.array(bp.ones(2, 2)).shape == (2, 2) and np.stack([bp.ones(2), bp.zeros(2)]).tolist() == [[1, 1], [0, 0]]


def test_memory_lives_as_long_as_either_side():
    class Array(np.ndarray):
        pass

    array = np.ones(1000).view(Array)
    gone = weakref.ref(array)
    x = bp.from_dlpack(array)
    del array
    gc.collect()
    assert gone() is not None and x.sum().item() == 1000
    view = x[10:]
    del x
    gc.collect()
    assert gone() is not None and view[0].item() == 1
    del view
    gc.collect()
    assert gone() is None
    back = (bp.ones(1000) * 2).numpy()
    gc.collect()
    assert back.sum() == 2000


class Consumer:
    """Notes what it is asked for, and gives a capsule of its own."""

    def __init__(self, tensor, **refuses):
        self.tensor, self.asked, self.refuses = tensor, [], refuses

    def __dlpack__(self, **options):
        self.asked.append(options)
        if self.refuses and options:
            raise TypeError("older than the versioned form")
        return self.tensor.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.tensor.__dlpack_device__()


def test_the_protocol():
    x = bp.arange(4)
    new, old = Consumer(x), Consumer(x, all=True)
    assert bp.from_dlpack(new).shares_storage(x) and bp.from_dlpack(old).shares_storage(x)
    assert new.asked == [{"max_version": (1, 0)}] and old.asked == [{"max_version": (1, 0)}, {}]
    assert x.__dlpack_device__() == (1, 0)
    for options in (
        {},
        {"max_version": None},
        {"max_version": (0, 8)},
        {"stream": None},
        {"copy": None, "dl_device": None},
    ):
        assert "dltensor_versioned" not in repr(x.__dlpack__(**options)) and bp.from_dlpack(
            x.__dlpack__(**options)
        ).shares_storage(x)
    for options in ({"max_version": (1, 0)}, {"max_version": (9, 1), "dl_device": (1, 0), "copy": False, "stream": -1}):
        assert "dltensor_versioned" in repr(x.__dlpack__(**options)) and bp.from_dlpack(
            x.__dlpack__(**options)
        ).shares_storage(x)
    copied = bp.from_dlpack(x.__dlpack__(max_version=(1, 0), copy=True))
    assert not copied.shares_storage(x) and copied.tolist() == x.tolist()
    for options in ({"dl_device": (2, 0)}, {"dl_device": (77, 0)}):
        with pytest.raises(BufferError):
            x.__dlpack__(**options)
    for options in (
        {"max_version": 1},
        {"max_version": ("a", 1)},
        {"nothing": 1},
        {"dl_device": (1,)},
        {"stream": "a"},
    ):
        with pytest.raises(TypeError):
            x.__dlpack__(**options)
    with pytest.raises(TypeError):
        x.__dlpack__(None)
    for tensor in (bp.ones(2, requires_grad=True), bp.empty(2, device="meta")):
        with pytest.raises(BufferError):
            tensor.__dlpack__()


def test_capsules_are_taken_once():
    capsule = bp.ones(3).__dlpack__(max_version=(1, 0))
    assert bp.from_dlpack(capsule).tolist() == [1, 1, 1]
    with pytest.raises(TypeError, match="taken"):
        bp.from_dlpack(capsule)
    unused = [bp.ones(3).__dlpack__(max_version=(1, 0)), bp.ones(3).__dlpack__()]
    del unused

    class Raising:
        def __dlpack__(self, **options):
            raise KeyError("no")

        def __dlpack_device__(self):
            return (1, 0)

    with pytest.raises(KeyError):
        bp.from_dlpack(Raising())


def test_where_it_shall_be():
    array = np.ones(2, dtype=np.float32)
    assert bp.from_dlpack(array, device="meta").is_meta and not bp.from_dlpack(array, device="cpu").is_meta
    with pytest.raises(ValueError):
        bp.from_dlpack(array, device="meta", copy=False)
    with pytest.raises(TypeError):
        bp.from_dlpack(array, device=3)


def test_buffers():
    assert bp.frombuffer(b"\0\0\x80?\0\0\0@", dtype=bp.float32).tolist() == [1, 2]
    assert bp.frombuffer(bytearray(range(8)), dtype=bp.uint8, count=2, offset=3).tolist() == [3, 4]
    with pytest.raises(ValueError):
        bp.frombuffer(b"abc", dtype=bp.int64, count=2)
    with pytest.raises(TypeError):
        bp.frombuffer(3, dtype=bp.int8)
