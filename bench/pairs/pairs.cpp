// Our side of the pairs that bench/peers/run.py measures: the same calls as the peer's programs, under the
// same names. Usage: backplane_bench_pairs calls|large|attention|memory|convolutions|inference|libraries|optimizers|ops
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <functional>
#include <map>
#include <string>

#include <backplane/loading/loader.hpp>
#include <backplane/runtime/settings.hpp>
#include <backplane/tensors.hpp>

#include "../peers/measure.hpp"
#include "attention.hpp"
#include "boxed.hpp"
#include "convolutions.hpp"
#include "files.hpp"
#include "inference.hpp"
#include "libraries.hpp"
#include "memory.hpp"
#include "ops.hpp"
#include "optimizers.hpp"
#include "training.hpp"

namespace {

void report_ns(const char* name, double ns) {
  bench::report(name, ns, "ns");
}

// Recorded for derivatives, and back.
void measure_recorded_calls() {
  const bp::Tensor w = bp::set_requires_grad(bp::ones({1})), b = bp::ones({1});
  report_ns("add_1_element_recorded", bench::median_ns([&] { bp::Tensor x = bp::add(w, b); }));
  const double chain = bench::median_ns([&] {
    bp::Tensor x = w;
    for (int i = 0; i < 100; ++i) x = bp::mul(x, b);
    bp::backward(x);
  });
  report_ns("chain_of_100_per_operator", chain / 100);
}

// A network 64-64-10 on 32 rows: forward, cross entropy, backward, and a step down.
void measure_training_step() {
  const auto parameter = [](std::vector<std::int64_t> shape) {
    return bp::set_requires_grad(bp::mul(bp::randn(shape), 0.1));
  };
  const bp::Tensor w1 = parameter({64, 64}), b1 = parameter({64});
  const bp::Tensor w2 = parameter({64, 10}), b2 = parameter({10});
  const bp::Tensor parameters[] = {w1, b1, w2, b2};
  const bp::Tensor x = bp::randn({32, 64}), y = bp::randint(0, 10, {32, 1});
  const double step = bench::median_ns([&] {
    for (const bp::Tensor& each : parameters) bp::set_grad(each, {});
    const bp::Tensor hidden = bp::relu(bp::matmul(x, w1) + b1);
    const bp::Tensor logits = bp::matmul(hidden, w2) + b2;
    const bp::Tensor loss = bp::neg(bp::mean(bp::gather(bp::log_softmax(logits, 1), 1, y)));
    bp::backward(loss);
    const bp::NoGrad not_recorded;
    for (const bp::Tensor& each : parameters) bp::add_(each, bp::grad(each), -0.01);
  });
  bench::report("training_step_64_64_10", step / 1e3, "us");
}

// The cost of one call, on one thread.
void measure_calls() {
  bp::set_num_threads(1);
  const bp::Tensor a = bp::ones({1}), b = bp::ones({1}), out = bp::empty({1});
  const bp::Tensor square = bp::ones({64, 64});
  report_ns("empty", bench::median_ns([] { bp::Tensor x = bp::empty({1}); }));
  report_ns("add_1_element", bench::median_ns([&] { bp::Tensor x = bp::add(a, b); }));
  report_ns("add_out_1_element", bench::median_ns([&] { bp::add_out(out, a, b); }));
  report_ns("add_in_place_1_element", bench::median_ns([&] { bp::add_(a, b); }));
  measure_boxed();
  report_ns("view", bench::median_ns([&] { bp::Tensor x = bp::view(square, {4096}); }));
  report_ns("transpose", bench::median_ns([&] { bp::Tensor x = bp::transpose(square, 0, 1); }));
  report_ns("slice", bench::median_ns([&] { bp::Tensor x = bp::slice(square, 0, 0, 32); }));

  bp::load_plugin(BP_TEST_PLUGIN_DIR "/libbackplane_memonly.so");
  const bp::Device device = bp::device("memonly:0");
  const bp::Tensor c = bp::to(a, device), d = bp::to(b, device);
  report_ns("fallback_mul_1_element", bench::median_ns([&] { bp::Tensor x = bp::mul(c, d); }));
  report_ns("fallback_relu_1_element", bench::median_ns([&] { bp::Tensor x = bp::relu(c); }));

  measure_recorded_calls();
  measure_training_step();
}

// 64 MiB of f32 with a fresh result, bytes read plus written; all cores.
void measure_large() {
  const bp::Tensor x = bp::rand({4096, 4096});
  const double gigabytes = 2.0 * static_cast<double>(x.nbytes()) / 1e9;
  const auto rate = [&](const char* name, auto call) {
    bench::report(name, gigabytes / (bench::median_ns(call) * 1e-9), "GB/s");
  };
  rate("tanh_64mib", [&] { bp::Tensor y = bp::tanh(x); });
  rate("exp_64mib", [&] { bp::Tensor y = bp::exp(x); });
  rate("softmax_64mib", [&] { bp::Tensor y = bp::softmax(x, -1); });
  rate("gelu_64mib", [&] { bp::Tensor y = bp::gelu(x); });
  rate("clone_64mib", [&] { bp::Tensor y = bp::clone(x); });
  const bp::Tensor weight = bp::rand({4096}), bias = bp::rand({4096});
  rate("layer_norm_64mib", [&] { bp::Tensor y = bp::layer_norm(x, {4096}, weight, bias); });
  rate("rms_norm_64mib", [&] { bp::Tensor y = bp::rms_norm(x, {4096}, weight); });
  rate("transpose_copy_64mib", [&] { bp::Tensor y = bp::contiguous(bp::transpose(x, 0, 1)); });
}

// Matrix products on all cores.
void measure_products() {
  struct Row {
    const char* name;
    std::int64_t size;
    bp::Dtype dtype;
  };
  for (const auto& [name, size, dtype] : {Row{"matmul_512_f32", 512, bp::f32},
                                          {"matmul_2048_f32", 2048, bp::f32},
                                          {"matmul_2048_bf16", 2048, bp::bf16}}) {
    const bp::Tensor a = bp::rand({size, size}, dtype), b = bp::rand({size, size}, dtype);
    const double flops = 2 * std::pow(static_cast<double>(size), 3);
    const double ns = bench::median_ns([&] { bp::Tensor y = bp::matmul(a, b); });
    bench::report(name, flops / ns, "GFLOP/s");
  }
}

// Calls whose instructions are worth counting, by the names above.
void repeat(const std::string& name, int count) {
  const bp::Tensor a = bp::ones({1}), b = bp::ones({1});
  const bp::Tensor square = bp::ones({64, 64}), w = bp::set_requires_grad(bp::ones({1}));
  const std::map<std::string, std::function<void()>> calls = {
      {"add_1_element", [&] { bp::Tensor x = bp::add(a, b); }},
      {"add_1_element_recorded", [&] { bp::Tensor x = bp::add(w, b); }},
      {"chain_of_10_and_back",
       [&] {
         bp::Tensor x = w;
         for (int i = 0; i < 10; ++i) x = bp::mul(x, b);
         bp::backward(x);
       }},
      {"boxed_add_out_1_element", [boxed = BoxedAdd()]() mutable { boxed.call(); }},
      {"kernel_add_1_element", [boxed = BoxedAdd()]() mutable { boxed.run_kernel(); }},
      {"empty", [] { bp::Tensor x = bp::empty({1}); }},
      {"view", [&] { bp::Tensor x = bp::view(square, {4096}); }},
      {"transpose", [&] { bp::Tensor x = bp::transpose(square, 0, 1); }},
      {"slice", [&] { bp::Tensor x = bp::slice(square, 0, 0, 32); }}};
  const auto& call = calls.at(name);
  for (int i = 0; i < count; ++i) call();
}

}  // namespace

int main(int argc, char** argv) {
  const std::string group = argc >= 2 ? argv[1] : "";
  try {
    if (group == "calls") {
      measure_calls();
    } else if (group == "large") {
      measure_large();
      measure_products();
    } else if (group == "attention") {
      measure_attention();
    } else if (group == "memory") {
      measure_memory();
    } else if (group == "convolutions") {
      measure_convolutions();
    } else if (group == "files") {
      measure_files();
    } else if (group == "inference") {
      measure_inference();
    } else if (group == "libraries") {
      measure_libraries();
    } else if (group == "optimizers") {
      measure_optimizers();
    } else if (group == "ops") {
      serve_ops();
    } else if (group == "training" && argc == 3) {
      measure_training(argv[2]);
    } else if (group == "repeat" && argc == 4) {
      repeat(argv[2], std::atoi(argv[3]));
    } else {
      std::fprintf(
          stderr,
          "usage: backplane_bench_pairs calls|large|attention|memory|convolutions|files|inference|"
          "libraries|optimizers|ops|training NETWORK|repeat NAME COUNT\n");
      return 2;
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "backplane_bench_pairs: %s\n", error.what());
    return 1;
  }
}
