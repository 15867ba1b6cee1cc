// Backplane on "cuda:0", as bench/cuda_vs_pytorch.py measures it in turns with PyTorch, which does the same under the same
// names in bench/peers/cuda_pytorch.py.
// Usage: backplane_bench_cuda memory|norm|order|matmul|attention|convolution|calls|chain|start [DEVICE]
//        backplane_bench_cuda serve [DEVICE]    measures the product or attention of each name that it reads, and answers
//                                               with its figure and a line "end"
#include <exception>
#include <iostream>
#include <map>
#include <string>

#include <backplane/capture/capture.hpp>
#include <backplane/codegen/codegen.hpp>
#include <backplane/core_ops/generated/rows.hpp>
#include <backplane/dispatcher/call.hpp>
#include <backplane/dispatcher/chain.hpp>
#include <backplane/dispatcher/transfer.hpp>
#include <backplane/runtime/settings.hpp>
#include <backplane/tensors.hpp>

#include "bare_launch.hpp"
#include "bench_layers.hpp"
#include "on_device.hpp"

namespace {

using bp::Tensor;

struct Bench {
  bp::Device device;
  std::string only = {};  // the one case that is wanted; empty: all

  bool is_asked(const std::string& name) const { return only.empty() || only == name; }

  Tensor normal(std::vector<std::int64_t> shape, bp::Dtype dtype = bp::f32) const {
    return bp::cast(bp::randn(shape, bp::f32, device), dtype);
  }
  // `amount` for each call, in a unit for each nanosecond. A case that fails leaves its row out.
  template <class Call>
  void measure(const std::string& name, double amount, const char* unit, Call call) const {
    try {
      bench::report(name.c_str(), amount / bench::device_ns(device, call), unit);
    } catch (const bp::Error& error) {
      std::fprintf(stderr, "backplane_bench_cuda: %s: %s\n", name.c_str(), error.what());
    }
  }
  // `bytes`: what the operator must read and write.
  template <class Call> void rate(const char* name, double bytes, Call call) const {
    measure(name, bytes, "GB/s", call);
  }
};

constexpr std::int64_t elements = std::int64_t{1} << 28, row = 4096, rows = elements / row;
constexpr double gib = elements * 4.0;

// 1 GiB of f32, with a fresh result but for `memcpy`.
void measure_memory(const Bench& b) {
  const Tensor x = b.normal({rows, row}), y = b.normal({rows, row});
  {
    const Tensor to = bp::empty({rows, row}, bp::f32, b.device);
    b.rate("memcpy_1gib", 2 * gib, [&] { bp::copy_into(to, x); });
  }
  b.rate("copy_1gib", 2 * gib, [&] { bp::copy(x); });
  b.rate("add_1gib", 3 * gib, [&] { bp::add(x, y); });
  b.rate("tanh_1gib", 2 * gib, [&] { bp::tanh(x); });
  b.rate("sum_all_1gib", gib, [&] { bp::sum(x); });
  b.rate("sum_rows_1gib", gib, [&] { bp::sum(x, -1); });
  b.rate("sum_columns_1gib", gib, [&] { bp::sum(x, 0); });
  b.rate("softmax_1gib", 2 * gib, [&] { bp::softmax(x, -1); });
  b.rate("cast_1gib", 1.5 * gib, [&] { bp::cast(x, bp::f16); });
  const Tensor square = bp::view(x, {16384, 16384});
  b.rate("transpose_1gib", 2 * gib, [&] { bp::contiguous(bp::transpose(square, 0, 1)); });
  const Tensor upper = bp::narrow(x, 0, 0, rows / 2), lower = bp::narrow(y, 0, 0, rows / 2);
  b.rate("cat_1gib", 2 * gib, [&] { bp::cat({upper, lower}, 0); });
  // Anywhere within each row of 16 KiB; an index has 8 bytes.
  const Tensor index = bp::randint(0, row, {rows, row}, bp::i64, b.device);
  b.rate("gather_1gib", 4 * gib, [&] { bp::gather(x, 1, index); });
}

// Rows of 1 GiB of f32, with weight and bias; backward all gradients by the one of the result.
void measure_norms(const Bench& b) {
  const Tensor x = b.normal({rows, row}), grad = b.normal({rows, row});
  const Tensor weight = b.normal({row}), bias = b.normal({row});
  const bp::NativeLayerNormResult layer = bp::native_layer_norm(x, {row}, weight, bias);
  const bp::NativeRmsNormResult rms = bp::native_rms_norm(x, {row}, weight, 1e-6);
  b.rate("layer_norm_1gib", 2 * gib, [&] { bp::layer_norm(x, {row}, weight, bias); });
  b.rate("rms_norm_1gib", 2 * gib, [&] { bp::rms_norm(x, {row}, weight); });
  b.rate("layer_norm_backward_1gib", 3 * gib,
         [&] { bp::norm_gradients(grad, x, {row}, layer.mean, layer.rstd, weight); });
  b.rate("rms_norm_backward_1gib", 3 * gib,
         [&] { bp::norm_gradients(grad, x, {row}, {}, rms.rstd, weight); });
}

// Sorting and scanning, which nobody holds against a copy.
void measure_order(const Bench& b) {
  const Tensor line = b.normal({1 << 24}), lines = b.normal({16384, 1024});
  const auto numbers = static_cast<double>(1 << 24);
  const auto report = [&](const char* name, auto call) {
    b.measure(name, numbers, "Gelem/s", call);
  };
  report("sort_16m", [&] { bp::sort(line, 0); });
  report("sort_rows_1024", [&] { bp::sort(lines, 1); });
  report("cumsum_16m", [&] { bp::cumsum(line, 0); });
  report("cumsum_rows_1024", [&] { bp::cumsum(lines, 1); });
  const Tensor mask = bp::gt(line, 1.0);
  report("nonzero_16m", [&] { bp::nonzero(mask); });
}

struct Factors {
  Tensor x, y;
};

// `make` gives the factors, which may be large.
template <class Make> void measure_product(const Bench& b, const std::string& name, Make make) {
  if (!b.is_asked(name)) return;
  const auto [x, y] = make();
  const double batch = x.ndim() == 3 ? static_cast<double>(x.size(0)) : 1;
  const double flop = 2 * batch * static_cast<double>(x.size(-2)) *
                      static_cast<double>(x.size(-1)) * static_cast<double>(y.size(-1));
  b.measure(name, flop / 1e3, "TFLOP/s", [x = x, y = y] { bp::matmul(x, y); });
}

void measure_products_of(const Bench& b, bp::Dtype dtype, const std::string& name) {
  const auto product = [&](const std::string& which, auto make) {
    measure_product(b, "matmul_" + name + "_" + which, make);
  };
  const auto normal = [&](std::vector<std::int64_t> shape) { return b.normal(shape, dtype); };
  for (const std::int64_t n : {1024, 2048, 4096, 8192})
    product(std::to_string(n), [&] { return Factors{normal({n, n}), normal({n, n})}; });
  product("batched", [&] { return Factors{normal({64, 1024, 1024}), normal({64, 1024, 1024})}; });
  product("heads", [&] {
    return Factors{bp::transpose(normal({192, 64, 512}), 1, 2), normal({192, 64, 512})};
  });
  product("skinny", [&] { return Factors{normal({16, 8192}), normal({8192, 8192})}; });
  product("skinny_transposed", [&] {
    return Factors{normal({16, 8192}), bp::transpose(normal({8192, 8192}), 0, 1)};
  });
  product("vector", [&] { return Factors{normal({1, 8192}), normal({8192, 8192})}; });
}

void measure_matmul(const Bench& b) {
  bp::set_allow_tf32(false);
  measure_products_of(b, bp::bf16, "bf16");
  measure_products_of(b, bp::f16, "f16");
  measure_product(b, "matmul_f32_4096", [&] {
    return Factors{b.normal({4096, 4096}), b.normal({4096, 4096})};
  });
  bp::set_allow_tf32(true);
  measure_products_of(b, bp::f32, "tf32");
}

// One case after the other, as asked for: the two sides take turns at each.
void serve(bp::Device device) {
  for (std::string name; std::getline(std::cin, name);) {
    measure_matmul({device, name});
    bench::measure_attention(device, name);
    std::puts("end");
    std::fflush(stdout);
  }
}

void measure_attention(const Bench& b) {
  bench::measure_attention(b.device, b.only);
}
void measure_convolutions(const Bench& b) {
  bench::measure_convolutions(b.device);
}

void measure_calls(const Bench& b) {
  const Tensor x = bp::ones({1}, bp::f32, b.device), y = bp::ones({1}, bp::f32, b.device);
  bench::report("add_1_element", bench::host_ns(b.device, [&] { bp::add(x, y); }) / 1e3, "us");
  const Tensor out = bp::empty({1}, bp::f32, b.device);
  bench::report("add_out_1_element",
                bench::host_ns(b.device, [&] { bp::add_out(out, x, y); }) / 1e3, "us");
  bench::BareLaunch bare;
  if (bare.prepare()) bench::report("bare_launch", bench::host_ns(b.device, bare) / 1e3, "us");
  const Tensor left = b.normal({64, 64}), right = b.normal({64, 64});
  bench::report("matmul_64", bench::host_ns(b.device, [&] { bp::matmul(left, right); }) / 1e3,
                "us");

  constexpr int operators = 100, replays = 20;
  bp::Recording graph = bp::capture(b.device, [&] {
    for (int i = 0; i < operators / 2; ++i) {
      bp::add_out(out, x, y);
      bp::mul_out(out, out, y);
    }
  });
  // With the wait: on the device these are a hundred kernels one after the other.
  const auto all = [&] {
    for (int i = 0; i < replays; ++i) graph.replay();
    bp::synchronize(b.device);
  };
  all();
  bench::report("replay_of_100", bench::median_ns(all) / (operators * replays) / 1e3, "us");
}

// relu(x * 2 + 1) - x, times x: 5 operators as one.
Tensor joined_chain(const Tensor& x) {
  namespace ops = bp::ops;
  using In = bp::ChainInput;
  const bp::ChainStep steps[] = {{&ops::mul, {In::argument(0), In::number(2.0)}},
                                 {&ops::add, {In::step(0), In::number(1.0)}},
                                 {&ops::relu, {In::step(1)}},
                                 {&ops::sub, {In::step(2), In::argument(0)}},
                                 {&ops::mul, {In::step(3), In::argument(0)}}};
  static const bp::Chain joined = bp::join(steps);
  bp_value argument = bp::value_of(x);
  return bp::call_pointwise(*joined, &argument, 1);
}

void measure_chain(const Bench& b) {
  const Tensor x = b.normal({rows, row});
  b.rate("chain_of_5_1gib", 2 * gib, [&] { joined_chain(x); });
}

template <class Call> double ms_of(Call call) {
  return bench::sample_ns(1, call) / 1e6;
}

// What a new process waits for. With an empty folder for compiled kernels the chain is compiled, with a full one it is
// loaded; the sum before it makes the compiler, or the cache, ready in either case.
void report_start(const std::string& name) {
  bp::Device device{};
  bench::report("first_use", ms_of([&] {
                  device = bp::device(name);
                  bp::ones({1}, bp::f32, device);
                  bp::synchronize(device);
                }),
                "ms");
  const Tensor x = bp::ones({1024}, bp::f32, device);
  bench::report("first_kernel", ms_of([&] {
                  bp::sum(x);
                  bp::synchronize(device);
                }),
                "ms");
  bench::report("first_chain", ms_of([&] {
                  joined_chain(x);
                  bp::synchronize(device);
                }),
                "ms");
  bench::report("compiled", static_cast<double>(bp::codegen::build_counts().compiled), "kernels");
}

}  // namespace

int main(int argc, char** argv) {
  const std::string group = argc >= 2 ? argv[1] : "";
  const std::string device = argc >= 3 ? argv[2] : "cuda:0";
  const std::map<std::string, void (*)(const Bench&)> groups = {
      {"memory", measure_memory},       {"norm", measure_norms},
      {"order", measure_order},         {"matmul", measure_matmul},
      {"attention", measure_attention}, {"convolution", measure_convolutions},
      {"calls", measure_calls},         {"chain", measure_chain}};
  try {
    if (group == "start") {
      report_start(device);
    } else if (group == "serve") {
      serve(bp::device(device));
    } else if (groups.count(group)) {
      groups.at(group)({bp::device(device)});
    } else {
      std::fprintf(
          stderr,
          "usage: backplane_bench_cuda "
          "memory|norm|order|matmul|attention|convolution|calls|chain|start|serve [DEVICE]\n");
      return 2;
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "backplane_bench_cuda: %s: %s\n", group.c_str(), error.what());
    return 1;
  }
}
