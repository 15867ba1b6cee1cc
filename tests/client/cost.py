#!/usr/bin/env python3
"""A boxed call into an existing result takes few instructions beyond its kernel: cost.py BUILD. Time has a row of its own in
bench/peers/rows.json, boxed_add_out_beyond_kernel; instructions are the same on a busy machine."""
import pathlib
import sys
import tempfile

MOST = 650  # for add of one element through the table for C: arguments checked, defaults filled in, the common path

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench"))
sys.dont_write_bytecode = True
import instructions  # noqa: E402


def of_one_call(name):
    with tempfile.TemporaryDirectory() as folder:
        few, many = (sum(instructions.instructions(name, count, folder).values()) for count in (instructions.FEW, instructions.MANY))
    return (many - few) / (instructions.MANY - instructions.FEW)


instructions.PROGRAM = pathlib.Path(sys.argv[1]) / "bin/backplane_bench_pairs"
if not instructions.PROGRAM.exists():
    print("the benchmarks are not built")
    sys.exit(77)
call, kernel = of_one_call("boxed_add_out_1_element"), of_one_call("kernel_add_1_element")
print(f"{call:.0f} instructions for the call, {kernel:.0f} of them the kernel's; at most {MOST} beyond it")
sys.exit(0 if 0 < kernel < call <= kernel + MOST else 1)
