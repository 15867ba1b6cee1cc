"""Datasets, samplers, and samples made into batches."""

import collections

import pytest

import backplane as bp

data = bp.data


class Squares(data.Dataset):
    def __init__(self, count=20):
        self.count = count

    def __getitem__(self, index):
        return bp.tensor([float(index), index**2.0]), index

    def __len__(self):
        return self.count


class Stream(data.IterableDataset):
    def __init__(self, count):
        self.count = count

    def __iter__(self):
        info = data.get_worker_info()
        yield from range(info.id if info else 0, self.count, info.num_workers if info else 1)


# --- Datasets ---------------------------------------------------------------------------------------------------------


def test_datasets():
    pair = data.TensorDataset(bp.arange(5), bp.arange(10).reshape(5, 2))
    assert len(pair) == 5 and pair[3][0].item() == 3 and pair[3][1].tolist() == [6, 7]
    both = Squares(3) + Squares(4)
    assert len(both) == 7 and [both[i][1] for i in range(7)] == [0, 1, 2, 0, 1, 2, 3] and both[-1][1] == 3
    for bad in (7, -8):
        with pytest.raises(IndexError):
            both[bad]
    part = data.Subset(Squares(), [5, 7])
    assert len(part) == 2 and part[1][1] == 7 and part.__getitems__([1, 0])[0][1] == 7
    assert list(Stream(3) + Stream(2)) == [0, 1, 2, 0, 1]
    assert data.StackDataset(range(3), range(3, 6))[1] == (1, 4) and data.StackDataset(a=range(3))[2] == {"a": 2}
    for call, error in [
        (lambda: data.TensorDataset(bp.ones(2), bp.ones(3)), ValueError),
        (lambda: data.TensorDataset(), ValueError),
        (lambda: data.TensorDataset([1]), TypeError),
        (lambda: data.ConcatDataset([]), ValueError),
        (lambda: data.ConcatDataset([Stream(1)]), TypeError),
        (lambda: data.StackDataset(range(2), range(3)), ValueError),
    ]:
        with pytest.raises(error):
            call()


def test_random_split():
    bp.manual_seed(1)
    parts = data.random_split(range(10), [3, 7])
    assert [len(each) for each in parts] == [3, 7] and sorted(parts[0].indices + parts[1].indices) == list(range(10))
    assert [len(each) for each in data.random_split(range(11), [0.5, 0.25, 0.25])] == [6, 3, 2]
    assert [len(each) for each in data.random_split(range(1), [1])] == [1]
    generators = [bp.Generator() for _ in range(2)]
    for each in generators:
        each.manual_seed(5)
    a, b = (data.random_split(range(30), [10, 20], each) for each in generators)
    assert a[0].indices == b[0].indices
    for bad in ([3, 3], [0.5, 0.2], [11, -1], []):
        with pytest.raises(ValueError):
            data.random_split(range(10), bad)


def test_samplers():
    assert list(data.SequentialSampler(range(4))) == [0, 1, 2, 3]
    assert sorted(data.RandomSampler(range(50))) == list(range(50)) != list(data.RandomSampler(range(50)))
    assert (
        len(list(data.RandomSampler(range(5), num_samples=13)))
        == 13
        == len(data.RandomSampler(range(5), num_samples=13))
    )
    drawn = list(data.RandomSampler(range(5), replacement=True, num_samples=10000))
    assert len(drawn) == 10000 and set(drawn) == set(range(5))
    assert sorted(data.SubsetRandomSampler([3, 5, 9])) == [3, 5, 9]
    drawn = collections.Counter(data.WeightedRandomSampler([1.0, 0.0, 3.0], 4000))
    assert drawn[1] == 0 and 2700 < drawn[2] < 3300
    assert sorted(data.WeightedRandomSampler([1.0, 1.0, 3.0], 3, replacement=False)) == [0, 1, 2]
    assert (
        list(data.BatchSampler(range(5), 2, False)) == [[0, 1], [2, 3], [4]]
        and len(data.BatchSampler(range(5), 2, False)) == 3
    )
    assert (
        list(data.BatchSampler(range(5), 2, True)) == [[0, 1], [2, 3]]
        and len(data.BatchSampler(range(5), 2, True)) == 2
    )
    assert list(data.RandomSampler([])) == []


def test_parts_for_processes():
    for count in (0, 1, 5, 12, 13):
        for drop_last in (False, True):
            samplers = [data.DistributedSampler(range(count), 4, rank, drop_last=drop_last) for rank in range(4)]
            for each in samplers:
                each.set_epoch(3)
            parts = [list(each) for each in samplers]
            assert {len(part) for part in parts} == {len(samplers[0])}
            whole = sum(parts, [])
            assert set(whole) <= set(range(count)) and (drop_last or set(whole) == set(range(count)))
    first = list(data.DistributedSampler(range(50), 2, 0))
    other = data.DistributedSampler(range(50), 2, 0)
    other.set_epoch(1)
    assert list(other) != first
    assert list(data.DistributedSampler(range(5), 2, 1, shuffle=False)) == [1, 3, 0]


@pytest.mark.parametrize(
    "call",
    [
        lambda: data.RandomSampler(range(3), num_samples=0),
        lambda: data.BatchSampler(range(3), 0, False),
        lambda: data.BatchSampler(range(3), 1.5, False),
        lambda: data.BatchSampler(range(3), 1, 0),
        lambda: data.WeightedRandomSampler([-1.0], 1),
        lambda: data.WeightedRandomSampler([0.0], 1),
        lambda: data.WeightedRandomSampler([1.0, 0.0], 2, replacement=False),
        lambda: data.WeightedRandomSampler([[1.0]], 1),
        lambda: data.DistributedSampler(range(3)),
        lambda: data.DistributedSampler(range(3), 2, 2),
    ],
)
def test_what_samplers_refuse(call):
    with pytest.raises(ValueError):
        call()


# --- Collation --------------------------------------------------------------------------------------------------------


def test_collation():
    Pair = collections.namedtuple("Pair", "a b")
    collate = data.default_collate
    assert (
        collate([1, 2]).dtype == bp.int64
        and collate([1.0, 2.0]).dtype == bp.float64
        and collate([True, False]).dtype == bp.bool
    )
    assert collate([bp.ones(2), bp.zeros(2)]).tolist() == [[1, 1], [0, 0]]
    assert collate(["a", "b"]) == ["a", "b"] and collate([b"a"]) == [b"a"]
    made = collate([{"x": 1, "y": (bp.ones(1), "t")}, {"y": (bp.ones(1), "u"), "x": 2}])
    assert made["x"].tolist() == [1, 2] and made["y"][0].shape == (2, 1) and made["y"][1] == ["t", "u"]
    assert isinstance(collate([Pair(1, 2), Pair(3, 4)]), Pair) and collate([Pair(1, 2), Pair(3, 4)]).b.tolist() == [
        2,
        4,
    ]
    assert [each.tolist() for each in collate([[1, 2], [3, 4]])] == [[1, 3], [2, 4]]
    numpy = pytest.importorskip("numpy")
    assert collate([numpy.ones(2, "f4"), numpy.zeros(2, "f4")]).dtype == bp.float32
    assert collate([numpy.float32(1), numpy.float32(2)]).tolist() == [1, 2]
    converted = data.default_convert({"a": (numpy.ones(2), "t")})
    assert isinstance(converted["a"][0], bp.Tensor) and converted["a"][1] == "t"


@pytest.mark.parametrize(
    "batch, error, words",
    [
        ([], ValueError, "no samples"),
        ([object()], TypeError, "object"),
        ([bp.ones(2), bp.ones(3)], ValueError, r"\(2,\).*\(3,\)"),
        ([[1], [1, 2]], ValueError, "1 parts.*2"),
        ([{"a": 1}, {"b": 1}], ValueError, "keys"),
        ([1, "a"], TypeError, "int, str"),
        ([{"a": (1, None)}], TypeError, r"\['a'\]\[1\] is a NoneType"),
        ([bp.ones(2), 1], TypeError, "Tensor, int"),
    ],
    ids=str,
)
def test_what_makes_no_batch(batch, error, words):
    with pytest.raises(error, match=words):
        data.default_collate(batch)
