// Layout flags, views, and access to a tensor's data.
#include <bit>
#include <ostream>

#include <backplane/tensor/check.hpp>
#include <backplane/tensor/tensor.hpp>

namespace bp {
namespace {

bool is_channels_last(const std::int64_t* shape, const std::int64_t* strides) {
  std::int64_t expected = 1;
  for (int dim : {1, 3, 2, 0}) {
    if (shape[dim] == 1) continue;
    if (strides[dim] != expected) return false;
    expected *= shape[dim];
  }
  return true;
}

// Does some order of the dimensions make it row-major? Each round finds the dimension whose stride
// is what the earlier ones filled.
bool is_dense_in_some_order(const std::int64_t* shape, const std::int64_t* strides, int rank,
                            std::int64_t numel) {
  for (std::int64_t filled = 1; filled < numel;) {
    int dim = 0;
    while (dim < rank && (shape[dim] == 1 || strides[dim] != filled)) ++dim;
    if (dim == rank) return false;
    filled *= shape[dim];
  }
  return true;
}

}  // namespace

void update_layout(TensorImpl& impl) {
  const int rank = impl.abi.dl.ndim;
  // Unsigned, since [0, 4, 2^62] is a fine shape, although its suffix overflows.
  std::uint64_t product = 1;
  std::uint64_t last = 0;  // the index in memory of the last element
  bool contiguous = true;
  for (int dim = rank; dim-- > 0;) {
    const auto size = static_cast<std::uint64_t>(impl.shape[dim]);
    const auto stride = static_cast<std::uint64_t>(impl.strides[dim]);
    contiguous &= size == 1 || stride == product;
    last += (size - 1) * stride;
    product *= size;
  }
  const auto numel = static_cast<std::int64_t>(product);
  std::uint32_t flags = BP_LAYOUT_STRIDED;
  if (contiguous || numel == 0) {
    flags |= BP_LAYOUT_CONTIGUOUS | BP_LAYOUT_DENSE;
  } else if (last + 1 == product && is_dense_in_some_order(impl.shape, impl.strides, rank, numel)) {
    flags |= BP_LAYOUT_DENSE;
  }
  if (rank == 4 && is_channels_last(impl.shape, impl.strides)) flags |= BP_LAYOUT_CHANNELS_LAST;
  impl.abi.numel = numel;
  impl.abi.flags = flags;
}

Tensor make_view(const Tensor& base, IntList shape, IntList strides, std::int64_t storage_offset) {
  const TensorImpl& from = *base.impl();
  TensorImpl* impl = take_impl();
  const std::uint64_t start = from.storage ? from.storage->offset : 0;
  impl->abi.dl.data = from.abi.dl.data;
  impl->abi.dl.device = from.abi.dl.device;
  impl->abi.dl.ndim = static_cast<std::int32_t>(shape.size());
  impl->abi.dl.dtype = from.abi.dl.dtype;
  impl->abi.dl.byte_offset = start + static_cast<std::uint64_t>(storage_offset) * from.abi.itemsize;
  impl->abi.device = from.abi.device;
  impl->abi.space = from.abi.space;
  impl->abi.dtype = from.abi.dtype;
  impl->abi.itemsize = from.abi.itemsize;
  impl->backend = from.backend;
  impl->keys = from.keys;
  impl->storage = from.storage;
  impl->view_version = static_cast<std::uint16_t>(base.version());
  impl->view_base = from.view_base ? from.view_base : base.impl();
  impl->view_base->refs.fetch_add(TensorImpl::one_view, std::memory_order_relaxed);
  for (std::size_t i = 0; i < shape.size(); ++i) {
    impl->shape[i] = shape[i];
    impl->strides[i] = strides[i];
  }
  update_layout(*impl);
  return Tensor::adopt(impl);
}

void forget_lone_base(TensorImpl& impl) {
  TensorImpl* base = impl.view_base;
  if (!base || base->refs.load(std::memory_order_acquire) != TensorImpl::one_view) return;
  if (impl.storage) impl.storage->retain();
  impl.view_base = nullptr;
  destroy_impl(base);
}

void exchange_memory(TensorImpl& a, TensorImpl& b) {
  BP_ASSERT(a.num_views() == 0 && b.num_views() == 0);
  std::swap(a.abi, b.abi);
  std::swap(a.backend, b.backend);
  std::swap(a.view_version, b.view_version);
  std::swap(a.storage, b.storage);
  std::swap(a.view_base, b.view_base);
  std::swap(a.shape, b.shape);
  std::swap(a.strides, b.strides);
  for (TensorImpl* impl : {&a, &b}) {
    impl->abi.dl.shape = impl->shape;
    impl->abi.dl.strides = impl->strides;
  }
}

void detail::throw_undefined_tensor() {
  throw_error(ErrorClass::bad_argument,
              "a tensor is undefined where one is needed; pass one that was made");
}

std::int64_t Tensor::size(std::int64_t dim) const {
  BP_CHECK(ndim() > 0, "size: dimension {} of a 0-dim tensor, which has none", dim);
  return impl_->shape[wrap_dim("size", dim, ndim())];
}

std::int64_t Tensor::storage_offset() const {
  const std::uint64_t start = known().storage ? impl_->storage->offset : 0;
  // Item sizes are powers of two; a division would be a tenth of a view's time.
  const int shift = std::countr_zero(impl_->abi.itemsize);
  return static_cast<std::int64_t>((impl_->abi.dl.byte_offset - start) >> shift);
}

std::ostream& operator<<(std::ostream& stream, MemoryFormat format) {
  return stream << (format == MemoryFormat::contiguous ? "contiguous" : "channels_last");
}

void* Tensor::data_ptr() const {
  BP_CHECK(defined(), "data_ptr: the tensor is undefined; make one first");
  const Storage* storage = impl_->storage;
  BP_CHECK(storage, "data_ptr: a tensor of shape {} on the meta device has no data",
           to_string(shape()));
  BP_CHECK(storage->host_readable,
           "data_ptr: the host cannot read the memory of {}; copy the tensor to the cpu",
           to_string(storage->device));
  // In integers, since a tensor without elements may have an offset from no memory.
  // NOLINTNEXTLINE(performance-no-int-to-ptr)
  return reinterpret_cast<void*>(storage->handle + impl_->abi.dl.byte_offset);
}

void check_data_dtype(const char* op, const Tensor& tensor, Dtype expected) {
  BP_CHECK(tensor.defined(), "{}: the tensor is undefined; make one first", op);
  BP_CHECK(tensor.dtype() == expected, "{}: the tensor is {}, not {}; cast it or ask for its type",
           op, name(tensor.dtype()), name(expected));
}

}  // namespace bp
