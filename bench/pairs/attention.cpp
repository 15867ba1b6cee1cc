#include "attention.hpp"

#include <string>

#include <backplane/tensors.hpp>

#include "../peers/measure.hpp"

namespace {

void measure_length(std::int64_t length) {
  const std::string name = "attention_8x" + std::to_string(length) + "x64";
  const auto heads = [&] { return bp::randn({1, 8, length, 64}); };
  const bp::Tensor query = heads(), key = heads(), value = heads(), gradient = heads();
  const double forward = bench::median_ns(
      [&] { const bp::Tensor y = bp::scaled_dot_product_attention(query, key, value); });
  bench::report((name + "_forward").c_str(), forward / 1e3, "us");
  for (const bp::Tensor& each : {query, key, value}) bp::set_requires_grad(each);
  const double both = bench::median_ns([&] {
    for (const bp::Tensor& each : {query, key, value}) bp::set_grad(each, {});
    bp::backward(bp::scaled_dot_product_attention(query, key, value), gradient);
  });
  bench::report(name.c_str(), both / 1e3, "us");
}

}  // namespace

void measure_attention() {
  measure_length(512);
  measure_length(2048);
}
