from modules.cases import case

CASES = [
    *case("Identity", of=[(2, 3)]),
    *case("Linear", 5, 3, of=[(4, 5)]),
    *case("Linear", 5, 3, bias=False, of=[(2, 4, 5)]),
    *case("Linear", 5, 3, of=[(5,)]),
    *case("Linear", 5, 3, of=[(0, 5)]),
    *case("Bilinear", 4, 5, 3, of=[(6, 4), (6, 5)]),
    *case("Bilinear", 4, 5, 3, bias=False, of=[(2, 3, 4), (2, 3, 5)]),
]
