#!/usr/bin/env python3
"""Prints the coefficients of backends/cpu/tile/vector_functions-inl.hpp: polynomials of least relative error (Remez).

Needs mpmath. Each line: the function, the type, the largest error in ULP before any rounding, the terms, lowest first.
"""

import mpmath as mp

mp.mp.dps = 50


def remez(function, weight, terms, low, high):
    """The polynomial in z with `terms` terms whose weighted distance from `function` is least on [low, high]."""
    count = terms + 1
    points = [(low + high) / 2 - (high - low) / 2 * mp.cos(mp.pi * k / (count - 1)) for k in range(count)]
    grid = [low + (high - low) * (1 - mp.cos(mp.pi * k / 2000)) / 2 for k in range(2001)]
    values = [(z, function(z), weight(z)) for z in grid]
    for _ in range(12):
        matrix, right = mp.matrix(count, count), mp.matrix(count, 1)
        for row, z in enumerate(points):
            for k in range(terms):
                matrix[row, k] = z**k
            matrix[row, terms] = (-1) ** row / weight(z)
            right[row] = function(z)
        solved = list(mp.lu_solve(matrix, right))[:terms]
        errors = [w * (f - mp.polyval(solved[::-1], z)) for z, f, w in values]
        points = alternating_extrema(grid, errors, count)
    return solved, max(abs(error) for error in errors)


def alternating_extrema(grid, errors, count):
    """The largest error between each two changes of its sign."""
    best = []
    for z, error in zip(grid, errors):
        if best and (error > 0) == (best[-1][1] > 0):
            if abs(error) > abs(best[-1][1]):
                best[-1] = (z, error)
        else:
            best.append((z, error))
    while len(best) > count:
        del best[0 if abs(best[0][1]) < abs(best[-1][1]) else -1]
    return [z for z, _ in best]


def odd_rest(function):
    """p where function(x) = x + x * z * p(z), z = x * x; and by what an error of p counts."""
    def rest(z):
        if z < mp.mpf("1e-12"):
            return mp.taylor(function, 0, 3)[3]
        x = mp.sqrt(z)
        return (function(x) / x - 1) / z

    def weight(z):
        x = mp.sqrt(z)
        return z * x / function(x) if x else mp.mpf(0)

    return rest, lambda z: weight(z) + mp.mpf("1e-30")


def main():
    for name, function, high, terms_of in (("atan", mp.atan, 1, {"float": 10, "double": 20}),
                                           ("asin", mp.asin, mp.mpf(1) / 4, {"float": 5, "double": 13})):
        rest, weight = odd_rest(function)
        for dtype, terms in terms_of.items():
            bits = 24 if dtype == "float" else 53
            solved, error = remez(rest, weight, terms, mp.mpf(0), mp.mpf(high))
            numbers = ", ".join(mp.nstr(value, 10 if bits == 24 else 18) for value in solved)
            print(f"{name} {dtype} {mp.nstr(error * 2**bits, 3)} ULP: {numbers}")


if __name__ == "__main__":
    main()
