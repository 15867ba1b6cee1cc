#!/usr/bin/env python3
"""What compare_names.py finds wrong. Exits with 77 without PyTorch."""

import unittest

import compare_names

ADD = "add(Tensor input, Tensor other, *, Scalar alpha=1) -> Tensor"


def problems(schema, **listed):
    name = schema.partition("(")[0]
    return list(compare_names.judge({name: schema}, {section: listed.get(section, {}) for section in compare_names.SECTIONS}))


class Names(unittest.TestCase):
    def assert_problem(self, words, schema, **listed):
        (problem,) = problems(schema, **listed)
        self.assertIn(words, problem)

    def test_pytorch_s_own_are_right(self):
        self.assertEqual(problems(ADD), [])
        self.assertEqual(problems("sum(Tensor input, int[]? dim=None, bool keepdim=False, *, Dtype? dtype=None) -> Tensor"), [])
        self.assertEqual(problems("elu(Tensor input, Scalar alpha=1) -> Tensor", left_out={"inplace": "why"}), [])

    def test_another_name_is_a_problem(self):
        self.assert_problem('{"ours": ["b"], "torch": ["other"]}', ADD.replace("other", "b"))

    def test_another_order_is_a_problem(self):
        self.assert_problem('"order": ["input", "dim", "index"]', "gather(Tensor input, Tensor index, int dim) -> Tensor",
                            left_out={"sparse_grad": "why"})  # fmt: skip

    def test_other_results_are_a_problem(self):
        schema = "sort(Tensor input, int dim=-1, bool descending=False) -> (Tensor sorted, Tensor indices)"
        self.assert_problem('"results": ["values", "indices"]', schema)

    def test_a_listed_difference_is_right_while_it_is_the_one(self):
        other = ADD.replace("other", "b")
        listed = {"ours": ["b"], "torch": ["other"], "reason": "why"}
        self.assertEqual(problems(other, differ={"add": listed}), [])
        self.assert_problem("differs from", ADD.replace("other", "c"), differ={"add": listed})
        self.assert_problem("there is none any more", ADD, differ={"add": listed})
        self.assert_problem("without a reason", other, differ={"add": {**listed, "reason": ""}})

    def test_a_row_that_pytorch_lacks_is_listed(self):
        philox = "philox(int[] size, int seed) -> Tensor"
        self.assert_problem("has nothing of this name", philox)
        self.assertEqual(problems(philox, without={"philox": "why"}), [])
        self.assert_problem("compare with that", ADD, without={"add": "why"})

    def test_entries_of_no_use_are_problems(self):
        self.assert_problem("no signature has it", ADD, left_out={"generator": "why"})
        for section in ("counterparts", "without", "differ"):
            self.assert_problem("there is no such row", ADD, **{section: {"frobnicate": {}}})


if __name__ == "__main__":
    unittest.main()
