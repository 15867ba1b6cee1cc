// Where TensorImpls come from and go to: a free list per thread, since one is taken and given back
// with every operator call.
#include <new>

#include <backplane/tensor/check.hpp>
#include <backplane/tensor/tensor.hpp>

#if defined(__SANITIZE_ADDRESS__)
#  define BP_POOL_IMPLS 0
#elif defined(__has_feature)
#  if __has_feature(address_sanitizer)
#    define BP_POOL_IMPLS 0
#  endif
#endif
#ifndef BP_POOL_IMPLS
#  define BP_POOL_IMPLS 1  // 0 lets AddressSanitizer see the use of a tensor that is gone
#endif

namespace bp {
namespace {

constexpr std::uint32_t max_pooled = 256;  // 96 KiB a thread
constexpr std::align_val_t alignment{64};

// Plain data, so that reaching it is one instruction and it outlives every destructor. Nothing is
// pooled while `room` is 0: before the first use on a thread, and after the thread's end began.
struct Pool {
  TensorImpl* head;
  std::uint32_t room;
  bool opened;
};
__attribute__((tls_model("initial-exec"))) constinit thread_local Pool pool{nullptr, 0, false};

void free_impl(TensorImpl* impl) {
  impl->~TensorImpl();
  ::operator delete(impl, alignment);
}

// Its destructor ends the pooling of a thread; tensors that die later go to the heap.
struct Closer {
  ~Closer() {
    pool.room = 0;
    while (TensorImpl* impl = pool.head) {
      pool.head = impl->next_free;
      free_impl(impl);
    }
  }
};

__attribute__((noinline)) TensorImpl* make_impl() {
  void* memory = ::operator new(sizeof(TensorImpl), alignment, std::nothrow);
  if (!memory)
    throw_error(ErrorClass::out_of_memory,
                fmt::format("no host memory for the {} bytes that describe a tensor; free some and "
                            "call again",
                            sizeof(TensorImpl)));
  auto* impl = new (memory) TensorImpl;
  impl->abi = {};
  impl->abi.size = sizeof(bp_tensor);
  impl->abi.dl.shape = impl->shape;
  impl->abi.dl.strides = impl->strides;
  impl->view_version = 0;
  impl->layer_data = nullptr;
  impl->has_autograd_data = false;
  impl->view_base = nullptr;
  impl->refs.store(1, std::memory_order_relaxed);
  return impl;
}

__attribute__((noinline)) void retire_impl(TensorImpl* impl) {
  if (!BP_POOL_IMPLS || pool.opened) return free_impl(impl);
  static thread_local Closer closer;
  static_cast<void>(closer);
  pool = {impl, max_pooled - 1, true};
  impl->next_free = nullptr;
}

// Apart, so that tensors without layers need no registers for it.
[[gnu::noinline]] void drop_layers(TensorImpl& impl) {
  LayerData* data = std::exchange(impl.layer_data, nullptr);
  impl.has_autograd_data = false;
  if (!data) __builtin_unreachable();
  delete data;
}

}  // namespace

TensorImpl* take_impl() {
  TensorImpl* impl = pool.head;
  if (!impl) [[unlikely]]
    return make_impl();
  pool.head = impl->next_free;
  ++pool.room;
  impl->refs.store(1, std::memory_order_relaxed);
  return impl;
}

void destroy_impl(TensorImpl* impl) {
  if (impl->layer_data) [[unlikely]]
    drop_layers(*impl);
  if (TensorImpl* base = impl->view_base) {
    impl->view_base = nullptr;
    if (base->refs.fetch_sub(TensorImpl::one_view, std::memory_order_acq_rel) ==
        TensorImpl::one_view)
      destroy_impl(base);
  } else if (impl->storage) {
    impl->storage->drop();
  }
  if (pool.room == 0) [[unlikely]]
    return retire_impl(impl);
  --pool.room;
  impl->next_free = pool.head;
  pool.head = impl;
}

}  // namespace bp
