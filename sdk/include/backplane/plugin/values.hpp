// The arguments of a kernel: tensors, numbers, lists, a stream. All are small views into the host's call,
// valid until the kernel returns, cheap to pass by value. Include plugin.hpp.
#ifndef BACKPLANE_PLUGIN_VALUES_HPP
#define BACKPLANE_PLUGIN_VALUES_HPP

#include <initializer_list>
#include <optional>
#include <string_view>

#include <backplane/plugin/status.hpp>

namespace BP_SDK BP_HIDDEN {

// ---- Element types and layouts -------------------------------------------------------------------

enum class Dtype : uint32_t {};

inline constexpr Dtype boolean{BP_BOOL};
inline constexpr Dtype u8{BP_U8}, u16{BP_U16}, u32{BP_U32}, u64{BP_U64};
inline constexpr Dtype i8{BP_I8}, i16{BP_I16}, i32{BP_I32}, i64{BP_I64};
inline constexpr Dtype f16{BP_F16}, bf16{BP_BF16}, f32{BP_F32}, f64{BP_F64};
inline constexpr Dtype complex64{BP_COMPLEX64}, complex128{BP_COMPLEX128};
inline constexpr Dtype f8_e4m3fn{BP_F8_E4M3FN}, f8_e5m2{BP_F8_E5M2};

struct DtypeSet {
  bp_dtype_set bits;

  constexpr DtypeSet(Dtype dtype) : bits(bp_dtype_set{1} << static_cast<uint32_t>(dtype)) {}
  constexpr explicit DtypeSet(bp_dtype_set set) : bits(set) {}
  constexpr bool holds(Dtype dtype) const { return (bits & DtypeSet(dtype).bits) != 0; }
};
constexpr DtypeSet operator|(DtypeSet a, DtypeSet b) {
  return DtypeSet(a.bits | b.bits);
}

inline constexpr DtypeSet integral = DtypeSet(u8) | u16 | u32 | u64 | i8 | i16 | i32 | i64;
inline constexpr DtypeSet floating = DtypeSet(f16) | bf16 | f32 | f64;
inline constexpr DtypeSet complex = DtypeSet(complex64) | complex128;
inline constexpr DtypeSet real = integral | floating;
inline constexpr DtypeSet numeric = real | complex;
inline constexpr DtypeSet all{(bp_dtype_set{1} << BP_NUM_DTYPES) - 1};

struct Layouts {
  uint32_t bits;
};
constexpr Layouts operator|(Layouts a, Layouts b) {
  return {a.bits | b.bits};
}

inline constexpr Layouts contiguous{BP_LAYOUT_CONTIGUOUS};
inline constexpr Layouts channels_last{BP_LAYOUT_CHANNELS_LAST};
inline constexpr Layouts dense{BP_LAYOUT_DENSE};
inline constexpr Layouts strided{BP_LAYOUT_STRIDED};

// ---- Lists ---------------------------------------------------------------------------------------

// Borrowed elements in a row.
template <class T> class List {
 public:
  constexpr List() = default;
  constexpr List(const T* data, size_t size) : data_(data), size_(size) {}
#if defined(__GNUC__) && !defined(__clang__)
#  pragma GCC diagnostic push
#  pragma GCC diagnostic ignored "-Winit-list-lifetime"
#endif
  // For an argument written in place; not to be kept.
  constexpr List(std::initializer_list<T> values) : data_(values.begin()), size_(values.size()) {}
#if defined(__GNUC__) && !defined(__clang__)
#  pragma GCC diagnostic pop
#endif

  constexpr const T* data() const {
    return data_;
  }
  constexpr size_t size() const {
    return size_;
  }
  constexpr bool empty() const {
    return size_ == 0;
  }
  constexpr const T& operator[](size_t index) const {
    return data_[index];
  }
  constexpr const T* begin() const {
    return data_;
  }
  constexpr const T* end() const {
    return data_ + size_;
  }

 private:
  const T* data_ = nullptr;
  size_t size_ = 0;
};

using Ints = List<int64_t>;
using Doubles = List<double>;

// ---- Memory --------------------------------------------------------------------------------------

using Handle = bp_handle;

// For devices whose handles are addresses.
template <class T> Handle handle_of(T* ptr) {
  return static_cast<Handle>(reinterpret_cast<uintptr_t>(ptr));
}
template <class T = void> T* address_of(Handle handle, uint64_t offset = 0) {
  return reinterpret_cast<T*>(static_cast<uintptr_t>(handle + offset));
}

// A piece of an allocation, or of host memory.
struct Region : bp_region {
  // Of host memory, or on a device whose handles are addresses.
  template <class T = void> T* address() const { return address_of<T>(handle, offset); }
};

// ---- Tensors -------------------------------------------------------------------------------------

// The base of inputs and outputs.
class AnyTensor {
 public:
  explicit AnyTensor(const bp_tensor* tensor) : tensor_(tensor) {}

  Dtype dtype() const { return static_cast<Dtype>(tensor_->dtype); }
  uint32_t itemsize() const { return tensor_->itemsize; }
  int64_t numel() const { return tensor_->numel; }
  int32_t ndim() const { return tensor_->dl.ndim; }
  Ints shape() const { return {tensor_->dl.shape, static_cast<size_t>(ndim())}; }
  Ints strides() const {
    return {tensor_->dl.strides, static_cast<size_t>(ndim())};
  }  // in elements
  int64_t size(int32_t dim) const { return tensor_->dl.shape[dim]; }
  int64_t stride(int32_t dim) const { return tensor_->dl.strides[dim]; }
  bool is(Layouts any_of) const { return (tensor_->flags & any_of.bits) != 0; }

  Handle handle() const {
    return static_cast<Handle>(reinterpret_cast<uintptr_t>(tensor_->dl.data));
  }
  uint64_t byte_offset() const { return tensor_->dl.byte_offset; }
  uint32_t space() const { return tensor_->space; }  // which of the device's memories
  const bp_tensor& abi() const { return *tensor_; }

 protected:
  const bp_tensor* tensor_;
};

class In : public AnyTensor {
 public:
  using AnyTensor::AnyTensor;

  // Element 0, on a device whose handles are addresses.
  template <class T> const T* data() const { return address_of<const T>(handle(), byte_offset()); }
};

class Out : public AnyTensor {
 public:
  using AnyTensor::AnyTensor;

  template <class T> T* data() const { return address_of<T>(handle(), byte_offset()); }
};

class InList {
 public:
  InList(const bp_tensor* const* tensors, size_t size) : tensors_(tensors), size_(size) {}

  size_t size() const { return size_; }
  In operator[](size_t index) const { return In(tensors_[index]); }

 private:
  const bp_tensor* const* tensors_;
  size_t size_;
};

// Tensor?[]: elements may be absent.
class OptionalInList {
 public:
  OptionalInList(const bp_tensor* const* tensors, size_t size) : tensors_(tensors), size_(size) {}

  size_t size() const { return size_; }
  std::optional<In> operator[](size_t index) const {
    if (!tensors_[index]) return std::nullopt;
    return In(tensors_[index]);
  }

 private:
  const bp_tensor* const* tensors_;
  size_t size_;
};

// Tensor[] at the end of an operator's results.
class OutList {
 public:
  OutList(bp_tensor* const* tensors, size_t size) : tensors_(tensors), size_(size) {}

  size_t size() const { return size_; }
  Out operator[](size_t index) const { return Out(tensors_[index]); }

 private:
  bp_tensor* const* tensors_;
  size_t size_;
};

// Where a call's random numbers begin: Philox 4x32-10's key, and its counter in steps of four numbers. The host has taken
// a step for each element of the results.
struct Generator {
  uint64_t seed, offset;
};

// ---- Numbers -------------------------------------------------------------------------------------

// A number of the caller's: bool, integer, floating or complex.
class Scalar {
 public:
  explicit Scalar(bp_value value) : value_(value) {}

  bool is_boolean() const { return value_.tag == BP_BOOLEAN; }
  bool is_integer() const { return value_.tag == BP_INT || is_boolean(); }
  bool is_floating() const { return value_.tag == BP_DOUBLE; }
  bool is_complex() const { return value_.tag == BP_COMPLEX; }

  // Nearest value of the kind asked for; the real part of a complex number.
  double to_double() const {
    if (is_integer()) return static_cast<double>(value_.u.i);
    return is_complex() ? parts()[0] : value_.u.f;
  }
  int64_t to_int() const { return is_integer() ? value_.u.i : static_cast<int64_t>(to_double()); }
  double imaginary() const { return is_complex() ? parts()[1] : 0.0; }

 private:
  const double* parts() const { return static_cast<const double*>(value_.u.ptr); }

  bp_value value_;
};

// An argument that the schema marks scalar_ok, in a kernel that takes a number without a tensor made of
// it. A kernel that takes `In` at that place gets a tensor.
class InOrNumber {
 public:
  explicit InOrNumber(bp_value value) : value_(value) {}

  bool is_number() const { return value_.tag != BP_TENSOR; }
  In tensor() const { return In(value_.u.tensor); }
  Scalar number() const { return Scalar(value_); }

 private:
  bp_value value_;
};

// A list, or one number in place of each of its tensors.
class InListOrNumber {
 public:
  explicit InListOrNumber(bp_value value) : value_(value) {}

  bool is_number() const { return value_.tag != BP_TENSOR_LIST; }
  InList tensors() const {
    return {static_cast<const bp_tensor* const*>(value_.u.ptr), value_.aux};
  }
  Scalar number() const { return Scalar(value_); }

 private:
  bp_value value_;
};

// A device by the host's number, as arguments name it.
struct DeviceNumber {
  uint32_t number;
};

// ---- Where a call runs ---------------------------------------------------------------------------

// A stream of a device; the only one, if the backend makes none.
class Stream {
 public:
  Stream(bp_device* device, bp_stream* stream, uint64_t call_number = 0)
      : device_(device), stream_(stream), call_number_(call_number) {}

  // The backend's own objects.
  template <class B> B& device() const { return *reinterpret_cast<B*>(device_); }
  template <class S> S* native() const { return reinterpret_cast<S*>(stream_); }

  // The number of the call that submits the work: keep it with the work, for late_error().
  uint64_t call_number() const { return call_number_; }

 private:
  bp_device* device_;
  bp_stream* stream_;
  uint64_t call_number_;
};

// The first parameter of kernels that need more than a Stream.
class Call : public Stream {
 public:
  explicit Call(const bp_call* call)
      : Stream(call->device, call->stream, call->number), call_(call) {}

  const bp_operator& op() const { return *call_->op; }

  // Scratch memory, valid for the call's work on its stream.
  Result<Region> workspace(uint64_t bytes, uint64_t alignment = 64) const {
    Region region{};
    const bp_code code = host().workspace(&host(), call_, bytes, alignment, &region);
    if (code != BP_OK) return Status::from_host(code);
    return region;
  }

  // For kernels with a .plan(): what that made for calls like this one, of the type that it said, and memory of as many
  // bytes as it asked for, valid as workspace() of some size is.
  template <class T> const T& plan() const { return *static_cast<const T*>(call_->plan); }
  Region workspace() const { return Region{call_->workspace}; }

  // For operators whose output's shape depends on data. Afterwards abi().outputs[index] is complete; an Out that the
  // kernel was given before still shows a tensor without shape or memory.
  Status allocate_output(uint32_t index, Ints shape) const {
    return Status::from_host(host().allocate_output(
        &host(), call_, index, static_cast<uint32_t>(shape.size()), shape.data()));
  }

  // For kernels that may_fault(): write a nonzero word there on a bad index.
  Region fault() const { return Region{*call_->fault}; }

  const bp_call& abi() const { return *call_; }

 private:
  const bp_call* call_;
};

}  // namespace BP_HIDDEN

#endif  // BACKPLANE_PLUGIN_VALUES_HPP
