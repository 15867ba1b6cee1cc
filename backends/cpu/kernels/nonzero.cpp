// nonzero: counts first, since the output's size is the count; then writes each part at its place.
#include <vector>

#include "../host.hpp"
#include "../tensor_view.hpp"
#include "kernels.hpp"
#include "strided.hpp"

namespace bp::cpu {
namespace {

constexpr bp_dtype_set counted_dtypes = numeric_dtypes | dtype_set({BP_BOOL});

template <class T> bool is_nonzero(const T& value) {
  if constexpr (is_reduced_float<T>) {
    return (value.bits & 0x7fffu) != 0;
  } else if constexpr (std::is_same_v<T, bool>) {
    return value;
  } else {
    return value != T(0);
  }
}

// Calls f(walker) at each nonzero element of [begin, end) in logical order.
template <class T, class F>
void for_each_nonzero(const bp_tensor& a, int64_t begin, int64_t end, F&& f) {
  const T* const data = data_of<T>(a);
  Walker<1> at(shape_of(a), {a.dl.strides});
  at.seek(begin);
  for (int64_t i = begin; i < end; ++i, at.next())
    if (is_nonzero(data[at.offset(0)])) f(at);
}

template <class T> int64_t count_nonzero(const bp_tensor& a, int64_t begin, int64_t end) {
  int64_t count = 0;
  if (is_contiguous(a)) {
    const T* const data = data_of<T>(a);
    for (int64_t i = begin; i < end; ++i) count += is_nonzero(data[i]) ? 1 : 0;
  } else {
    for_each_nonzero<T>(a, begin, end, [&](const Walker<1>&) { ++count; });
  }
  return count;
}

template <class T> Status run_nonzero(const Call& call, const bp_tensor& a) {
  constexpr int64_t part_size = element_grain * 4;
  const int64_t num_parts = (a.numel + part_size - 1) / part_size;
  const auto end_of = [&](int64_t part) { return std::min(a.numel, (part + 1) * part_size); };

  std::vector<int64_t> first(num_parts + 1, 0);  // the output row at which each part begins
  parallel_for(num_parts, 1, [&](int64_t begin, int64_t end) {
    for (int64_t part = begin; part < end; ++part)
      first[part + 1] = count_nonzero<T>(a, part * part_size, end_of(part));
  });
  for (int64_t part = 0; part < num_parts; ++part) first[part + 1] += first[part];

  const int64_t rank = a.dl.ndim;
  const int64_t shape[2] = {first[num_parts], rank};
  const Status status = call.allocate_output(0, Ints(shape, 2));
  if (!status.is_ok() || shape[0] == 0 || rank == 0) return status;
  int64_t* const to = data_of<int64_t>(*call.abi().outputs[0]);
  parallel_for(num_parts, 1, [&](int64_t begin, int64_t end) {
    for (int64_t part = begin; part < end; ++part) {
      if (first[part] == first[part + 1]) continue;
      int64_t* row = to + first[part] * rank;
      for_each_nonzero<T>(a, part * part_size, end_of(part), [&](const Walker<1>& at) {
        for (int64_t dim = 0; dim < rank; ++dim) row[dim] = at.index(static_cast<int>(dim));
        row += rank;
      });
    }
  });
  return ok;
}

Status nonzero(Call call, In a, Out) {
  Status status = Status::from_host(BP_UNSUPPORTED);
  visit_dtype<counted_dtypes>(a.abi().dtype,
                              [&]<class T>(Tag<T>) { status = run_nonzero<T>(call, a.abi()); });
  return status;
}

}  // namespace

void add_nonzero_kernels(Kernels& k) {
  k.add<op::nonzero>(nonzero)
      .dtypes(DtypeSet(counted_dtypes))
      .dtypes(op::nonzero::place::out, i64)
      .layouts(strided)
      .deterministic();
}

}  // namespace bp::cpu
