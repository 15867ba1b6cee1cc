"""The generator's own tests: what it makes of a row, and what it says to a wrong one."""

import re
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "core_ops/generator"))
sys.dont_write_bytecode = True

import batch
import cxx
import emit_sdk
import expression
import generate
import rows
import steps
import suite
from emit_autograd import emit_autograd
from emit_source import emit_source
from rows import TableError

SUITE = suite.load_suite(ROOT / "core_ops/suite.yaml")

ROW = """\
since: "0.1"
rows:
  - op: {op}
    doc: A row for a test.
    kind: pointwise
    expr: {expr}
    promote: common
    samples: [a, b, c, d, e, f, g, several_tiles]
    {more}
"""


def table(op="double(Tensor a) -> Tensor", expr="a + a", more="primitive: true"):
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "test.yaml").write_text(ROW.format(op=op, expr=expr, more=more))
        return generate.load(Path(folder))["test"]


def list_table(op, more):
    text = ROW.format(op=op, expr="", more=more).replace("    kind: pointwise\n    expr: \n    promote: common\n", "")
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "test.yaml").write_text(text)
        return generate.load(Path(folder))["test"]


class BatchRules(unittest.TestCase):
    def rule(self, more, op="f(Tensor a, int dim, int[] size) -> Tensor"):
        return batch.rule_of(list_table(op, f"{more}\n    samples: [a, b, c, d, e, f, g, several_tiles]")[0])

    def test_are_derived_from_the_kind_where_it_says_them(self):
        self.assertEqual(batch.rule_of(table()[0]).text, "pointwise")
        composite = "kind: composite\n    decompose: half(a)\n    uses: []"
        self.assertEqual(self.rule(composite).text, "decompose")
        self.assertEqual(self.rule(composite + "\n    shape_data: true").text, "loop")

    def test_name_what_has_a_batch_and_what_changes(self):
        rule = self.rule("kind: view\n    batch: {lead: a, dims: dim, sizes: size}")
        self.assertEqual(rule.text, "lead: a; dims: dim; sizes: size")
        self.assertIn("Batch::lead, 0b1, 0b10, 0b100, 0b0,", batch.emit_batch_rules([
            list_table("f(Tensor a, int dim, int[] size) -> Tensor", "kind: view\n    batch: {lead: a, dims: dim, sizes: size}")[0]]))  # fmt: skip

    def test_are_refused_where_they_cannot_be(self):
        for given, problem in (
            ("", "has no 'batch'"),
            ("batch: leads", "is none of pointwise"),
            ("batch: lead", "lacks arguments"),
            ("batch: {loop: a}", "names arguments"),
            ("batch: {lead: dim}", "batch names dim"),
            ("batch: {lead: a, dims: a}", "batch names a"),
            ("batch: decompose", "there is no 'decompose'"),
            ("batch: shared", "rows without tensors"),
        ):
            with self.subTest(given), self.assertRaisesRegex(TableError, problem):
                self.rule(f"kind: view\n    {given}")


class Schemas(unittest.TestCase):
    def test_arguments_have_types_defaults_and_places(self):
        name, args, returns = rows.parse_schema("sum(Tensor a, int[]? dim=None, *, Dtype? dtype=None) -> Tensor")
        self.assertEqual(name, "sum")
        self.assertEqual([(a.name, a.type, a.default, a.kwonly) for a in args], [
            ("a", "Tensor", None, False), ("dim", "int[]?", "None", False), ("dtype", "Dtype?", "None", True)])  # fmt: skip
        self.assertEqual(len(returns), 1)

    def test_results_may_have_names(self):
        _, _, returns = rows.parse_schema("sort(Tensor a) -> (Tensor values, Tensor indices)")
        self.assertEqual([r.name for r in returns], ["values", "indices"])

    def test_lists_may_have_holes_and_be_results_and_draws_take_generators(self):
        _, args, returns = rows.parse_schema("f(Tensor?[] a, *, Generator? generator=None) -> (Tensor b, Tensor[] c)")
        self.assertEqual([a.type for a in args], ["Tensor?[]", "Generator?"])
        self.assertEqual([(r.name, r.type) for r in returns], [("b", "Tensor"), ("c", "Tensor[]")])
        for wrong in ("f(Tensor?[]? a) -> int", "f(Generator[] a) -> Tensor", "f(Tensor a) -> Tensor?[]"):
            with self.assertRaises(TableError):
                rows.parse_schema(wrong)

    def test_a_list_is_the_only_result_of_a_view_or_a_composite_row(self):
        kinds = "kind: composite\n    decompose: halves_of(a)\n    uses: []"
        for op in ("halves(Tensor a) -> (Tensor, Tensor[])", "halves(Tensor a) -> (Tensor[], Tensor)"):
            with self.assertRaisesRegex(TableError, "only result"):
                list_table(op, kinds)
        text = emit_source("test", list_table("halves(Tensor a) -> Tensor[]", kinds))
        self.assertIn("std::vector<Tensor> halves(const Tensor& a) {", text)
        self.assertIn("return call_all(ops::halves, args, 1);", text)
        self.assertIn(".count = rules::halves_count", text)

    def test_the_derivative_of_a_list_gets_all_gradients(self):
        text = emit_autograd("test", list_table("halves(Tensor a) -> Tensor[]", 'kind: view\n    batch: {lead: a}\n    grad: {a: "whole(grads, a.shape)"}'))
        self.assertIn("const std::span<const Tensor> grads = gradients;\n  if (none_defined(grads)) return {};", text)

    def test_a_wrong_type_is_named(self):
        with self.assertRaisesRegex(TableError, "Tensorr a"):
            rows.parse_schema("f(Tensorr a) -> Tensor")


class Steps(unittest.TestCase):
    def test_each_has_a_number_in_abi_h_and_facts_in_the_table(self):
        self.assertEqual([step.number for step in steps.STEPS], list(range(1, len(steps.STEPS) + 1)))
        by_code = {step.code: step for step in steps.STEPS}
        self.assertEqual((by_code["SELECT"].num_operands, by_code["SELECT"].row), (3, "where"))
        self.assertEqual((by_code["AND"].symbol, by_code["EXP"].symbol), ("&&", None))

    def test_a_step_that_computes_costs_something_and_has_a_row(self):
        for step in steps.STEPS:
            if step.kind != "input":
                self.assertTrue(step.row and step.forms and step.cost > 0, step.code)

    def test_the_accuracy_is_that_of_the_row_which_is_this_step_alone(self):
        exp = next(step for step in steps.STEPS if step.code == "EXP")
        row = rows.make_row("t", {"since": "1.0"}, {"op": "exp(Tensor a) -> Tensor", "doc": "e^a.", "kind": "pointwise",
                                              "expr": "exp(a)", "tolerance": "7 ulp"})  # fmt: skip
        self.assertEqual((steps.ulps_of(exp, {"exp": row}), steps.ulps_of(exp, {})), (7, 0.5))


class Expressions(unittest.TestCase):
    def test_steps_come_in_order_and_the_result_last(self):
        self.assertEqual(expression.nodes_of("a + 2 * b", ["a", "b"]), [
            ("ARG", 0, 0, 0, 0), ("CONST", 0, 0, 0, 2), ("ARG", 1, 0, 0, 0), ("MUL", 1, 2, 0, 0), ("ADD", 0, 3, 0, 0)])  # fmt: skip

    def test_equal_parts_are_computed_once(self):
        steps = expression.nodes_of("exp(a) / (1 + exp(a))", ["a"])
        self.assertEqual([code for code, *_ in steps].count("EXP"), 1)

    def test_precedence_is_that_of_arithmetic(self):
        self.assertEqual(expression.as_calls("-a + b * c"), "add(neg(a), mul(b, c))")
        self.assertEqual(expression.as_calls("where(a < 0 , 1, not b)"), "where(lt(a, 0), 1, logical_not(b))")

    def test_an_unknown_name_or_function_is_an_error(self):
        with self.assertRaisesRegex(TableError, "'c' is not an argument"):
            expression.nodes_of("a + c", ["a"])
        with self.assertRaisesRegex(TableError, "frobnicate"):
            expression.parse("frobnicate(a)")
        with self.assertRaisesRegex(TableError, "takes 3 operands, not 2"):
            expression.parse("where(a, b)")


class Rows(unittest.TestCase):
    def test_a_primitive_needs_no_decomposition(self):
        self.assertIsNone(table()[0].decompose)

    def test_an_expression_decomposes_a_row_that_is_not_primitive(self):
        with self.assertRaisesRegex(TableError, "decomposes into itself: add -> add"):
            table(op="add(Tensor a) -> Tensor", more="since: '0.2'")

    def test_past_schemas_are_beginnings_of_the_present_one(self):
        now = "double(Tensor a, *, Scalar alpha=1) -> Tensor"
        row = table(op=now, more="primitive: true\n    past: ['double(Tensor a) -> Tensor']")[0]
        self.assertIn('"double(Tensor a) -> Tensor",\n    nullptr', emit_source("test", [row]))
        with self.assertRaisesRegex(TableError, "not the beginning"):
            table(op=now, more="primitive: true\n    past: ['double(Tensor b) -> Tensor']")
        with self.assertRaisesRegex(TableError, "has no default"):
            table(
                op="double(Tensor a, Tensor b) -> Tensor", more="primitive: true\n    past: ['double(Tensor a) -> Tensor']"
            )

    def test_a_renamed_argument_leaves_the_hash_as_it_was(self):
        first, past = "double(Tensor a, *, Scalar alpha=1) -> Tensor", "double(Tensor a) -> Tensor"
        now = "double(Tensor input, *, Scalar alpha=1) -> Tensor"

        def renamed(hash_of, more=""):
            return table(op=now, expr="input + input", more=f"primitive: true\n    hash_of: '{hash_of}'{more}")[0]

        (old,), new = table(op=first), renamed(first, f"\n    past: ['{past}']")
        for emit in (emit_sdk.emit_sdk, emit_sdk.emit_schemas):
            digits = re.search("0x([0-9a-f]{16})", emit([old]))[0]
            self.assertIn(digits, emit([new]))
            self.assertIn(now, emit([new]))
        self.assertIn(f'.hash_of = "{first}"', " ".join(emit_source("test", [new]).split()))
        self.assertNotIn("hash_of", emit_source("test", [old]))
        for hash_of, problem in [
            (now, "is the present schema; drop it"),
            ("twice(Tensor a, *, Scalar alpha=1) -> Tensor", "in more than names"),
            ("double(Tensor a) -> Tensor", "in more than names"),
            ("double(Tensor a, *, Scalar alpha=2) -> Tensor", "in more than names"),
            ("double(Tensor a, Scalar alpha=1) -> Tensor", "in more than names"),
            ("double(Tensor a, *, Scalar alpha=1) -> (Tensor x, Tensor y)", "in more than names"),
            ("double", "is not a schema"),
        ]:
            with self.subTest(hash_of), self.assertRaisesRegex(TableError, problem):
                renamed(hash_of)
        with self.assertRaisesRegex(TableError, "not the beginning"):
            renamed(first, "\n    past: ['double(Tensor input) -> Tensor']")

    def test_what_accumulates_says_how(self):
        text = emit_source("test", table(expr="a", more="primitive: true"))
        self.assertNotIn("BP_X_ACC", text)
        steps = expression.nodes_of("maximum(acc, a)", ["a"])
        self.assertEqual([step[0] for step in steps], ["ACC", "ARG", "MAX"])

    def test_errors_name_table_and_operator(self):
        for more, problem in [
            ("primitive: true\n    dtypes: odd", "test: double: dtypes 'odd' is none of"),
            ("primitive: true\n    colour: red", "test: double has unknown keys colour"),
            ("primitive: true\n    promote: never", "promote 'never' is none of"),
            ("primitive: true\n    grad: {z: grad}", "names no argument"),
            ("primitive: true\n    samples: [a, several_tiles]", "2 samples; at least 8"),
            ("primitive: true\n    samples: [a, b, c, d, e, f, g, h]", "no sample spans several tiles"),
            ("primitive: true\n    decompose: add(a, a)", "primitive and decomposed"),
        ]:
            with self.subTest(problem), self.assertRaisesRegex(TableError, problem):
                table(more=more)


def asked(more="", kind="pointwise", suite_class=None):
    """What the suite asks of a row with these keys under `suite`."""
    row = table(more="primitive: true\n    suite: {" + more + "}")[0]
    row.kind, row.suite_class = kind, suite_class
    return suite.asked_of(row, SUITE)


class Suite(unittest.TestCase):
    def test_a_pointwise_row_needs_to_say_nothing(self):
        plain = asked()
        self.assertEqual((plain.recipes, plain.level, plain.traits), ("pointwise", 3, []))
        self.assertEqual(plain.shapes, SUITE["classes"]["unary"]["shapes"])

    def test_a_row_s_shapes_come_behind_those_of_its_class_and_its_values_instead(self):
        own = asked("class: along, shapes: ['s2:dim=0'], values: [exact]")
        self.assertEqual(own.shapes, SUITE["classes"]["along"]["shapes"] + ["s2:dim=0"])
        self.assertEqual(own.values, ["exact"])

    def test_samples_are_those_of_the_row(self):
        self.assertEqual(asked("class: norms").shapes[0], "sample:a")

    def test_words_that_nobody_knows_are_errors(self):
        for more, problem in [
            ("class: odd", "test: double: suite: 'odd' is not a class of suite.yaml"),
            ("traits: [odd]", "'odd' is not a trait"),
            ("level: 7", "level 7 is none of"),
            ("colour: red", "unknown keys colour"),
            ("refuses: ['s3 x5']", "'s3 x5' is not a word"),
            ("returns: [{shape: s3, values: normal}]", "is not a round trip"),
        ]:
            with self.subTest(problem), self.assertRaisesRegex(TableError, problem):
                asked(more)

    def test_a_row_of_no_class_says_its_shapes(self):
        with self.assertRaisesRegex(TableError, "no shapes; name a class"):
            asked(kind="scan")

    def test_models_have_rows_of_the_table(self):
        with self.assertRaisesRegex(TableError, "the model m has 'odd', which is not in the table"):
            suite.emit_models(table(), {"models": {"m": {"inference": ["odd"], "training": []}}})

    def test_effects_name_arguments_and_known_words(self):
        for more, problem in [
            ("mutates: [z]", "mutates .* names no argument"),
            ("draws: often", "draws 'often' is none of"),
            ("linear: [z]", "linear .* names no argument"),
            ("cast: wide", "cast 'wide' is none of"),
            ("aten: add", "'aten' is a list of names"),
            ("aten: [add+1]", "is not a name; write it like"),
            ("aten: [add(other=z)]", "'z' is not an argument of the row"),
            ("onnx: Add", "'onnx' is a list of names"),
        ]:
            with self.subTest(problem), self.assertRaisesRegex(TableError, problem):
                table(more="primitive: true\n    " + more)

    def test_effects_reach_the_operator(self):
        text = emit_source("test", table(op="f(Tensor a) -> Tensor", more="primitive: true\n    mutates: [a]\n    draws: if_asked"))
        self.assertIn(".mutates = 0b1", text)
        self.assertIn(".draws = Draws::if_asked", text)

    def test_a_row_that_only_writes_gives_nothing(self):
        more = "kind: composite\n    mutates: [a]\n    decompose: doubled(a, by)\n    uses: []\n    scalar_ok: [by]"
        text = emit_source("test", list_table("_f_(Tensor[] a, Tensor[] by) -> ()", more))
        self.assertIn("void _f_(TensorList a, const Scalar& by) {", text)
        self.assertIn("dispatch(Call{ops::_f_, args, 2, nullptr, 0});", text)
        self.assertIn("  f_in_place_by_parts(tensors_arg(call, 0), list_or_number_arg(call, 1));", text)

    def test_a_row_without_results_writes_and_is_composite(self):
        for more, problem in [
            ("kind: composite\n    decompose: g(a)\n    uses: []", "nothing comes of a call; name what it writes into"),
            ("kind: reduction\n    mutates: [a]\n    shape: sum\n    primitive: true\n    batch: loop", "a row without results is composite"),
        ]:
            with self.subTest(problem), self.assertRaisesRegex(TableError, problem):
                list_table("f(Tensor[] a) -> ()", more)

    def test_a_step_reaches_kernels_by_its_rule(self):
        more = "kind: composite\n    mutates: [a]\n    shape: f\n    decompose: g(a)\n    uses: []"
        row = list_table("f(Tensor[] a) -> ()", more)[0]
        self.assertTrue(row.has_kernel)
        self.assertIn("using signature = Status(Stream, InList);", emit_sdk.emit_sdk([row]))


class Output(unittest.TestCase):
    def test_what_is_committed_is_what_would_be_written(self):
        files = generate.outputs(generate.load(ROOT / "core_ops/table"), SUITE)
        self.assertEqual(generate.check(files, ROOT), 0)

    def test_numbers_get_overloads_where_the_row_allows_them(self):
        rows = table(
            op="f(Tensor input, Tensor other) -> Tensor",
            expr="input * other",
            more="primitive: true\n    scalar_ok: [other]",
        )
        text = emit_source("test", rows)
        self.assertIn("Tensor f(const Tensor& input, const Scalar& other) {", text)
        self.assertIn("const Tensor& f_(const Tensor& input, const Scalar& other) {", text)
        self.assertNotIn("const Scalar& input", text)

    def test_lines_are_broken_at_commas(self):
        text = cxx.joined("f(", ["const Tensor& argument"] * 8, ");")
        self.assertTrue(all(len(line) <= cxx.WIDTH for line in text.splitlines()))
        self.assertGreater(len(text.splitlines()), 1)

    def test_generated_lines_fit(self):
        for path, text in generate.outputs(generate.load(ROOT / "core_ops/table"), SUITE).items():
            if path.startswith("core_ops"):
                for line in text.splitlines():
                    self.assertLessEqual(len(line), cxx.WIDTH + 20, f"{path}: {line}")


class Derivatives(unittest.TestCase):
    def emitted(self, grad, op="scale(Tensor a, Tensor b) -> Tensor"):
        return emit_autograd("test", table(op, "a * b", f"primitive: true\n    grad: {grad}"))

    def test_say_which_arguments_and_results_they_read(self):
        text = self.emitted('{a: grad * b, b: "sum_to(grad * result, b)"}')
        self.assertIn("{0, scale_by_a, nullptr, 0b10, 0b0, 0b0}", text)
        self.assertIn("{1, scale_by_b, nullptr, 0b0, 0b10, 0b1}", text)

    def test_read_no_more_than_the_shape_where_that_is_enough(self):
        self.assertIn("0b0, 0b1, 0b0}", self.emitted('{a: "reshape(grad, a.shape)"}'))

    def test_are_registered_for_their_rows_alone(self):
        text = self.emitted("{a: grad}")
        self.assertEqual(text.count(".derivative.store("), 1)
        self.assertIn("ops::scale.derivative.store(&scale_derivative, order);", text)

    def test_of_several_results_have_a_gradient_for_each(self):
        op = "halve(Tensor a, Tensor b, *, str mode='low') -> (Tensor low, Tensor high)"
        text = self.emitted('{a: "join(grad_low, grad_high, high, b, mode)"}', op)
        self.assertIn("  const Tensor& grad_high = gradients[1];\n", text)
        self.assertIn("if (!grad_low.defined() && !grad_high.defined()) return {};", text)
        self.assertIn("call.text(2)", text)
        self.assertIn("{0, halve_by_a, nullptr, 0b10, 0b0, 0b10}", text)

    def test_of_several_inputs_may_be_one_rule(self):
        text = self.emitted('{"a, b": "both(grad, b)"}')
        self.assertIn("  both(grad, b, out);\n", text)
        self.assertIn("{0, nullptr, scale_by_a_and_b, 0b10, 0b0, 0b0}", text)
        self.assertIn("{1, nullptr, nullptr, 0b10, 0b0, 0b0}", text)

    def test_pointwise_parts_of_several_steps_are_joined(self):
        text = self.emitted('{a: "grad * (1 - b * b) / exp(b * b)"}')
        self.assertIn("    {&ops::mul, {input(1), input(1)}, 2},\n    {&ops::sub, {number(1), earlier(0)}, 2},\n", text)
        self.assertEqual(text.count("&ops::mul, {input(1), input(1)}"), 1)
        self.assertIn("  return scale_by_a_joint(spent(grad), b);\n", text)
        self.assertIn("  Tensor& grad = gradients[0];\n", text)
        self.assertIn("  return scale_by_a_joint(spent(grad), b);\n", self.emitted("{a: grad * b}"))
        self.assertNotIn("joint", self.emitted('{a: "sum(grad * b, {0}, true)"}'))

    def test_joints_take_what_other_operators_give(self):
        text = self.emitted('{a: "b * (grad - sum(grad, {0}, true))"}')
        self.assertIn("  Tensor part0 = sum(grad, {0}, true);\n  return scale_by_a_joint(b, spent(grad), spent(part0));\n", text)

    def test_what_joints_and_other_operators_take_is_computed_once(self):
        text = self.emitted('{a: "grad * b - exp(sum(grad * b, {0}, true)) * grad"}')
        self.assertIn("  Tensor part0 = scale_by_a_joint(grad, b);\n", text)
        self.assertIn("  Tensor part1 = sum(part0, {0}, true);\n", text)
        self.assertIn("  return scale_by_a_joint1(spent(part0), spent(part1), spent(grad));\n", text)

    def test_complex_gradients_take_the_expression_as_it_is(self):
        text = self.emitted('{a: "-grad * conj(b * b)"}')
        self.assertIn("  if (is_complex(grad.dtype())) return -grad * conj(b * b);\n", text)
        self.assertIn("  return scale_by_a_joint(spent(grad), b);\n", text)

    def test_embed_names_the_row_itself(self):
        with self.assertRaisesRegex(TableError, "embed names the row itself, not 'slice'"):
            self.emitted('{a: "embed(grad, a, slice)"}')


if __name__ == "__main__":
    unittest.main()
