#!/usr/bin/env python3
"""What compare_programs.py compares of a program, and what not. Exits with 77 without PyTorch."""

import unittest

import compare_programs as programs

SCHEMAS = {
    "airy_ai": "airy_ai(Tensor input) -> Tensor",
    "bessel_j0": "bessel_j0(Tensor input) -> Tensor",
    "mul": "mul(Tensor input, Tensor other) -> Tensor",
}
LEAVES = "v0 = leaf(f64, [1], [0.5])\nv1 = leaf(f64, [1], [0.25])\n"


def kind_of(program, **changed):
    """Of the difference where ours has the same values but for `changed`; None for no difference."""
    replay = programs.Replay({"program": program, "views": {}}, SCHEMAS)
    replay.forward()
    zeros = [[0.0] for _ in replay.leaves]
    line = {"program": program, "views": {}, "is_narrow": False, "is_smooth": True, "first": zeros, "second": zeros, "retained": {},
            "values": {name: one.flatten().tolist() for name, one in replay.variables.items()}}  # fmt: skip
    problem = programs.problem_of({**line, **changed}, SCHEMAS)
    return problem and problem[0]


class Programs(unittest.TestCase):
    def test_a_row_that_pytorch_does_not_derive_leaves_other_derivatives_compared(self):
        wrong = [[9.0], [9.0]]
        self.assertEqual(kind_of(LEAVES + "v2 = airy_ai(v0)\nloss(v2, v1)", first=wrong), "first derivative")
        self.assertIsNone(kind_of(LEAVES + "v2 = mul(v0, v1)\nv3 = airy_ai(v2)\nv4 = mul(v3, v0)\nloss(v4)", first=wrong))

    def test_a_row_that_does_not_reach_the_loss_excuses_nothing(self):
        self.assertEqual(kind_of(LEAVES + "v2 = airy_ai(v0)\nloss(v0, v1)", first=[[9.0], [9.0]]), "first derivative")

    def test_what_is_written_in_place_is_followed(self):
        through_view = "v2 = mul(v1, v1)\nv3 = view(v2, [1])\nv4 = airy_ai(v0)\nmul_(v3, v4)\nloss(v2)"
        followed = programs.Replay({"program": LEAVES + through_view, "views": {}}, SCHEMAS)
        followed.forward()
        self.assertEqual(followed.unheld["loss"] & {"v0", "v1"}, {"v0"})

    def test_a_row_of_fewer_digits_is_compared_by_those(self):
        program = LEAVES + "v2 = bessel_j0(v0)\nloss(v1)"
        self.assertEqual(kind_of(program, values={"v0": [0.5], "v1": [0.25], "v2": [0.9]}), "values")
        self.assertIn("only we refuse", programs.problem_of({"program": program, "views": {}, "error": "no"}, SCHEMAS)[1])


if __name__ == "__main__":
    unittest.main()
