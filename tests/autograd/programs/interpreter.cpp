#include "autograd/programs/interpreter.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "autograd/programs/calls.hpp"
#include "autograd/programs/regular.hpp"

namespace bp::test::programs {
namespace {

Step functional(const Step& step) {
  Step made = step;
  made.name = step.row();
  if (step.is_out()) made.args.erase(made.args.begin());
  return made;
}

// copy_ and fill_ take what they write from their second argument.
std::vector<Plain> filled(const Step& step, const Plain& target, const PlainOf& plain_of) {
  Plain made = target;
  const Argument& from = step.args[1];
  if (from.is_variable() != (step.name == "copy_")) throw Refused(Why::does_not_fit, text_of(step));
  if (from.is_variable()) {
    const Plain& source = plain_of(from.integer);
    if (broadcast_shapes_of({source.shape, target.shape}) != target.shape)
      throw Refused(Why::does_not_fit, text_of(step));
    const auto places = broadcast_places(source.shape, target.shape);
    for (std::size_t i = 0; i < places.size(); ++i)
      made.values[i] = source.values[static_cast<std::size_t>(places[i])];
  } else {
    const double number =
        from.kind == Argument::Kind::real ? from.real : static_cast<double>(from.integer);
    std::fill(made.values.begin(), made.values.end(), number);
  }
  return {made};
}

bool is_filling(const Step& step) {
  return step.name == "copy_" || step.name == "fill_";
}

// Whether a result has no derivative by the variable at this place: a matrix times a beta of 0 takes no part in the sum (to
// PyTorch it does, with a gradient of 0), and a target may only say which side an element is on.
bool ignores(const Step& step, std::size_t place) {
  if (step.name == "addmm" || step.name == "baddbmm")
    return place == 0 && step.args.size() > 3 && step.args[3].integer == 0 &&
           step.args[3].real == 0;
  return step.name == "hinge_embedding_loss" && place == 1;
}

}  // namespace

void Interpreter::run(const Program& program) {
  for (const Step& next : program.steps) step(next);
}

void Interpreter::step(const Step& step) {
  for (std::int64_t variable : variables_of(step))
    if (!seen_.contains(variable)) throw Refused(Why::does_not_fit, text_of(step));
  if (step.is_input())
    make_input(step);
  else if (step.name == "retain_grad")
    ;
  else if (is_view(step.name))
    make_views(step);
  else
    call(step);
  for (const Shift& shift : shifts_) {
    if (shift.after_step != step_index_) continue;
    const Seen& seen = seen_.at(shift.variable);
    for (std::size_t i = 0; i < shift.by.size(); ++i)
      ways_[seen.way].moved[static_cast<std::size_t>(seen.places[i])] += shift.by[i];
  }
  ++step_index_;
}

// ---- Making ----

std::size_t Interpreter::new_way(std::size_t memory, bool requires_grad) {
  ways_.push_back({memory, memories_[memory].values, requires_grad});
  memories_[memory].ways.push_back(ways_.size() - 1);
  return ways_.size() - 1;
}

std::size_t Interpreter::new_memory(const Plain& values, const std::vector<double>& moved,
                                    bool requires_grad) {
  memories_.push_back({values.values, values.dtype, {}});
  ++num_memories_with_one_way_;
  const std::size_t way = new_way(memories_.size() - 1, requires_grad);
  ways_[way].moved = moved;
  ways_[way].last_write = step_index_;
  return memories_.size() - 1;
}

void Interpreter::make_input(const Step& step) {
  Plain plain{step.args[0].dtype, step.args[1].integers(), input_values(step)};
  if (plain.values.size() != static_cast<std::size_t>(numel_of(plain.shape)) ||
      plain.values.empty() || step.results.size() != 1)
    throw Refused(Why::does_not_fit, text_of(step));
  Seen seen;
  seen.dtype = plain.dtype;
  seen.shape = plain.shape;
  seen.places.resize(plain.values.size());
  std::iota(seen.places.begin(), seen.places.end(), 0);
  seen.is_leaf = step.is_leaf();
  seen.memory = new_memory(plain, plain.values, step.is_leaf());
  seen.way = memories_[seen.memory].ways[0];
  ways_[seen.way].is_of_leaf = step.is_leaf();
  seen_[step.results[0]] = std::move(seen);
}

void Interpreter::make_views(const Step& step) {
  check_up_to_date(step);
  const Seen& base = seen_.at(step.args.at(0).integer);
  const std::vector<Shown> shown = views_of(step, base);
  if (shown.empty()) return call(step);  // reshape and flatten that copy
  if (shown.size() != step.results.size()) throw Refused(Why::does_not_fit, text_of(step));
  const bool is_cut = step.name == "detach" || step.under_no_grad;
  Seen made = base;
  made.is_leaf = false;
  made.is_view = true;
  if (step.under_no_grad && step.name != "detach" && !made.made_under_no_grad) {
    made.made_under_no_grad = true;
    made.base_way = base.way;
    made.base_writes = memories_[base.memory].num_writes;
  }
  if (!is_cut && gives_several(step.name)) {
    made.is_one_of_several = true;
    made.is_recorded_part = ways_[base.way].requires_grad;
    made.base_writes = memories_[base.memory].num_writes;
  }
  if (step.name == "detach")
    made.made_under_no_grad = made.is_view = made.is_one_of_several = false;
  for (const Shown& one : shown)
    if (one.places.empty()) throw Refused(Why::does_not_fit, text_of(step));
  if (is_cut) made.way = new_way(base.memory, false);
  for (std::size_t i = 0; i < shown.size(); ++i) {
    static_cast<Shown&>(made) = shown[i];
    seen_[step.results[i]] = made;
  }
}

// ---- Calls ----

Plain Interpreter::plain(std::int64_t variable, bool moved) const {
  const Seen& seen = seen_.at(variable);
  const std::vector<double>& from = moved ? ways_[seen.way].moved : memories_[seen.memory].values;
  Plain made{seen.dtype, seen.shape, {}};
  made.values.reserve(seen.places.size());
  for (std::int64_t place : seen.places)
    made.values.push_back(from[static_cast<std::size_t>(place)]);
  return made;
}

std::vector<Plain> Interpreter::evaluate_on(const Step& step, bool moved) const {
  std::map<std::int64_t, Plain> plains;
  for (std::int64_t variable : variables_of(step)) plains[variable] = plain(variable, moved);
  const PlainOf plain_of = [&](std::int64_t variable) -> const Plain& {
    return plains.at(variable);
  };
  const std::vector<Plain> results = is_filling(step)
                                         ? filled(step, plains.at(step.target()), plain_of)
                                         : evaluate(functional(step), plain_of);
  if (limit_ > 0 && !is_regular(functional(step), plain_of, results, limit_))
    throw Refused(Why::out_of_range, text_of(step));
  return results;
}

bool Interpreter::any_requires_grad(const Step& step) const {
  bool any = false;
  const std::vector<std::int64_t> read = variables_of(step);
  for (std::size_t i = 0; i < read.size(); ++i) any |= !ignores(step, i) && requires_grad(read[i]);
  return any;
}

void Interpreter::call(const Step& step) {
  if (step.name == "copy_" && step.args[1].integer == step.target())  // does nothing, not even ask
    throw Refused(Why::does_not_fit, text_of(step));
  check_up_to_date(step);
  const bool writes = step.is_in_place() || step.is_out();
  const bool is_recorded = !step.under_no_grad && any_requires_grad(step);
  const std::vector<Plain> values = evaluate_on(step, false);
  if (writes) {
    check_fits(step, values);
    check_writable(step, is_recorded);
    check_order(step);
  }
  const bool differs = is_recorded && !shifts_.empty();
  const std::vector<Plain> moved = differs ? evaluate_on(step, true) : values;
  if (writes) return write(step, values, moved, is_recorded);
  if (values.size() != step.results.size()) throw Refused(Why::does_not_fit, text_of(step));
  for (const Plain& result : values)
    if (result.values.empty()) throw Refused(Why::does_not_fit, text_of(step));
  for (std::size_t i = 0; i < values.size(); ++i) {
    Seen made;
    made.dtype = values[i].dtype;
    made.shape = values[i].shape;
    made.places.resize(values[i].values.size());
    std::iota(made.places.begin(), made.places.end(), 0);
    made.memory =
        new_memory(values[i], moved[i].values, is_recorded && is_floating(values[i].dtype));
    made.way = memories_[made.memory].ways[0];
    seen_[step.results[i]] = std::move(made);
  }
  if (is_recorded) note_kept(step);
}

void Interpreter::write(const Step& step, const std::vector<Plain>& values,
                        const std::vector<Plain>& moved, bool is_recorded) {
  const Seen& target = seen_.at(step.target());
  Memory& memory = memories_[target.memory];
  for (std::size_t i = 0; i < target.places.size(); ++i) {
    const auto place = static_cast<std::size_t>(target.places[i]);
    const double by = values[0].values[i] - memory.values[place];
    memory.values[place] = values[0].values[i];
    for (std::size_t way : memory.ways)
      if (way == target.way && is_recorded)
        ways_[way].moved[place] = moved[0].values[i];
      else
        ways_[way].moved[place] += by;
  }
  wrote_kept_ |= memory.is_kept;
  ++memory.num_writes;
  if (!is_recorded) return;
  Way& way = ways_[target.way];
  way.requires_grad = true;
  way.last_write = step_index_;
  note_kept(step);
}

// ---- What PyTorch allows ----

void Interpreter::check_fits(const Step& step, const std::vector<Plain>& values) const {
  const Seen& target = seen_.at(step.target());
  if (values.size() != 1 || values[0].shape != target.shape ||
      is_floating(values[0].dtype) != is_floating(target.dtype) ||
      (step.is_out() && values[0].dtype != target.dtype))
    throw Refused(Why::does_not_fit, text_of(step));
}

void Interpreter::check_writable(const Step& step, bool is_recorded) const {
  const Seen& target = seen_.at(step.target());
  const auto refuse = [&](Why why) { throw Refused(why, text_of(step)); };
  if (repeats(target)) refuse(Why::repeated_written);
  if (!step.under_no_grad) {
    if (target.is_leaf) refuse(Why::leaf_written);
    if (ways_[target.way].is_of_leaf) refuse(Why::leaf_written_by_view);
    const Way& base = ways_[target.base_way];
    if (target.made_under_no_grad && base.requires_grad)
      refuse(base.is_of_leaf ? Why::leaf_written_by_view : Why::no_grad_view_written);
    // PyTorch refuses this as well; to us it is a view like any other, since nothing was recorded.
    if (target.made_under_no_grad && is_recorded) refuse(Why::does_not_fit);
    if (target.is_one_of_several && target.is_recorded_part) refuse(Why::part_written);
    // The same where nothing was recorded when it was made.
    if (target.is_one_of_several && is_recorded) refuse(Why::does_not_fit);
  }
  if (step.is_out() && is_recorded) throw Refused(Why::does_not_fit, text_of(step));
}

void Interpreter::check_order(const Step& step) const {
  const Seen& target = seen_.at(step.target());
  if (shows_twice(target)) throw Refused(Why::order_matters, text_of(step));
  for (std::int64_t variable : variables_of(step)) {
    const Seen& other = seen_.at(variable);
    if (other.memory != target.memory) continue;
    if (other.places == target.places && other.shape == target.shape && !step.is_out()) continue;
    if (step.is_out() && variable == step.target()) continue;
    for (std::int64_t place : other.places)
      if (std::find(target.places.begin(), target.places.end(), place) != target.places.end())
        throw Refused(Why::order_matters, text_of(step));
  }
}

bool Interpreter::is_outdated_part(std::int64_t variable) const {
  const Seen& seen = seen_.at(variable);
  return seen.is_one_of_several && seen.is_recorded_part &&
         memories_[seen.memory].num_writes > seen.base_writes;
}

void Interpreter::check_up_to_date(const Step& step) const {
  if (step.under_no_grad || step.name == "detach") return;
  for (std::int64_t variable : variables_of(step)) {
    const Seen& seen = seen_.at(variable);
    const std::size_t num_writes = memories_[seen.memory].num_writes;
    if (seen.made_under_no_grad && ways_[seen.base_way].requires_grad &&
        num_writes > seen.base_writes)
      throw Refused(Why::no_grad_view_outdated, text_of(step));
    if (is_outdated_part(variable)) throw Refused(Why::part_outdated, text_of(step));
  }
}

void Interpreter::note_kept(const Step& step) {
  const std::vector<std::int64_t> read = variables_of(step);
  const bool writes = step.is_in_place();
  const bool first_wanted = !read.empty() && requires_grad(read[0]);
  bool others_wanted = false;
  for (std::size_t i = 1; i < read.size(); ++i) others_wanted |= requires_grad(read[i]);
  const Kept kept = is_filling(step) ? Kept{false, false, false}
                                     : kept_by(step.row(), first_wanted, others_wanted);
  for (std::size_t i = writes ? 1 : 0; i < read.size(); ++i)
    memories_[seen_.at(read[i]).memory].is_kept |= i == 0 ? kept.first : kept.others;
  // In place, the old values are copied where they are needed.
  if (writes) memories_[seen_.at(step.target()).memory].is_kept |= kept.result;
  for (std::int64_t result : step.results)
    memories_[seen_.at(result).memory].is_kept |= kept.result;
}

// ---- Questions ----

bool Interpreter::requires_grad(std::int64_t variable) const {
  const Seen& seen = seen_.at(variable);
  return ways_[seen.way].requires_grad && is_floating(seen.dtype);
}

bool Interpreter::is_kept(std::int64_t variable) const {
  return memories_[seen_.at(variable).memory].is_kept;
}

std::size_t Interpreter::last_write(std::int64_t variable) const {
  return ways_[seen_.at(variable).way].last_write;
}

bool Interpreter::has_other_ways(std::int64_t variable) const {
  return memories_[seen_.at(variable).memory].ways.size() > 1;
}

std::vector<double> Interpreter::values(std::int64_t variable) const {
  return plain(variable, false).values;
}

double Interpreter::loss(const std::vector<std::int64_t>& variables) const {
  double total = 0;
  for (std::size_t k = 0; k < variables.size(); ++k) {
    const Plain moved = plain(variables[k], true);
    for (std::size_t i = 0; i < moved.values.size(); ++i)
      total += moved.values[i] * loss_weight(k, i);
  }
  return total;
}

}  // namespace bp::test::programs
