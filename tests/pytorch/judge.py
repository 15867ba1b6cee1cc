"""Whether two tensors agree, by the tolerance of a row: for compare_rows.py and compare_opinfo.py."""

import torch

# Relative and absolute, where the row's tolerance names no number: sums in another order, and derivatives.
LOOSE = {torch.float64: (1e-9, 1e-9), torch.float32: (2e-5, 2e-5), torch.complex64: (2e-5, 2e-5),
         torch.complex128: (1e-9, 1e-9), torch.float16: (2e-3, 2e-3), torch.bfloat16: (2e-2, 2e-2)}  # fmt: skip
PEER_ULPS = 4  # PyTorch rounds too


def is_same(ours, theirs):
    """Bit for bit, but for which NaN."""
    if ours.is_floating_point() and ours.element_size() == 1:  # of which PyTorch knows little
        ours, theirs = ours.float(), theirs.float()
    same = ours == theirs
    if ours.is_floating_point():
        same &= torch.signbit(ours) == torch.signbit(theirs)
        same |= ours.isnan() & theirs.isnan()
    return same if not ours.is_complex() else is_same(torch.view_as_real(ours), torch.view_as_real(theirs)).all(-1)


def bounds(dtype, tolerance):
    number = str(tolerance).split()[0]
    if number.isdigit() and dtype in LOOSE:
        return (int(number) + PEER_ULPS) * torch.finfo(dtype).eps, 0
    return LOOSE.get(dtype, (0, 0))


def closeness(ours, theirs, tolerance, by_largest=False):
    """Which elements agree; None for another shape or dtype. `by_largest`: a float64 of which terms may have cancelled is
    measured by the largest element."""
    if ours.shape != theirs.shape or ours.dtype != theirs.dtype:
        return None
    theirs = theirs.resolve_conj().resolve_neg()
    if tolerance == "exact":
        return is_same(ours, theirs)
    relative, absolute = bounds(ours.dtype, tolerance)
    if by_largest and ours.dtype in (torch.float64, torch.complex128):
        absolute = max(absolute, relative * largest(theirs))
    return torch.isclose(ours, theirs, rtol=relative, atol=absolute, equal_nan=True)


def largest(values):
    """Of those that are finite."""
    return float(values.abs().nan_to_num(0, 0, 0).max()) if values.numel() else 0.0


def described(ours, theirs, close):
    """What differs, as a sentence; '' for nothing."""
    if close is None:
        return f"{list(ours.shape)} {ours.dtype} instead of {list(theirs.shape)} {theirs.dtype}"
    if bool(close.all()):
        return ""
    at = tuple((~close).nonzero()[0].tolist())
    return f"{ours[at].item()!r} instead of {theirs[at].item()!r} at {list(at)}, {int((~close).sum())} of {close.numel()} differ"


def differ(ours, theirs, tolerance, by_largest=False):
    return described(ours, theirs, closeness(ours, theirs, tolerance, by_largest))


def is_as_good(ours, theirs, exact, tolerance):
    """Where terms cancel, both are off: which elements of ours are no further from what float64 gives than twice PyTorch's
    furthest and the row's tolerance, or are that rounded. None if they cannot be compared."""
    if exact.shape != ours.shape or not exact.numel():
        return None
    allowed = 2 * largest(theirs - exact) + bounds(ours.dtype, tolerance)[0] * exact.abs().nan_to_num(0, 0, 0)
    good = ((ours - exact).abs() <= allowed) | (ours.isnan() & theirs.isnan()) | (ours == theirs) | (ours == exact.to(ours.dtype))
    if ours.is_complex() and not good.all():  # of which a part may have overflowed
        good |= is_as_good(*map(torch.view_as_real, (ours, theirs.resolve_conj(), exact.resolve_conj())), tolerance).all(-1)
    return good
