// Reading and writing by index. An index that is out of range is left out, and told to the host by a word that
// it looks at when the stream is synchronized.
#include "expression.hpp"
#include "tensor_view.hpp"

namespace reference {
namespace {

class FaultWord {
 public:
  explicit FaultWord(bp::Call call) {
    bp::Result<uint8_t*> found = call.device<Device>().bytes_of(call.fault(), "the fault word");
    if (!found.is_ok()) throw bp::Failure{found.status()};
    word_ = found.value();
  }
  bool accepts(int64_t index, int64_t size) const {
    const bool is_inside = index >= 0 && index < size;
    if (!is_inside) write<int64_t>(word_, bp::i64, 1);
    return is_inside;
  }

 private:
  uint8_t* word_;
};

bp::Status gather(bp::Call call, bp::In a, int64_t dim, bp::In index, bp::Out out) {
  const TensorView from(call, a), places(call, index), to(call, out);
  const TensorView around = from.walked_as(places, dim);
  return submit(call, [=, fault = FaultWord(call)] {
    for (int64_t i = 0; i < places.numel; ++i) {
      const auto place = places.get<int64_t>(i);
      if (fault.accepts(place, from.shape[dim]))
        move(to.at(i), around.at(i) + place * from.steps[dim], to.itemsize);
    }
  });
}

bp::Status scatter_add(bp::Call call, bp::In a, int64_t dim, bp::In index, bp::In src,
                       bp::Out out) {
  const TensorView from(call, a), places(call, index), to(call, out);
  const TensorView added = TensorView(call, src).walked_as(places);
  const TensorView around = to.walked_as(places, dim);
  const int source = static_cast<int>(bp::op::scatter_add::place::src);
  return with_step_type(a.dtype(), [&]<class T>(Tag<T>) {
    return submit(
        call, [=, fault = FaultWord(call), combine = Expression<T>(call.op(), to.dtype)]() mutable {
          for (int64_t i = 0; i < to.numel; ++i) move(to.at(i), from.at(i), to.itemsize);
          T args[source + 1]{};
          for (int64_t i = 0; i < places.numel; ++i) {
            const auto place = places.get<int64_t>(i);
            if (!fault.accepts(place, to.shape[dim])) continue;
            uint8_t* const target = around.at(i) + place * to.steps[dim];
            args[source] = added.get<T>(i);
            write(target, to.dtype, combine(args, read<T>(target, to.dtype)));
          }
        });
  });
}

// Calls f(i) for the places of the nonzero elements.
template <class F> void for_each_nonzero(const TensorView& a, F f) {
  for (int64_t i = 0; i < a.numel; ++i)
    if (a.get<std::complex<double>>(i) != 0.0) f(i);
}

// The output's size is in the data: the one kernel that waits for its stream.
bp::Status nonzero(bp::Call call, bp::In a, bp::Out) {
  const TensorView from(call, a);
  int64_t count = 0;
  bp::Status status =
      submit(call, [from, &count] { for_each_nonzero(from, [&count](int64_t) { ++count; }); });
  if (status.is_ok()) status = call.device<Device>().synchronize(call.native<Queue>());
  if (status.is_ok()) status = call.allocate_output(0, {count, from.rank});
  if (!status.is_ok() || count == 0 || from.rank == 0) return status;
  const bp::Out allocated(call.abi().outputs[0]);  // the parameter is from before
  return submit(call, [from, to = TensorView(call, allocated)] {
    int64_t row = 0;
    for_each_nonzero(from, [&](int64_t place) {
      for (int32_t dim = from.rank - 1; dim >= 0; --dim) {
        to.set(row * from.rank + dim, place % from.shape[dim]);
        place /= from.shape[dim];
      }
      ++row;
    });
  });
}

}  // namespace
}  // namespace reference

BP_KERNELS(gather) {
  using namespace reference;
  using Gather = bp::op::gather::place;
  using Scatter = bp::op::scatter_add::place;
  const bp::DtypeSet indices = bp::DtypeSet(bp::i32) | bp::i64;
  k.add<bp::op::gather>(gather)
      .dtypes(bp::all)
      .dtypes(Gather::index, indices)
      .layouts(bp::strided)
      .deterministic()
      .may_fault();
  k.add<bp::op::scatter_add>(scatter_add)
      .dtypes(bp::numeric)
      .dtypes(Scatter::index, indices)
      .layouts(bp::strided)
      .deterministic()
      .may_fault();
  k.add<bp::op::nonzero>(nonzero)
      .dtypes(bp::numeric | bp::boolean)
      .layouts(bp::strided)
      .deterministic();
}
