#include <algorithm>
#include <cmath>
#include <deque>
#include <numeric>

#include <backplane/autograd/autograd.hpp>
#include <backplane/core_ops/creation.hpp>
#include <backplane/core_ops/generated/all.hpp>
#include <backplane/dispatcher/host_device.hpp>
#include <backplane/optim/lbfgs.hpp>
#include <backplane/tensor/check.hpp>

#include "line_search.hpp"
#include "lists.hpp"

namespace bp::optim {
namespace {

constexpr std::int64_t most_iterations = std::int64_t{1} << 53;

double largest(const Tensor& vector) {
  return vector.numel() == 0 ? 0 : item<double>(max(abs(vector)));
}

double product(const Tensor& a, const Tensor& b) {
  return item<double>(dot(a, b));
}

// A number as PyTorch keeps it, of the vectors' dtype.
State number_like(double value, const Tensor& vector) {
  return full({}, value, vector.dtype(), host_device());
}

}  // namespace

// The parameters as one vector, and their gradients.
class LBFGS::Flat {
 public:
  Flat(const std::vector<Tensor>& params, bool maximize) : maximize_(maximize) {
    for (const Tensor& each : params) {
      BP_CHECK(each.device() == params[0].device() && each.dtype() == params[0].dtype(),
               "LBFGS: parameter 0 is {} on {} and another is {} on {}; move them to one device "
               "and dtype",
               name(params[0].dtype()), to_string(params[0].device()), name(each.dtype()),
               to_string(each.device()));
      check_is_writable("LBFGS", leaves_.size(), each);
      leaves_.push_back(each);
      params_.push_back(is_complex(each.dtype()) ? view_as_real(detach(each)) : each);
      sizes_.push_back(params_.back().numel());
    }
  }

  Tensor gradient() const {
    Tensors parts;
    for (std::size_t i = 0; i < leaves_.size(); ++i) {
      Tensor gradient = grad(leaves_[i]);
      if (gradient.defined())
        check_gradient_fits("LBFGS", i, leaves_[i], gradient);
      else
        gradient = zeros_like(leaves_[i]);
      parts.push_back(reshape(real_parts(gradient), {-1}));
    }
    const Tensor all = cat(parts);
    return maximize_ ? neg(all) : all;
  }

  void move(double t, const Tensor& direction) const {
    Tensors parts = split_with_sizes(direction, sizes_);
    for (std::size_t i = 0; i < parts.size(); ++i) parts[i] = reshape(parts[i], params_[i].shape());
    _foreach_add_(params_, parts, t);
  }

  // Of the vector's dtype, and where it is.
  const Tensor& sample() const { return params_[0]; }
  std::int64_t numel() const {
    return std::accumulate(sizes_.begin(), sizes_.end(), std::int64_t{0});
  }

  Tensors values() const {
    Tensors copies;
    for (const Tensor& each : params_) copies.push_back(clone(each));
    return copies;
  }
  void set(const Tensors& values) const { assign(params_, values); }

 private:
  bool maximize_;
  Tensors leaves_, params_;
  std::vector<std::int64_t> sizes_;
};

// What a step keeps for the next.
struct LBFGS::History {
  std::int64_t func_evals = 0, n_iter = 0;
  Tensor direction, gradient;  // of the last iteration; undefined before the first
  double t = 0, loss = 0, scale = 1;
  std::deque<Tensor> changes, moves;  // of the gradient, of the parameters
  std::deque<double> ratios;          // 1 / (change * move)
};

// One step: PyTorch's conditions, in their order.
struct LBFGS::Run {
  const LBFGSOptions& o;
  History& kept;
  Flat flat;
  const Closure& closure;
  std::uint64_t callers_layers;  // excluded ones, while the closure runs
  Tensor gradient = {};
  double loss = 0;
  std::int64_t evaluations = 0;

  Tensor evaluate() {
    Tensor value;
    {
      const EnableGrad restores;
      thread_state().excluded_layers = callers_layers & ~key_of(Layer::autograd);
      value = closure();
    }
    BP_CHECK(value.defined() && value.numel() == 1 && !is_complex(value.dtype()),
             "LBFGS: the closure returned {}; return the loss, one real number",
             value.defined()
                 ? fmt::format("{} of shape {}", name(value.dtype()), to_string(value.shape()))
                 : "nothing");
    loss = (o.maximize ? -1 : 1) * item<double>(value);
    gradient = flat.gradient();
    return value;
  }

  void remember() {
    const Tensor change = sub(gradient, kept.gradient), move = mul(kept.direction, kept.t);
    const double ratio = product(change, move);
    if (!(ratio > 1e-10)) return;
    while (kept.changes.size() >=
           static_cast<std::size_t>(std::max<std::int64_t>(o.history_size, 1))) {
      kept.changes.pop_front();
      kept.moves.pop_front();
      kept.ratios.pop_front();
    }
    kept.changes.push_back(change);
    kept.moves.push_back(move);
    kept.ratios.push_back(1 / ratio);
    kept.scale = ratio / product(change, change);
  }

  Tensor direction() const {
    const std::size_t count = kept.changes.size();
    std::vector<double> weights(count);
    const Tensor d = neg(gradient);
    for (std::size_t i = count; i-- > 0;) {
      weights[i] = product(kept.moves[i], d) * kept.ratios[i];
      add_(d, kept.changes[i], -weights[i]);
    }
    mul_(d, kept.scale);
    for (std::size_t i = 0; i < count; ++i)
      add_(d, kept.moves[i], weights[i] - product(kept.changes[i], d) * kept.ratios[i]);
    return d;
  }

  void search(double slope, std::int64_t max_eval) {
    const Tensors start = flat.values();
    const auto at = [&](double t) -> LinePoint {
      flat.move(t, kept.direction);
      evaluate();
      flat.set(start);
      return {t, loss, product(gradient, kept.direction), gradient};
    };
    LineResult found;
    try {
      found = search_line({at, largest(kept.direction), o.tolerance_change, max_eval - evaluations},
                          {0, loss, slope, gradient}, kept.t);
    } catch (...) {  // the closure's: nothing has moved
      flat.set(start);
      kept.t = 0;
      throw;
    }
    loss = found.point.loss;
    gradient = found.point.gradient;
    kept.t = found.point.t;
    flat.move(kept.t, kept.direction);
    count(found.num_evaluations);
  }

  void count(std::int64_t more) {
    evaluations += more;
    kept.func_evals += more;
  }

  // Of one iteration; false: it was the last.
  bool iterate(bool is_last, std::int64_t max_eval) {
    ++kept.n_iter;
    if (kept.n_iter == 1) {
      kept.direction = neg(gradient);
      kept.changes.clear();
      kept.moves.clear();
      kept.ratios.clear();
      kept.scale = 1;
    } else {
      remember();
      kept.direction = direction();
    }
    kept.gradient = gradient;
    kept.loss = loss;
    kept.t = kept.n_iter == 1 ? std::min(1.0, 1 / item<double>(sum(abs(gradient)))) * o.lr : o.lr;
    const double slope = product(gradient, kept.direction);
    if (slope > -o.tolerance_change) return false;
    if (!o.line_search_fn.empty()) {
      search(slope, max_eval);
    } else {
      flat.move(kept.t, kept.direction);
      if (is_last) return false;
      evaluate();
      count(1);
    }
    return !is_last && evaluations < max_eval && largest(gradient) > o.tolerance_grad &&
           largest(kept.direction) * std::abs(kept.t) > o.tolerance_change &&
           std::abs(loss - kept.loss) >= o.tolerance_change;
  }
};

LBFGS::LBFGS(std::vector<Tensor> parameters, const LBFGSOptions& options)
    : history_(std::make_unique<History>()) {
  add_param_group(std::move(parameters), options);
  if (!options.max_eval) this->options().max_eval = options.max_iter * 5 / 4;
}

LBFGS::~LBFGS() = default;

void LBFGS::check_options(const LBFGSOptions& options) const {
  check_not_negative("LBFGS", "lr", options.lr);
  BP_CHECK(options.max_iter > 0 && options.history_size > 0,
           "LBFGS: max_iter is {} and history_size {}; both must be at least 1", options.max_iter,
           options.history_size);
  BP_CHECK(options.max_iter <= most_iterations && options.max_eval.value_or(0) <= most_iterations,
           "LBFGS: max_iter is {} and max_eval {}; both must be at most 2^53", options.max_iter,
           options.max_eval.value_or(0));
  BP_CHECK(options.line_search_fn.empty() || options.line_search_fn == "strong_wolfe",
           "LBFGS: line_search_fn is '{}'; it must be 'strong_wolfe' or empty",
           options.line_search_fn);
}

void LBFGS::check_parameter(std::size_t, const Tensor&) const {
  BP_CHECK(num_groups() == 0, "LBFGS: its parameters are one vector; pass them in one group");
}

Fields LBFGS::fields(std::size_t group) const {
  auto& o = const_cast<LBFGSOptions&>(options(group));
  return Fields("LBFGS")
      .add("lr", o.lr)
      .add("max_iter", o.max_iter)
      .add("max_eval", o.max_eval)
      .add("tolerance_grad", o.tolerance_grad)
      .add("tolerance_change", o.tolerance_change)
      .add("history_size", o.history_size)
      .add("line_search_fn", o.line_search_fn)
      .add("maximize", o.maximize);
}

const Optimizer::Layout& LBFGS::layout() const {
  static const Layout names{};
  return names;
}

void LBFGS::update(std::size_t, Batch&, const GradScaling&) {}

void LBFGS::step_groups(const GradScaling&) {
  throw_error(ErrorClass::bad_argument,
              "LBFGS: step() got no closure, which it calls several times; pass step([&] { "
              "optimizer.zero_grad(); ...; backward(loss); return loss; })");
}

Tensor LBFGS::step(const Closure& closure) {
  BP_CHECK(closure, "LBFGS: step got an empty closure; pass one that returns the loss");
  call_hooks(true);
  const Tensor loss = take_step(closure);
  call_hooks(false);
  return loss;
}

Tensor LBFGS::take_step(const Closure& closure) {
  const std::uint64_t callers_layers = thread_state().excluded_layers;
  const Apart apart;
  check_group(0);
  const LBFGSOptions& o = options();
  History& kept = *history_;
  Run run{o, kept, Flat(parameters(0), o.maximize), closure, callers_layers};
  if (kept.direction.defined()) {
    BP_CHECK(kept.direction.numel() == run.flat.numel(),
             "LBFGS: its parameters have {} numbers, and had {} at the last step; make a new "
             "optimizer for parameters whose shape has changed",
             run.flat.numel(), kept.direction.numel());
    follow(kept.direction, run.flat.sample());
    follow(kept.gradient, kept.direction);
    for (auto* list : {&kept.changes, &kept.moves})
      for (Tensor& each : *list) follow(each, kept.direction);
  }
  const Tensor first_loss = run.evaluate();
  run.count(1);
  if (largest(run.gradient) <= o.tolerance_grad) return first_loss;
  const std::int64_t max_eval = o.max_eval.value_or(o.max_iter * 5 / 4);
  for (std::int64_t i = 1; run.iterate(i == o.max_iter, max_eval); ++i) {
  }
  return first_loss;
}

void LBFGS::save_more(State& state) const {
  const History& kept = *history_;
  if (kept.func_evals == 0) return;
  State own = State::dict({{"func_evals", kept.func_evals}, {"n_iter", kept.n_iter}});
  if (kept.direction.defined()) {
    State::List changes, moves, ratios;
    for (const Tensor& each : kept.changes) changes.emplace_back(each);
    for (const Tensor& each : kept.moves) moves.emplace_back(each);
    for (const double each : kept.ratios) ratios.push_back(number_like(each, kept.direction));
    own.set("d", kept.direction);
    own.set("t", kept.t);
    own.set("old_dirs", changes);
    own.set("old_stps", moves);
    own.set("ro", ratios);
    own.set("H_diag", kept.n_iter == 1 ? State(1) : number_like(kept.scale, kept.direction));
    own.set("prev_flat_grad", kept.gradient);
    own.set("prev_loss", kept.loss);
  }
  state.set("0", own);
}

void LBFGS::load_more(const State& state) {
  History made;
  const Flat flat(parameters(0), false);
  const auto vector_of = [&](const State& value) {
    const Tensor& saved = value.as_tensor();
    BP_CHECK(saved.defined() && saved.ndim() == 1 && saved.numel() == flat.numel(),
             "LBFGS: the state has vectors of shape {} and the parameters have {} numbers; is it "
             "the state of another model?",
             saved.defined() ? to_string(saved.shape()) : "none", flat.numel());
    BP_CHECK(is_floating(saved.dtype()),
             "LBFGS: the state has vectors of {}; they must be floating-point",
             name(saved.dtype()));
    return clone(to(saved, flat.sample().device(), flat.sample().dtype()));
  };
  if (const State* own = state.find("0")) {
    made.func_evals = own->at("func_evals").as_int();
    made.n_iter = own->at("n_iter").as_int();
    for (const std::int64_t count : {made.func_evals, made.n_iter})
      BP_CHECK(count >= 0 && count <= most_iterations,
               "LBFGS: the state has made {} steps and {} evaluations; both must be from 0 to 2^53",
               made.n_iter, made.func_evals);
    if (const State* direction = own->find("d"); direction && !direction->is_none()) {
      made.direction = vector_of(*direction);
      made.gradient = vector_of(own->at("prev_flat_grad"));
      made.t = number_of(own->at("t"), "LBFGS: 't'");
      made.loss = number_of(own->at("prev_loss"), "LBFGS: 'prev_loss'");
      made.scale = number_of(own->at("H_diag"), "LBFGS: 'H_diag'");
      for (const State& each : own->at("old_dirs").as_list())
        made.changes.push_back(vector_of(each));
      for (const State& each : own->at("old_stps").as_list()) made.moves.push_back(vector_of(each));
      for (const State& each : own->at("ro").as_list())
        made.ratios.push_back(number_of(each, "LBFGS: 'ro'"));
      BP_CHECK(
          made.moves.size() == made.changes.size() && made.ratios.size() == made.changes.size(),
          "LBFGS: the state's history has {} changes, {} moves and {} ratios; they must be as "
          "many",
          made.changes.size(), made.moves.size(), made.ratios.size());
    }
    BP_CHECK(
        (made.n_iter > 0) == made.direction.defined(),
        "LBFGS: the state has {} iterations and {} direction 'd'; it needs one after the first "
        "iteration",
        made.n_iter, made.direction.defined() ? "a" : "no");
  }
  *history_ = std::move(made);
}

}  // namespace bp::optim
