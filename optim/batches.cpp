// Parameters into batches, and counts of steps on the device.
#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include <backplane/autograd/autograd.hpp>
#include <backplane/core_ops/creation.hpp>
#include <backplane/core_ops/generated/all.hpp>
#include <backplane/optim/optimizer.hpp>
#include <backplane/runtime/device_registry.hpp>
#include <backplane/tensor/check.hpp>

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

// Kernels of lists mostly take rows without gaps alone: one tensor of another layout must not keep the others from them, nor
// change how these round.
bool fits(const Batch& batch, const Tensor& parameter, const ParamState& kept,
          const std::vector<bool>& was_kept, const std::vector<bool>& is_used) {
  if (batch.params[0].device() != parameter.device() ||
      batch.params[0].dtype() != parameter.dtype() ||
      batch.params[0].is_contiguous() != parameter.is_contiguous() ||
      batch.numbers != kept.numbers || batch.was_kept != was_kept)
    return false;
  for (std::size_t place = 0; place < is_used.size(); ++place) {
    if (is_used[place] == batch.states[place].empty()) return false;
    if (is_used[place] &&
        batch.states[place][0].is_contiguous() != kept.tensors[place].is_contiguous())
      return false;
  }
  return true;
}

Tensor laid_out_for(const Tensor& parameter, const Tensor& gradient) {
  const bool is_kept = gradient.is_contiguous() ||
                       (!parameter.is_contiguous() && !has_internal_overlap(*gradient.impl()));
  return is_kept ? gradient : contiguous(gradient);
}

// The value of a count of its own, for parameters that part from others or have not come this far.
std::shared_ptr<StepCount> new_count(const StepCount* old, std::size_t users, Device device) {
  auto made = std::make_shared<StepCount>();
  made->users = users;
  made->value = old ? to(clone(old->value), device) : full({}, 0, f32, device);
  return made;
}

}  // namespace

void check_is_writable(const std::string& optimizer, std::size_t index, const Tensor& parameter) {
  BP_CHECK(!has_internal_overlap(*parameter.impl()),
           "{}: several elements of parameter {}, shape {}, share one place in memory (strides "
           "{}); make it from a clone()",
           optimizer, index, to_string(parameter.shape()), to_string(parameter.strides()));
}

void check_gradient_fits(const std::string& optimizer, std::size_t index, const Tensor& parameter,
                         const Tensor& gradient) {
  BP_CHECK(gradient.shape() == parameter.shape() && gradient.dtype() == parameter.dtype() &&
               gradient.device() == parameter.device(),
           "{}: parameter {} is {} of shape {} on {}, and its gradient {} of shape {} on {}; call "
           "zero_grad() and backward() again",
           optimizer, index, name(parameter.dtype()), to_string(parameter.shape()),
           device_name(parameter.device()), name(gradient.dtype()), to_string(gradient.shape()),
           device_name(gradient.device()));
}

bool Optimizer::needs(std::size_t, std::size_t) const {
  return true;
}

bool Optimizer::is_kept(std::size_t, const Tensor&) const {
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

ParamState Optimizer::prepared_state(std::size_t group, std::size_t index) const {
  const Tensor& parameter = groups_[group].params[index];
  ParamState next = groups_[group].states[index];
  next.tensors.resize(layout().tensors.size());
  for (std::size_t place = 0; place < next.tensors.size(); ++place) {
    if (!needs(group, place) || !is_kept(place, parameter)) continue;
    Tensor& each = next.tensors[place];
    if (!each.defined()) {
      each = initial_tensor(group, place, parameter);
      continue;
    }
    const Dims shape = kept_shape(place, parameter);
    BP_CHECK(each.shape() == IntList(shape),
             "{}: '{}' of parameter {} has shape {} and belongs to one of {}; make a new optimizer "
             "for parameters whose shape has changed",
             type_name(), layout().tensors[place], index, to_string(each.shape()),
             to_string(IntList(shape)));
    follow(each, parameter);
  }
  if (next.numbers.empty())
    for (std::size_t place = 0; place < layout().numbers.size(); ++place)
      next.numbers.push_back(initial_number(group, place));
  return next;
}

std::vector<Batch> Optimizer::batches_of(std::size_t group) {
  const std::vector<Tensor>& params = groups_[group].params;
  std::vector<Stepping> all;
  all.reserve(params.size());
  for (std::size_t i = 0; i < params.size(); ++i)
    if (const Tensor gradient = grad(params[i]); gradient.defined()) {
      check_is_writable(type_name(), i, params[i]);
      check_gradient_fits(type_name(), i, params[i], gradient);
      all.push_back({i, laid_out_for(params[i], gradient), false});
    }
  find_shared_memory(all, params);

  std::vector<Batch> batches, lone;
  const std::size_t num_tensors = layout().tensors.size();
  std::vector<bool> was_kept(num_tensors), is_used(num_tensors);
  for (Stepping& each : all) {
    ParamState& kept = groups_[group].states[each.index];
    for (std::size_t place = 0; place < num_tensors; ++place)
      was_kept[place] = place < kept.tensors.size() && kept.tensors[place].defined();
    ParamState next = prepared_state(group, each.index);
    for (std::size_t place = 0; place < num_tensors; ++place)
      is_used[place] = next.tensors[place].defined() && needs(group, place);
    const Tensor parameter = real_parts(params[each.index]);
    Batch* batch = nullptr;
    for (Batch& made : batches)
      if (!each.is_alone && fits(made, parameter, next, was_kept, is_used)) batch = &made;
    if (!batch) {
      batch = &(each.is_alone ? lone : batches).emplace_back();
      batch->numbers = next.numbers;
      batch->was_kept = was_kept;
      batch->states.resize(num_tensors);
    }
    batch->params.push_back(parameter);
    batch->grads.push_back(real_parts(each.gradient));
    batch->kept.push_back(&kept);
    for (std::size_t place = 0; place < num_tensors; ++place)
      if (is_used[place]) batch->states[place].push_back(real_parts(next.tensors[place]));
    batch->next.push_back(std::move(next));
  }
  std::move(lone.begin(), lone.end(), std::back_inserter(batches));
  return batches;
}

std::vector<Tensor> Optimizer::advance_counts(Batch& batch, const GradScaling& scaling) {
  const Device device = batch.params[0].device();
  std::unordered_map<StepCount*, std::size_t> present;
  for (const ParamState& next : batch.next) ++present[next.count.get()];
  std::unordered_map<StepCount*, std::shared_ptr<StepCount>> parted;
  for (const auto& [old, users] : present)
    if (!old || old->users != users || old->value.device() != device)
      parted[old] = new_count(old, users, device);
  Tensors counts, values;
  std::unordered_set<const StepCount*> seen;
  for (ParamState& next : batch.next) {
    if (const auto found = parted.find(next.count.get()); found != parted.end()) {
      if (next.count) --next.count->users;
      next.count = found->second;
    }
    if (seen.insert(next.count.get()).second) values.push_back(next.count->value);
    counts.push_back(next.count->value);
  }
  for (std::size_t i = 0; i < batch.kept.size(); ++i)
    if (batch.kept[i]->count) batch.kept[i]->count = batch.next[i].count;
  _foreach_add_(values, 1);
  if (scaling.found_inf.defined())
    _foreach_sub_(values, Tensors(values.size(), to(scaling.found_inf, f32)));
  batch.counts = std::move(values);
  return counts;
}

void take_back_counts(const Batch& batch, const GradScaling& scaling) {
  if (batch.counts.empty()) return;
  _foreach_sub_(batch.counts, 1);
  if (scaling.found_inf.defined())
    _foreach_add_(batch.counts, Tensors(batch.counts.size(), to(scaling.found_inf, f32)));
}

}  // namespace bp::optim
