// Calls kernels of the cpu plugin as the core would, through the C ABI alone.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <deque>
#include <gtest/gtest.h>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <backplane/abi.h>

#include "backends/cpu/expressions.hpp"
#include "sdk/fake_host.hpp"

namespace bp_test {

using Sizes = std::vector<int64_t>;

inline uint32_t itemsize_of(uint32_t dtype) {
  static const uint32_t sizes[BP_NUM_DTYPES] = {1, 1, 1, 2, 4, 8, 2, 4, 8, 2, 2, 4, 8, 8, 16, 1, 1};
  return sizes[dtype];
}

// Row-major strides.
inline Sizes strides_for(const Sizes& shape) {
  Sizes strides(shape.size());
  int64_t next = 1;
  for (size_t i = shape.size(); i-- > 0;) {
    strides[i] = next;
    next *= shape[i];
  }
  return strides;
}

// A tensor with memory of its own, or a view of another's. Copies share the memory.
class Data {
 public:
  Data() = default;
  Data(uint32_t dtype, Sizes shape) : Data(dtype, shape, strides_for(shape)) {}

  // With any strides; the memory reaches to the last element.
  Data(uint32_t dtype, Sizes shape, Sizes strides)
      : dtype_(dtype), shape_(std::move(shape)), strides_(std::move(strides)) {
    int64_t elements = 1;
    for (size_t i = 0; i < shape_.size(); ++i) elements += (shape_[i] - 1) * strides_[i];
    const uint64_t bytes =
        static_cast<uint64_t>(std::max<int64_t>(elements, 1)) * itemsize_of(dtype);
    memory_ = std::make_shared<std::vector<char>>(bytes);
    complete();
  }

  template <class T> static Data of(uint32_t dtype, Sizes shape, const std::vector<T>& values) {
    Data data(dtype, std::move(shape));
    EXPECT_EQ(sizeof(T), itemsize_of(dtype));
    EXPECT_EQ(static_cast<int64_t>(values.size()), data.numel());
    for (size_t i = 0; i < values.size(); ++i) data.at<T>(static_cast<int64_t>(i)) = values[i];
    return data;
  }

  // The same elements with other strides: dimensions in another order.
  Data permuted(const std::vector<size_t>& order) const {
    Data view = *this;
    for (size_t i = 0; i < order.size(); ++i) {
      view.shape_[i] = shape_[order[i]];
      view.strides_[i] = strides_[order[i]];
    }
    view.complete();
    return view;
  }

  // The element at this place in logical order.
  template <class T> T& at(int64_t element) { return *reinterpret_cast<T*>(address(element)); }
  char* address(int64_t element) {
    int64_t offset = offset_;
    for (size_t i = shape_.size(); i-- > 0;) {
      offset += element % shape_[i] * strides_[i];
      element /= shape_[i];
    }
    return memory_->data() + offset * itemsize_of(dtype_);
  }

  // Contiguous elements of this memory, from the one at `offset` on.
  Data part(int64_t offset, Sizes shape) const {
    Data view = *this;
    view.offset_ = offset;
    view.strides_ = strides_for(shape);
    view.shape_ = std::move(shape);
    view.complete();
    return view;
  }

  template <class T> std::vector<T> values() {
    std::vector<T> all;
    for (int64_t i = 0; i < numel(); ++i) all.push_back(at<T>(i));
    return all;
  }

  int64_t numel() const {
    int64_t count = 1;
    for (int64_t size : shape_) count *= size;
    return count;
  }
  uint32_t dtype() const { return dtype_; }
  const Sizes& shape() const { return shape_; }
  char* bytes() { return memory_->data(); }

  // Points into this object.
  bp_tensor* tensor() {
    complete();
    return &tensor_;
  }

 private:
  void complete() {
    if (memory_ == nullptr) return;
    tensor_ = {};
    tensor_.size = sizeof tensor_;
    tensor_.dl.data = memory_->data();
    tensor_.dl.device = {BP_DL_CPU, 0};
    tensor_.dl.ndim = static_cast<int32_t>(shape_.size());
    tensor_.dl.shape = shape_.data();
    tensor_.dl.strides = strides_.data();
    tensor_.dl.byte_offset = static_cast<uint64_t>(offset_) * itemsize_of(dtype_);
    tensor_.numel = numel();
    tensor_.dtype = dtype_;
    tensor_.itemsize = itemsize_of(dtype_);
    tensor_.flags = BP_LAYOUT_STRIDED;
    if (is_contiguous()) tensor_.flags |= BP_LAYOUT_CONTIGUOUS | BP_LAYOUT_DENSE;
    if (is_channels_last()) tensor_.flags |= BP_LAYOUT_CHANNELS_LAST | BP_LAYOUT_DENSE;
  }
  bool is_channels_last() const {
    if (shape_.size() != 4) return false;
    const int64_t c = shape_[1], h = shape_[2], w = shape_[3];
    return strides_ == Sizes{h * w * c, 1, w * c, c};
  }
  bool is_contiguous() const {
    const Sizes wanted = strides_for(shape_);
    for (size_t i = 0; i < shape_.size(); ++i)
      if (shape_[i] != 1 && strides_[i] != wanted[i]) return false;
    return true;
  }

  uint32_t dtype_ = 0;
  Sizes shape_, strides_;
  int64_t offset_ = 0;
  std::shared_ptr<std::vector<char>> memory_;
  bp_tensor tensor_{};
};

// The plugin, loaded once for all tests of a program, with a host that knows the operators below.
class CpuPlugin {
 public:
  static CpuPlugin& get() {
    static auto& one = *new CpuPlugin;
    return one;
  }

  const bp_plugin& plugin() const { return *plugin_->get(); }
  fake::Device& device() const { return *device_; }
  void set_num_threads(uint32_t count) { num_threads_ = count; }

  const bp_kernel* kernel(const std::string& name) const {
    for (uint32_t i = 0; i < plugin().num_kernels; ++i)
      if (plugin().kernels[i]->op == name) return plugin().kernels[i];
    return nullptr;
  }

  const bp_operator& op(const std::string& name) const { return operators_.at(name); }

  // Outputs of rows whose shape is data are replaced by those that the kernel asks for.
  bp_code run(const std::string& name, const std::vector<bp_value>& args,
              const std::vector<Data*>& outputs) {
    const bp_kernel* const found = kernel(name);
    if (found == nullptr) {
      ADD_FAILURE() << "no kernel " << name;
      return BP_UNSUPPORTED;
    }
    Call state{outputs, {}, {}};
    for (Data* output : outputs) state.tensors.push_back(output->tensor());
    bp_call call{};
    call.h = {sizeof call, BP_TYPE_CALL, nullptr};
    call.op = &operators_.at(name);
    call.args = args.data();
    call.num_args = static_cast<uint32_t>(args.size());
    call.outputs = state.tensors.data();
    call.num_outputs = static_cast<uint32_t>(state.tensors.size());
    call.device = device_->get();
    call.host_data = &state;
    const bp_code code = found->run(found->self, &call);
    uint64_t bytes = 0;
    for (const std::vector<char>& each : state.workspaces) bytes += each.size();
    workspace_bytes_ = bytes;
    return code;
  }
  // What the last call asked for.
  uint64_t workspace_bytes() const { return workspace_bytes_; }

 private:
  struct Call {
    std::vector<Data*> outputs;
    std::vector<bp_tensor*> tensors;
    std::deque<std::vector<char>> workspaces;
  };

  CpuPlugin() {
    self_ = this;
    for (const char* name : {"matmul",
                             "bmm",
                             "norm",
                             "gather",
                             "index_select",
                             "scatter_add",
                             "scatter",
                             "one_hot",
                             "cat",
                             "nonzero",
                             "cumsum",
                             "sort",
                             "topk",
                             "philox",
                             "rand_philox",
                             "randn_philox",
                             "full",
                             "arange",
                             "copy",
                             "flip",
                             "tril",
                             "triu",
                             "cast",
                             "sum",
                             "prod",
                             "mean",
                             "max",
                             "min",
                             "argmax",
                             "softmax",
                             "log_softmax",
                             "logsumexp",
                             "native_layer_norm",
                             "native_rms_norm",
                             "norm_backward",
                             "native_batch_norm",
                             "batch_norm_backward",
                             "max_pool_with_indices",
                             "max_pool_backward",
                             "packed_convolution",
                             "convolution",
                             "convolution_backward_weight",
                             "linalg_solve",
                             "linalg_eigh",
                             "linalg_svd",
                             "linalg_eig",
                             "linalg_inv",
                             "linalg_cholesky",
                             "linalg_qr",
                             "linalg_solve_triangular",
                             "linalg_eigvals",
                             "linalg_eigvalsh",
                             "linalg_svdvals",
                             "linalg_lu_factor",
                             "fft_c2c"}) {
      bp_operator& op = operators_[name];
      op.h = {sizeof op, BP_TYPE_OPERATOR, nullptr};
      op.name = operators_.find(name)->first.c_str();
    }
    operators_["nonzero"].flags = BP_OP_SHAPE_DATA;
    for (const bp_operator& op : expressions_.all()) operators_[op.name] = op;
    bp_host& table = host_.table;
    table.allocate_output = [](const bp_host*, const bp_call* call, uint32_t index, uint32_t ndim,
                               const int64_t* shape) -> bp_code {
      auto& state = *static_cast<Call*>(call->host_data);
      Data& output = *state.outputs[index];
      output = Data(output.tensor()->dtype, Sizes(shape, shape + ndim));
      state.tensors[index] = output.tensor();
      return BP_OK;
    };
    table.workspace = [](const bp_host*, const bp_call* call, uint64_t bytes, uint64_t alignment,
                         bp_region* out) -> bp_code {
      auto& state = *static_cast<Call*>(call->host_data);
      std::vector<char>& block = state.workspaces.emplace_back(bytes + alignment);
      const auto first = reinterpret_cast<uint64_t>(block.data());
      *out = {first, (alignment - first % alignment) % alignment, bytes};
      return BP_OK;
    };
    table.find_operator = [](const bp_host*, const char* name) -> const bp_operator* {
      const auto found = self_->operators_.find(name);
      return found == self_->operators_.end() ? nullptr : &found->second;
    };
    table.operator_at = [](const bp_host*, uint32_t index) -> const bp_operator* {
      const auto& all = self_->expressions_.all();
      return index < all.size() ? &all[index] : nullptr;
    };
    table.num_threads = [](const bp_host*) { return self_->num_threads_.load(); };
    plugin_ = std::make_unique<fake::Plugin>(host_, BP_PLUGIN_DIR "/libbackplane_cpu.so");
    device_ = std::make_unique<fake::Device>(*plugin_, 0);
  }

  static inline CpuPlugin* self_ = nullptr;
  fake::Host host_;
  ExpressionOperators expressions_;
  std::map<std::string, bp_operator> operators_;
  std::atomic<uint32_t> num_threads_{2};
  std::atomic<uint64_t> workspace_bytes_{0};
  std::unique_ptr<fake::Plugin> plugin_;
  std::unique_ptr<fake::Device> device_;
};

// Arguments.
inline bp_value value(Data& data) {
  bp_value result{};
  result.tag = BP_TENSOR;
  result.u.tensor = data.tensor();
  return result;
}
inline bp_value value(int64_t number) {
  bp_value result{};
  result.tag = BP_INT;
  result.u.i = number;
  return result;
}
inline bp_value value(int number) {
  return value(static_cast<int64_t>(number));
}
inline bp_value value(bool truth) {
  bp_value result = value(static_cast<int64_t>(truth));
  result.tag = BP_BOOLEAN;
  return result;
}
inline bp_value value(double number) {
  bp_value result{};
  result.tag = BP_DOUBLE;
  result.u.f = number;
  return result;
}
inline bp_value value(const Sizes& sizes) {
  bp_value result{};
  result.tag = BP_INT_LIST;
  result.aux = static_cast<uint32_t>(sizes.size());
  result.u.ptr = sizes.data();
  return result;
}
inline bp_value none() {
  return bp_value{};
}

// Runs a kernel that must succeed.
inline void run(const std::string& name, const std::vector<bp_value>& args,
                const std::vector<Data*>& outputs) {
  EXPECT_EQ(CpuPlugin::get().run(name, args, outputs), BP_OK) << fake::Host::last_message();
}

// Runs a kernel that must refuse; gives its message.
inline std::string refusal(const std::string& name, const std::vector<bp_value>& args,
                           const std::vector<Data*>& outputs) {
  EXPECT_EQ(CpuPlugin::get().run(name, args, outputs), BP_BAD_ARGUMENT);
  return fake::Host::last_message();
}

}  // namespace bp_test
