#include "kernels/products.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <string>

#include "constants.hpp"
#include "kernels/fastest_way.hpp"

namespace cuda_backend {
namespace {

// By what another algorithm must beat the library's first.
double least_gain_for(const Product& p) {
  const auto m = static_cast<double>(p.m), n = static_cast<double>(p.n),
             k = static_cast<double>(p.k);
  return m * n * k > constants::uses_at_full_power * (m * k + k * n + m * n)
             ? constants::product_gain_at_full_power
             : constants::product_gain;
}

// What is compared, for the tuner: all numbers of the key.
std::string words_of(const ProductKey& key, size_t version) {
  uint64_t words[sizeof(ProductKey) / 8];
  std::memcpy(words, &key, sizeof key);
  std::string text = "cuBLASLt " + std::to_string(version) + " matmul";
  for (const uint64_t word : words) text += ' ' + std::to_string(static_cast<int64_t>(word));
  return text;
}

}  // namespace

Products::Products(const cublaslt::Library& library) : library_(library) {
  const OutsideCapture outside;
  require(library_, library_.create(&handle_), "a handle");
}

Products::~Products() {
  library_.destroy(handle_);
}

std::shared_ptr<ProductPlan> Products::plan_for(const ProductKey& key) {
  const uint64_t hash = hash_of(key);
  const std::lock_guard lock(mutex_);
  ++now_;
  for (size_t i = 0; i < capacity; ++i) {
    if (hashes_[i] != hash || !(keys_[i] == key)) continue;
    used_[i] = now_;
    return plans_[i];
  }
  const auto oldest = static_cast<size_t>(
      std::distance(used_.begin(), std::min_element(used_.begin(), used_.end())));
  auto plan = std::make_shared<ProductPlan>(library_, handle_, key);
  hashes_[oldest] = hash;
  keys_[oldest] = key;
  used_[oldest] = now_;
  plans_[oldest] = plan;
  return plan;
}

bool Products::recall(const ProductKey& key, ProductPlan& plan) {
  const std::lock_guard lock(mutex_);
  const auto found = choices_.find(key);
  if (found != choices_.end() && found->second < plan.num_algorithms())
    plan.settle(found->second);
  else if (choices_.size() >= constants::product_choices)
    plan.settle(0);
  return plan.is_settled();
}

void Products::settle(const bp::Call& call, const OnCard& card, const Product& product,
                      const ProductKey& key, ProductPlan& plan) {
  if (recall(key, plan) || !can_measure_on(card.stream())) return;
  // What was given earlier may take long, and is waited for outside the lock.
  if (cudaStreamSynchronize(card.stream()) != cudaSuccess) return;
  const std::lock_guard lock(measuring_);
  if (recall(key, plan)) return;
  const size_t choice = measure(call, card, product, key, plan);
  {
    const std::lock_guard lock_of_choices(mutex_);
    choices_.emplace(key, choice);
  }
  plan.settle(choice);
}

size_t Products::measure(const bp::Call& call, const OnCard& card, const Product& product,
                         const ProductKey& key, const ProductPlan& plan) {
  uint64_t bytes = 0;
  for (size_t i = 0; i < plan.num_algorithms(); ++i)
    bytes = std::max(bytes, plan.workspace_bytes(i));
  void* workspace = nullptr;
  if (!allocate_workspace(call, bytes, workspace).is_ok()) return 0;
  const Comparison comparison{words_of(key, library_.version()), plan.num_algorithms(),
                              least_gain_for(product)};
  // Into the call's own result, which is not a factor, and which the choice writes last.
  const auto give = [&](size_t algorithm) {
    return plan.run(handle_, product, algorithm, workspace, card.stream()) == CUBLAS_STATUS_SUCCESS;
  };
  return kept_fastest_way(card.stream(), comparison, give, [&](const FastestWay& fastest) {
    bp::log(
        bp::LogLevel::debug,
        "matmul: measured %lld x [%lld, %lld] by [%lld, %lld]: of %zu algorithms number %zu was "
        "the fastest, %.1f us, and the first took %.1f us; %.1f ms were spent",
        static_cast<long long>(product.batch), static_cast<long long>(product.m),
        static_cast<long long>(product.k), static_cast<long long>(product.k),
        static_cast<long long>(product.n), fastest.num_measured, fastest.way, fastest.us,
        fastest.us_of_first, fastest.spent_ms);
  });
}

bp::Status Products::run(const bp::Call& call, const OnCard& card, const Product& product) {
  const OutsideCapture outside;  // the library allocates and loads
  const ProductKey key = key_of(product);
  const std::shared_ptr<ProductPlan> plan = plan_for(key);
  if (plan->num_algorithms() == 0) return bp::Status::from_host(BP_UNSUPPORTED);
  if (!plan->is_settled()) [[unlikely]]
    settle(call, card, product, key, *plan);
  const size_t choice = plan->choice();
  void* workspace = nullptr;
  if (bp::Status status = allocate_workspace(call, plan->workspace_bytes(choice), workspace);
      !status.is_ok())
    return status;
  const cublasStatus_t status = plan->run(handle_, product, choice, workspace, card.stream());
  if (status == CUBLAS_STATUS_SUCCESS) return bp::ok;
  if (status == CUBLAS_STATUS_NOT_SUPPORTED) return bp::Status::from_host(BP_UNSUPPORTED);
  // What the card says is the better reason.
  if (bp::Status failed = card.check_launches(); !failed.is_ok()) return failed;
  return bp::internal("matmul: cuBLASLt: [%lld, %lld] by [%lld, %lld]: %s",
                      static_cast<long long>(product.m), static_cast<long long>(product.k),
                      static_cast<long long>(product.k), static_cast<long long>(product.n),
                      library_.status_string(status));
}

Products* products_of(const OnCard& card) {
  return kept_for<Products>(card, cublaslt::library());
}

}  // namespace cuda_backend
