// What a call of PyTorch costs when there is nothing to compute: one thread, no gradient recorded.
#include <torch/types.h>
#include <torch/utils.h>

#include "measure.hpp"

namespace {

template <class Call> void row(const char* name, Call call) {
  bench::report(name, bench::median_ns(call), "ns");
}

void pointwise_rows() {
  torch::Tensor a = torch::ones({1}), b = torch::ones({1}), out = torch::empty({1});
  row("add_1_element", [&] { torch::Tensor sum = at::add(a, b); });
  row("add_out_1_element", [&] { at::add_out(out, a, b); });
  row("add_in_place_1_element", [&] { out.add_(b); });
}

void metadata_rows() {
  torch::Tensor matrix = torch::ones({64, 64});
  row("view", [&] { torch::Tensor flat = matrix.view({4096}); });
  row("transpose", [&] { torch::Tensor turned = matrix.transpose(0, 1); });
  row("slice", [&] { torch::Tensor upper = matrix.slice(0, 0, 32); });
  row("empty", [&] { torch::Tensor fresh = torch::empty({1}); });
}

}  // namespace

int main() {
  torch::set_num_threads(1);
  torch::NoGradGuard no_grad;
  pointwise_rows();
  metadata_rows();
}
