// Convolutions and their gradients by cuDNN, in row-major order or with the channels last, as the result lies; what lies
// otherwise is reordered first.
#include <algorithm>

#include "constants.hpp"
#include "kernels/cudnn/planner.hpp"
#include "kernels/fastest_way.hpp"
#include "kernels/pictures.hpp"

namespace cuda_backend::cudnn {
namespace {

using Way = Graph::Convolution;

// A convolution makes `small` of `large`; its gradients go the other ways. One of the three is the result.
struct Sides {
  bp::AnyTensor large, weight, small;

  const bp::AnyTensor& operator[](size_t i) const {
    return i == 0 ? large : i == 1 ? weight : small;
  }
};

// Sizes as the library takes them, with at least two dimensions behind the channels.
struct Sizes {
  explicit Sizes(const bp::AnyTensor& tensor) {
    for (int32_t dim = 0; dim < tensor.ndim(); ++dim) {
      if (dim == 2 && tensor.ndim() == 3) values.push_back(1);
      values.push_back(tensor.size(dim));
    }
  }
  Shape in_order(bool channels_last) const {
    Shape shape = Shape::row_major(values);
    if (!channels_last) return shape;
    for (int64_t& stride : shape.strides) stride *= values[1];
    shape.strides[0] = shape.strides[0] / values[1];
    shape.strides[1] = 1;
    return shape;
  }
  std::vector<int64_t> values;
};

// The windows in the same way.
struct WindowLists {
  WindowLists(bp::Ints stride_of, bp::Ints padding_of, bp::Ints dilation_of, int32_t rank) {
    if (rank == 1) append(1, 0, 1);
    for (int32_t dim = 0; dim < rank; ++dim)
      append(at(stride_of, dim), at(padding_of, dim), at(dilation_of, dim));
  }
  Graph::Windows view() const { return {stride, padding, dilation}; }
  std::vector<int64_t> stride, padding, dilation;

 private:
  static int64_t at(bp::Ints list, int32_t dim) {
    return list[list.size() == 1 ? 0 : static_cast<size_t>(dim)];
  }
  void append(int64_t s, int64_t p, int64_t d) {
    stride.push_back(s);
    padding.push_back(p);
    dilation.push_back(d);
  }
};

bool is_last_only(const bp::AnyTensor& tensor) {
  return tensor.is(bp::channels_last) && !tensor.is(bp::contiguous);
}

// Whether all is computed with the channels last: as the result lies, and if that lies both ways, as the first tensor
// does that does not.
bool order_of(const bp::AnyTensor& result, const Sides& sides) {
  for (const bp::AnyTensor& tensor : {result, sides.large, sides.small, sides.weight}) {
    if (is_last_only(tensor)) return true;
    if (tensor.is(bp::contiguous) && !tensor.is(bp::channels_last)) return false;
  }
  return false;
}

// False where the library would count other windows: those of a transposed convolution that asks for more room behind
// than a stride.
bool counts_the_same(const Sides& sides, const WindowLists& windows) {
  const Sizes large(sides.large), weight(sides.weight), small(sides.small);
  for (size_t dim = 0; dim < windows.stride.size(); ++dim) {
    const int64_t reach = windows.dilation[dim] * (weight.values[dim + 2] - 1) + 1;
    const int64_t room = large.values[dim + 2] + 2 * windows.padding[dim] - reach;
    if (room < 0 || room / windows.stride[dim] + 1 != small.values[dim + 2]) return false;
  }
  return true;
}

int64_t alignment_at(const void* address) {
  const auto bits = reinterpret_cast<uintptr_t>(address);
  return static_cast<int64_t>(std::min<uintptr_t>(bits & (~bits + 1), 16));
}

bool is_worth_measuring(const Sides& sides) {
  double work = static_cast<double>(sides.small.numel());
  for (int32_t dim = 1; dim < sides.weight.ndim(); ++dim)
    work *= static_cast<double>(sides.weight.size(dim));
  const int64_t elements = sides.large.numel() + sides.small.numel() + sides.weight.numel();
  return work >= constants::measured_convolution ||
         elements >= constants::measured_convolution_elements;
}

// One call: where its tensors lie in the order that all is computed in, and the description for the library.
class Convolving {
 public:
  Convolving(bp::Call call, const char* name, Way way, const Sides& sides, WindowLists windows)
      : call_(call), card_(call, name), name_(name), way_(way), sides_(sides),
        windows_(std::move(windows)), last_(order_of(result(), sides)) {}

  const OnCard& card() const { return card_; }
  bool channels_last() const { return last_; }

  // The library adds it before anything is rounded; it has one stride.
  void add_inside(bp::In bias) { bias_ = bias.data<void>(); }

  bp::Status run() {
    Planner* const planner = planner_of(card_);
    if (planner == nullptr) return bp::Status::from_host(BP_UNSUPPORTED);
    if (bp::Status status = place_inputs(); !status.is_ok()) return status;
    const std::array<Ways::Binding, 4> bindings = {
        {{0, addresses_[0]}, {1, addresses_[1]}, {2, addresses_[2]}, {bias_id, bias_}}};
    return planner->run(call_, card_, problem(planner->library()),
                        {bindings.data(), bias_ == nullptr ? 3u : 4u});
  }

 private:
  static constexpr Id bias_id = 3;

  size_t result_place() const { return way_ == Way::forward ? 2 : way_ == Way::to_input ? 0 : 1; }
  const bp::AnyTensor& result() const { return sides_[result_place()]; }

  static Pictures pictures_of(const bp::AnyTensor& tensor) {
    const int64_t batch = tensor.size(0), channels = tensor.size(1);
    return {batch, channels, tensor.numel() / batch / channels, tensor.itemsize()};
  }

  bp::Status place_inputs() {
    Scratch scratch;
    bp::Status status = bp::ok;
    const auto visit = [&](bool allocated) {
      for (size_t i = 0; i < 3 && status.is_ok(); ++i) {
        const bp::AnyTensor& tensor = sides_[i];
        addresses_[i] = bp::address_of<char>(tensor.handle(), tensor.byte_offset());
        if (i == result_place() || tensor.is(last_ ? bp::channels_last : bp::contiguous)) continue;
        char* const room =
            scratch.take<char>(static_cast<uint64_t>(tensor.numel()) * tensor.itemsize());
        copies_ = true;
        if (!allocated) continue;
        status = reorder(card_, pictures_of(tensor), last_, addresses_[i], room);
        addresses_[i] = room;
      }
    };
    visit(false);
    if (!copies_) return status;
    if (status = scratch.allocate(call_); status.is_ok()) visit(true);
    return status;
  }

  Problem problem(const Library& library) const {
    const bp::Dtype dtype = result().dtype();
    const Wishes wishes{true, dtype == bp::f32 && !bp::allow_tf32(), true};
    Problem made{name_, {}, is_worth_measuring(sides_) && measuring_is_on(), {}};
    made.key.add(static_cast<int64_t>(way_)).add(static_cast<int64_t>(dtype)).add(last_);
    made.key.add(wishes.deterministic).add(wishes.full_precision).add(made.measured);
    made.key.add(sides_.large.ndim());
    for (size_t i = 0; i < 3; ++i) {
      made.key.add({sides_[i].shape().data(), sides_[i].shape().size()});
      made.key.add(alignment_at(addresses_[i]));
    }
    made.key.add(windows_.stride).add(windows_.padding).add(windows_.dilation);
    made.key.add(bias_ == nullptr ? 0 : alignment_at(bias_));
    made.plan = [this, &library, wishes, dtype](const Target& target) {
      Graph graph(library, dtype == bp::f64 ? CUDNN_DATA_DOUBLE : CUDNN_DATA_FLOAT);
      std::array<Id, 3> ids{};
      for (size_t i = 0; i < 3; ++i)
        ids[i] = graph.tensor(type_of(dtype), Sizes(sides_[i]).in_order(last_),
                              alignment_at(addresses_[i]));
      if (bias_ == nullptr)
        graph.convolve(way_, windows_.view(), ids[0], ids[1], ids[2]);
      else
        convolve_and_add(graph, ids);
      return Ways(graph, target, wishes, name_);
    };
    return made;
  }

  void convolve_and_add(Graph& graph, std::array<Id, 3> ids) const {
    const Shape shape = Sizes(result()).in_order(last_);
    Shape of_bias{std::vector<int64_t>(shape.sizes.size(), 1),
                  std::vector<int64_t>(shape.sizes.size(), shape.sizes[1])};
    of_bias.sizes[1] = shape.sizes[1];
    of_bias.strides[1] = 1;
    const Id bias = graph.tensor(type_of(result().dtype()), of_bias, alignment_at(bias_));
    const Id out = ids[result_place()], sum = graph.between(shape);
    ids[result_place()] = sum;
    graph.convolve(way_, windows_.view(), ids[0], ids[1], ids[2]);
    graph.pointwise(CUDNN_POINTWISE_ADD, {sum, bias}, out);
  }

  bp::Call call_;
  OnCard card_;
  const char* name_;
  Way way_;
  Sides sides_;
  WindowLists windows_;
  bool last_, copies_ = false;
  std::array<const void*, 3> addresses_{};  // large, weight, small
  const void* bias_ = nullptr;
};

// A tensor's f32 copy in scratch memory, which lies as it does.
class Widened {
 public:
  explicit Widened(const bp::AnyTensor& tensor) : from_(tensor), wide_(tensor.abi()) {
    wide_.dtype = BP_F32;
    wide_.itemsize = sizeof(float);
    wide_.dl.byte_offset = 0;
  }
  void take(Scratch& scratch) {
    wide_.dl.data = scratch.take<float>(static_cast<uint64_t>(from_.numel()));
  }
  bp::AnyTensor tensor() const { return bp::AnyTensor(&wide_); }
  float* data() const { return static_cast<float*>(wide_.dl.data); }

 private:
  const bp::AnyTensor& from_;
  bp_tensor wide_;
};

struct BiasCall {
  bp::Call call;
  bp::In a, weight, bias;
  bp::Out out;
  bool transposed;
  const WindowLists& windows;

  Pictures pictures() const {
    const int64_t batch = out.size(0), channels = out.size(1);
    return {batch, channels, out.numel() / batch / channels, out.itemsize()};
  }
  Convolving convolving(const bp::AnyTensor& from, const bp::AnyTensor& to,
                        const bp::AnyTensor& by) const {
    return {call, "convolution", transposed ? Way::to_input : Way::forward,
            transposed ? Sides{to, by, from} : Sides{from, by, to}, windows};
  }
};

// 16-bit floats, where the library does not add inside: a sum of two that are rounded would be rounded twice.
bp::Status convolve_wide(const BiasCall& c) {
  Widened a(c.a), weight(c.weight), out(c.out);
  Scratch scratch;
  for (Widened* each : {&a, &weight, &out}) each->take(scratch);
  if (bp::Status status = scratch.allocate(c.call); !status.is_ok()) return status;
  for (Widened* each : {&a, &weight, &out}) each->take(scratch);
  Convolving convolving = c.convolving(a.tensor(), out.tensor(), weight.tensor());
  if (bp::Status status = widen(convolving.card(), c.a, a.data()); !status.is_ok()) return status;
  if (bp::Status status = widen(convolving.card(), c.weight, weight.data()); !status.is_ok())
    return status;
  if (bp::Status status = convolving.run(); !status.is_ok()) return status;
  return round_with_bias(convolving.card(), c.pictures(), convolving.channels_last(), out.data(),
                         c.bias, c.out);
}

bp::Status convolve_with_bias(const BiasCall& c) {
  Convolving convolving = c.convolving(c.a, c.out, c.weight);
  const bool is_short = c.out.itemsize() == 2;
  if (is_short && (c.bias.stride(0) == 1 || c.bias.size(0) == 1)) {
    convolving.add_inside(c.bias);
    const bp::Status status = convolving.run();
    if (status.code() != BP_UNSUPPORTED) return status;
  }
  if (is_short) return convolve_wide(c);
  if (bp::Status status = convolving.run(); !status.is_ok()) return status;
  return add_bias(convolving.card(), c.pictures(), convolving.channels_last(), c.bias, c.out);
}

bp::Status convolution(bp::Call call, bp::In a, bp::In weight, std::optional<bp::In> bias,
                       bp::Ints stride, bp::Ints padding, bp::Ints dilation, bool transposed,
                       bp::Ints, int64_t, bp::Out out) {
  const WindowLists windows(stride, padding, dilation, a.ndim() - 2);
  if (bias) return convolve_with_bias({call, a, weight, *bias, out, transposed, windows});
  const Sides sides = transposed ? Sides{out, weight, a} : Sides{a, weight, out};
  return Convolving(call, "convolution", transposed ? Way::to_input : Way::forward, sides, windows)
      .run();
}

bp::Status convolution_backward_weight(bp::Call call, bp::In grad, bp::In a, bp::Ints,
                                       bp::Ints stride, bp::Ints padding, bp::Ints dilation,
                                       int64_t, bp::Out out) {
  Convolving convolving(call, "convolution_backward_weight", Way::to_weight, {a, out, grad},
                        {stride, padding, dilation, a.ndim() - 2});
  return convolving.run();
}

bool is_known(const Sides& sides, const WindowLists& windows) {
  return library() != nullptr && sides.large.numel() != 0 && sides.weight.numel() != 0 &&
         sides.small.numel() != 0 && counts_the_same(sides, windows);
}

bool takes_convolution(bp::Call, bp::In a, bp::In weight, std::optional<bp::In>, bp::Ints stride,
                       bp::Ints padding, bp::Ints dilation, bool transposed, bp::Ints, int64_t,
                       bp::Out out) {
  return is_known(transposed ? Sides{out, weight, a} : Sides{a, weight, out},
                  {stride, padding, dilation, a.ndim() - 2});
}
bool takes_gradient_by_weight(bp::Call, bp::In grad, bp::In a, bp::Ints, bp::Ints stride,
                              bp::Ints padding, bp::Ints dilation, int64_t, bp::Out out) {
  return is_known({a, out, grad}, {stride, padding, dilation, a.ndim() - 2});
}

}  // namespace
}  // namespace cuda_backend::cudnn

BP_KERNELS(cuda_convolution) {
  namespace cudnn = cuda_backend::cudnn;
  using Convolution = bp::op::convolution;
  k.add<Convolution>(cudnn::convolution)
      .dtypes(bp::floating)
      .layouts(bp::contiguous | bp::channels_last)
      .layouts(Convolution::place::bias, bp::strided)
      .supports(cudnn::takes_convolution)
      .deterministic()
      .capturable()
      .scratch();
  k.add<bp::op::convolution_backward_weight>(cudnn::convolution_backward_weight)
      .dtypes(bp::floating)
      .layouts(bp::contiguous | bp::channels_last)
      .supports(cudnn::takes_gradient_by_weight)
      .deterministic()
      .capturable()
      .scratch();
}
