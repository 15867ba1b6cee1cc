// Optimizers move parameters along their gradients. An optimizer holds the tensors themselves, and
// keeps working after their module has moved.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <backplane/optim/fields.hpp>
#include <backplane/state/state.hpp>
#include <backplane/tensor/tensor.hpp>

namespace bp::optim {

// Values that a loss scaler passes to a step. Each is undefined, or one floating-point number on any device.
struct GradScaling {
  Tensor grad_scale;  // gradients are divided by it
  Tensor found_inf;   // where it is 1, the step changes nothing, and is not counted
};

struct StepCount;  // a count of steps on the device

// An optimizer's state for one parameter.
struct ParamState {
  std::vector<Tensor> tensors;  // in the order of Layout::tensors; undefined: absent
  std::vector<double> numbers;  // in the order of Layout::numbers; empty before the first step
  std::shared_ptr<StepCount> count;
};

// Parameters that one call takes a step with: of one device and dtype, at the same step, all contiguous or none. Complex ones
// are here as real views, with a last dimension of 2, and so are their gradients and states.
struct Batch {
  std::vector<Tensor> params, grads;
  std::vector<std::vector<Tensor>>
      states;                   // by Layout::tensors, then by parameter; an unused one is empty
  std::vector<bool> was_kept;   // by Layout::tensors: was it there before this step?
  std::vector<double> numbers;  // of all its parameters; kept as the update leaves them
  std::vector<ParamState*> kept;
  std::vector<ParamState> next;  // what takes the place of `kept` once the update has succeeded
  std::vector<Tensor> counts;    // values of the StepCounts that the update has advanced
};

// An optimizer over groups of parameters, each with options of its own. Group 0 always exists.
//
// A step makes a few calls for each group, device and dtype, whatever the number of parameters. It writes parameters in
// place, and nothing is recorded or cast (by an Autocast around it). A parameter without a gradient stays as it is.
// Parameters that share memory are updated one after the other. What is kept for a parameter
// follows it when Module::to moves it. A step throws bad_argument for options that the constructor
// refuses, for a gradient or a kept tensor that no longer fits its parameter, and for a parameter
// whose elements share memory, before anything changes. A step that fails later, for example
// because memory runs out, has updated some groups of parameters and not others, and may leave one
// half updated: load a saved state. Threads: one at a time.
class BP_API Optimizer {
 public:
  using Closure = std::function<Tensor()>;
  using Hook = std::function<void(Optimizer&)>;

  virtual ~Optimizer();
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;

  void step();
  // For every optimizer. SGD, Adam, AdamW and Adagrad do not wait for the device: their rows read both numbers there. The
  // others wait for `found_inf`, and divide the gradients first. The gradients themselves stay as they are in any case.
  // LBFGS, which needs a closure, throws bad_argument. With hooks, all wait for `found_inf`: a step that is left out calls
  // none. So does SGD with dampening at the first step of a parameter.
  void step(const GradScaling& scaling);
  // Calls `closure`, which computes the loss and its gradients with recording on, then steps. Returns the loss.
  virtual Tensor step(const Closure& closure);
  // Drops the gradients of all parameters, or fills them with 0, detached from their history.
  void zero_grad(bool set_to_none = true);

  std::size_t num_groups() const { return groups_.size(); }
  const std::vector<Tensor>& parameters(std::size_t group) const { return at(group).params; }
  std::vector<Tensor> parameters() const;

  // PyTorch's param_groups[group][name]: an option, or what a scheduler has put there ("initial_lr"). Throws bad_argument for
  // a group or a name that does not exist; setting a new name adds it. A value of another kind than the option's, or one that
  // the constructor refuses, throws and changes nothing.
  bool has_option(std::size_t group, std::string_view name) const;
  State option(std::size_t group, std::string_view name) const;
  void set_option(std::size_t group, std::string_view name, const State& value);

  // {"state": {"0": {...}}, "param_groups": [...]}, as PyTorch has it; parameters are numbered through all groups. The tensors
  // are the optimizer's own: clone what must outlive the next step.
  State state_dict() const;
  // Copies the dict's tensors to the parameters' devices and dtypes, and takes over its options. Of PyTorch's optimizer of the
  // same name too. Throws bad_argument, and changes nothing, for other numbers of groups or parameters, other shapes, options
  // that the constructor refuses, and the state of another optimizer.
  void load_state_dict(const State& dict);

  // Called before and after each step that is taken, under the caller's layers. The number is for remove_hook.
  int register_step_pre_hook(Hook hook);
  int register_step_post_hook(Hook hook);
  void remove_hook(int number);

  // The class, as errors name it.
  virtual std::string type_name() const = 0;
  // Unique among all optimizers of the process, past ones included.
  std::uint64_t id() const { return id_; }
  // Does a step read GradScaling on the device, in the precision of float32 at least?
  virtual bool takes_scaling() const { return false; }

 protected:
  Optimizer();
  struct Group {
    std::vector<Tensor> params;
    std::vector<ParamState> states;  // one for each parameter
    State extras = State::dict();    // entries of PyTorch's dict other than options
  };
  struct Layout {
    std::vector<const char*> tensors, numbers;
    bool counts_on_device = false;  // "step" is a StepCount, advanced by advance_counts
  };

  // The options of a group, by name.
  virtual Fields fields(std::size_t group) const = 0;
  virtual const Layout& layout() const = 0;
  // Does the group's step use this tensor of the layout?
  virtual bool needs(std::size_t group, std::size_t place) const;
  // Is it kept for this parameter?
  virtual bool is_kept(std::size_t place, const Tensor& parameter) const;
  // Before the first step: zeros like the parameter, and 0.
  virtual Tensor initial_tensor(std::size_t group, std::size_t place,
                                const Tensor& parameter) const;
  virtual double initial_number(std::size_t group, std::size_t place) const;
  // The shape of a kept tensor: the parameter's.
  virtual Dims kept_shape(std::size_t place, const Tensor& parameter) const;
  // Throws bad_argument for options that the constructor refuses.
  virtual void check_group(std::size_t group) const = 0;
  // Takes the step; `scaling` is empty unless takes_scaling, and on the batch's device.
  virtual void update(std::size_t group, Batch& batch, const GradScaling& scaling) = 0;
  // Throws bad_argument, saying why, if this optimizer cannot take the parameter.
  virtual void check_parameter(std::size_t index, const Tensor& parameter) const;
  // State that belongs to no single parameter, written into and read from the "state" dict;
  // load_more changes nothing if it throws. Only of optimizers whose layout is empty.
  virtual void save_more(State& state) const;
  virtual void load_more(const State& state);
  virtual void step_groups(const GradScaling& scaling);

  // Throws bad_argument for no parameters, for one that is not a leaf of floating-point or complex numbers, and for one that
  // a group has already. PyTorch's internal switches become extras, so that it can load what we save.
  void add_group(std::vector<Tensor> params, std::vector<State::Entry> switches);
  const Group& at(std::size_t group) const;
  Group& at(std::size_t group);
  // Each parameter's count, one higher than before: as the rows' `state_steps`. Once for each batch.
  static std::vector<Tensor> advance_counts(Batch& batch, const GradScaling& scaling);
  void call_hooks(bool before);
  // Moves a parameter's state to the parameter's device and dtype.
  static void follow(Tensor& kept, const Tensor& parameter);

 private:
  bool is_left_out(const GradScaling& scaling) const;
  std::vector<Batch> batches_of(std::size_t group);
  ParamState prepared_state(std::size_t group, std::size_t index) const;
  void take_step(std::size_t group, Batch& batch, const GradScaling& scaling);
  State state_of(const ParamState& kept) const;
  Tensor loaded_tensor(const State& value, std::size_t place, const Tensor& parameter,
                       const std::string& what) const;
  ParamState loaded_state(const State& saved, std::size_t group, std::size_t index) const;
  std::vector<std::vector<ParamState>> loaded_states(const State& dict) const;

  struct Registered {
    int number;
    bool before;
    Hook hook;
  };
  std::vector<Group> groups_;
  std::vector<Registered> hooks_;
  int next_hook_ = 0;
  const std::uint64_t id_;
};

// Parameters with options of their own: {.params = head.parameters(), .options = {.lr = 1e-3}}.
template <class Options> struct ParamGroup {
  std::vector<Tensor> params;
  Options options = {};
};

// An optimizer whose groups have these options.
template <class OptionsOfGroup> class BP_API OptimizerOf : public Optimizer {
 public:
  using Options = OptionsOfGroup;
  using Groups = std::vector<ParamGroup<Options>>;

  // You may change them between steps; the next step checks them.
  Options& options(std::size_t group = 0) {
    at(group);
    return *options_[group];
  }
  const Options& options(std::size_t group = 0) const {
    at(group);
    return *options_[group];
  }
  // Returns the group's number. Throws bad_argument as the constructor does.
  std::size_t add_param_group(std::vector<Tensor> params, const Options& options) {
    check_options(options);
    add_group(std::move(params), switches());
    options_.push_back(std::make_unique<Options>(options));
    return num_groups() - 1;
  }

 protected:
  virtual void check_options(const Options& options) const = 0;
  void check_group(std::size_t group) const override { check_options(options(group)); }
  // Names of PyTorch's own options that only say how it computes.
  virtual std::vector<State::Entry> switches() const {
    return {{"foreach", {}}, {"capturable", false}, {"differentiable", false}};
  }
  void add_groups(Groups groups);

 private:
  std::vector<std::unique_ptr<Options>>
      options_;  // at places that stay, since fields point into them
};

template <class Options> void OptimizerOf<Options>::add_groups(Groups groups) {
  for (ParamGroup<Options>& each : groups) add_param_group(std::move(each.params), each.options);
  at(0);
}

}  // namespace bp::optim

// What each class of OptimizerOf has besides its rule: constructors of one group and of several, and its name. They are the
// class's own, since its checks are not there yet while a base is made.
#define BP_OPTIMIZER(Name)                                                         \
  explicit Name(std::vector<bp::Tensor> parameters, const Options& options = {}) { \
    add_param_group(std::move(parameters), options);                               \
  }                                                                                \
  explicit Name(Groups groups) {                                                   \
    add_groups(std::move(groups));                                                 \
  }                                                                                \
  std::string type_name() const override {                                         \
    return #Name;                                                                  \
  }
