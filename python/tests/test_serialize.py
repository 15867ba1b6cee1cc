"""Files of tensors and of states: what is written comes back, and hostile files raise errors with their names."""

import collections
import json
import os
import pickle
import random
import struct
import zipfile

import pytest

import backplane as bp


def equal(a, b):
    return a.tolist() == b.tolist()


def same(a, b):
    if isinstance(a, bp.Tensor):
        return isinstance(b, bp.Tensor) and a.dtype == b.dtype and a.shape == b.shape and equal(a, b)
    if isinstance(a, dict):
        return type(b) is dict and list(a) == list(b) and all(same(a[key], b[key]) for key in a)
    if isinstance(a, (list, tuple)):
        return type(a) is type(b) and len(a) == len(b) and all(map(same, a, b))
    return type(a) is type(b) and (a == b or a != a and b != b)


TREES = [
    {},
    [],
    (),
    None,
    1,
    -2.5,
    float("nan"),
    float("inf"),
    True,
    "text",
    {"a": None},
    {0: {"step": 1.5, "betas": (0.9, 0.999)}, 1: {}},
    {"state": {0: {"m": [1, (2, 3)]}}, "": {"": ()}},
    [(), [()], {3: (1,)}],
    ((1, 2), {5: "x"}),
    {"1": {1: (1,)}},
    {"value": (1,)},
    [{"value": [1]}],
    2**63 - 1,
    -(2**63),
    "\0 \u20ac \U0001f600",
]


@pytest.mark.parametrize("tree", TREES, ids=repr)
def test_a_tree_comes_back(tree, tmp_path):
    bp.save(tree, tmp_path / "state")
    assert same(tree, bp.load(tmp_path / "state"))


@pytest.mark.parametrize(
    "dtype",
    [bp.float32, bp.float64, bp.float16, bp.bfloat16, bp.int64, bp.uint8, bp.bool, bp.complex64, bp.complex128],
    ids=str,
)
@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 0, 3), (2, 3)], ids=str)
def test_tensors_of_each_dtype_come_back(dtype, shape, tmp_path):
    tensor = bp.ones(shape, dtype=dtype)
    bp.save({"t": [tensor, (tensor,)]}, tmp_path / "state")
    back = bp.load(tmp_path / "state")
    assert same({"t": [tensor, (tensor,)]}, back)


def test_random_trees_come_back(tmp_path):
    source = random.Random(1)

    def tree(depth):
        kind = source.randrange(9 if depth < 4 else 5)
        if kind < 5:
            return [
                None,
                source.random(),
                source.randrange(-9, 9),
                "t" * kind,
                bp.full((source.randrange(3),), source.random()),
            ][kind]
        if kind < 7:
            return [list, tuple][kind - 5](tree(depth + 1) for _ in range(source.randrange(4)))
        return {(i if kind == 7 else str(i)): tree(depth + 1) for i in range(source.randrange(4))}

    for _ in range(200):
        made = tree(0)
        bp.save(made, tmp_path / "state")
        assert same(made, bp.load(tmp_path / "state")), made


def test_a_tensor_in_two_places_stays_one(tmp_path):
    one = bp.ones(3)
    bp.save({"a": one, "b": one}, tmp_path / "state")
    back = bp.load(tmp_path / "state", map_location="cpu")
    assert back["a"].shares_storage(back["b"])


def test_parameters_and_views_are_saved_by_values(tmp_path):
    base = bp.arange(12.0).reshape(3, 4)
    leaf = base[:, 1].clone().requires_grad_()
    bp.save({"view": base.T, "leaf": leaf, "recorded": leaf * 2}, tmp_path / "state")
    back = bp.load(tmp_path / "state")
    assert equal(back["view"], base.T) and not back["leaf"].requires_grad and equal(back["recorded"], leaf.detach() * 2)


def test_other_dicts_and_numbers_of_numpy(tmp_path):
    numpy = pytest.importorskip("numpy")
    bp.save(collections.OrderedDict(a=numpy.float32(1.5), b=numpy.int64(3), c=numpy.bool_(True)), tmp_path / "state")
    assert same(bp.load(tmp_path / "state"), {"a": 1.5, "b": 3, "c": True})
    with pytest.raises(TypeError, match="ndarray"):
        bp.save({"a": numpy.zeros(2)}, tmp_path / "state")


@pytest.mark.parametrize(
    "tree, error, words",
    [
        ({"a": [1, object()]}, TypeError, r"\['a'\]\['1'\] is a object"),
        ({"a": {1: 2, "b": 3}}, TypeError, "has the key 'b'"),
        ({True: 1}, TypeError, "True"),
        ({1.5: 1}, TypeError, "1.5"),
        ({b"a": 1}, TypeError, "b'a'"),
        ({"a": 1j}, TypeError, "complex"),
        ({"a": 2**64}, OverflowError, "64"),
        ({"a": 2**63}, OverflowError, "64"),
        ({"\ud800": 1}, ValueError, "surrogate"),
        ("\ud800", ValueError, "surrogate"),
        ({"a": {1, 2}}, TypeError, "set"),
        ({"__python__": 1}, ValueError, "taken"),
        ({"a": lambda: 0}, TypeError, "function"),
    ],
    ids=str,
)
def test_what_no_file_keeps_is_refused(tree, error, words, tmp_path):
    bp.save({"kept": 1}, tmp_path / "state")
    with pytest.raises(error, match=words):
        bp.save(tree, tmp_path / "state")
    assert bp.load(tmp_path / "state") == {"kept": 1} and os.listdir(tmp_path) == ["state"]


def test_endless_and_deep_trees_are_refused(tmp_path):
    endless = []
    endless.append(endless)
    with pytest.raises(ValueError, match="200 deep"):
        bp.save(endless, tmp_path / "state")
    with pytest.raises(ValueError, match="meta"):
        bp.save({"a": bp.zeros(2, device="meta")}, tmp_path / "state")


def test_safetensors(tmp_path):
    tensors = {"a": bp.arange(6.0).reshape(2, 3), "b.c": bp.tensor([True, False]), "empty": bp.zeros(0, 3)}
    path = tmp_path / "model.safetensors"
    bp.save_file(tensors, path, {"format": "bp"})
    for mapped in (False, True):
        assert same(dict(sorted(tensors.items())), dict(sorted(bp.load_file(path, "cpu", mapped=mapped).items())))
        with bp.serialize.safe_open(path, mapped=mapped) as file:
            assert (
                sorted(file.keys()) == sorted(tensors) == sorted(file)
                and len(file) == 3
                and "a" in file
                and "x" not in file
            )
            assert file.metadata() == {"format": "bp"} and file.info("a") == (bp.float32, (2, 3))
            assert equal(file.get_tensor("a"), tensors["a"]) and set(file.get_tensors()) == set(tensors)
            with pytest.raises(ValueError, match="nowhere"):
                file.get_tensor("nowhere")


def test_a_mapped_tensor_may_be_written_and_the_file_stays(tmp_path):
    path = tmp_path / "a.safetensors"
    bp.save_file({"a": bp.zeros(1000)}, path)
    before = path.read_bytes()
    tensor = bp.load_file(path, mapped=True)["a"]
    tensor.add_(1)
    bp.save_file({"a": tensor}, path)
    assert path.read_bytes() != before and bool((tensor == 1).all())


def test_bad_arguments(tmp_path):
    for call in (
        lambda: bp.save_file([], tmp_path / "a"),
        lambda: bp.save_file({"a": 1}, tmp_path / "a"),
        lambda: bp.save_file({1: bp.ones(1)}, tmp_path / "a"),
        lambda: bp.save_file({"a": bp.ones(1)}, 3.5),
        lambda: bp.save_file({}, tmp_path / "a", {"x": 1}),
        lambda: bp.save({}, None),
        lambda: bp.load(None),
        lambda: bp.serialize.safe_open(None),
    ):
        with pytest.raises(TypeError):
            call()
    for call in (bp.load, bp.load_file):
        with pytest.raises(FileNotFoundError):
            call(tmp_path / "nothing")
        with pytest.raises(IsADirectoryError):
            call(tmp_path)
    with pytest.raises(ValueError, match="nothing"):
        bp.serialize.safe_open(tmp_path / "nothing")
    with pytest.raises(ValueError):
        bp.save({}, tmp_path / "no" / "folder")


def test_files_of_tensors_alone_are_named_to_load_file(tmp_path):
    bp.save_file({"a": bp.ones(1)}, tmp_path / "tensors")
    with pytest.raises(ValueError, match="tensors.*load_file"):
        bp.load(tmp_path / "tensors")


def test_damaged_files_raise_errors_with_their_names(tmp_path):
    path = tmp_path / "damaged"
    bp.save({"a": [bp.arange(5), (1, 2)], "b": {1: bp.ones(2, 2)}}, path)
    whole = path.read_bytes()
    source = random.Random(2)
    for round in range(600):
        raw = bytearray(whole)
        if round % 3 == 0:
            raw = raw[: source.randrange(len(raw))]
        else:
            for _ in range(source.randrange(1, 4)):
                raw[source.randrange(len(raw))] = source.randrange(256)
        path.write_bytes(raw)
        try:
            bp.load(path)
        except ValueError as error:
            assert "damaged" in str(error), error


def test_marks_that_fit_nothing(tmp_path):
    path = tmp_path / "marked"
    for marks in (
        1,
        {},
        {"int_keys": [[]], "tuples": [], "is_wrapped": False},
        {"int_keys": [], "tuples": [], "is_wrapped": True},
        {"int_keys": 3, "tuples": [], "is_wrapped": False},
        {"int_keys": [], "tuples": [[[]]], "is_wrapped": False},
    ):
        bp._core._save_state({"a": 1, "__python__": marks}, path)
        with pytest.raises(ValueError, match="marked: its entry __python__"):
            bp.load(path)


class Evil:
    def __reduce__(self):
        return os.system, ("touch /tmp/backplane_was_here",)


def test_a_checkpoint_that_would_run_something_is_refused(tmp_path):
    path = tmp_path / "evil.pt"
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("archive/data.pkl", pickle.dumps({"a": Evil()}, 2))
        file.writestr("archive/version", "3")
    with pytest.raises(ValueError, match="evil.pt.*system"):
        bp.load(path)
    assert not os.path.exists("/tmp/backplane_was_here")


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"P",
        b"PK\x03\x04",
        b"PK\x03\x04" + bytes(100),
        b"\x80\x02l\n.",
        bytes(8),
        struct.pack("<Q", 2**63) + b"{}",
        struct.pack("<Q", 2) + b"{}",
        struct.pack("<Q", 3) + b"[1]",
        struct.pack("<Q", 20) + json.dumps({"a": {"x": 1}}).encode().ljust(20),
    ],
    ids=repr,
)
def test_what_is_no_file_of_ours(raw, tmp_path):
    path = tmp_path / "foreign"
    path.write_bytes(raw)
    with pytest.raises(ValueError, match="foreign"):
        bp.load(path)
    if raw != struct.pack("<Q", 2) + b"{}":
        with pytest.raises(ValueError, match="foreign"):
            bp.load_file(path)
