// Arguments as nobody should write them: undefined, of the wrong kind, rank or dtype, out of any range.
#pragma once

#include <deque>
#include <limits>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include <backplane/tensors.hpp>

namespace bp::test {

// Draws arguments and keeps them alive for one call. The same seed draws the same ones. What it has drawn
// is in `text`, for the report of a call that went wrong.
class Values {
 public:
  // Without `devices` all tensors are meta ones, and no device is loaded.
  Values(std::uint64_t seed, std::vector<Device> devices)
      : random_(seed), devices_(std::move(devices)) {}

  // `f` with arguments of its own types.
  template <class R, class... A> void call(R (*f)(A...)) {
    std::tuple<Kept<A>...> kept{Kept<A>(*this)...};
    if (before_call) before_call(text);
    std::apply([&](auto&... each) { static_cast<void>(f(each.get()...)); }, kept);
  }
  void (*before_call)(const std::string& text) = nullptr;

  // A value for an argument of this type, or now and then of another.
  bp_value value(ArgumentType type);
  // One that differs from a good tensor in a size, the dtype or the device.
  bp_value near(const Tensor& good);
  // One of other sizes and of any values.
  bp_value resized(const Tensor& good, IntList shape);
  // About half of these tensors, where they may, want a derivative.
  void record(std::vector<bp_value>& args);
  // One size of these arguments is another, wherever it occurs: none, one or one more.
  void resize(std::vector<bp_value>& args);

  Tensor tensor();
  std::vector<Tensor> tensors();
  Scalar scalar();
  std::int64_t integer();
  double real();
  bool boolean();
  std::string_view string();
  Dtype dtype();
  Device device();
  const std::vector<std::int64_t>& integers();
  // None, of a device that is right or wrong, or of none.
  Generator* generator();

  // True once in `count` times.
  bool once_in(std::uint32_t count) { return below(count) == 0; }
  std::uint32_t below(std::uint32_t count) { return static_cast<std::uint32_t>(random_() % count); }

  std::string text;

 private:
  template <class A> struct Kept;

  bp_value value_of_type(ArgumentType type);
  template <class T> const T& one_of(const std::vector<T>& all) {
    return all[below(static_cast<std::uint32_t>(all.size()))];
  }
  void say(const std::string& what) { text += (text.empty() ? "" : ", ") + what; }
  void fill(const Tensor& tensor);

  std::mt19937_64 random_;
  std::vector<Device> devices_;
  std::deque<Tensor> kept_;
  std::deque<std::vector<Tensor>> kept_tensors_;
  std::deque<TensorListValue> kept_lists_;
  std::deque<std::vector<std::int64_t>> kept_integers_;
  std::deque<Scalar> kept_scalars_;
  std::deque<Generator> kept_generators_;
};

// How a parameter of each type is drawn: get() is what the function takes.
#define BP_KEPT(type, member, draw)               \
  template <> struct Values::Kept<type> {         \
    explicit Kept(Values& values) : kept(draw) {} \
    auto& get() { return kept; }                  \
    member kept;                                  \
  }
#define BP_KEPT_OPTIONAL(type, member, draw) \
  BP_KEPT(type, std::optional<member>,       \
          values.once_in(4) ? std::nullopt : std::optional<member>(draw))

BP_KEPT(const Tensor&, Tensor, values.tensor());
BP_KEPT(TensorList, std::vector<Tensor>, values.tensors());
BP_KEPT(const Scalar&, Scalar, values.scalar());
BP_KEPT(std::int64_t, std::int64_t, values.integer());
BP_KEPT(double, double, values.real());
BP_KEPT(bool, bool, values.boolean());
BP_KEPT(std::string_view, std::string_view, values.string());
BP_KEPT(Dtype, Dtype, values.dtype());
BP_KEPT(Device, Device, values.device());
BP_KEPT(Generator*, Generator*, values.generator());
BP_KEPT(IntList, IntList, values.integers());
BP_KEPT(MemoryFormat, MemoryFormat, static_cast<MemoryFormat>(values.below(3)));
BP_KEPT(DimList, DimList, values.once_in(4) ? DimList() : DimList(values.integers()));
BP_KEPT_OPTIONAL(const std::optional<Scalar>&, Scalar, values.scalar());
BP_KEPT_OPTIONAL(std::optional<std::int64_t>, std::int64_t, values.integer());
BP_KEPT_OPTIONAL(std::optional<double>, double, values.real());
BP_KEPT_OPTIONAL(std::optional<Dtype>, Dtype, values.dtype());
BP_KEPT_OPTIONAL(std::optional<Device>, Device, values.device());
#undef BP_KEPT
#undef BP_KEPT_OPTIONAL

}  // namespace bp::test
