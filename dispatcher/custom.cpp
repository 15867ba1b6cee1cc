// Operators and kernels that an application or a plugin brings at run time.
#include <algorithm>
#include <atomic>
#include <memory>
#include <span>

#include <backplane/dispatcher/custom.hpp>
#include <backplane/dispatcher/launch.hpp>
#include <backplane/dispatcher/operator_source.hpp>
#include <backplane/dispatcher/registry.hpp>
#include <backplane/tensor/check.hpp>

namespace bp {
namespace {

// All that a custom operator points to. Operators live as long as the process, so this does too.
struct CustomData {
  std::string schema_text, first_schema;  // the latter empty: its names have not changed
  std::string maker;
  // What calls use: the newest declaration, null while no plugin that brings it is loaded.
  std::atomic<const bp_custom_operator*> declared{nullptr};
  // Of all loaded plugins of the maker's name; the loader's lock is held.
  std::vector<const bp_custom_operator*> declarations;
};

const bp_tensor* first_tensor(const Call& call) {
  for (std::uint32_t i = 0; i < call.num_args; ++i)
    if (call.args[i].tag == BP_TENSOR) return call.args[i].u.tensor;
  return nullptr;
}

void infer_like_first_tensor(const Call& call, Inferred& out) {
  const bp_tensor* tensor = first_tensor(call);
  BP_CHECK(tensor,
           "{}: has no tensor argument to take the result's shape from; register it with a "
           "shape rule",
           call.op.name());
  for (std::uint32_t i = 0; i < call.num_results; ++i) {
    out.outputs[i].dtype = static_cast<Dtype>(tensor->dtype);
    out.outputs[i].shape = IntList{tensor->dl.shape, static_cast<std::size_t>(tensor->dl.ndim)};
  }
}

void check_spec(const Call& call, const bp_output_spec& spec, const std::string& maker) {
  const char* op = call.op.name();
  BP_CHECK(spec.dtype < num_dtypes,
           "{}: the shape rule of {} gives the dtype {}, which does not exist", op, maker,
           spec.dtype);
  BP_CHECK(spec.ndim <= static_cast<std::uint32_t>(max_rank),
           "{}: the shape rule of {} gives rank {}; at most {} is possible", op, maker, spec.ndim,
           max_rank);
  checked_numel(op, {spec.shape, spec.ndim});
}

// The rank of a result that a plugin's rule left out.
constexpr std::uint32_t left_out = ~0u;
// Nobody unpacks a list of more tensors; a rule that gives them goes on forever.
constexpr std::size_t most_results = 1u << 20;

const bp_custom_operator& declaration_of(const CustomData& data, const Call& call) {
  const bp_custom_operator* declared = data.declared.load(std::memory_order_acquire);
  if (!declared)
    throw_error(ErrorClass::unsupported, fmt::format("{}: its plugin {} is unloaded; load it again",
                                                     call.op.name(), data.maker));
  return *declared;
}

// Asks the plugin's own rule for as many results as there is room for.
void ask_plugin(const CustomData& data, const bp_custom_operator& declared, const Call& call,
                std::span<bp_output_spec> room) {
  bp_call abi{};
  abi.h = {sizeof(bp_call), BP_TYPE_CALL, nullptr};
  abi.op = &call.op.abi;
  abi.args = call.args;
  abi.num_args = call.num_args;
  abi.num_outputs = static_cast<std::uint32_t>(room.size());
  ThreadState& state = thread_state();
  state.error_message.clear();
  const bp_code code = declared.infer(declared.self, &abi, room.data());
  if (code != BP_OK)
    throw_error(ErrorClass::bad_argument,
                fmt::format("{}: {} (shape rule of {})", call.op.name(),
                            state.error_message.empty() ? "the plugin gave no message"
                                                        : state.error_message,
                            data.maker));
}

// What the rule gives for an operator with a Tensor[]: as many specs as there are results. It is asked with more room
// until it leaves some of it out.
std::vector<bp_output_spec> specs_with_list(const CustomData& data,
                                            const bp_custom_operator& declared, const Call& call) {
  for (std::size_t room = call.op.schema->returns.size() + 16; room <= most_results; room *= 4) {
    bp_output_spec nothing{};
    nothing.ndim = left_out;
    std::vector<bp_output_spec> specs(room, nothing);
    ask_plugin(data, declared, call, specs);
    const auto end = std::find_if(specs.begin(), specs.end(),
                                  [](const bp_output_spec& spec) { return spec.ndim == left_out; });
    if (end == specs.end()) continue;
    specs.erase(end, specs.end());
    return specs;
  }
  throw_error(
      ErrorClass::bad_argument,
      fmt::format(
          "{}: the shape rule of {} gives more than {} results; it must leave out missing ones",
          call.op.name(), data.maker, most_results / 4));
}

std::uint32_t count_by_plugin(const Call& call) {
  const auto& data = *static_cast<const CustomData*>(call.op.custom);
  const std::size_t count = specs_with_list(data, declaration_of(data, call), call).size();
  const std::size_t num_others = call.op.schema->returns.size() - 1;
  BP_CHECK(count >= num_others,
           "{}: the shape rule of {} gives {} results; there are {} and a list", call.op.name(),
           data.maker, count, num_others);
  return static_cast<std::uint32_t>(count - num_others);
}

void infer_by_plugin(const Call& call, Inferred& out) {
  const auto& data = *static_cast<const CustomData*>(call.op.custom);
  const bp_custom_operator& declared = declaration_of(data, call);
  if (!declared.infer) return infer_like_first_tensor(call, out);
  std::vector<bp_output_spec> listed;
  PerResult<bp_output_spec> few(call.op.count ? 0 : call.num_results);
  std::span<const bp_output_spec> specs;
  if (call.op.count) {
    specs = listed = specs_with_list(data, declared, call);
    BP_CHECK(specs.size() == call.num_results,
             "{}: the shape rule of {} gives {} results and gave {} before", call.op.name(),
             data.maker, specs.size(), call.num_results);
  } else {
    ask_plugin(data, declared, call, {few.data(), call.num_results});
    specs = {few.data(), call.num_results};
  }
  for (std::uint32_t i = 0; i < call.num_results; ++i) {
    check_spec(call, specs[i], data.maker);
    out.outputs[i].dtype = static_cast<Dtype>(specs[i].dtype);
    out.outputs[i].shape = IntList{specs[i].shape, specs[i].ndim};
  }
}

// Only rows say which of their arguments they write into.
void check_gives_something(std::string_view text) {
  Schema schema;
  parse_schema(text, schema);
  BP_CHECK(!schema.returns.empty(), "{}: the schema '{}' has no results; give it one", schema.name,
           text);
}

Operator& add_operator(std::unique_ptr<CustomData> data, const CustomOperator& custom) {
  check_gives_something(data->schema_text);
  auto op = std::make_unique<Operator>();
  op->schema_text = data->schema_text.c_str();
  if (!data->first_schema.empty()) op->hash_of = data->first_schema.c_str();
  op->kind = BP_KIND_COMPOSITE;
  op->dtypes = dtypes::computed;
  op->infer = custom.infer ? custom.infer : infer_like_first_tensor;
  op->decompose = custom.decompose;
  op->count = custom.count;
  op->custom = data.get();
  register_operator(*op);
  static_cast<void>(data.release());
  return *op.release();
}

// ---- Declarations of plugins ----

void add_declaration(CustomData& data, const bp_custom_operator* declared) {
  if (data.declarations.empty() || data.declarations.back() != declared)
    data.declarations.push_back(declared);
  data.declared.store(declared, std::memory_order_release);
}

bool is_brought_by(const bp_plugin& plugin, std::string_view name) {
  for (std::uint32_t i = 0; i < plugin.num_operators; ++i)
    if (Schema::name_in(plugin.operators[i]->schema) == name) return true;
  return false;
}

void check_derivative(const bp_plugin& plugin, const bp_custom_operator& declared,
                      const Schema& schema) {
  const std::size_t num_args = schema.arguments.size(), num_results = schema.returns.size();
  BP_CHECK(
      (num_args >= 64 || !(declared.saved_args >> num_args)) &&
          (num_results >= 64 || !(declared.saved_outputs >> num_results)),
      "{}: the operator '{}' saves an argument that it does not have: bits {:#x} of {} arguments, "
      "{:#x} of {} outputs",
      plugin.name, schema.name, declared.saved_args, num_args, declared.saved_outputs, num_results);
  BP_CHECK(!declared.backward || is_brought_by(plugin, declared.backward) ||
               find_operator(declared.backward),
           "{}: the derivative of '{}' is '{}', which does not exist; define this operator too",
           plugin.name, schema.name, declared.backward);
}

// The schema under its first names; null where they are the present ones.
const char* first_schema_of(const bp_custom_operator& declared) {
  return BP_HAS(&declared, bp_custom_operator, first_schema) ? declared.first_schema : nullptr;
}

void parse_of(const bp_plugin& plugin, std::uint32_t index, const char* text, Schema& out) {
  try {
    parse_schema(text, out);
  } catch (const Error& error) {
    throw_error(error.error_class(),
                fmt::format("{}: operator {}: {}", plugin.name, index, error.what()));
  }
}

// The schema's hash, which a change of names leaves as it was.
std::uint64_t published_hash(const bp_plugin& plugin, std::uint32_t index, const Schema& schema) {
  const char* text = first_schema_of(*plugin.operators[index]);
  if (!text) return schema.hash;
  Schema first;
  parse_of(plugin, index, text, first);
  BP_CHECK(differ_in_names_alone(first, schema),
           "{}: operator {}: first_schema is '{}', which differs from '{}' in more than names of "
           "arguments and results; give the new one another name",
           plugin.name, index, text, schema.text);
  return first.hash;
}

// Everything about one operator of a plugin, whose table has been checked for what can be read.
void check_declaration(const bp_plugin& plugin, std::uint32_t index) {
  const bp_custom_operator& declared = *plugin.operators[index];
  Schema schema;
  parse_of(plugin, index, declared.schema, schema);
  const std::uint64_t hash = published_hash(plugin, index, schema);
  if (Operator* known = find_operator(schema.name)) {
    // The same plugin loaded again: its operator is still there.
    const auto* data = static_cast<const CustomData*>(known->custom);
    BP_CHECK(data && known->schema->text == declared.schema && data->maker == plugin.name,
             "{}: the operator '{}' exists already, as '{}'; give it another name", plugin.name,
             known->name(), known->schema->text);
    BP_CHECK(known->schema->hash == hash,
             "{}: the operator '{}' exists already, and was first published as '{}'; give that as "
             "its first_schema",
             plugin.name, known->name(), known->hash_of ? known->hash_of : known->schema_text);
  }
  const std::string prefix = fmt::format("{}::", plugin.name);
  BP_CHECK(schema.name.starts_with(prefix), "{}: a plugin's operator needs its prefix: {}{}",
           plugin.name, prefix, schema.name);
  BP_CHECK(
      !schema.returns_list() || declared.infer,
      "{}: '{}' has a Tensor[] among its results, and no infer that says how many tensors it has; "
      "give it one",
      plugin.name, schema.name);
  check_derivative(plugin, declared, schema);
}

// An application's kernel behind the plugins' interface.
struct ApplicationKernelData {
  bp_kernel kernel{};
  std::vector<bp_arg> args;
  ApplicationKernel function = nullptr;
};

bp_code run_application_kernel(void* self, const bp_call* abi) {
  const Launch& launch = *static_cast<const Launch*>(abi->host_data);
  const Call& outer = launch.frame->call;
  ThreadState& state = thread_state();
  try {
    static_cast<ApplicationKernelData*>(self)->function(
        Call{outer.op, outer.args, outer.num_args, launch.results, outer.num_results});
    return BP_OK;
  } catch (const Error& error) {
    state.error_message = error.what();
    return static_cast<bp_code>(error.error_class());
  } catch (const std::exception& error) {
    state.error_message = error.what();
    return BP_INTERNAL;
  }
}

// A condition, if an empty one, keeps a kernel off the shortest path, which has no Launch.
bp_code always_supported(void*, const bp_call*) {
  return BP_OK;
}

}  // namespace

Operator& register_custom_operator(std::string_view schema, const CustomOperator& custom) {
  ensure_operators();
  auto data = std::make_unique<CustomData>();
  data->schema_text = schema;
  data->maker = "the application";
  return add_operator(std::move(data), custom);
}

DeclaredDerivative declared_derivative(const Operator& op) {
  const auto* data = static_cast<const CustomData*>(op.custom);
  const bp_custom_operator* declared =
      data ? data->declared.load(std::memory_order_acquire) : nullptr;
  if (!declared || !declared->backward) return {};
  return {find_operator(declared->backward), declared->saved_args, declared->saved_outputs};
}

void register_plugin_operators(const bp_plugin& plugin) {
  for (std::uint32_t i = 0; i < plugin.num_operators; ++i) check_declaration(plugin, i);
  for (std::uint32_t i = 0; i < plugin.num_operators; ++i) {
    const bp_custom_operator* declared = plugin.operators[i];
    if (Operator* known = find_operator(Schema::name_in(declared->schema))) {
      add_declaration(*static_cast<CustomData*>(known->custom), declared);
      continue;
    }
    auto data = std::make_unique<CustomData>();
    data->schema_text = declared->schema;
    if (const char* first = first_schema_of(*declared)) data->first_schema = first;
    data->maker = plugin.name;
    add_declaration(*data, declared);
    Schema schema;
    parse_schema(declared->schema, schema);
    add_operator(std::move(data),
                 {infer_by_plugin, nullptr, schema.returns_list() ? count_by_plugin : nullptr});
  }
}

void forget_plugin_operators(const bp_plugin& plugin) {
  const auto is_its = [&](const bp_custom_operator* declared) {
    return std::find(plugin.operators, plugin.operators + plugin.num_operators, declared) !=
           plugin.operators + plugin.num_operators;
  };
  for (Operator* op : registered_operators()) {
    auto* data = static_cast<CustomData*>(op->custom);
    if (!data) continue;
    std::erase_if(data->declarations, is_its);
    data->declared.store(data->declarations.empty() ? nullptr : data->declarations.back(),
                         std::memory_order_release);
  }
}

void register_application_kernel(Operator& op, Backend& backend, ApplicationKernel kernel,
                                 DtypeSet dtypes, std::uint32_t layouts) {
  BP_CHECK(kernel, "{}: the application's kernel is null", op.name());
  auto data = std::make_unique<ApplicationKernelData>();
  data->function = kernel;
  data->args.resize(op.schema->arguments.size());
  for (bp_arg& arg : data->args) {
    arg.dtypes = dtypes;
    arg.layouts = layouts;
  }
  data->kernel.h = {sizeof(bp_kernel), BP_TYPE_KERNEL, nullptr};
  data->kernel.op = op.name();
  data->kernel.schema_hash = op.schema->hash;
  data->kernel.args = data->args.data();
  data->kernel.num_args = static_cast<std::uint32_t>(data->args.size());
  data->kernel.flags = BP_KERNEL_DETERMINISTIC;
  data->kernel.priority = 1000;  // the application knows better
  data->kernel.self = data.get();
  data->kernel.supports = always_supported;
  data->kernel.run = run_application_kernel;
  // Lives as long as the process, like the operators.
  const bp_kernel* declared = &data.release()->kernel;
  register_kernels(backend, &declared, 1);
}

}  // namespace bp
