"""What opinfo_known.py's entries still ask of the elements that differ: each function takes the case and the difference, and
gives the elements that may differ so. No PyTorch is imported here, since docs/differences.md is written without it."""


def near(relative, dtypes=("float64",)):
    """As far as that, relative to 1 or to the number."""
    def allowed(case, found):
        is_narrow = str(found.ours.dtype).removeprefix("torch.") not in dtypes
        return (found.ours - found.theirs).abs() <= (0 if is_narrow else relative) * found.theirs.abs().clamp_min(1)
    return allowed


def everywhere(is_so, like):
    return like.isnan() | True if is_so else like.isnan() & False


def close(ours, theirs, relative):
    return (ours - theirs).abs() <= relative * theirs.abs().clamp_min(1)


def peer_is_nan(case, found):
    return found.theirs.isnan()


def power_without_digits(case, found):
    """Of infinite exponents, the direction of what overflows, and the power of 0 of NaN."""
    exponent = case.named["exponent"]
    exponent = exponent.detach() if hasattr(exponent, "detach") else found.ours.new_full((), exponent)
    overflows = found.ours.isinf() & found.theirs.isinf()
    return overflows | ~exponent.isfinite() | ((exponent == 0) & (found.ours == 1))


def in_half_that_is_not_read(case, found):
    """Of a factor's gradient; ours is 0 there."""
    upper = case.named.get("upper") or False
    unread = found.ours.new_ones(found.ours.shape)
    unread = unread.tril(-1) if upper else unread.triu(1)
    return (unread > 0) & (found.ours == 0)


def inverse_root_of_variance(case, found):
    return close((found.ours + case.named["eps"]).rsqrt(), found.theirs, 1e-5)


def lost_its_place(case, found):
    """Elements whose index is another's as well get nothing or all."""
    indices = case.named["indices"]
    rank = int(case.row[-2])
    flat = indices.flatten(-rank)
    order = flat.sort(-1)
    same = order.values[..., 1:] == order.values[..., :-1]
    twice = flat.new_zeros(flat.shape)
    twice[..., 1:] += same
    twice[..., :-1] += same
    twice = flat.new_zeros(flat.shape).scatter(-1, order.indices, twice)
    return (twice > 0).reshape(indices.shape) & (found.ours == 0)


def bounds_that_cross(case, found):
    """The upper one is last."""
    eps = case.named["eps"]
    if eps is None or eps <= 0.5:
        return everywhere(False, found.ours)
    upper = found.ours.new_full((), 1 - eps)
    return close(found.ours, (upper / (1 - upper)).log(), 1e-5)


def same_behind_log_softmax(case, found):
    def behind(gradient):
        logs = case.named["log_probs"].detach()
        return gradient - logs.exp() * gradient.sum(-1, keepdim=True)
    return close(behind(found.ours), behind(found.theirs), 1e-9)


def by_erfc(case, found):
    """Ours is what PyTorch's erfc says."""
    exact = (case.named["input"].detach().double() * -(0.5**0.5)).erfc() / 2
    relative = 1e-12 if found.ours.element_size() == 8 else 2e-6
    return (found.ours - exact).abs() <= relative * exact.abs()


def at_infinity(case, found):
    return case.named["input"].isinf().expand(found.ours.shape)


def infinite(case, found):
    return found.ours.isinf()


def zero(case, found):
    return found.ours == 0


def overflowed(case, found):
    return case.exact()[found.index].abs() > 3e38


def lost_phase(case, found):
    """airy_ai turns by 2/3 |x|^1.5; both are within what it turns in."""
    far = -case.named["input"].detach().double()
    epsilon = 2.0 ** (-52 if found.ours.element_size() == 8 else -23)
    widest = 0.57 * far.clamp_min(1) ** -0.25
    is_lost = far.clamp_min(0) ** 1.5 * epsilon > 1e-3
    return is_lost & (found.ours.abs() <= widest) & (found.theirs.abs() <= widest)


def equal_sums_of_bins(case, found):
    """An element more here is an element less there."""
    return ((found.ours - found.theirs).abs() <= 1) & (found.ours.sum() == found.theirs.sum())


def beyond_smaller_size(case, found):
    """Columns of U, rows of Vh."""
    size = min(case.named["A"].shape[-2:])
    excused = found.ours.isnan() & False
    if found.index == 0:
        excused[..., size:] = True
    elif found.index == 2:
        excused[..., size:, :] = True
    return excused
