#!/usr/bin/env python3
"""What compare_opinfo.py's judge and its excuses let pass, and how calls are said and run. Exits with 77 without PyTorch."""

import pathlib
import stat
import tempfile
import unittest
from types import SimpleNamespace

import compare_opinfo  # exits where something is missing
import torch

import judge
import opinfo_judge
import opinfo_known
from call_files import CallsFile
from opinfo_adapters import Unmapped
from opinfo_calls import Rows, bound
from opinfo_judge import Difference

SUM = "sum(Tensor input, int[]? dim=None, bool keepdim=False, *, Dtype? dtype=None) -> Tensor"
# Answers two calls, and ends badly at the second of those that it is given.
ENDS = """#!/bin/sh
first=${4:-0}
: > $2.bin
echo '{"results": []}' > $2.json
test $first = 2 && exit 0
exit 3
"""


INF, NAN = float("inf"), float("nan")


def values(*numbers, dtype=torch.float32):
    return torch.tensor(numbers, dtype=dtype)


def good(ours, theirs, exact, tolerance="accumulation"):
    return judge.is_as_good(ours, theirs, exact, tolerance).tolist()


class Judge(unittest.TestCase):
    def test_exact_is_each_bit_but_for_which_nan(self):
        self.assertEqual(judge.differ(values(1, NAN), values(1, NAN), "exact"), "")
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
        self.assertEqual(good(values(1.0005, 2.0), values(1.001, 2.0), exact), [True, True])
        self.assertEqual(good(values(1.001, 2.0), values(1.0, 2.0), exact), [False, True])

    def test_what_overflows_in_pytorch_excuses_nothing_else(self):
        exact = values(1e39, 1.0, 1.0, dtype=torch.float64)
        self.assertEqual(good(values(INF, 5.0, 1.0), values(INF, 1.0, 1.0), exact), [True, False, True])
        self.assertEqual(good(values(INF, -INF, NAN), values(INF, 1.0, 1.0), exact), [True, False, False])
        self.assertEqual(good(values(5.0, 1.0, 1.0), values(INF, 1.0, NAN), exact), [False, True, True])

    def test_a_large_element_does_not_loosen_the_rows_ulps(self):
        exact = values(1.0, 1e6, dtype=torch.float64)
        self.assertEqual(good(values(1.1, 1e6), values(1.0, 1e6), exact, "2 ulp"), [False, True])

    def test_a_complex_number_that_overflows_is_held_in_its_other_part(self):
        theirs, exact = values(complex(INF, 2.0), dtype=torch.complex64), values(complex(1e40, 1.0), dtype=torch.complex128)
        self.assertEqual(good(values(complex(INF, 1.0), dtype=torch.complex64), theirs, exact), [True])
        self.assertEqual(good(values(complex(INF, 9.0), dtype=torch.complex64), theirs, exact), [False])

    def test_whole_numbers_are_measured_by_float64_as_well(self):
        sample = SimpleNamespace(input=torch.tensor([3]), args=(), kwargs={})
        case = opinfo_judge.Case(torch.special.ndtr, "ndtr", {}, sample, torch.int64, "sample 0", "accumulation")
        self.assertEqual([result.dtype for result in case.exact()], [torch.float64])
        self.assertEqual(torch.get_default_dtype(), torch.float32)


def difference(ours, theirs, what="result", index=0, tolerance="exact"):
    close = judge.closeness(ours, theirs, tolerance)
    return Difference(what, index, judge.described(ours, theirs, close), ours, theirs, close)


def reasons(name, found, dtype="float64", **named):
    return [known.reason for known in opinfo_known.find(name, SimpleNamespace(named=named, dtype=dtype, where="sample 0", row=""), found)]


class Excuses(unittest.TestCase):
    def test_of_one_element_excuses_no_other(self):
        ours = torch.eye(3)
        theirs = ours.clone()
        theirs[:, 2] = 5
        self.assertTrue(reasons("linalg.svd", difference(ours, theirs), A=torch.ones(3, 2)))
        theirs[0, 0] = 5
        self.assertFalse(reasons("linalg.svd", difference(ours, theirs), A=torch.ones(3, 2)))
        self.assertFalse(reasons("linalg.svd", difference(torch.ones(2), torch.zeros(2), index=1), A=torch.ones(3, 2)))

    def test_of_one_value_excuses_no_other(self):
        self.assertTrue(reasons("i0", difference(values(INF, 1), values(NAN, 1))))
        self.assertFalse(reasons("i0", difference(values(INF, 2), values(NAN, 1))))

    def test_of_one_half_excuses_no_other(self):
        ours, theirs = torch.zeros(2, 2), torch.tensor([[0.0, 3.0], [0.0, 0.0]])
        self.assertTrue(reasons("cholesky_inverse", difference(ours, theirs, "gradient"), input=ours, upper=False))
        self.assertFalse(reasons("cholesky_inverse", difference(ours, theirs, "gradient"), input=ours, upper=True))

    def test_of_digits_excuses_no_other_value(self):
        far, near = (values(1 + off, dtype=torch.float64) for off in (1e-5, 1e-7))
        for ours, is_known in ((near, True), (far, False)):
            found = difference(ours, values(1, dtype=torch.float64), tolerance="accumulation")
            self.assertEqual(bool(reasons("special.bessel_j0", found, input=values(1))), is_known)

    def test_of_bins_excuses_no_lost_element(self):
        self.assertTrue(reasons("histc", difference(values(1, 3), values(2, 2))))
        self.assertFalse(reasons("histc", difference(values(1, 2), values(2, 2))))
        self.assertFalse(reasons("histc", difference(values(0, 4), values(2, 2))))


class Report(unittest.TestCase):
    def tally(self, name, **counts):
        made = compare_opinfo.Tally(name, name)
        made.counts.update(counts)
        return made

    def test_a_run_without_a_call_is_an_error(self):
        self.assertIn("none is named sumn", *compare_opinfo.not_compared([], ["sum"], "sumn"))
        self.assertEqual(len(compare_opinfo.not_compared([self.tally("sum")], [])), 1)

    def test_an_entry_of_the_page_without_a_call_is_an_error(self):
        tallies = [self.tally("sum", compared=1), self.tally("mul")]
        self.assertIn("mul: ", *compare_opinfo.not_compared(tallies, ["sum", "mul"]))
        self.assertEqual(compare_opinfo.not_compared(tallies, ["sum"]), [])
        self.assertEqual(compare_opinfo.not_compared(tallies[:1], ["sum", "mul"], "sum"), [])

    def test_a_dtype_that_the_row_declares_is_not_left_out(self):
        case = SimpleNamespace(row="sum", dtype="bool", where="sample 0")
        for is_declared in (False, True):
            tally = self.tally("sum")
            tally.take(case, [Difference("result", 0, "refused: sum: not defined for bool")], None, is_declared=is_declared)
            self.assertEqual((len(tally.wrong), len(tally.left_out)), (1, 0) if is_declared else (0, 1))

    def test_rows_say_the_dtypes_that_they_take(self):
        rows = Rows([{"op": "sum", "schema": SUM, "dtypes": ["int64"]}], {})
        self.assertEqual([rows.takes("sum", dtype) for dtype in ("int64", "bool")], [True, False])
        self.assertTrue(rows.takes(None, "bool"))


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
