#!/usr/bin/env python3
"""What compare_opinfo.py's judge lets pass, and how calls are said and run. Exits with 77 without PyTorch."""

import pathlib
import stat
import tempfile
import unittest

import compare_opinfo  # noqa: F401 (exits where something is missing)
import torch

import opinfo_judge as judge
from call_files import CallsFile
from opinfo_adapters import Unmapped
from opinfo_calls import bound

SUM = "sum(Tensor input, int[]? dim=None, bool keepdim=False, *, Dtype? dtype=None) -> Tensor"
# Answers two calls, and ends badly at the second of those that it is given.
ENDS = """#!/bin/sh
first=${4:-0}
: > $2.bin
echo '{"results": []}' > $2.json
test $first = 2 && exit 0
exit 3
"""


def values(*numbers, dtype=torch.float32):
    return torch.tensor(numbers, dtype=dtype)


class Judge(unittest.TestCase):
    def test_exact_is_each_bit_but_for_which_nan(self):
        nan = float("nan")
        self.assertEqual(judge.differ(values(1, nan), values(1, nan), "exact"), "")
        self.assertIn("-0.0 instead of 0.0", judge.differ(values(-0.0), values(0.0), "exact"))
        self.assertNotEqual(judge.differ(values(1.0), values(1.0000001), "exact"), "")

    def test_ulps_are_the_rows_and_pytorchs(self):
        near, far = (1 + n * torch.finfo(torch.float32).eps for n in (5, 7))
        self.assertEqual(judge.differ(values(near), values(1.0), "1 ulp"), "")
        self.assertNotEqual(judge.differ(values(far), values(1.0), "1 ulp"), "")

    def test_shapes_and_dtypes_are_equal(self):
        self.assertIn("[1] torch.float32 instead of [2]", judge.differ(values(1), values(1, 2), "accumulation"))
        self.assertIn("float32 instead of", judge.differ(values(1), values(1, dtype=torch.float64), "accumulation"))

    def test_a_float32_is_right_where_pytorchs_is_further_from_float64(self):
        exact = values(1.0, 2.0, dtype=torch.float64)
        self.assertTrue(judge.is_as_good(values(1.0005, 2.0), values(1.001, 2.0), exact))
        self.assertFalse(judge.is_as_good(values(1.001, 2.0), values(1.0, 2.0), exact))


class Said(unittest.TestCase):
    def test_arguments_are_bound_by_place_and_name(self):
        x = torch.ones(2)
        self.assertEqual(bound(SUM, [x, 1], {"keepdim": True}), {
            "input": ("Tensor", x), "dim": ("int[]", [1]), "keepdim": ("bool", True)})  # fmt: skip
        self.assertEqual(bound("permute(Tensor input, int[] dims) -> Tensor", [x, 1, 0], {})["dims"], ("int[]", [1, 0]))

    def test_what_a_row_has_not_is_said(self):
        x = torch.ones(2)
        for given, keywords in (([x, True], {}), ([x], {"initial": 1}), ([x, 0, True, 1], {})):
            with self.assertRaises(Unmapped):
                bound(SUM, given, keywords)
        self.assertIn("input", bound(SUM, [x], {"out": None}))


class Run(unittest.TestCase):
    def test_a_call_that_ends_the_process_is_found_and_the_rest_goes_on(self):
        with tempfile.TemporaryDirectory() as folder:
            program = pathlib.Path(folder, "program")
            program.write_text(ENDS)
            program.chmod(program.stat().st_mode | stat.S_IEXEC)
            file = CallsFile(pathlib.Path(folder, "calls"))
            for _ in range(3):
                file.add("sum", {"input": ("Tensor", torch.ones(2))})
            outcomes = list(file.run(program))
        self.assertEqual(outcomes, [{"results": []}, {"ended": "the process ended with 3"}, {"results": []}])


if __name__ == "__main__":
    unittest.main()
