#!/usr/bin/env python3
"""Holds data/ against PyTorch and NumPy: files of all dtypes, collating, distributed sampling, transforms.

    tests/pytorch/compare_data.py [--build build/release]

Transforms are held against torchvision's formulas, written here with PyTorch's operators, since torchvision is no part of the
wheel. Exits 0, 1 or, without PyTorch, 77.
"""

import argparse
import math
import pathlib
import subprocess
import sys
import tempfile

from compare_rows import ROOT, torch

DTYPES = ["bool", "u1", "i1", "<i2", ">i2", "<i4", ">i4", "<i8", ">i8", "<u2", "<u4", ">u4", "<u8", "<f2", ">f2", "<f4", ">f4",
          "<f8", ">f8", "<c8", ">c8", "<c16", ">c16"]  # fmt: skip


def write_inputs(folder, np):
    """What both sides read, by the name under which ours is left."""
    generator = np.random.default_rng(1)
    arrays = {}
    for dtype in DTYPES:
        for shape in ((), (3,), (2, 3, 4), (0, 2)):
            for order in "CF":
                name = f"dtype_{dtype.replace('<', 'little_').replace('>', 'big_')}_{len(shape)}_{order}"
                arrays[name] = np.asarray(generator.integers(0, 100, shape).astype(dtype), order=order)
                np.save(folder / f"{name}.npy", arrays[name])
    for name, save in (("stored", np.savez), ("packed", np.savez_compressed)):
        parts = {"a": generator.normal(size=(5, 4)), "b": np.arange(2000), "c": np.asfortranarray(np.ones((3, 2), "f4"))}
        save(folder / f"{name}.npz", **parts)
        arrays |= {f"{name}_{key}": part for key, part in parts.items()}
    images = {"floats": generator.random((2, 3, 16, 20)), "bytes": generator.integers(0, 256, (2, 3, 16, 20)).astype("u1")}
    for name, image in images.items():
        np.save(folder / f"{name}.npy", image)
    return arrays, {name: torch.from_numpy(image) for name, image in images.items()}


def sampled():
    for size in (0, 1, 7, 16, 33):
        for replicas in (1, 2, 5):
            for drop_last in (False, True):
                for rank in range(replicas):
                    if size == 0 or (drop_last and size < replicas):
                        continue  # PyTorch's asserts fail, or it gives more than there are
                    sampler = torch.utils.data.DistributedSampler(range(size), replicas, rank, shuffle=False, drop_last=drop_last)
                    yield f"distributed_{size}_{replicas}_{int(drop_last)}_{rank}", torch.tensor(list(sampler))


def collated():
    def sample(i):
        x = torch.arange(6.0).reshape(2, 3) + i
        return {"x": x, "n": i, "real": 0.5 * i, "flag": i % 2 == 1, "list": [i + 1, x.short()]}

    batch = torch.utils.data.default_collate([sample(i) for i in range(3)])
    for key in ("x", "n", "real", "flag"):
        yield f"collate_{key}", batch[key]
    yield "collate_list0", batch["list"][0]
    yield "collate_list1", batch["list"][1]


def affine(images, angle, scale, shear, mode, fill=None):
    rot, sx, sy = math.radians(angle), math.radians(shear[0]), math.radians(shear[1])
    a = math.cos(rot - sy) / math.cos(sy)
    b = -math.cos(rot - sy) * math.tan(sx) / math.cos(sy) - math.sin(rot)
    c = math.sin(rot - sy) / math.cos(sy)
    d = -math.sin(rot - sy) * math.tan(sx) / math.cos(sy) + math.cos(rot)
    theta = torch.tensor([[d, -b, 0], [-c, a, 0]], dtype=images.dtype) / scale
    height, width = images.shape[-2:]
    x = torch.linspace(-width * 0.5 + 0.5, width * 0.5 - 0.5, width, dtype=images.dtype)
    y = torch.linspace(-height * 0.5 + 0.5, height * 0.5 - 0.5, height, dtype=images.dtype)
    base = torch.stack([x.expand(height, width), y[:, None].expand(height, width), torch.ones(height, width, dtype=images.dtype)], -1)
    grid = base @ (theta.T / torch.tensor([0.5 * width, 0.5 * height], dtype=images.dtype))
    grid = grid.expand(len(images), -1, -1, -1)
    result = torch.nn.functional.grid_sample(images, grid, mode=mode, align_corners=False)
    if fill is None:
        return result
    share = torch.nn.functional.grid_sample(torch.ones_like(images[:, :1]), grid, mode=mode, align_corners=False)
    return torch.where(share < 0.5, fill, result) if mode == "nearest" else result * share + (1 - share) * fill


def transformed(name, images):
    is_bytes = images.dtype == torch.uint8
    floats = images.float() if is_bytes else images

    def back(values):
        return values.round().clamp(0, 255).byte() if is_bytes else values

    interpolate, pad = torch.nn.functional.interpolate, torch.nn.functional.pad
    for mode in ("nearest", "bilinear", "bicubic"):
        for antialias in (False, True):
            for size in ((9, 7), (23, 31), (5, 40)):
                how = {"antialias": antialias} if mode != "nearest" else {}
                yield f"resize_{mode}_{int(antialias)}_{size[0]}x{size[1]}_{name}", back(interpolate(floats, size, mode=mode, **how))
    r, g, b = floats.unbind(1)
    yield f"gray_{name}", (0.2989 * r + 0.587 * g + 0.114 * b)[:, None].to(images.dtype)
    yield f"pad_constant_{name}", pad(images, [1, 3, 2, 4], value=1)
    yield f"pad_edge_{name}", back(pad(floats, [1, 3, 2, 4], mode="replicate"))
    yield f"pad_reflect_{name}", back(pad(floats, [1, 3, 2, 4], mode="reflect"))
    yield f"center_{name}", images[:, :, round((16 - 11) / 2):, round((20 - 8) / 2):][:, :, :11, :8]
    for mode in ("nearest", "bilinear"):
        yield f"affine_{mode}_{name}", back(affine(floats, 25, 1.2, (8, -5), mode))
        yield f"rotate_{mode}_{name}", back(affine(floats, -40, 1, (0, 0), mode, 1))


def differs(ours, theirs):
    if tuple(ours.shape) != tuple(theirs.shape) or ours.dtype != theirs.dtype:
        return f"is {ours.dtype} {tuple(ours.shape)}, not {theirs.dtype} {tuple(theirs.shape)}"
    if not ours.numel():
        return None
    # Where a rounding falls is open between two ways to compute a half.
    most = 1 if ours.dtype == torch.uint8 else 1e-10 if ours.dtype.itemsize >= 8 else 1e-5
    off = (ours.to(torch.complex128) - theirs.to(torch.complex128)).abs().max().item()
    return f"is off by {off:.3g}" if off > most else None


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release")
    options = parser.parse_args()
    import numpy as np

    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        arrays, images = write_inputs(folder, np)
        subprocess.run([options.build / "tests/run_data", folder], check=True)
        expected = {key: torch.from_numpy(np.ascontiguousarray(array.astype(array.dtype.newbyteorder("="))).reshape(array.shape))
                    for key, array in arrays.items()}  # fmt: skip
        expected |= dict(sampled()) | dict(collated())
        for key, image in images.items():
            expected |= dict(transformed(key, image))
        problems = []
        for key, theirs in expected.items():
            ours = torch.from_numpy(np.load(folder / f"our_{key}.npy"))
            if problem := differs(ours, theirs):
                problems.append(f"{key}: {problem}")
    print(*problems, f"{len(expected)} results against PyTorch's and NumPy's, {len(problems)} differ", sep="\n")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
