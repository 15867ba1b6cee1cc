from modules.cases import case

CASES = [
    *case("Linear", 5, 3, of=[(4, 5)]),
    *case("Linear", 5, 3, bias=False, of=[(2, 4, 5)]),
    *case("Linear", 5, 3, of=[(5,)]),
]
