// Products of matrices by cuBLASLt: the plans of the products used last, and the algorithms that were the fastest.
#pragma once

#include <array>
#include <memory>
#include <mutex>
#include <unordered_map>

#include <backplane/plugin.hpp>

#include "constants.hpp"
#include "kernels/on_card.hpp"
#include "kernels/product_plan.hpp"

namespace cuda_backend {

// One for each card: the library's handle, and the plans of the products used last. Threads: any.
class Products {
 public:
  // Of the card that is current on this thread. Throws bp::Failure.
  explicit Products(const cublaslt::Library& library);
  ~Products();
  Products(const Products&) = delete;
  Products& operator=(const Products&) = delete;

  const cublaslt::Library& library() const { return library_; }
  cublasLtHandle_t handle() const { return handle_; }

  // BP_UNSUPPORTED, without a message, where the library knows no way.
  bp::Status run(const bp::Call& call, const OnCard& card, const Product& product);

 private:
  static constexpr size_t capacity = constants::product_plans;

  struct Hash {
    size_t operator()(const ProductKey& key) const { return hash_of(key); }
  };

  std::shared_ptr<ProductPlan> plan_for(const ProductKey& key);
  // Measures, unless the stream records or the choice is known; the call's own run comes after it.
  void settle(const bp::Call& call, const OnCard& card, const Product& product,
              const ProductKey& key, ProductPlan& plan);
  // The number of the algorithm, 0 where nothing can be measured. Holds the call's stream up.
  size_t measure(const bp::Call& call, const OnCard& card, const Product& product,
                 const ProductKey& key, const ProductPlan& plan);
  // Whether the choice was made earlier, or none will be made; the plan then has it.
  bool recall(const ProductKey& key, ProductPlan& plan);

  const cublaslt::Library& library_;
  cublasLtHandle_t handle_ = nullptr;
  std::mutex measuring_;  // one at a time on a card; taken before mutex_
  std::mutex mutex_;      // of what follows
  uint64_t now_ = 0;
  std::array<uint64_t, capacity> hashes_{}, used_{};  // hash 0: a free place
  std::array<ProductKey, capacity> keys_{};
  std::array<std::shared_ptr<ProductPlan>, capacity> plans_;
  // Outlive the plans: a plan that is made again must not change the bits.
  std::unordered_map<ProductKey, size_t, Hash> choices_;
};

// Those of the card, made when first asked for; null where cuBLASLt is not installed. Throws bp::Failure.
Products* products_of(const OnCard& card);

}  // namespace cuda_backend
