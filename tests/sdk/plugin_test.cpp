// plugin.hpp from the host's side: what its trampolines, tables and negotiation do.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <stdexcept>

#include <backplane/plugin.hpp>

#include "sdk/blend.hpp"
#include "sdk/fake_host.hpp"

namespace {

// ---- A backend and kernels, in this program ---------------------------------------------------------

struct Counting : bp::Backend {
  static constexpr bp::Identity identity{"counting", "Test", "1"};
  static inline int alive = 0;

  struct Line {};

  static bp::Result<uint32_t> num_devices() { return 3u; }
  static bp::Status describe(uint32_t index, bp::DeviceInfo& info) {
    info.total_memory = index * 100;
    return bp::ok;
  }

  explicit Counting(uint32_t index) {
    if (index == 2) throw bp::Failure{bp::device_lost("device 2 is gone")};
    ++alive;
  }
  ~Counting() { --alive; }

  bp::Result<bp::Handle> allocate(uint64_t bytes) {
    if (bytes > 1000) throw std::bad_alloc();
    return bp::Handle{bytes};
  }
  void release(bp::Handle handle) { released = handle; }
  bp::Status describe_space(uint32_t space, bp::SpaceInfo& info) {
    if (space != 0) return bp::bad_argument("space %u", space);
    info.set_name("one");
    info.total_bytes = 1000;
    info.free_bytes = 10;
    return bp::ok;
  }
  bp::Status copy(bp::Region to, bp::Region, bp::Direction direction, bp::Stream stream) {
    if (direction == bp::Direction::within) throw std::runtime_error("no way");
    seen = stream.native<Line>();
    return to.bytes == 1 ? bp::retry("busy") : bp::ok;
  }
  bp::Status synchronize(Line* line) {
    return line == &the_line ? bp::ok : bp::stream_lost("other");
  }
  bp::Result<Line*> create_stream(int32_t priority) {
    if (priority > 0) return bp::unsupported("priority %d", priority);
    return &the_line;
  }
  void destroy_stream(Line*) {}
  bp::Status query_stream(Line*) { return bp::ok; }

  Line the_line;
  Line* seen = nullptr;
  bp::Handle released = 0;
};

struct Seen {
  double alpha = 0;
  bool number = false;
  int64_t numel = 0;
  std::string text;
  size_t dims = 0;
} seen;

bp::Status add_any(bp::Call call, bp::In a, bp::InOrNumber b, bp::Scalar alpha, bp::Out out) {
  seen = {alpha.to_double(), b.is_number(), out.numel(), call.op().name, a.shape().size()};
  return bp::ok;
}
bp::Status add_exact(bp::Stream, bp::In, const bp::In&, int64_t alpha, bp::Out) {
  seen.alpha = static_cast<double>(alpha);
  return bp::ok;
}
bool never(bp::Stream, bp::In, bp::In, double, bp::Out) {
  return false;
}
bp::Status throws(bp::Stream, bp::In a, bp::Out) {
  if (a.numel() == 1) throw std::bad_alloc();
  if (a.numel() == 2) throw std::runtime_error("two");
  if (a.numel() == 3) throw 3;
  throw bp::Failure{bp::unsupported("four")};
}
bp::Status sum(bp::Stream, bp::In, std::optional<bp::Ints> dim, bool keepdim,
               std::optional<bp::Dtype> dtype, bp::Out) {
  seen.dims = dim ? dim->size() : 99;
  seen.number = keepdim && dtype == bp::f64;
  return bp::ok;
}

// What calls of one size have in common.
struct Half {
  explicit Half(int64_t numel) : numel(numel) { ++alive; }
  ~Half() { --alive; }
  int64_t numel;
  static inline int alive = 0;
};
bp::Result<bp::Planned<Half>> plan_half(bp::Stream, bp::In a, bp::Out) {
  if (a.numel() == 1) return bp::unsupported("one has no half");
  if (a.numel() == 3) throw std::bad_alloc();
  return bp::Planned<Half>{std::make_unique<Half>(a.numel() / 2), 100, 256};
}
bp::Status run_half(bp::Call call, bp::In, bp::Out) {
  seen.numel = call.plan<Half>().numel;
  seen.dims = call.workspace().bytes;
  return bp::ok;
}

struct swish {
  static constexpr const char* name = "test::swish";
  static constexpr const char* schema =
      "test::swish(Tensor input, int[] dims=[1, 2], *, float beta=1.0, str? mode=None) -> (Tensor "
      "x, "
      "Tensor y)";
  static constexpr uint64_t schema_hash = bp::schema_hash(schema);
  using signature = bp::Status(bp::Stream, bp::In, bp::Ints, double,
                               std::optional<std::string_view>, bp::Out, bp::Out);
  enum class place : unsigned { input, dims, beta, mode, x, y };
};

bp::Status infer_swish(bp::In a, bp::Ints dims, double, std::optional<std::string_view>,
                       bp::OutputSpec x, bp::OutputSpec y) {
  if (bp::Status status = y.set(bp::i64, dims); !status.is_ok()) return status;
  return x.like(a);
}

bp::Status run_blend(bp::Stream, bp::In, bp::OptionalInList others, bp::Generator generator,
                     bp::Out, bp::OutList parts) {
  seen.dims = parts.size();
  seen.number = others.size() == 3 && !others[1] && others[2];
  seen.numel = parts[1].numel();
  seen.alpha = static_cast<double>(generator.seed + generator.offset);
  return bp::ok;
}

}  // namespace

BP_KERNELS(first) {
  k.add<bp::op::add>(add_any).dtypes(bp::real).layouts(bp::strided).in_place_safe().deterministic();
  k.add<bp::op::add>(add_exact).dtypes(bp::f32, bp::f64).priority(7).supports(never);
  k.add<bp::op::relu>(throws).dtypes(bp::f32);
}
BP_KERNELS(second) {
  k.add<bp::op::sum>(sum).dtypes(bp::floating);
  k.add<bp::op::index_select>([](bp::Stream, bp::In, int64_t, bp::In, bp::Out) { return bp::ok; })
      .dtypes(bp::all)
      .dtypes(bp::op::index_select::place::index, bp::i64)
      .rank(bp::op::index_select::place::index, 1, 1)
      .may_fault();
  k.add<bp::op::arange>([](bp::Stream, bp::Scalar, bp::Scalar, bp::Scalar, std::optional<bp::Dtype>,
                           std::optional<bp::DeviceNumber>, bp::Out) {
     return bp::ok;
   }).dtypes(bp::real);
  k.add<bp::op::neg>(run_half).plan(plan_half).dtypes(bp::f32);
  k.define<swish>()
      .infer(infer_swish)
      .backward("test::swish_backward", {swish::place::beta, swish::place::y});
  k.define<blend>().infer(infer_blend);
  k.add<blend>(run_blend).dtypes(bp::f32);
}
BP_PLUGIN(Counting, first, second)

namespace {

// A plugin that lives in this program, in place of one in a library.
class InProcess : public testing::Test {
 protected:
  void SetUp() override {
    uint32_t abi = BP_ABI_LEVEL;
    ASSERT_EQ(bp_get_plugin_v1(&host.table, &abi, &plugin), BP_OK);
    ASSERT_EQ(plugin->init(plugin->self), BP_OK);
    ASSERT_EQ(plugin->open(plugin->self, 0, &device), BP_OK);
  }
  void TearDown() override {
    plugin->close(device);
    plugin->shutdown(plugin->self);
    EXPECT_EQ(Counting::alive, 0);
  }

  const bp_kernel& kernel(uint32_t index) { return *plugin->kernels[index]; }

  // Calls a kernel on tensors of `numel` elements; args are given without their tensors.
  bp_code run(const bp_kernel& kernel, const char* op_name, std::vector<bp_value> args,
              int64_t numel = 5, bool ask = false) {
    return with_call(op_name, std::move(args), numel, [&](const bp_call& call) {
      return ask ? kernel.supports(kernel.self, &call) : kernel.run(kernel.self, &call);
    });
  }
  template <class Do>
  bp_code with_call(const char* op_name, std::vector<bp_value> args, int64_t numel, Do act) {
    int64_t shape[] = {numel}, strides[] = {1};
    bp_tensor tensor{};
    tensor.dl.ndim = 1;
    tensor.dl.shape = shape;
    tensor.dl.strides = strides;
    tensor.numel = numel;
    for (bp_value& value : args) {
      if (value.tag == BP_TENSOR) value.u.tensor = &tensor;
    }
    bp_operator op{};
    op.name = op_name;
    bp_tensor* outputs[] = {&tensor};
    bp_call call{};
    call.h = {sizeof call, BP_TYPE_CALL, nullptr};
    call.op = &op;
    call.args = args.data();
    call.num_args = static_cast<uint32_t>(args.size());
    call.outputs = outputs;
    call.num_outputs = 1;
    call.device = device;
    return act(call);
  }

  static bp_value tensor() { return {BP_TENSOR, 0, {}}; }
  static bp_value number(int64_t value) {
    bp_value made{BP_INT, 0, {}};
    made.u.i = value;
    return made;
  }
  static bp_value number(double value) {
    bp_value made{BP_DOUBLE, 0, {}};
    made.u.f = value;
    return made;
  }

  fake::Host host;
  const bp_plugin* plugin = nullptr;
  bp_device* device = nullptr;
};

TEST_F(InProcess, says_who_it_is) {
  EXPECT_STREQ(plugin->name, "counting");
  EXPECT_EQ(plugin->h.size, sizeof(bp_plugin));
  EXPECT_EQ(plugin->abi, BP_ABI_LEVEL);
  EXPECT_EQ(plugin->num_kernels, 8u);
  EXPECT_EQ(plugin->num_operators, 2u);
  EXPECT_EQ(plugin->memory->fill, nullptr);
  EXPECT_EQ(plugin->queue->create_event, nullptr);
  EXPECT_EQ(plugin->probe, nullptr);
}

TEST_F(InProcess, fills_device_infos_of_a_newer_and_an_older_host) {
  struct Newer {
    bp_device_info info;
    uint64_t more;
  };
  std::vector<Newer> newer(3);
  newer[0].info.h.size = sizeof(Newer);
  for (Newer& each : newer) each.more = 77;
  uint32_t count = 3;
  ASSERT_EQ(plugin->devices(plugin->self, &count, &newer[0].info), BP_OK);
  EXPECT_EQ(newer[2].info.total_memory, 200u);
  EXPECT_EQ(newer[2].info.flags, 0u);  // it has a synchronize of its own
  EXPECT_EQ(newer[1].more, 77u);

  bp_device_info older[2] = {};
  older[0].h.size = offsetof(bp_device_info, max_allocation);
  older[0].max_allocation = 77;
  count = 1;
  ASSERT_EQ(plugin->devices(plugin->self, &count, older), BP_OK);
  EXPECT_STREQ(older[0].name, "counting");
  EXPECT_EQ(older[0].max_allocation, 77u);
}

TEST_F(InProcess, says_that_what_a_backend_does_not_is_unknown) {
  bp_device_info infos[3] = {};
  infos[0].h.size = sizeof infos[0];
  uint32_t count = 3;
  ASSERT_EQ(plugin->devices(plugin->self, &count, infos), BP_OK);
  EXPECT_EQ(infos[1].numa_node, -1);  // 0 would be a node
  EXPECT_STREQ(infos[1].bus, "");
}

TEST_F(InProcess, describes_memory_to_a_newer_and_an_older_host) {
  struct Newer {
    bp_space_info info;
    uint64_t more;
  } newer{{}, 77};
  newer.info.h.size = sizeof newer;
  ASSERT_EQ(plugin->memory->describe_space(device, 0, &newer.info), BP_OK);
  EXPECT_STREQ(newer.info.name, "one");
  EXPECT_EQ(newer.info.free_bytes, 10u);
  EXPECT_EQ(newer.info.h.size, sizeof newer);
  EXPECT_EQ(newer.more, 77u);

  bp_space_info older{};
  older.h.size = offsetof(bp_space_info, free_bytes);
  ASSERT_EQ(plugin->memory->describe_space(device, 0, &older), BP_OK);
  EXPECT_EQ(older.total_bytes, 1000u);
  EXPECT_EQ(older.free_bytes, 0u);
  EXPECT_EQ(plugin->memory->describe_space(device, 1, &older), BP_BAD_ARGUMENT);
}

TEST_F(InProcess, refuses_a_host_that_it_cannot_serve) {
  const bp_plugin* out = nullptr;
  uint32_t abi = 0;
  EXPECT_EQ(bp_get_plugin_v1(&host.table, &abi, &out), BP_UNSUPPORTED);
  fake::Host future;
  future.table.abi_min = BP_ABI_LEVEL + 1;
  future.table.abi_max = abi = BP_ABI_LEVEL + 5;
  EXPECT_EQ(bp_get_plugin_v1(&future.table, &abi, &out), BP_UNSUPPORTED);
  EXPECT_EQ(fake::Host::last_message(),
            fmt::format("counting speaks ABI levels 1 to {}; this host takes {} to {}",
                        BP_ABI_LEVEL, BP_ABI_LEVEL + 1, BP_ABI_LEVEL + 5));
  fake::Host small;
  small.table.h.size = offsetof(bp_host, extension);
  abi = BP_ABI_LEVEL;
  EXPECT_EQ(bp_get_plugin_v1(&small.table, &abi, &out), BP_UNSUPPORTED);
  future.table.abi_min = 1;
  abi = BP_ABI_LEVEL + 5;
  EXPECT_EQ(bp_get_plugin_v1(&host.table, &abi, &out), BP_OK);
  EXPECT_EQ(abi, BP_ABI_LEVEL);
}

TEST_F(InProcess, turns_exceptions_of_a_backend_into_codes) {
  bp_device* third = nullptr;
  EXPECT_EQ(plugin->open(plugin->self, 2, &third), BP_DEVICE_LOST);
  EXPECT_EQ(fake::Host::last_message(), "device 2 is gone");
  bp_handle handle = 0;
  EXPECT_EQ(plugin->memory->allocate(device, 2000, 64, &handle), BP_OUT_OF_MEMORY);
  EXPECT_EQ(plugin->memory->allocate(device, 12, 64, &handle), BP_OK);
  EXPECT_EQ(handle, 12u);
  const bp_region region{1, 0, 8}, tiny{1, 0, 1};
  EXPECT_EQ(plugin->memory->copy(device, &region, &region, BP_COPY_WITHIN, nullptr), BP_INTERNAL);
  EXPECT_EQ(fake::Host::last_message(), "the plugin threw: no way");
  EXPECT_EQ(plugin->memory->copy(device, &tiny, &tiny, BP_COPY_TO_HOST, nullptr), BP_RETRY);
}

TEST_F(InProcess, hands_the_backends_own_streams_through) {
  auto& self = *reinterpret_cast<Counting*>(device);
  bp_stream* stream = nullptr;
  EXPECT_EQ(plugin->queue->create_stream(device, 1, &stream), BP_UNSUPPORTED);
  ASSERT_EQ(plugin->queue->create_stream(device, 0, &stream), BP_OK);
  EXPECT_EQ(reinterpret_cast<Counting::Line*>(stream), &self.the_line);
  EXPECT_EQ(plugin->queue->synchronize(device, stream), BP_OK);
  EXPECT_EQ(plugin->queue->synchronize(device, nullptr), BP_STREAM_LOST);
  const bp_region region{1, 0, 8};
  EXPECT_EQ(plugin->memory->copy(device, &region, &region, BP_COPY_TO_HOST, stream), BP_OK);
  EXPECT_EQ(self.seen, &self.the_line);
  plugin->memory->release(device, 5);
  EXPECT_EQ(self.released, 5u);
}

TEST_F(InProcess, describes_kernels_as_data) {
  const bp_kernel& any = kernel(0);
  EXPECT_STREQ(any.op, "add");
  EXPECT_EQ(any.schema_hash, bp::schema_hash(bp::op::add::schema));
  ASSERT_EQ(any.num_args, 4u);
  EXPECT_EQ(any.args[0].dtypes, bp::real.bits);
  EXPECT_EQ(any.args[0].layouts, BP_LAYOUT_STRIDED);
  EXPECT_EQ(any.args[1].scalar_ok, 1);
  EXPECT_EQ(any.args[2].dtypes, 0u);
  EXPECT_EQ(any.args[3].dtypes, 0u);
  EXPECT_EQ(any.flags, BP_KERNEL_IN_PLACE_SAFE | BP_KERNEL_DETERMINISTIC);
  EXPECT_EQ(any.supports, nullptr);
  const bp_kernel& exact = kernel(1);
  EXPECT_EQ(exact.priority, 7);
  EXPECT_EQ(exact.args[1].scalar_ok, 0);
  EXPECT_EQ(exact.args[0].layouts, BP_LAYOUT_CONTIGUOUS);  // unless said otherwise
  const bp_kernel& select = kernel(4);
  EXPECT_EQ(select.args[0].dtypes, bp::all.bits);
  EXPECT_EQ(select.args[2].dtypes, 1u << BP_I64);
  EXPECT_EQ(select.args[2].max_rank, 1);
  EXPECT_EQ(kernel(5).args[5].dtypes, bp::real.bits);  // arange: only its output is a tensor
}

TEST_F(InProcess, gives_kernels_typed_arguments) {
  EXPECT_EQ(run(kernel(0), "add", {tensor(), number(2.5), number(int64_t{3})}), BP_OK);
  EXPECT_EQ(seen.alpha, 3.0);
  EXPECT_TRUE(seen.number);
  EXPECT_EQ(seen.numel, 5);
  EXPECT_EQ(seen.text, "add");
  EXPECT_EQ(run(kernel(0), "add", {tensor(), tensor(), number(0.5)}), BP_OK);
  EXPECT_FALSE(seen.number);

  const int64_t dims[] = {0, 2};
  bp_value list{BP_INT_LIST, 2, {}}, keepdim{BP_BOOLEAN, 0, {}}, dtype{BP_DTYPE, 0, {}}, none{};
  list.u.ptr = dims;
  keepdim.u.i = 1;
  dtype.u.i = BP_F64;
  EXPECT_EQ(run(kernel(3), "sum", {tensor(), list, keepdim, dtype}), BP_OK);
  EXPECT_EQ(seen.dims, 2u);
  EXPECT_TRUE(seen.number);
  EXPECT_EQ(run(kernel(3), "sum", {tensor(), none, keepdim, none}), BP_OK);
  EXPECT_EQ(seen.dims, 99u);
  EXPECT_FALSE(seen.number);
}

TEST_F(InProcess, a_number_that_does_not_fit_is_unsupported) {
  EXPECT_EQ(run(kernel(1), "add", {tensor(), tensor(), number(2.0)}), BP_OK);
  EXPECT_EQ(seen.alpha, 2.0);
  EXPECT_EQ(run(kernel(1), "add", {tensor(), tensor(), number(2.5)}), BP_UNSUPPORTED);
  EXPECT_EQ(fake::Host::last_message(), "add: this kernel cannot take the given number exactly");
}

TEST_F(InProcess, asks_whether_a_kernel_supports_a_call) {
  EXPECT_EQ(run(kernel(1), "add", {tensor(), tensor(), number(2.0)}, 5, true), BP_UNSUPPORTED);
}

TEST_F(InProcess, makes_plans_and_takes_them_back) {
  const bp_kernel& kernel = this->kernel(6);
  ASSERT_NE(kernel.plan, nullptr);
  bp_plan plan{};
  const auto ask = [&](int64_t numel) {
    return with_call("neg", {tensor()}, numel,
                     [&](const bp_call& call) { return kernel.plan(kernel.self, &call, &plan); });
  };
  EXPECT_EQ(ask(1), BP_UNSUPPORTED);
  EXPECT_EQ(ask(3), BP_OUT_OF_MEMORY);
  EXPECT_EQ(plan.own, nullptr);
  ASSERT_EQ(ask(10), BP_OK);
  EXPECT_EQ(plan.workspace, 100u);
  EXPECT_EQ(plan.alignment, 256u);
  EXPECT_EQ(Half::alive, 1);
  EXPECT_EQ(with_call("neg", {tensor()}, 10,
                      [&](bp_call call) {
                        call.plan = plan.own;
                        call.workspace = {1, 0, plan.workspace};
                        return kernel.run(kernel.self, &call);
                      }),
            BP_OK);
  EXPECT_EQ(seen.numel, 5);
  EXPECT_EQ(seen.dims, 100u);
  kernel.release_plan(kernel.self, plan.own);
  EXPECT_EQ(Half::alive, 0);
  EXPECT_EQ(this->kernel(0).plan, nullptr);
}

TEST_F(InProcess, turns_exceptions_of_a_kernel_into_codes) {
  EXPECT_EQ(run(kernel(2), "relu", {tensor()}, 1), BP_OUT_OF_MEMORY);
  EXPECT_EQ(run(kernel(2), "relu", {tensor()}, 2), BP_INTERNAL);
  EXPECT_EQ(fake::Host::last_message(), "the plugin threw: two");
  EXPECT_EQ(run(kernel(2), "relu", {tensor()}, 3), BP_INTERNAL);
  EXPECT_EQ(run(kernel(2), "relu", {tensor()}, 4), BP_UNSUPPORTED);
  EXPECT_EQ(fake::Host::last_message(), "four");
}

TEST_F(InProcess, gives_lists_holes_and_generators) {
  const bp_custom_operator& op = *plugin->operators[1];
  int64_t shape[] = {4}, strides[] = {1};
  bp_tensor a{};
  a.dl.ndim = 1;
  a.dl.shape = shape;
  a.dl.strides = strides;
  a.numel = 4;
  a.dtype = BP_F16;
  const bp_tensor* others[] = {&a, nullptr, &a};
  const bp_generator generator{{sizeof(bp_generator), BP_TYPE_GENERATOR, nullptr}, 7, 20};
  bp_value args[3] = {tensor(), {BP_TENSOR_LIST, 3, {}}, {BP_GENERATOR, 0, {}}};
  args[0].u.tensor = &a;
  args[1].u.ptr = others;
  args[2].u.ptr = &generator;
  bp_tensor* outputs[] = {&a, &a, &a};
  bp_call call{};
  call.args = args;
  call.num_args = 3;
  call.outputs = outputs;
  for (const uint32_t room : {2u, 3u, 5u}) {
    call.num_outputs = room;
    bp_output_spec specs[5] = {};
    for (bp_output_spec& spec : specs) spec.ndim = UINT32_MAX;
    ASSERT_EQ(op.infer(op.self, &call, specs), BP_OK);
    EXPECT_EQ(specs[0].ndim, 1u);
    EXPECT_EQ(specs[1].ndim, 1u);
    EXPECT_EQ(specs[2].ndim, room > 2 ? 1u : UINT32_MAX);
    EXPECT_EQ(specs[3].ndim, UINT32_MAX);
  }
  call.num_outputs = 3;
  const bp_kernel& kernel = this->kernel(7);
  EXPECT_EQ(kernel.num_args, 5u);
  EXPECT_EQ(kernel.args[1].layouts, BP_LAYOUT_CONTIGUOUS);
  EXPECT_EQ(kernel.args[4].layouts, BP_LAYOUT_CONTIGUOUS);
  ASSERT_EQ(kernel.run(kernel.self, &call), BP_OK);
  EXPECT_EQ(seen.dims, 2u);
  EXPECT_TRUE(seen.number);
  EXPECT_EQ(seen.numel, 4);
  EXPECT_EQ(seen.alpha, 27);
}

TEST_F(InProcess, brings_an_operator_with_its_derivative) {
  const bp_custom_operator& op = *plugin->operators[0];
  EXPECT_STREQ(op.schema, swish::schema);
  EXPECT_STREQ(op.backward, "test::swish_backward");
  EXPECT_EQ(op.saved_args, 1u << 2);
  EXPECT_EQ(op.saved_outputs, 1u << 1);

  int64_t shape[] = {4}, strides[] = {1}, dims[] = {7, 8, 9};
  bp_tensor a{};
  a.dl.ndim = 1;
  a.dl.shape = shape;
  a.dl.strides = strides;
  a.dtype = BP_F16;
  bp_value args[4] = {tensor(), {BP_INT_LIST, 3, {}}, number(1.0), {}};
  args[0].u.tensor = &a;
  args[1].u.ptr = dims;
  bp_call call{};
  call.args = args;
  call.num_args = 4;
  bp_output_spec outputs[2] = {};
  ASSERT_EQ(op.infer(op.self, &call, outputs), BP_OK);
  EXPECT_EQ(outputs[0].dtype, BP_F16);
  EXPECT_EQ(outputs[0].shape[0], 4);
  EXPECT_EQ(outputs[1].ndim, 3u);
  EXPECT_EQ(outputs[1].shape[2], 9);
  args[1].aux = BP_MAX_RANK + 1;
  EXPECT_EQ(op.infer(op.self, &call, outputs), BP_BAD_ARGUMENT);
}

TEST(Kernels, must_say_their_dtypes) {
  fake::Host host;
  bp::detail::the_host = &host.table;
  bp::Kernels kernels;
  kernels.add<bp::op::relu>(throws);
  bp_plugin plugin{};
  EXPECT_EQ(kernels.finish(plugin).code(), BP_INTERNAL);
  EXPECT_EQ(fake::Host::last_message(), "relu: a kernel must say its .dtypes(), bp::all for any");
}

// ---- Operators and their schemas ---------------------------------------------------------------------

static_assert(bp::schema_hash("") == 0xcbf29ce484222325u);
static_assert(bp::schema_hash("a") ==
              0xaf63dc4c8601ec8cu);  // from the definition's own test vectors
static_assert(bp::detail::agrees_with_its_schema<bp::op::add>());
static_assert(bp::detail::agrees_with_its_schema<bp::op::sum>());
static_assert(bp::detail::agrees_with_its_schema<bp::op::cat>());
static_assert(bp::detail::agrees_with_its_schema<bp::op::full>());
static_assert(bp::detail::agrees_with_its_schema<bp::op::sort>());

struct wrong_type : bp::op::softmax {
  using signature = bp::Status(bp::Stream, bp::In, double, std::optional<bp::Dtype>, bp::Out);
};
struct wrong_count : bp::op::relu {
  using signature = bp::Status(bp::Stream, bp::In, bp::Out, bp::Out);
};
struct wrong_name : bp::op::relu {
  static constexpr const char* name = "rely";
};
// One whose arguments were renamed: known by the hash of its first names.
struct renamed : swish {
  static constexpr const char* first_schema =
      "test::swish(Tensor a, int[] dims=[1, 2], *, float beta=1.0, str? mode=None) -> (Tensor x, "
      "Tensor y)";
  static constexpr uint64_t schema_hash = bp::schema_hash(first_schema);
};
struct renamed_with_a_new_hash : renamed {
  static constexpr uint64_t schema_hash = bp::schema_hash(schema);
};
static_assert(bp::detail::agrees_with_its_schema<renamed>());
static_assert(!bp::detail::agrees_with_its_schema<renamed_with_a_new_hash>());

TEST_F(InProcess, brings_a_renamed_operator_under_both_schemas) {
  bp::Kernels kernels;
  kernels.define<renamed>();
  kernels.define<swish>();
  bp_plugin made{};
  ASSERT_TRUE(kernels.finish(made).is_ok());
  EXPECT_STREQ(made.operators[0]->schema, swish::schema);
  EXPECT_STREQ(made.operators[0]->first_schema, renamed::first_schema);
  EXPECT_EQ(made.operators[1]->first_schema, nullptr);
}

static_assert(!bp::detail::agrees_with_its_schema<wrong_type>());
static_assert(!bp::detail::agrees_with_its_schema<wrong_count>());
static_assert(!bp::detail::agrees_with_its_schema<wrong_name>());

// ---- Plugins in libraries ------------------------------------------------------------------------------

TEST(Libraries, two_plugins_do_not_share_their_host) {
  fake::Host first, second;
  fake::Plugin partial(first, BP_TEST_PLUGIN_DIR "/libbackplane_partial.so");
  fake::Plugin memonly(second, BP_TEST_PLUGIN_DIR "/libbackplane_memonly.so");
  EXPECT_EQ(partial->num_kernels, 12u);
  EXPECT_EQ(partial->num_operators, 2u);
  EXPECT_EQ(memonly->num_kernels, 0u);
  fake::Device device(memonly, 0);
  const bp_handle handle = device.allocate(100);
  int sent = 5, got = 0;
  EXPECT_EQ(device.from_host(handle, &sent, sizeof sent), BP_OK);
  EXPECT_EQ(device.to_host(&got, handle, sizeof got), BP_OK);
  EXPECT_EQ(got, 5);
  device.release(handle);
}

}  // namespace
