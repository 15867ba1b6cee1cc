"""A step length by the strong Wolfe conditions: Nocedal and Wright, 2006, algorithms 3.5 and 3.6, in plain numbers."""

import math
from dataclasses import dataclass

_DECREASE, _CURVATURE = 1e-4, 0.9


@dataclass
class Point:
    """The function along a line, at one step length; `slope` is the derivative along the line."""

    t: float
    loss: float
    slope: float
    gradient: object


def search_line(evaluate, start, first_t, longest_move, tolerance_change, max_evaluations):
    """Returns a point, and how often `evaluate(t)` was called.

    `longest_move` is the greatest change of a parameter for t = 1.
    """
    ends, is_done, rounds = _bracket(evaluate, start, first_t, max_evaluations)
    evaluations, was_close = 1 + rounds, False
    low = _low(ends)
    while not is_done and rounds < max_evaluations and abs(ends[1].t - ends[0].t) * longest_move >= tolerance_change:
        t, was_close = _trial(ends, was_close)
        point = evaluate(t)
        evaluations += 1
        rounds += 1
        if _falls_too_little(start, point) or point.loss >= ends[low].loss:
            ends[1 - low] = point
            low = _low(ends)
            continue
        if _is_flat_enough(start, point):
            is_done = True
        elif point.slope * (ends[1 - low].t - ends[low].t) >= 0:
            ends[1 - low] = ends[low]
        ends[low] = point
    return ends[low], evaluations


def _low(ends):
    return 0 if ends[0].loss <= ends[1].loss else 1


def _falls_too_little(start, point):
    return point.loss > start.loss + _DECREASE * point.t * start.slope


def _is_flat_enough(start, point):
    return abs(point.slope) <= -_CURVATURE * start.slope


def _bracket(evaluate, start, t, max_evaluations):
    """Goes on until a good point lies between the last two, or is one of them.

    Counts the rounds after the first evaluation.
    """
    before, point, rounds = start, evaluate(t), 0
    while rounds < max_evaluations:
        if _falls_too_little(start, point) or (rounds > 1 and point.loss >= before.loss):
            return [before, point], False, rounds
        if _is_flat_enough(start, point):
            return [point, point], True, rounds
        if point.slope >= 0:
            return [before, point], False, rounds
        t = cubic_minimum(before, point, point.t + 0.01 * (point.t - before.t), point.t * 10)
        before, point = point, evaluate(t)
        rounds += 1
    return [start, point], False, rounds


def _trial(ends, was_close):
    """The next step length in a bracket; one that is twice close to an end goes a tenth away from it."""
    low, high = sorted((ends[0].t, ends[1].t))
    t = cubic_minimum(*ends, low, high)
    tenth = 0.1 * (high - low)
    if min(high - t, t - low) >= tenth:
        return t, False
    if was_close or t >= high or t <= low:
        return (high - tenth if abs(t - high) < abs(t - low) else low + tenth), False
    return t, True


def cubic_minimum(a, b, low, high):
    """Where the cubic through both points and slopes is lowest, within [low, high]."""
    middle = (low + high) / 2
    if a.t == b.t:
        return middle
    d1 = a.slope + b.slope - 3 * (a.loss - b.loss) / (a.t - b.t)
    square = d1 * d1 - a.slope * b.slope
    if not square >= 0:
        return middle
    d2 = math.sqrt(square)
    first, second = (a, b) if a.t <= b.t else (b, a)
    divisor = second.slope - first.slope + 2 * d2
    if divisor == 0:
        return middle
    lowest = second.t - (second.t - first.t) * ((second.slope + d2 - d1) / divisor)
    return middle if math.isnan(lowest) else min(max(lowest, low), high)
