// Faults of kernels that rows of several operators are made of: testing these rows alone must find them.
#include <algorithm>
#include <cmath>
#include <vector>

#include "faults.hpp"
#include "lines.hpp"

namespace exam {
namespace {

bool has_two_tensors(const bp_call& call) {
  return call.num_args >= 2 && call.args[0].tag == BP_TENSOR && call.args[1].tag == BP_TENSOR;
}
const bp_tensor& tensor_of(const bp_call& call, uint32_t arg) {
  return *call.args[arg].u.tensor;
}

// After the correct kernel of this row, each element of the first output is what `make`(it, its place) says.
template <class Make>
bp_code remade(const bp_kernel& inner, const bp_call& call, const char* row, Make make) {
  const bp_code code = run(inner, call);
  if (code != BP_OK || !is_row(call, row)) return code;
  const bp_tensor& out = *call.outputs[0];
  for (int64_t i = 0; i < out.numel; ++i) set_number(out, i, make(number_at(out, i), i));
  return code;
}

// ---- Running extremes

bp_code ties_go_back(const bp_kernel& inner, const bp_call& call) {
  if (!is_row(call, "le") || !has_two_tensors(call)) return run(inner, call);
  return remade(inner, call, "le", [&](double, int64_t i) {
    return number_at(tensor_of(call, 0), i) < number_at(tensor_of(call, 1), i) ? 1.0 : 0.0;
  });
}

bp_code places_stay_behind(const bp_kernel& inner, const bp_call& call) {
  if (call.outputs[0]->dtype != BP_I64 || !is_row(call, "where") || call.num_args < 3 ||
      call.args[2].tag != BP_TENSOR)
    return run(inner, call);
  return remade(inner, call, "where",
                [&](double, int64_t i) { return number_at(tensor_of(call, 2), i); });
}

// ---- Elements by order

// Calls act(values, places, line of them) for the lines of a sort's results.
template <class Act> bp_code after_sort(const bp_kernel& inner, const bp_call& call, Act act) {
  const bp_code code = run(inner, call);
  if (code != BP_OK || !is_row(call, "sort") || !is_floating(*call.outputs[0])) return code;
  const bp_tensor &values = *call.outputs[0], &places = *call.outputs[1];
  each_line(values, call.args[1].u.i, [&](const Line& line) { act(values, places, line); });
  return code;
}

bp_code short_lines_unsorted(const bp_kernel& inner, const bp_call& call) {
  return after_sort(
      inner, call, [&](const bp_tensor& values, const bp_tensor& places, const Line& line) {
        for (int64_t k = 0; k < line.size && line.size <= 8; ++k) {
          set_number(values, line.place(k), number_at(tensor_of(call, 0), line.place(k)));
          set_number(places, line.place(k), static_cast<double>(k));
        }
      });
}

bp_code nan_sorted_first(const bp_kernel& inner, const bp_call& call) {
  return after_sort(
      inner, call, [](const bp_tensor& values, const bp_tensor& places, const Line& line) {
        std::vector<std::pair<double, double>> all;
        for (int64_t k = 0; k < line.size; ++k)
          all.emplace_back(number_at(values, line.place(k)), number_at(places, line.place(k)));
        std::stable_partition(all.begin(), all.end(),
                              [](const auto& each) { return std::isnan(each.first); });
        for (int64_t k = 0; k < line.size; ++k) {
          set_number(values, line.place(k), all[static_cast<size_t>(k)].first);
          set_number(places, line.place(k), all[static_cast<size_t>(k)].second);
        }
      });
}

bp_code ranks_for_places(const bp_kernel& inner, const bp_call& call) {
  return after_sort(inner, call, [](const bp_tensor&, const bp_tensor& places, const Line& line) {
    std::vector<double> ranks(static_cast<size_t>(line.size));
    for (int64_t k = 0; k < line.size; ++k)
      ranks[static_cast<size_t>(number_at(places, line.place(k)))] = static_cast<double>(k);
    for (int64_t k = 0; k < line.size; ++k)
      set_number(places, line.place(k), ranks[static_cast<size_t>(k)]);
  });
}

// Of equal elements in a row of lines the last.
bp_code last_of_many_ties(const bp_kernel& inner, const bp_call& call) {
  const bp_code code = run(inner, call);
  if (code != BP_OK || !is_row(call, "argmax") || call.args[1].tag != BP_INT) return code;
  const bp_tensor& a = tensor_of(call, 0);
  int64_t result = 0;
  each_line(a, call.args[1].u.i, [&](const Line& line) {
    const auto best = static_cast<int64_t>(number_at(*call.outputs[0], result));
    for (int64_t k = best; k < line.size; ++k)
      if (number_at(a, line.place(k)) == number_at(a, line.place(best)))
        set_number(*call.outputs[0], result, static_cast<double>(k));
    ++result;
  });
  return code;
}

bp_code running_sum_starts_late(const bp_kernel& inner, const bp_call& call) {
  if (call.outputs[0]->dtype != BP_I64 || !is_row(call, "cumsum")) return run(inner, call);
  return remade(inner, call, "cumsum",
                [&](double sum, int64_t i) { return sum - number_at(tensor_of(call, 0), i); });
}

// ---- Factorizations, transforms and what accumulates

bp_code pivot_is_the_first(const bp_kernel& inner, const bp_call& call) {
  if (!is_row(call, "argmax") || !is_floating(tensor_of(call, 0))) return run(inner, call);
  return remade(inner, call, "argmax", [](double, int64_t) { return 0.0; });
}

bp_code turns_the_other_way(const bp_kernel& inner, const bp_call& call) {
  if (!is_row(call, "sin")) return run(inner, call);
  return remade(inner, call, "sin", [](double value, int64_t) { return -value; });
}

bp_code later_additions_win(const bp_kernel& inner, const bp_call& call) {
  const bp_code code = run(inner, call);
  if (code != BP_OK || !is_row(call, "scatter_add") || call.outputs[0]->dl.ndim < 2) return code;
  const bp_tensor &a = tensor_of(call, 0), &index = tensor_of(call, 2), &src = tensor_of(call, 3);
  const int64_t dim = call.args[1].u.i;
  const bp_tensor& out = *call.outputs[0];
  for (int32_t d = 0; d < out.dl.ndim; ++d)
    if (d != dim && index.dl.shape[d] != out.dl.shape[d]) return code;
  std::vector<Line> to;
  each_line(out, dim, [&](const Line& line) { to.push_back(line); });
  size_t next = 0;
  each_line(index, dim, [&](const Line& line) {
    const Line& onto = to[next++];
    for (int64_t k = 0; k < line.size; ++k) {
      const auto place = static_cast<int64_t>(number_at(index, line.place(k)));
      if (place >= 0 && place < onto.size)
        set_number(out, onto.place(place),
                   number_at(a, onto.place(place)) + number_at(src, line.place(k)));
    }
  });
  return code;
}

bp_code sums_of_paths_too_large(const bp_kernel& inner, const bp_call& call) {
  if (!is_row(call, "log")) return run(inner, call);
  return remade(inner, call, "log", [&](double value, int64_t i) {
    const double from = number_at(tensor_of(call, 0), i);
    return from > 1 && from <= 2 ? from - 1 : value;
  });
}

// ---- Layers and pictures

bp_code halves_swapped(const bp_kernel& inner, const bp_call& call) {
  if (!is_row(call, "cat") || call.args[0].aux != 2) return run(inner, call);
  const auto* const* given = static_cast<const bp_tensor* const*>(call.args[0].u.ptr);
  const bp_tensor &first = *given[0], &second = *given[1];
  if (first.dl.ndim != second.dl.ndim ||
      !std::equal(first.dl.shape, first.dl.shape + first.dl.ndim, second.dl.shape))
    return run(inner, call);
  const bp_tensor* const turned[] = {&second, &first};
  ChangedCall changed(call);
  changed.value(0).u.ptr = turned;
  return run(inner, changed.call());
}

bp_code states_stay_small(const bp_kernel& inner, const bp_call& call) {
  if (!is_row(call, "tanh")) return run(inner, call);
  return remade(inner, call, "tanh",
                [](double value, int64_t) { return std::clamp(value, -0.25, 0.25); });
}

bp_code floor_cuts_off(const bp_kernel& inner, const bp_call& call) {
  if (!is_row(call, "floor")) return run(inner, call);
  return remade(inner, call, "floor",
                [&](double, int64_t i) { return std::trunc(number_at(tensor_of(call, 0), i)); });
}

bp_code whole_numbers_go_down(const bp_kernel& inner, const bp_call& call) {
  if (!is_row(call, "floor")) return run(inner, call);
  return remade(inner, call, "floor",
                [&](double, int64_t i) { return std::ceil(number_at(tensor_of(call, 0), i)) - 1; });
}

// ---- Special functions

bp_code bound_hides_nan(const bp_kernel& inner, const bp_call& call) {
  if (!is_row(call, "maximum") || !is_floating(*call.outputs[0])) return run(inner, call);
  return remade(inner, call, "maximum",
                [](double value, int64_t) { return std::isnan(value) ? 8.0 : value; });
}

bp_code small_exponentials_lost(const bp_kernel& inner, const bp_call& call) {
  if (!is_row(call, "exp")) return run(inner, call);
  return remade(inner, call, "exp",
                [](double value, int64_t) { return value < 1e-4 ? 0.0 : value; });
}

// ---- Complex numbers by their parts

bp_code imaginary_parts_lost(const bp_kernel& inner, const bp_call& call) {
  const bp_tensor& out = *call.outputs[0];
  const int32_t last = out.dl.ndim - 1;
  const bool joins_parts = is_row(call, "cat") && is_floating(out) && call.args[0].aux == 2 &&
                           call.args[1].u.i == last && out.dl.shape[last] == 2;
  if (!joins_parts) return run(inner, call);
  return remade(inner, call, "cat",
                [](double value, int64_t i) { return i % 2 == 0 ? value : 0.0; });
}

bp_code cuts_have_one_side(const bp_kernel& inner, const bp_call& call) {
  if (!is_row(call, "div") || !is_floating(*call.outputs[0])) return run(inner, call);
  return remade(inner, call, "div",
                [](double value, int64_t) { return std::isinf(value) ? std::fabs(value) : value; });
}

}  // namespace

const std::vector<KernelFault> composed_faults = {
    {"ties_go_back", ties_go_back},
    {"places_stay_behind", places_stay_behind},
    {"short_lines_unsorted", short_lines_unsorted},
    {"nan_sorted_first", nan_sorted_first},
    {"ranks_for_places", ranks_for_places},
    {"last_of_many_ties", last_of_many_ties},
    {"running_sum_starts_late", running_sum_starts_late},
    {"pivot_is_the_first", pivot_is_the_first},
    {"turns_the_other_way", turns_the_other_way},
    {"later_additions_win", later_additions_win},
    {"sums_of_paths_too_large", sums_of_paths_too_large},
    {"halves_swapped", halves_swapped},
    {"states_stay_small", states_stay_small},
    {"floor_cuts_off", floor_cuts_off},
    {"whole_numbers_go_down", whole_numbers_go_down},
    {"bound_hides_nan", bound_hides_nan},
    {"small_exponentials_lost", small_exponentials_lost},
    {"imaginary_parts_lost", imaginary_parts_lost},
    {"cuts_have_one_side", cuts_have_one_side},
};

}  // namespace exam
