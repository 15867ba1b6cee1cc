"""One source can include all of plugin/ and all public headers of the core, in both orders, with either compiler and every
warning: no name is ambiguous, no macro defined twice, and bp::X is the core's wherever the core has such a name."""

import concurrent.futures
import shutil
import subprocess

import rule

WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Werror"]
MEANINGS = """
#include <type_traits>
template <class A, class B> constexpr bool same = std::is_same_v<A, B>;
static_assert(same<bp::plugin::Stream, bp_sdk::Stream> && !same<bp::Stream, bp_sdk::Stream>);
static_assert(same<bp::plugin::Dtype, bp_sdk::Dtype> && !same<bp::Dtype, bp_sdk::Dtype>);
static_assert(same<bp::Identity, bp_sdk::Identity> && same<bp::op::add, bp_sdk::op::add>);
namespace bp { static_assert(!same<Stream, plugin::Stream> && !same<Scalar, plugin::Scalar>); }
namespace {
struct Acme : bp::plugin::Backend {
  static constexpr bp::plugin::Identity identity{"acme", "Acme Inc.", "1.0"};
  bp::plugin::Result<bp::plugin::Handle> allocate(uint64_t) { return bp::plugin::Handle{1}; }
  void release(bp::plugin::Handle) {}
  bp::plugin::Status copy(bp::plugin::Region, bp::plugin::Region) { return bp::plugin::ok; }
};
}
BP_KERNELS(pointwise) {
  k.add<bp::op::relu>([](bp::plugin::Stream, bp::plugin::In, bp::plugin::Out) { return bp::plugin::ok; })
      .dtypes(bp::plugin::floating);
}
BP_PLUGIN(Acme, pointwise)
"""


def headers(room):
    return [f"#include <{header.relative_to(room)}>" for header in sorted(room.rglob("*.h*"))]


rooms = sorted(rule.source.glob("*/include"))
sdk = [line for room in rooms if room.parent.name == "sdk" for line in headers(room)]
core = [line for room in rooms if room.parent.name != "sdk" for line in headers(room)]
sources = {"plugin.hpp first": sdk + core, "the core first": core + sdk}
compilers = [name for name in ("g++", shutil.which("clang++-14") or "clang++") if shutil.which(name)]


def complaint(compilation):
    compiler, order = compilation
    command = [compiler, "-std=c++20", *WARNINGS, *(f"-I{room}" for room in rooms), "-fsyntax-only", "-x", "c++", "-"]
    run = subprocess.run(command, input="\n".join(sources[order]) + MEANINGS, capture_output=True, text=True)
    first = next((line for line in run.stderr.splitlines() if "error:" in line), run.stderr[:200])
    return f"{order}, {compiler}: {first}" if run.returncode else None


work = [(compiler, order) for compiler in compilers for order in sources]
with concurrent.futures.ThreadPoolExecutor(max_workers=2) as pool:
    broken = [found for found in pool.map(complaint, work) if found]
broken += [] if len(compilers) == 2 else ["no clang++ (apt install clang-14)"]
rule.report(broken, f"{len(sdk)} and {len(core)} headers, {len(work)} compilations")
