// Backplane on "opencl:0" against OpenCL itself: what bench/peers/opencl.py measures.
// Usage: backplane_bench_opencl memory|matmul|calls|chain ROUNDS, or backplane_bench_opencl start
#include <cstdlib>
#include <exception>
#include <fstream>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>

#include <backplane/codegen/codegen.hpp>
#include <backplane/core_ops/generated/rows.hpp>
#include <backplane/dispatcher/call.hpp>
#include <backplane/dispatcher/chain.hpp>
#include <backplane/tensors.hpp>

#include "opencl_device.hpp"
#include "take_turns.hpp"
#ifdef BP_BENCH_CLBLAST
#  include <clblast_c.h>
#endif

namespace {

using bench::OpenclDevice;
using bench::Side;

struct Bench {
  bp::Device device = bp::device("opencl:0");
  OpenclDevice peer{bp::device_record(device).info.name};
  int rounds = 9;

  Side ours(std::function<void()> call) const {
    return {std::move(call), [on = device] { bp::synchronize(on); }};
  }
  Side theirs(std::function<void()> call) {
    return {std::move(call), [this] { peer.finish(); }};
  }
};

std::string read_file(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error("cannot read " + path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// 64 MiB of f32 with a fresh result, bytes read plus written, against the better of two plain copies of
// 64 MiB: by a kernel, and by clEnqueueCopyBuffer.
void measure_memory(Bench& b) {
  constexpr std::int64_t side = 4096;
  constexpr std::size_t bytes = side * side * 4;
  const bp::Tensor x = bp::to(bp::rand({side, side}), b.device);
  const bp::Tensor y = bp::to(bp::rand({side, side}), b.device);
  cl_mem from = b.peer.buffer(bytes), to = b.peer.buffer(bytes);
  cl_kernel copy = b.peer.kernel(
      "__kernel void copy(__global const float16* from, __global float16* to) {\n"
      "  to[get_global_id(0)] = from[get_global_id(0)];\n}\n",
      "copy");
  b.peer.set(copy, 0, from);
  b.peer.set(copy, 1, to);
  const Side by_kernel = b.theirs([&] { b.peer.run(copy, bytes / 64, 1, 256); });
  const Side by_command = b.theirs([&] {
    OpenclDevice::check(
        clEnqueueCopyBuffer(b.peer.queue(), from, to, 0, 0, bytes, 0, nullptr, nullptr),
        "clEnqueueCopyBuffer");
  });

  const auto measure = [&](const char* name, int passes, std::function<void()> call) {
    const std::vector<double> ns =
        bench::take_turns({b.ours(std::move(call)), by_kernel, by_command}, b.rounds);
    const double copied = 2.0 * bytes;
    bench::report("ours", name, passes * static_cast<double>(bytes) / ns[0], "GB/s");
    bench::report("peer", name, copied / std::min(ns[1], ns[2]), "GB/s");
  };
  measure("add_64mib", 3, [&] { bp::Tensor z = bp::add(x, y); });
  measure("mul_64mib", 3, [&] { bp::Tensor z = bp::mul(x, y); });
  measure("relu_64mib", 2, [&] { bp::Tensor z = bp::relu(x); });
  measure("exp_64mib", 2, [&] { bp::Tensor z = bp::exp(x); });
  measure("tanh_64mib", 2, [&] { bp::Tensor z = bp::tanh(x); });
  measure("sum_64mib", 1, [&] { bp::Tensor z = bp::sum(x); });
  measure("softmax_64mib", 2, [&] { bp::Tensor z = bp::softmax(x, -1); });
  measure("transpose_copy_64mib", 2,
          [&] { bp::Tensor z = bp::contiguous(bp::transpose(x, 0, 1)); });
}

// The device's multiply-adds of f32: of several numbers of chains the fastest, since which one that is depends on how many registers
// there are and on how long an addition takes.
class MultiplyAdds {
 public:
  explicit MultiplyAdds(Bench& b) : items_(b.peer.compute_units() * 256) {
    const std::string source = read_file(BP_BENCH_PEERS_DIR "/fma.cl");
    const std::vector<int> chains = {1, 4, 6, 8, 10};
    std::vector<Side> sides;
    cl_mem out = b.peer.buffer(items_ * sizeof(float));
    for (const int count : chains) {
      const std::string define = "#define CHAINS " + std::to_string(count) + "\n";
      cl_kernel kernel = b.peer.kernel(define + source, "multiply_adds");
      b.peer.set(kernel, 0, out);
      b.peer.set(kernel, 1, 0.5f);
      b.peer.set(kernel, 2, times);
      sides.push_back(b.theirs([&b, kernel, items = items_] { b.peer.run(kernel, items, 1, 64); }));
    }
    const std::vector<double> ns = bench::take_turns(sides, b.rounds);
    for (std::size_t i = 0; i < ns.size(); ++i)
      if (chains_ == 0 || chains[i] / ns[i] > chains_ / best_ns_) {
        chains_ = chains[i];
        best_ns_ = ns[i];
        fastest_ = sides[i];
      }
  }

  const Side& side() const { return fastest_; }
  double flop() const { return 2.0 * 16 * chains_ * times * static_cast<double>(items_); }

 private:
  static constexpr int times = 4096;

  std::size_t items_;
  int chains_ = 0;
  double best_ns_ = 0;
  Side fastest_;
};

// Products of square f32 matrices, against the device's multiply-adds, bench/peers/gemm.cl, and CLBlast as it comes.
void measure_matmul(Bench& b) {
  const MultiplyAdds peak(b);
  cl_kernel gemm = b.peer.kernel(read_file(BP_BENCH_PEERS_DIR "/gemm.cl"), "gemm");
  for (const int size : {512, 1024, 2048}) {
    const bp::Tensor x = bp::to(bp::rand({size, size}), b.device);
    const bp::Tensor y = bp::to(bp::rand({size, size}), b.device);
    const auto elements = static_cast<std::size_t>(size) * static_cast<std::size_t>(size);
    cl_mem memory[3];
    for (cl_uint i = 0; i < 3; ++i) b.peer.set(gemm, i, memory[i] = b.peer.buffer(elements * 4));
    b.peer.set(gemm, 3, size);
    b.peer.set(gemm, 4, size);
    const auto edge = static_cast<std::size_t>(size);
    std::vector<Side> sides = {b.ours([&] { bp::Tensor z = bp::matmul(x, y); }),
                               b.theirs([&] { b.peer.run(gemm, edge / 32, edge / 8); }),
                               peak.side()};
#ifdef BP_BENCH_CLBLAST
    sides.push_back(b.theirs([&] {
      cl_command_queue queue = b.peer.queue();
      const CLBlastStatusCode code = CLBlastSgemm(
          CLBlastLayoutRowMajor, CLBlastTransposeNo, CLBlastTransposeNo, edge, edge, edge, 1.0f,
          memory[0], 0, edge, memory[1], 0, edge, 0.0f, memory[2], 0, edge, &queue, nullptr);
      if (code != CLBlastSuccess) throw std::runtime_error("CLBlastSgemm failed");
    }));
#endif
    const std::vector<double> ns = bench::take_turns(sides, b.rounds);
    const double flop = 2.0 * size * size * size;
    const std::string name = "matmul_" + std::to_string(size);
    bench::report("ours", name, flop / ns[0], "GFLOP/s");
    bench::report("peer", name, flop / ns[1], "GFLOP/s");
    bench::report("peer", name + "_of_peak", peak.flop() / ns[2], "GFLOP/s");
    if (ns.size() > 3) bench::report("peer", name + "_clblast", flop / ns[3], "GFLOP/s");
  }
}

// What giving a kernel to the device costs: many in a row, then one wait.
void measure_calls(Bench& b) {
  const bp::Tensor x = bp::ones({1}, bp::f32, b.device), y = bp::ones({1}, bp::f32, b.device);
  cl_kernel add = b.peer.kernel(
      "__kernel void add(__global const float* a, __global const float* b, __global float* c) {\n"
      "  c[get_global_id(0)] = a[get_global_id(0)] + b[get_global_id(0)];\n}\n",
      "add");
  for (cl_uint i = 0; i < 3; ++i) b.peer.set(add, i, b.peer.buffer(4));
  const std::vector<double> ns = bench::take_turns(
      {b.ours([&] { bp::Tensor z = bp::add(x, y); }), b.theirs([&] { b.peer.run(add, 1); })},
      3 * b.rounds);
  bench::report("ours", "add_1_element", ns[0], "ns");
  bench::report("peer", "add_1_element", ns[1], "ns");
}

// relu(x * 2 + 1) - x, times x: 5 operators joined into one, against the same one by one, both ours.
void measure_chain(Bench& b) {
  namespace ops = bp::ops;
  using In = bp::ChainInput;
  const bp::ChainStep steps[] = {{&ops::mul, {In::argument(0), In::number(2.0)}},
                                 {&ops::add, {In::step(0), In::number(1.0)}},
                                 {&ops::relu, {In::step(1)}},
                                 {&ops::sub, {In::step(2), In::argument(0)}},
                                 {&ops::mul, {In::step(3), In::argument(0)}}};
  const bp::Chain joined = bp::join(steps);
  const bp::Tensor x = bp::to(bp::rand({4096, 4096}), b.device);
  bp_value argument = bp::value_of(x);
  const std::vector<double> ns = bench::take_turns(
      {b.ours([&] { bp::Tensor y = bp::call_pointwise(*joined, &argument, 1); }), b.ours([&] {
         bp::Tensor y = bp::relu(bp::add(bp::mul(x, 2.0), 1.0));
         y = bp::mul(bp::sub(y, x), x);
       })},
      b.rounds);
  bench::report("ours", "chain_of_5_64mib", ns[0] / 1e6, "ms");
  bench::report("peer", "chain_of_5_64mib", ns[1] / 1e6, "ms");
}

// What a new process has to compile before it has a result.
void report_start() {
  const bp::Device device = bp::device("opencl:0");
  const bp::Tensor x = bp::to(bp::rand({600, 600}), device);
  const bp::Tensor y = bp::softmax(bp::relu(bp::matmul(x, x)), -1);
  bp::Tensor z = bp::sum(bp::contiguous(bp::transpose(y, 0, 1)));
  bp::synchronize(device);
  bench::report("ours", "compiled", static_cast<double>(bp::codegen::build_counts().compiled),
                "kernels");
}

}  // namespace

int main(int argc, char** argv) {
  const std::string group = argc >= 2 ? argv[1] : "";
  const std::map<std::string, void (*)(Bench&)> groups = {{"memory", measure_memory},
                                                          {"matmul", measure_matmul},
                                                          {"calls", measure_calls},
                                                          {"chain", measure_chain}};
  try {
    if (group == "start") {
      report_start();
    } else if (groups.count(group) && argc == 3) {
      Bench b;
      b.rounds = std::max(1, std::atoi(argv[2]));
      groups.at(group)(b);
    } else {
      std::fprintf(stderr,
                   "usage: backplane_bench_opencl memory|matmul|calls|chain ROUNDS, or start\n");
      return 2;
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "backplane_bench_opencl: %s\n", error.what());
    return 1;
  }
}
