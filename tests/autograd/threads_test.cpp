// needs: reference_compiler
// Backward from many threads at once: on a device that the thread sanitizer's run has as well.
#include <thread>

#include "autograd/tensors.hpp"

namespace bp::test {
namespace {

constexpr int num_threads = 8;

Tensor leaf_of(std::int64_t size, double value) {
  return set_requires_grad(full({size}, value, f64, device("reference_compiler")));
}

Values values_of(const Tensor& a) {
  return to_vector<double>(detach(a));
}

void on_all_threads(const std::function<void(int)>& body) {
  std::vector<std::thread> threads;
  for (int i = 0; i < num_threads; ++i) threads.emplace_back(body, i);
  for (std::thread& thread : threads) thread.join();
}

TEST(Threads, add_to_the_same_leaves) {
  const Tensor w = leaf_of(100, 1), b = leaf_of(1, 0);
  constexpr int num_rounds = 50;
  on_all_threads([&](int thread) {
    for (int round = 0; round < num_rounds; ++round) backward(sum(w * (thread + 1.0) + b));
  });
  EXPECT_EQ(values_of(grad(w)), Values(100, num_rounds * 36.0));
  EXPECT_EQ(values_of(grad(b)), Values(1, num_rounds * num_threads * 100.0));
}

TEST(Threads, go_through_one_record_at_once) {
  const Tensor w = leaf_of(10, 2);
  Tensor shared = w;
  for (int i = 0; i < 20; ++i) shared = exp(log(shared)) * 1.0;
  const Tensor root = sum(shared * shared);
  on_all_threads([&](int) {
    for (int round = 0; round < 20; ++round) backward(root, {}, {.retain_graph = true});
  });
  for (double value : values_of(grad(w))) EXPECT_NEAR(value, 20 * num_threads * 4.0, 1e-6);
}

TEST(Threads, meet_a_freed_record_with_an_error_and_never_a_crash) {
  for (int round = 0; round < 20; ++round) {
    const Tensor w = leaf_of(10, 2);
    Tensor shared = w;
    for (int i = 0; i < 20; ++i) shared = shared * exp(shared * 0.0);
    const Tensor root = sum(shared);
    std::atomic<int> num_done{0};
    on_all_threads([&](int) {
      const std::string error = sentence_of([&] { backward(root); });
      if (error == "no error")
        ++num_done;
      else
        EXPECT_THAT(error, testing::HasSubstr("was freed by an earlier backward"));
    });
    EXPECT_LE(num_done, 1);
  }
}

TEST(Threads, may_continue_what_another_one_began) {
  const Tensor w = leaf_of(1, 3);
  Tensor y;
  std::thread([&] { y = w * w; }).join();
  EXPECT_TRUE(is_grad_enabled());
  std::thread([&] { y = y * w; }).join();
  std::thread([&] { backward(y); }).join();
  EXPECT_THAT(values_of(grad(w)), ElementsAre(27));
}

}  // namespace
}  // namespace bp::test
