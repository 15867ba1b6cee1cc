// What files_to_follow_rule.py watches: each call under a name of its own, after calls that made everything ready.
#include <cstdio>
#include <cstring>

#include <backplane/tensors.hpp>

namespace {

constexpr int rounds = 20;  // the first fill pools, tables and caches

}  // namespace

// With C's names, so that callgrind finds them; only the last round runs under the watched one.
extern "C" {

[[gnu::noinline]] bp::Tensor* followed_add(const bp::Tensor& a, const bp::Tensor& b) {
  return new bp::Tensor(a + b);
}

[[gnu::noinline]] void followed_backward(const bp::Tensor& loss) {
  bp::backward(loss);
}

[[gnu::noinline]] bp::Device followed_loading(const char* name) {
  return bp::device(name);
}
}

namespace {

void add(const bp::Device& device) {
  const bp::Tensor a = bp::ones({3}, bp::f32, device), b = bp::ones({3}, bp::f32, device);
  for (int i = 0; i < rounds; ++i) const bp::Tensor sum = a + b;
  delete followed_add(a, b);
}

// Of a + b: both get a gradient.
void backward(const bp::Device& device) {
  for (int i = 0; i <= rounds; ++i) {
    const bp::Tensor a = bp::set_requires_grad(bp::ones({}, bp::f32, device)),
                     b = bp::set_requires_grad(bp::ones({}, bp::f32, device));
    const bp::Tensor sum = a + b;
    if (i < rounds)
      bp::backward(sum);
    else
      followed_backward(sum);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3)
    return std::fprintf(stderr, "usage: followed_calls add|backward|loading DEVICE...\n"), 2;
  const bp::Device device = bp::device(argv[2]);
  if (std::strcmp(argv[1], "add") == 0) add(device);
  if (std::strcmp(argv[1], "backward") == 0) backward(device);
  if (std::strcmp(argv[1], "loading") == 0 && argc == 4) followed_loading(argv[3]);  // the second
}
