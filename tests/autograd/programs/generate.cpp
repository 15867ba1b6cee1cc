#include "autograd/programs/generate.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <optional>
#include <random>
#include <set>

#include "autograd/programs/calls.hpp"
#include "autograd/programs/interpreter.hpp"
#include "autograd/programs/templates.hpp"

namespace bp::test::programs {
namespace {

constexpr double largest_value = 30;
constexpr std::int64_t most_picked_elements = 48, most_leaf_elements = 24;

class Generator {
 public:
  Generator(std::uint64_t seed, Pool pool) : random_(seed), pool_(pool) {
    interpreter_.set_limit(largest_value);
  }
  Program make();

 private:
  // ---- Choices ----
  std::int64_t below(std::int64_t end) {
    return static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(end));
  }
  bool chance(int percent) { return below(100) < percent; }
  double number() {
    return std::array{0.5, 2.0, 1.5, -1.0, 0.25, 3.0}[static_cast<std::size_t>(below(6))];
  }
  template <class List> const auto& any_of(const List& list) {
    return list[static_cast<std::size_t>(below(static_cast<std::int64_t>(list.size())))];
  }
  // A variable for which `fits`; late ones more often.
  template <class Fits> std::optional<std::int64_t> find(Fits&& fits) {
    std::vector<std::int64_t> all;
    for (const auto& [variable, seen] : interpreter_.all())
      if (fits(variable, seen)) all.push_back(variable);
    if (all.empty()) return std::nullopt;
    const std::int64_t count = static_cast<std::int64_t>(all.size());
    return all[static_cast<std::size_t>(chance(60) ? std::max(below(count), below(count))
                                                   : below(count))];
  }
  std::optional<std::int64_t> find_floating() {
    return find([](std::int64_t, const Seen& seen) { return is_floating(seen.dtype); });
  }

  // ---- Steps ----
  // Appends a step if it can be.
  bool add(Step step);
  std::int64_t add_input(const char* name, Dtype dtype, const Shape& shape,
                         std::optional<std::vector<double>> values = {});
  std::int64_t new_variable() { return num_variables_++; }
  Step call(std::string name, std::vector<Argument> args, std::size_t num_results = 1);
  bool add_leaf();
  bool add_view();
  bool add_pointwise();
  bool add_written();
  bool add_out();
  bool add_from_template();
  bool add_cast();
  bool add_retained();
  Step view_of(std::int64_t variable, const Seen& seen);
  std::optional<std::vector<Argument>> pointwise_arguments(const PointwiseRow& row,
                                                           std::optional<std::int64_t> target);
  std::int64_t tensor_of(const Shape& shape);
  std::optional<std::int64_t> repeated_tensor_of(const Shape& shape);
  std::int64_t mask_of(const Shape& shape);
  bool add_any();
  void choose_loss();

  // A row of the pool.
  template <class Rows> const auto& any_row(const Rows& rows);

  std::mt19937_64 random_;
  Pool pool_;
  std::vector<std::int64_t> mixture_;
  int percent_under_no_grad_ = 0;
  Interpreter interpreter_;
  Program program_;
  std::int64_t num_variables_ = 0;
  std::int64_t num_leaf_elements_ = 0;
};

Shape small_shape(std::int64_t choice) {
  static const std::vector<Shape> shapes{{3}, {2, 3}, {2, 2}, {4},    {3, 3}, {2, 2, 2},
                                         {},  {2},    {1, 3}, {2, 1}, {3, 2}, {2, 1, 3}};
  return shapes[static_cast<std::size_t>(choice)];
}

const std::set<std::string> few_rows{"add",    "mul",       "relu", "sin",
                                     "matmul", "embedding", "roll", "sum"};

template <class Rows> const auto& Generator::any_row(const Rows& rows) {
  for (;;) {
    const auto& chosen = any_of(rows);
    if (pool_ == Pool::all || few_rows.contains(chosen.row)) return chosen;
  }
}

bool Generator::add(Step step) {
  if (program_.throws) return false;
  try {
    interpreter_.step(step);
  } catch (const Refused& refused) {
    // A few programs end where PyTorch refuses to go on.
    if (!refused.is_error_in_pytorch() || !chance(2)) return false;
    program_.throws = true;
  }
  program_.steps.push_back(std::move(step));
  return true;
}

Step Generator::call(std::string name, std::vector<Argument> args, std::size_t num_results) {
  Step step;
  step.name = std::move(name);
  step.args = std::move(args);
  for (std::size_t i = 0; i < num_results; ++i) step.results.push_back(new_variable());
  return step;
}

std::int64_t Generator::add_input(const char* name, Dtype dtype, const Shape& shape,
                                  std::optional<std::vector<double>> values) {
  Argument elements = Argument::of_integer(below(1'000'000));
  if (values && is_floating(dtype)) elements = Argument::of_reals(*values);
  if (values && !is_floating(dtype))
    elements = Argument::of_integers({values->begin(), values->end()});
  Step step = call(name, {Argument::of_dtype(dtype), Argument::of_integers(shape), elements});
  const std::int64_t made = step.results[0];
  if (name == std::string("leaf")) num_leaf_elements_ += numel_of(shape);
  add(std::move(step));
  return made;
}

bool Generator::add_leaf() {
  const Shape shape = small_shape(below(12));
  if (num_leaf_elements_ + numel_of(shape) > most_leaf_elements) return false;
  add_input(chance(85) ? "leaf" : "data",
            pool_ == Pool::few || chance(95) ? Dtype::f64 : Dtype::f32, shape);
  return true;
}

// ---- Views ----

Shape factors_of(std::int64_t numel, std::int64_t choice) {
  std::vector<Shape> shapes{{numel}, {1, numel}, {numel, 1}};
  for (std::int64_t first = 2; first < numel; ++first)
    if (numel % first == 0) shapes.push_back({first, numel / first});
  return shapes[static_cast<std::size_t>(choice) % shapes.size()];
}

Step Generator::view_of(std::int64_t variable, const Seen& seen) {
  const auto rank = static_cast<std::int64_t>(seen.shape.size());
  const Argument of = Argument::of_variable(variable);
  const auto integer = [](std::int64_t value) { return Argument::of_integer(value); };
  const std::int64_t numel = numel_of(seen.shape);
  const std::int64_t kind = below(20);
  if (kind == 0) return call("detach", {of});
  if (kind == 1)
    return call(chance(50) ? "view" : "reshape",
                {of, Argument::of_integers(factors_of(numel, below(8)))});
  if (kind == 2) return call("unsqueeze", {of, integer(below(rank + 1))});
  if (kind == 3) return call("squeeze", {of});
  if (kind == 4) {
    Shape size = seen.shape;
    for (std::int64_t& one : size)
      if (one == 1) one = 2;
    if (size == seen.shape) size.insert(size.begin(), 2);
    return call("expand", {of, Argument::of_integers(size)});
  }
  if (kind == 5) return call("flatten", {of});
  if (rank == 0) return call("view", {of, Argument::of_integers({1})});
  const std::int64_t dim = below(rank), size = seen.shape[static_cast<std::size_t>(dim)];
  if (kind == 6) return call("transpose", {of, integer(dim), integer(below(rank))});
  if (kind == 7) {
    Shape dims;
    for (std::int64_t d = 0; d < rank; ++d) dims.push_back(d);
    std::shuffle(dims.begin(), dims.end(), random_);
    return call("permute", {of, Argument::of_integers(dims)});
  }
  if (kind <= 9) return call("select", {of, integer(dim), integer(below(size))});
  if (kind <= 11) {
    const std::int64_t start = below(size);
    return call("narrow", {of, integer(dim), integer(start), integer(1 + below(size - start))});
  }
  if (kind == 12) {
    const std::int64_t start = below(size);
    return call("slice", {of, integer(dim), integer(start), integer(start + 1 + below(size)),
                          integer(1 + below(2))});
  }
  if (kind == 13) {
    const std::int64_t window = 1 + below(size);
    return call("unfold", {of, integer(dim), integer(window), integer(1 + below(2))});
  }
  if (kind == 14) {
    if (rank < 2)
      return call("unfold", {of, integer(0), integer(std::min<std::int64_t>(2, size)), integer(1)});
    return call("diagonal", {of, integer(below(3) - 1), integer(0), integer(1)});
  }
  if (kind == 15) {
    const std::int64_t memory = seen.places.back() - seen.places.front() + 1;
    const std::int64_t first = 1 + below(2), second = 1 + below(3), step = below(3);
    return call("as_strided",
                memory < 2 ? std::vector{of, Argument::of_integers({1}), Argument::of_integers({1})}
                           : std::vector{of, Argument::of_integers({first, second}),
                                         Argument::of_integers({step, 1})});
  }
  if (kind == 18) return call("unbind", {of, integer(dim)}, static_cast<std::size_t>(size));
  if (kind == 19) {
    const std::int64_t first = 1 + below(size);
    const std::vector<std::int64_t> sizes =
        first == size ? std::vector{size} : std::vector{first, size - first};
    return call("split_with_sizes", {of, Argument::of_integers(sizes), integer(dim)}, sizes.size());
  }
  const bool is_split = kind == 16;
  const std::int64_t parts = 1 + below(size), each = is_split ? parts : (size + parts - 1) / parts;
  return call(is_split ? "split" : "chunk", {of, integer(parts), integer(dim)},
              static_cast<std::size_t>((size + each - 1) / each));
}

bool Generator::add_view() {
  const auto variable = find_floating();
  if (!variable) return false;
  Step step = view_of(*variable, interpreter_.seen(*variable));
  step.under_no_grad = step.name != "detach" && chance(percent_under_no_grad_);
  return add(std::move(step));
}

// ---- Calls ----

std::int64_t Generator::mask_of(const Shape& shape) {
  std::vector<double> values;
  for (std::int64_t i = 0; i < numel_of(shape); ++i) values.push_back(chance(50));
  return add_input("data", Dtype::boolean, shape, values);
}

bool broadcasts_to(const Shape& from, const Shape& to) {
  if (from.size() > to.size()) return false;
  for (std::size_t d = 0; d < from.size(); ++d)
    if (from[d] != 1 && from[d] != to[d + to.size() - from.size()]) return false;
  return true;
}

// Of a target's shape, or of any that fit each other.
std::optional<std::vector<Argument>> Generator::pointwise_arguments(
    const PointwiseRow& row, std::optional<std::int64_t> target) {
  std::vector<Argument> args;
  std::optional<Shape> shape;
  if (target) shape = interpreter_.seen(*target).shape;
  double bound = 0.6;
  for (const PointwiseRow::Input& input : row.inputs) {
    if (input.is_condition) {
      if (!shape) {
        const auto like = find_floating();
        if (!like) return std::nullopt;
        shape = interpreter_.seen(*like).shape;
      }
      args.push_back(Argument::of_variable(mask_of(*shape)));
    } else if (!input.is_tensor) {
      args.push_back(Argument::of_real(bound));
      bound += 0.9;
    } else if (target && args.empty()) {
      args.push_back(Argument::of_variable(*target));
    } else if (input.may_be_number && !args.empty() && chance(25)) {
      args.push_back(Argument::of_real(number()));
    } else {
      const auto variable = find([&](std::int64_t, const Seen& seen) {
        return is_floating(seen.dtype) && (!shape || broadcasts_to(seen.shape, *shape) ||
                                           (!target && broadcasts_to(*shape, seen.shape)));
      });
      if (!variable) return std::nullopt;
      if (!shape) shape = interpreter_.seen(*variable).shape;
      args.push_back(Argument::of_variable(*variable));
    }
  }
  return args;
}

bool Generator::add_pointwise() {
  const PointwiseRow& row = any_row(pointwise_rows());
  auto args = pointwise_arguments(row, std::nullopt);
  return args && add(call(row.row, std::move(*args)));
}

bool Generator::add_written() {
  const auto target = find([&](std::int64_t variable, const Seen& seen) {
    const bool is_refused = seen.is_leaf || repeats(seen) || seen.is_one_of_several;
    return is_floating(seen.dtype) && (!is_refused || chance(10)) &&
           (!interpreter_.is_kept(variable) || chance(4));
  });
  if (!target) return false;
  Step step;
  const std::int64_t kind = below(12);
  if (kind == 0) {
    step = call("fill_", {Argument::of_variable(*target), Argument::of_real(number())}, 0);
  } else if (kind <= 2) {
    const Shape shape = interpreter_.seen(*target).shape;
    const auto from = find([&](std::int64_t, const Seen& seen) {
      return is_floating(seen.dtype) && broadcasts_to(seen.shape, shape);
    });
    if (!from) return false;
    step = call("copy_", {Argument::of_variable(*target), Argument::of_variable(*from)}, 0);
  } else {
    static const std::vector<std::string> often{"mul", "add", "sin", "square", "relu"};
    const std::string wanted =
        chance(40) && pool_ == Pool::all ? any_of(often) : any_row(pointwise_rows()).row;
    const auto row = std::find_if(pointwise_rows().begin(), pointwise_rows().end(),
                                  [&](const PointwiseRow& one) { return one.row == wanted; });
    if (row->inputs[0].is_condition) return false;
    auto args = pointwise_arguments(*row, target);
    if (!args) return false;
    step = call(row->row + "_", std::move(*args), 0);
  }
  step.under_no_grad = chance(percent_under_no_grad_);
  return add(std::move(step));
}

bool Generator::add_out() {
  const auto target = find([&](std::int64_t variable, const Seen& seen) {
    return is_floating(seen.dtype) && !shows_twice(seen) && !interpreter_.is_kept(variable);
  });
  if (!target) return false;
  const Shape shape = interpreter_.seen(*target).shape;
  const auto source = find([&](std::int64_t, const Seen& seen) { return seen.shape == shape; });
  if (!source) return false;
  static const std::vector<std::string> rows{"sin", "mul", "relu"};
  const std::string& row = any_of(rows);
  std::vector<Argument> args{Argument::of_variable(*target), Argument::of_variable(*source)};
  if (row == "mul") args.push_back(Argument::of_real(number()));
  Step step = call(row + "_out", std::move(args), 0);
  step.under_no_grad = true;
  return add(std::move(step));
}

// The elements of another tensor over and over, each time multiplied by other numbers: no two are equal.
std::optional<std::int64_t> Generator::repeated_tensor_of(const Shape& shape) {
  const std::int64_t numel = numel_of(shape);
  const auto from = find([](std::int64_t, const Seen& seen) { return seen.dtype == Dtype::f64; });
  if (!from || numel > most_picked_elements || !chance(70)) return std::nullopt;
  const std::int64_t all = numel_of(interpreter_.seen(*from).shape);
  std::vector<double> places;
  for (std::int64_t i = 0; i < numel; ++i) places.push_back(static_cast<double>(i % all));
  const Argument index = Argument::of_variable(add_input("data", Dtype::i64, {numel}, places));
  const Argument numbers = Argument::of_variable(add_input("data", Dtype::f64, shape));
  std::int64_t last = *from;
  const auto then = [&](const char* name, std::vector<Argument> more) {
    more.insert(more.begin(), Argument::of_variable(last));
    Step step = call(name, std::move(more));
    last = step.results[0];
    return add(std::move(step));
  };
  if (then("flatten", {}) && then("index_select", {Argument::of_integer(0), index}) &&
      then("view", {Argument::of_integers(shape)}) && then("mul", {numbers}))
    return last;
  return std::nullopt;
}

// A tensor of this shape: there already, cut out of another, or new.
std::int64_t Generator::tensor_of(const Shape& shape) {
  const std::int64_t numel = numel_of(shape);
  const auto same = find([&](std::int64_t, const Seen& seen) {
    return seen.dtype == Dtype::f64 && seen.shape == shape;
  });
  if (same && chance(75)) return *same;
  const auto larger = find([&](std::int64_t, const Seen& seen) {
    return seen.dtype == Dtype::f64 && numel_of(seen.shape) >= numel;
  });
  if (larger && chance(80)) {
    const std::int64_t all = numel_of(interpreter_.seen(*larger).shape);
    std::int64_t from = *larger;
    const auto cut = [&](Step step) {
      const std::int64_t made = step.results[0];
      if (!add(std::move(step))) return false;
      from = made;
      return true;
    };
    if (cut(call("flatten", {Argument::of_variable(from)})) &&
        (all == numel || cut(call("narrow", {Argument::of_variable(from), Argument::of_integer(0),
                                             Argument::of_integer(below(all - numel + 1)),
                                             Argument::of_integer(numel)}))) &&
        cut(call("reshape", {Argument::of_variable(from), Argument::of_integers(shape)})))
      return from;
  }
  if (const auto repeated = repeated_tensor_of(shape)) return *repeated;
  const bool is_leaf = num_leaf_elements_ + numel <= most_leaf_elements;
  return add_input(is_leaf ? "leaf" : "data", Dtype::f64, shape);
}

bool Generator::add_from_template() {
  const RowTemplates& row = any_row(row_templates());
  const Template& chosen = any_of(row.templates);
  std::vector<std::int64_t> variables;
  for (const Template::Input& input : chosen.inputs)
    variables.push_back(input.is_given ? add_input("data", input.dtype, input.shape, input.values)
                                       : tensor_of(input.shape));
  Step step = call(chosen.step.name, chosen.step.args, chosen.num_results);
  for (Argument& argument : step.args) {
    if (argument.is_variable())
      argument.integer = variables[static_cast<std::size_t>(argument.integer)];
    for (std::int64_t& variable : argument.variables)
      variable = variables[static_cast<std::size_t>(variable)];
  }
  return add(std::move(step));
}

bool Generator::add_cast() {
  const auto variable = find_floating();
  if (!variable || pool_ == Pool::few) return false;
  const bool is_wide = interpreter_.seen(*variable).dtype == Dtype::f64;
  return add(call("cast", {Argument::of_variable(*variable),
                           Argument::of_dtype(is_wide ? Dtype::f32 : Dtype::f64)}));
}

bool Generator::add_retained() {
  const auto variable = find([&](std::int64_t one, const Seen& seen) {
    return interpreter_.requires_grad(one) && !seen.is_leaf;
  });
  return variable && add(call("retain_grad", {Argument::of_variable(*variable)}, 0));
}

// ---- The program ----

void Generator::choose_loss() {
  const std::int64_t count = 1 + below(3);
  for (std::int64_t i = 0; i < count; ++i) {
    const auto variable = find([&](std::int64_t one, const Seen& seen) {
      return interpreter_.requires_grad(one) && !interpreter_.is_outdated_part(one) &&
             std::find(program_.loss.begin(), program_.loss.end(), one) == program_.loss.end() &&
             (!seen.is_leaf || chance(10));
    });
    if (variable) program_.loss.push_back(*variable);
  }
}

// Each program has a mixture of its own, so that some are nearly all views, or writes.
bool Generator::add_any() {
  constexpr std::pair<bool (Generator::*)(), int> usual[] = {
      {&Generator::add_view, 26},      {&Generator::add_written, 26},
      {&Generator::add_pointwise, 20}, {&Generator::add_from_template, 18},
      {&Generator::add_retained, 3},   {&Generator::add_cast, 2},
      {&Generator::add_out, 2},        {&Generator::add_leaf, 3}};
  if (mixture_.empty())
    for (const auto& [add, weight] : usual) mixture_.push_back(weight * (1 + below(4)));
  std::int64_t chosen = below(std::accumulate(mixture_.begin(), mixture_.end(), std::int64_t{0}));
  std::size_t k = 0;
  while (chosen >= mixture_[k]) chosen -= mixture_[k++];
  return (this->*usual[k].first)();
}

Program Generator::make() {
  percent_under_no_grad_ = chance(80) ? 2 : 12;
  add_input("leaf", Dtype::f64, small_shape(below(6)));
  if (chance(60)) add_leaf();
  const std::int64_t num_steps = 3 + below(chance(80) ? 9 : 25);
  std::int64_t done = 0;
  for (int tries = 0; tries < 200 && done < num_steps && !program_.throws; ++tries)
    done += add_any();
  choose_loss();
  return std::move(program_);
}

}  // namespace

bool is_of_few_rows(const Program& program) {
  return std::all_of(program.steps.begin(), program.steps.end(), [](const Step& step) {
    return !row_of(step) || is_view(step.name) || few_rows.contains(step.row());
  });
}

Program generate_program(std::uint64_t seed, Pool pool) {
  // Few seeds lead to a loss without derivative.
  for (std::uint64_t i = 0;; ++i) {
    Program program = Generator(seed * 1'000 + i, pool).make();
    if (!program.loss.empty()) return program;
  }
}

}  // namespace bp::test::programs
