"""What the generator of the ONNX bridge refuses, and what it makes of a recipe."""

import sys
import unittest
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path += [str(ROOT / "core_ops/generator"), str(ROOT / "bridges/onnxruntime")]

import generate_entries  # noqa: E402
from rows import TableError  # noqa: E402


def emit(onnx, body="input", **more):
    return generate_entries.emit_file("test", [{"onnx": onnx, "is": body, **more}], generate_entries.read_operators(), defaultdict(list))


class Recipes(unittest.TestCase):
    def test_are_held_against_the_schemas_of_onnx(self):
        for onnx, problem in [
            ("Adding(Tensor a) -> Tensor", "ONNX has no operator 'Adding'"),
            ("Clip@9(Tensor a) -> Tensor", "Clip has no version 9; it has 1, 6, 11, 12, 13"),
            ("Abs(Tensor a, Tensor b) -> Tensor", "Abs has no 2 inputs"),
            ("Abs(Tensor a) -> (Tensor, Tensor)", "Abs has no 2 results"),
            ("Elu(Tensor a, *, float beta) -> Tensor", "Elu has no attribute 'beta'; it has alpha, consumed_inputs"),
            ("Abs(Tenser a) -> Tensor", "cannot read the argument 'Tenser a'"),
            ("Abs", "write 'Name@13"),
        ]:
            with self.subTest(problem), self.assertRaisesRegex(TableError, problem):
                emit(onnx)

    def test_read_what_they_use(self):
        text = emit("Elu@6(Tensor input, *, float alpha) -> Tensor", "elu(input, alpha)", when="alpha > 0", dtypes="floating")
        self.assertIn("const double alpha = arguments.real(1);\n  return elu(input, alpha);", text)
        self.assertIn('{"Elu", 6, 28, nullptr', text)
        accepts = text[text.index("bool accepts_Elu_0") :]
        self.assertIn("return alpha > 0;", accepts)
        self.assertNotIn("arguments.tensor", accepts)

    def test_no_operator_is_forgotten(self):
        known = generate_entries.read_operators()
        served = {name: [(1, 28, "row", "all", None)] for name in known if name != "Abs"}
        with self.assertRaisesRegex(TableError, "absent.yaml names Nothing, which ONNX does not have"):
            generate_entries.emit_coverage(known, served, {"why": ["Nothing"]})
        with self.assertRaisesRegex(TableError, "Abs is not served, and absent.yaml has no reason"):
            generate_entries.emit_coverage(known, served, {})
        with self.assertRaisesRegex(TableError, "Abs is served and absent"):
            generate_entries.emit_coverage(known, {name: served.get(name, [(1, 28, "row", "all", None)]) for name in known}, {"none": ["Abs"]})


class Rows(unittest.TestCase):
    def test_say_names_that_can_be_read(self):
        class Row:
            args = []

        for onnx, problem in [(["Add+1"], "is not a name"), (["Softmax(axis=dim)"], "'dim' is not an argument")]:
            row = Row()
            row.onnx = onnx
            self.assertIn(problem, generate_entries.problem_of(row))


if __name__ == "__main__":
    unittest.main()
