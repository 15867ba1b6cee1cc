#!/usr/bin/env python3
"""Holds data/ against PyTorch and NumPy: files of all dtypes, collating, distributed sampling, transforms.

    tests/pytorch/compare_data.py [--build build/release]

Transforms are held against torchvision's formulas, written here with PyTorch's operators, since torchvision is not part of the
wheel. Exits 0, 1 or, without PyTorch, 77.
"""

import argparse
import colorsys
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
    y, x = np.mgrid[:16, :20]
    levels = np.stack([60 + 4 * x + 2 * y, 150 - 3 * x + y, 40 + 5 * y + x]) + generator.integers(0, 25, (3, 16, 20))
    images["augment"] = levels.astype("u1")
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


def affine_matrix(angle, shear):
    rot, sx, sy = math.radians(angle), math.radians(shear[0]), math.radians(shear[1])
    a = math.cos(rot - sy) / math.cos(sy)
    b = -math.cos(rot - sy) * math.tan(sx) / math.cos(sy) - math.sin(rot)
    c = math.sin(rot - sy) / math.cos(sy)
    d = -math.sin(rot - sy) * math.tan(sx) / math.cos(sy) + math.cos(rot)
    return torch.tensor([[d, -b], [-c, a]], dtype=torch.float64)


def affine(images, angle, scale, shear, mode, fill=None):
    theta = torch.nn.functional.pad(affine_matrix(angle, shear).to(images.dtype), [0, 1]) / scale
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


def gray(images):
    r, g, b = images.float().unbind(-3) if images.dtype == torch.uint8 else images.unbind(-3)
    return (0.2989 * r + 0.587 * g + 0.114 * b).unsqueeze(-3).to(images.dtype)


def blend(image, other, factor):
    most = 255 if image.dtype == torch.uint8 else 1
    return (factor * image + (1 - factor) * other).clamp(0, most).to(image.dtype)


def equalized(channel):
    counts = torch.bincount(channel.flatten().long(), minlength=256)
    step = counts[counts != 0][:-1].sum() // 255
    if step == 0:
        return channel
    table = ((counts.cumsum(0) + step // 2) // step)
    return torch.nn.functional.pad(table, [1, 0])[:-1].clamp(0, 255).byte()[channel.long()]


def sharpened(image, factor):
    kernel = torch.ones(3, 3)
    kernel[1, 1] = 5
    smooth = torch.nn.functional.conv2d(image.float()[:, None], kernel[None, None] / 13)[:, 0]
    other = image.clone()
    other[:, 1:-1, 1:-1] = smooth.round().byte()
    return blend(image, other, factor)


def augmentations(image, magnitude=20, bins=31):
    """(name, result) of all that RandAugment may do to a picture, in either direction."""
    share = magnitude / (bins - 1)
    height, width = image.shape[-2:]

    def turned(angle=0, shift=(0, 0), shear=(0, 0), corner=False):
        # By affine() of above around the middle; a shear's corner stays by a shift.
        full = affine_matrix(angle, shear)
        center = torch.tensor([-width / 2, -height / 2], dtype=torch.float64) if corner else torch.zeros(2, dtype=torch.float64)
        moved = full @ (-center - torch.tensor(shift, dtype=torch.float64)) + center
        y, x = torch.meshgrid(torch.arange(height, dtype=torch.float64), torch.arange(width, dtype=torch.float64), indexing="ij")
        places = torch.stack([x + 0.5 - width / 2, y + 0.5 - height / 2], -1) @ full.T + moved
        grid = (places / torch.tensor([width / 2, height / 2], dtype=torch.float64)).float()[None]
        return torch.nn.functional.grid_sample(image.float()[None], grid, mode="nearest", align_corners=False)[0].round().byte()

    yield "identity", image
    for sign in (1, -1):
        yield "shear_x", turned(shear=(math.degrees(math.atan(sign * 0.3 * share)), 0), corner=True)
        yield "shear_y", turned(shear=(0, math.degrees(math.atan(sign * 0.3 * share))), corner=True)
        yield "translate_x", turned(shift=(int(sign * 150 / 331 * width * share), 0))
        yield "translate_y", turned(shift=(0, int(sign * 150 / 331 * height * share)))
        yield "rotate", turned(angle=-sign * 30 * share)
        factor = 1 + sign * 0.9 * share
        yield "brightness", blend(image, torch.zeros_like(image), factor)
        yield "color", blend(image, gray(image), factor)
        yield "contrast", blend(image, gray(image).float().mean(), factor)
        yield "sharpness", sharpened(image, factor)
    kept = 8 - round(magnitude / ((bins - 1) / 4))
    yield "posterize", image & (256 - 2 ** (8 - kept))
    yield "solarize", torch.where(image >= 255 * (1 - share), 255 - image, image)
    least, most = image.float().amin((1, 2), keepdim=True), image.float().amax((1, 2), keepdim=True)
    yield "auto_contrast", ((image - least) * (255 / (most - least))).clamp(0, 255).byte()
    yield "equalize", torch.stack([equalized(channel) for channel in image])


def judge_augmented(results, image):
    found, problems = set(), []
    candidates = list(augmentations(image))
    for number, result in enumerate(results):
        # A shear by 0.2 puts every fifth row halfway between two places, of which either may be the nearest: 3 % of all numbers.
        # A level may be off by a rounding. What is taken for another change has 90 % off.
        far = [((result.int() - other.int()).abs() > 1).float().mean().item() for _, other in candidates]
        best = min(range(len(far)), key=far.__getitem__)
        found.add(candidates[best][0])
        if far[best] > 0.05:
            problems.append(f"augmented {number}: nearest is {candidates[best][0]}, with {far[best]:.0%} of its numbers off")
    if missing := {name for name, _ in candidates} - found:
        problems.append(f"augmented: never found {', '.join(sorted(missing))}")
    return problems


def judge_jitter(results, images):
    problems = []
    others = {"brightness": torch.zeros_like(images), "saturation": gray(images).expand_as(images),
              "contrast": gray(images).mean((1, 2, 3), keepdim=True).expand_as(images)}  # fmt: skip
    for name, other in others.items():
        for image, base, result in zip(images, other, results[name]):
            inside = (result > 0) & (result < 1)
            factors = ((result - base) / (image - base))[inside & ((image - base).abs() > 1e-3)]
            if not 0.6 <= factors.median() <= 1.4 or (off := (blend(image, base, factors.median()) - result).abs().max()) > 1e-9:
                problems.append(f"jitter_{name}: is off by {off:.3g} with the factor {factors.median():.3g}")
    for image, result in zip(images, results["hue"]):
        before = [colorsys.rgb_to_hsv(*pixel) for pixel in image.flatten(1).T.tolist()]
        after = [colorsys.rgb_to_hsv(*pixel) for pixel in result.flatten(1).T.tolist()]
        turn = (after[0][0] - before[0][0]) % 1
        turned = torch.tensor([colorsys.hsv_to_rgb((h + turn) % 1, s, v) for h, s, v in before]).T.reshape(image.shape)
        if (off := (turned - result).abs().max()) > 1e-6 or 0.4 < turn < 0.6:
            problems.append(f"jitter_hue: is off by {off:.3g} with a turn by {turn:.3g}")
    return problems


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
        for key in ("floats", "bytes"):
            expected |= dict(transformed(key, images[key]))
        drawn = {key: torch.from_numpy(np.load(folder / f"our_jitter_{key}.npy"))
                 for key in ("brightness", "contrast", "saturation", "hue")}  # fmt: skip
        problems = judge_augmented(torch.from_numpy(np.load(folder / "our_augmented.npy")), images["augment"])
        problems += judge_jitter(drawn, images["floats"])
        for key, theirs in expected.items():
            ours = torch.from_numpy(np.load(folder / f"our_{key}.npy"))
            if problem := differs(ours, theirs):
                problems.append(f"{key}: {problem}")
    print(*problems, f"{len(expected) + 304} results against PyTorch's and NumPy's, {len(problems)} differ", sep="\n")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
