// The tensor: a counted handle to shape, strides and a shared storage. Operators are free functions
// in core_ops/; only metadata is found here.
#pragma once

#include <atomic>
#include <complex>
#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <utility>

#include <backplane/abi.h>
#include <backplane/tensor/api.hpp>
#include <backplane/tensor/device.hpp>
#include <backplane/tensor/dtype.hpp>
#include <backplane/tensor/layer_data.hpp>
#include <backplane/tensor/memory_format.hpp>
#include <backplane/tensor/shape.hpp>
#include <backplane/tensor/storage.hpp>

namespace bp {

class Index;  // core_ops/indexing.hpp, as the next three
struct Slice;
struct NewAxis;
struct Ellipsis;
class IndexedCopy;

// The object that a Tensor points to. Its first member is what plugins see, so that a call passes tensors
// without building anything. Memory comes from a per-thread pool: see impl_pool.hpp.
struct TensorImpl {
  bp_tensor abi;                    // dl.shape and dl.strides point to the arrays below
  std::atomic<std::uint64_t> refs;  // one for each handle, and one_view for each view of this
  std::uint16_t backend;            // the device's, for the kernel tables
  std::uint16_t view_version;       // of the storage when this view was made, its low bits
  bool has_autograd_data;           // the first of layer_data is the autograd layer's
  std::uint64_t keys;               // layers that see calls with this tensor
  Storage* storage;       // null for meta tensors; counted, but by a view through its base
  LayerData* layer_data;  // a list, owned
  TensorImpl* view_base;  // what this is a view of, itself no view; null: of nothing. Counted.
  TensorImpl* next_free;
  std::int64_t shape[max_rank];
  std::int64_t strides[max_rank];

  // A view holds on to its base, and is counted apart as well.
  static constexpr std::uint64_t one_view = (1ull << 32) + 1;
  std::uint32_t num_views() const {
    return static_cast<std::uint32_t>(refs.load(std::memory_order_relaxed) >> 32);
  }

  static TensorImpl* of(const bp_tensor* abi) {
    return reinterpret_cast<TensorImpl*>(const_cast<bp_tensor*>(abi));
  }
};

// Puts the entry of the autograd layer, which has none yet, into its place; the tensor owns it.
inline void put_autograd_data(TensorImpl& impl, LayerData* data) {
  data->next = impl.layer_data;
  impl.layer_data = data;
  impl.has_autograd_data = true;
  impl.keys |= 1ull << autograd_layer;
}
// Null: there is none.
inline LayerData* autograd_data(const TensorImpl& impl) {
  if (!impl.has_autograd_data) return nullptr;
  if (!impl.layer_data) __builtin_unreachable();  // so that callers test the flag alone
  return impl.layer_data;
}

// Returns a TensorImpl with refs 1, dl.shape/strides/size set, no layer data, and all else for the
// caller to fill.
BP_API TensorImpl* take_impl();
// Takes back one whose last reference is gone, storage and layer data included.
BP_API void destroy_impl(TensorImpl* impl);

namespace detail {
[[noreturn]] BP_API void throw_undefined_tensor();
}

// A tensor. Copies share everything. A default-made one is undefined: asked for anything but defined(), impl() and is_same(), it
// throws bad_argument.
class Tensor {
 public:
  Tensor() = default;
  Tensor(const Tensor& other) : impl_(other.impl_) {
    if (impl_) impl_->refs.fetch_add(1, std::memory_order_relaxed);
  }
  Tensor(Tensor&& other) noexcept : impl_(std::exchange(other.impl_, nullptr)) {}
  // Only for lvalues: `a[0] = b` would change a temporary handle. copy_(a[0], b) writes.
  Tensor& operator=(Tensor other) & noexcept {
    std::swap(impl_, other.impl_);
    return *this;
  }
  ~Tensor() {
    if (!impl_) return;
    if (impl_->refs.load(std::memory_order_acquire) == 1 ||
        impl_->refs.fetch_sub(1, std::memory_order_acq_rel) == 1)
      destroy_impl(impl_);
  }
  // Takes over one reference, or adds one.
  static Tensor adopt(TensorImpl* impl) {
    Tensor tensor;
    tensor.impl_ = impl;
    return tensor;
  }
  static Tensor share(TensorImpl* impl) {
    impl->refs.fetch_add(1, std::memory_order_relaxed);
    return adopt(impl);
  }

  // Gives up the reference without dropping it; adopt takes it back.
  TensorImpl* release() { return std::exchange(impl_, nullptr); }

  bool defined() const { return impl_ != nullptr; }
  TensorImpl* impl() const { return impl_; }

  Dtype dtype() const { return static_cast<Dtype>(known().abi.dtype); }
  Device device() const { return {known().abi.device}; }
  std::int64_t ndim() const { return known().abi.dl.ndim; }
  IntList shape() const { return {known().shape, static_cast<std::size_t>(ndim())}; }
  IntList strides() const { return {known().strides, static_cast<std::size_t>(ndim())}; }
  // The size of one dimension; negative ones count from the end.
  BP_API std::int64_t size(std::int64_t dim) const;
  std::int64_t numel() const { return known().abi.numel; }
  std::uint32_t itemsize() const { return known().abi.itemsize; }
  std::uint64_t nbytes() const { return static_cast<std::uint64_t>(numel()) * itemsize(); }
  // In elements, from the start of the storage.
  BP_API std::int64_t storage_offset() const;
  bool is_contiguous() const { return (known().abi.flags & BP_LAYOUT_CONTIGUOUS) != 0; }
  bool is_contiguous(MemoryFormat format) const {
    return (known().abi.flags & layout_of(format)) != 0;
  }

  // a[0], a[{0, Slice{1, 3}}], a[mask]: select, slice, unsqueeze and index in a shorter form. See core_ops/indexing.hpp,
  // which is needed for the lists.
  BP_API Tensor operator[](std::int64_t position) const;
  BP_API IndexedCopy operator[](const Tensor& positions) const;
  BP_API Tensor operator[](std::initializer_list<Index> indices) const;
  template <class T>
  requires std::same_as<T, Slice> || std::same_as<T, NewAxis> || std::same_as<T, Ellipsis> Tensor
  operator[](const T& index) const;

  bool is_same(const Tensor& other) const { return impl_ == other.impl_; }
  bool shares_storage(const Tensor& other) const {
    return known().storage == other.known().storage;
  }
  // Rises with every write to the storage, through any tensor.
  std::uint32_t version() const {
    const Storage* storage = known().storage;
    return storage ? storage->version.load(std::memory_order_relaxed) : 0;
  }

  // The address of element 0; throws bad_argument unless the host can read the device's memory.
  // The caller has synchronized. T is not checked against the dtype by data_ptr, but by data<T>.
  BP_API void* data_ptr() const;
  template <class T> T* data() const;

 private:
  const TensorImpl& known() const {
    if (!impl_) [[unlikely]]
      detail::throw_undefined_tensor();
    return *impl_;
  }

  TensorImpl* impl_ = nullptr;
};

// What a[mask] gives: a tensor like any other, but a[mask] += 1, copy_(a[mask], b) and fill_(a[mask], 0) would write into
// a copy that is gone at once, and do not compile. masked_fill_ and index_put_ write into `a`.
class IndexedCopy : public Tensor {
 public:
  explicit IndexedCopy(Tensor copy) : Tensor(std::move(copy)) {}
};

// Recomputes numel and the BP_LAYOUT_* flags from shape and strides.
BP_API void update_layout(TensorImpl& impl);

// A tensor that shares `base`'s storage, dtype, device and layers, with its own shape and strides;
// `storage_offset` is in elements. The caller has checked that it stays inside the storage.
BP_API Tensor make_view(const Tensor& base, IntList shape, IntList strides,
                        std::int64_t storage_offset);

// A view that alone holds its base ends being one: the storage is its own. For results that were made of
// memory which nobody else can name.
BP_API void forget_lone_base(TensorImpl& impl);

// Exchanges the two tensors' memory, and with it shape, strides, dtype and device. Each keeps its handles, keys and
// layers' data. Neither has views, which would lose their memory.
BP_API void exchange_memory(TensorImpl& a, TensorImpl& b);

// Do the elements of the two share a byte? True when in doubt: interleaved strides are told apart
// only where one of them is a period of both.
BP_API bool may_overlap(const TensorImpl& a, const TensorImpl& b);
// Same storage, offset, shape, strides and dtype: element i is element i.
BP_API bool is_exact_alias(const TensorImpl& a, const TensorImpl& b);
// Is one element named by several indices for certain, as after expand (stride 0)? Windows that
// only partly overlap (unfold) are not looked for, as in PyTorch.
BP_API bool has_internal_overlap(const TensorImpl& impl);

// The bytes that a tensor touches, relative to the start of its allocation: [begin, end).
struct ByteSpan {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};
BP_API ByteSpan touched_bytes(const TensorImpl& impl);

// The Dtype of a C++ type, for data<T>.
template <class T> struct DtypeOf;
#define BP_DTYPE_OF(type, name) \
  template <> struct DtypeOf<type> { static constexpr Dtype value = Dtype::name; };
BP_DTYPE_OF(bool, boolean)
BP_DTYPE_OF(std::uint8_t, u8)
BP_DTYPE_OF(std::int8_t, i8)
BP_DTYPE_OF(std::int16_t, i16)
BP_DTYPE_OF(std::int32_t, i32)
BP_DTYPE_OF(std::int64_t, i64)
BP_DTYPE_OF(std::uint16_t, u16)
BP_DTYPE_OF(std::uint32_t, u32)
BP_DTYPE_OF(std::uint64_t, u64)
BP_DTYPE_OF(float, f32)
BP_DTYPE_OF(double, f64)
BP_DTYPE_OF(std::complex<float>, complex64)
BP_DTYPE_OF(std::complex<double>, complex128)
#undef BP_DTYPE_OF

// Throws bad_argument that names `op` unless the tensor has this dtype.
BP_API void check_data_dtype(const char* op, const Tensor& tensor, Dtype expected);

template <class T> T* Tensor::data() const {
  check_data_dtype("data", *this, DtypeOf<T>::value);
  return static_cast<T*>(data_ptr());
}

}  // namespace bp
