from modules.cases import cases

SIZES = (4, 5, 3)
UNEVEN = (1, 2, 0, 1, 2, 1)
CUTTING = (-1, 2, 1, -1, 0, 1)


def padded(kind, rank):
    of = [(2, 3, *SIZES[:rank])]
    more = [(3.5,)] if kind == "Constant" else [()]
    integer = [(2,)] if kind == "Constant" else [()]
    listed = [((2, *more[0]), {}), ((UNEVEN[: 2 * rank], *more[0]), {}), ((1, *integer[0]), {})]
    if kind in ("Constant", "Zero"):
        listed.append(((CUTTING[: 2 * rank], *more[0]), {}))
    return cases(f"{kind}Pad{rank}d", listed, of=of) + cases(f"{kind}Pad{rank}d", listed[:2], of=[(3, *SIZES[:rank])], training=(True,))


CASES = [one for kind in ("Circular", "Constant", "Reflection", "Replication", "Zero") for rank in (1, 2, 3) for one in padded(kind, rank)]
