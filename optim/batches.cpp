// Parameters into batches, and counts of steps on the device.
#include <algorithm>
#include <unordered_map>

#include <backplane/autograd/autograd.hpp>
#include <backplane/core_ops/creation.hpp>
#include <backplane/core_ops/generated/all.hpp>
#include <backplane/optim/optimizer.hpp>

#include "lists.hpp"
#include "step_count.hpp"

namespace bp::optim {
namespace {

// What takes part in this step.
struct Stepping {
  std::size_t index;
  Tensor gradient;
  bool is_alone;  // it shares memory with another, so that one call must not write both
};

Tensor as_real(const Tensor& tensor) {
  return is_complex(tensor.dtype()) ? view_as_real(detach(tensor)) : tensor;
}

// Neighbours by storage and by bytes, since few storages hold several parameters.
void find_shared_memory(std::vector<Stepping>& all, const std::vector<Tensor>& params) {
  std::vector<std::pair<const Storage*, Stepping*>> sorted;
  sorted.reserve(all.size());
  for (Stepping& each : all)
    if (const Storage* storage = params[each.index].impl()->storage)
      sorted.push_back({storage, &each});
  std::sort(sorted.begin(), sorted.end());
  for (std::size_t first = 0, end = 0; first < sorted.size(); first = end) {
    while (end < sorted.size() && sorted[end].first == sorted[first].first) ++end;
    if (end - first == 1) continue;
    const auto bytes_of = [&](std::size_t i) {
      return touched_bytes(*params[sorted[i].second->index].impl());
    };
    std::sort(sorted.begin() + static_cast<std::ptrdiff_t>(first),
              sorted.begin() + static_cast<std::ptrdiff_t>(end), [&](const auto& a, const auto& b) {
                return touched_bytes(*params[a.second->index].impl()).begin <
                       touched_bytes(*params[b.second->index].impl()).begin;
              });
    std::size_t widest = first;
    for (std::size_t i = first + 1; i < end; ++i) {
      if (bytes_of(i).begin < bytes_of(widest).end)
        sorted[i].second->is_alone = sorted[widest].second->is_alone = true;
      if (bytes_of(i).end > bytes_of(widest).end) widest = i;
    }
  }
}

bool fits(const Batch& batch, const Tensor& parameter, const ParamState& kept,
          const std::vector<bool>& was_kept, const std::vector<bool>& is_used) {
  if (batch.params[0].device() != parameter.device() ||
      batch.params[0].dtype() != parameter.dtype() || batch.numbers != kept.numbers ||
      batch.was_kept != was_kept)
    return false;
  for (std::size_t place = 0; place < is_used.size(); ++place)
    if (is_used[place] == batch.states[place].empty()) return false;
  return true;
}

// A count of its own for parameters that part from others, which have not come this far, or that moved.
std::shared_ptr<StepCount> count_for(const std::shared_ptr<StepCount>& old, std::size_t present,
                                     Device device) {
  if (old && old->users == present) {
    if (old->value.device() != device) old->value = to(old->value, device);
    return old;
  }
  auto made = std::make_shared<StepCount>();
  made->users = present;
  if (!old) {
    made->value = full({}, 0, f32, device);
    return made;
  }
  old->users -= present;
  made->value = to(clone(old->value), device);
  return made;
}

}  // namespace

bool Optimizer::needs(std::size_t, std::size_t) const {
  return true;
}

Tensor Optimizer::initial_tensor(std::size_t, std::size_t, const Tensor& parameter) const {
  return zeros_like(parameter);
}

double Optimizer::initial_number(std::size_t, std::size_t) const {
  return 0;
}

Dims Optimizer::kept_shape(std::size_t, const Tensor& parameter) const {
  return parameter.shape();
}

void Optimizer::prepare_state(std::size_t group, std::size_t index) {
  const Tensor& parameter = groups_[group].params[index];
  ParamState& kept = groups_[group].states[index];
  kept.tensors.resize(layout().tensors.size());
  for (std::size_t place = 0; place < kept.tensors.size(); ++place) {
    if (!needs(group, place)) continue;
    Tensor& each = kept.tensors[place];
    if (each.defined())
      follow(each, parameter);
    else
      each = initial_tensor(group, place, parameter);
  }
  if (kept.numbers.empty())
    for (std::size_t place = 0; place < layout().numbers.size(); ++place)
      kept.numbers.push_back(initial_number(group, place));
}

std::vector<Batch> Optimizer::batches_of(std::size_t group) {
  const std::vector<Tensor>& params = groups_[group].params;
  std::vector<Stepping> all;
  all.reserve(params.size());
  for (std::size_t i = 0; i < params.size(); ++i)
    if (Tensor gradient = grad(params[i]); gradient.defined())
      all.push_back({i, std::move(gradient), false});
  find_shared_memory(all, params);

  std::vector<Batch> batches, lone;
  const std::size_t num_tensors = layout().tensors.size();
  std::vector<bool> was_kept(num_tensors), is_used(num_tensors);
  for (Stepping& each : all) {
    ParamState& kept = groups_[group].states[each.index];
    for (std::size_t place = 0; place < num_tensors; ++place)
      was_kept[place] = place < kept.tensors.size() && kept.tensors[place].defined();
    prepare_state(group, each.index);
    for (std::size_t place = 0; place < num_tensors; ++place)
      is_used[place] = kept.tensors[place].defined() && needs(group, place);
    const Tensor parameter = as_real(params[each.index]);
    Batch* batch = nullptr;
    for (Batch& made : batches)
      if (!each.is_alone && fits(made, parameter, kept, was_kept, is_used)) batch = &made;
    if (!batch) {
      batch = &(each.is_alone ? lone : batches).emplace_back();
      batch->numbers = kept.numbers;
      batch->was_kept = was_kept;
      batch->states.resize(num_tensors);
    }
    batch->params.push_back(parameter);
    batch->grads.push_back(as_real(each.gradient));
    batch->kept.push_back(&kept);
    for (std::size_t place = 0; place < num_tensors; ++place)
      if (is_used[place]) batch->states[place].push_back(as_real(kept.tensors[place]));
  }
  std::move(lone.begin(), lone.end(), std::back_inserter(batches));
  return batches;
}

std::vector<Tensor> Optimizer::advance_counts(Batch& batch, const GradScaling& scaling) {
  const Device device = batch.params[0].device();
  std::unordered_map<StepCount*, std::size_t> present;
  const StepCount* last = nullptr;
  std::size_t* last_present = nullptr;
  for (const ParamState* kept : batch.kept) {
    if (!last_present || kept->count.get() != last) {
      last = kept->count.get();
      last_present = &present[kept->count.get()];
    }
    ++*last_present;
  }
  std::unordered_map<StepCount*, std::shared_ptr<StepCount>> now;
  Tensors counts, values;
  for (ParamState* kept : batch.kept) {
    std::shared_ptr<StepCount>& count = now[kept->count.get()];
    if (!count) {
      count = count_for(kept->count, present[kept->count.get()], device);
      values.push_back(count->value);
    }
    counts.push_back(count->value);
    kept->count = count;
  }
  _foreach_add_(values, 1);
  if (scaling.found_inf.defined())
    _foreach_sub_(values,
                  Tensors(values.size(), reshape(to(scaling.found_inf, device, f32), IntList{})));
  return counts;
}

}  // namespace bp::optim
