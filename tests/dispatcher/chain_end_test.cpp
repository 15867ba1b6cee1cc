// alone: tests/runtime/fake_plugin.hpp and tests/dispatcher/calls.hpp mean different things by the same names
// When kernels of joined operators end: a plugin inside the test makes them (bp.program), on streams that it holds.
#include <gtest/gtest.h>
#include <set>
#include <thread>

#include <backplane/capture/capture.hpp>
#include <backplane/core_ops/generated/rows.hpp>
#include <backplane/dispatcher/chain.hpp>
#include <backplane/dispatcher/operator_source.hpp>
#include <backplane/dispatcher/registry.hpp>
#include <backplane/dispatcher/transfer.hpp>
#include <backplane/extensions/program.h>
#include <backplane/loading/loader.hpp>
#include <backplane/runtime/call_number.hpp>
#include <backplane/tensors.hpp>

#include "runtime/fake_plugin.hpp"

namespace {

using namespace bp::test;
using bp::Chain;
using bp::ChainInput;
using bp::ChainStep;
using bp::Stream;
using bp::Tensor;
namespace ops = bp::ops;

struct ProgramPlugin;

struct Made {
  ProgramPlugin* plugin = nullptr;
  int num_under_way = 0;  // guarded by the plugin's lock
  bp_kernel kernel{};
  const bp_operator* op = nullptr;
  std::string name;
};

// Its kernels give x * 2 + x, whatever the expression, when the stream comes to it.
struct ProgramPlugin : FakePlugin {
  bp_program extension{};
  bp_arg places[2]{};
  std::set<Made*> made;
  int num_made = 0, num_released = 0;

  ProgramPlugin() : FakePlugin("programs") {
    make_asynchronous();
    extension = {{sizeof extension, BP_TYPE_EXTENSION, nullptr}, make, release_kernel};
    plugin.extension = [](void* self, const char* name, std::uint32_t) -> const bp_header* {
      return std::strcmp(name, BP_PROGRAM) == 0 ? &me(self).extension.h : nullptr;
    };
    for (bp_arg& place : places) place.dtypes = 1u << BP_F32, place.layouts = BP_LAYOUT_CONTIGUOUS;
  }
  ~ProgramPlugin() {
    for (Made* each : made) delete each;
  }

  static ProgramPlugin& me(void* self) { return static_cast<ProgramPlugin&>(of(self)); }
  static float* data(const bp_tensor* tensor) {
    return reinterpret_cast<float*>(static_cast<char*>(tensor->dl.data) + tensor->dl.byte_offset);
  }

  static bp_code make(void* self, const bp_operator* op, const bp_kernel** out) {
    if (std::strstr(op->name, "logical_not")) return BP_UNSUPPORTED;
    auto* made = new Made;
    made->op = op;
    made->name = op->name;
    made->kernel.h = {sizeof(bp_kernel), BP_TYPE_KERNEL, nullptr};
    made->kernel.op = op->name;
    made->kernel.schema_hash = op->schema_hash;
    made->kernel.args = me(self).places;
    made->kernel.num_args = 2;
    made->kernel.flags = BP_KERNEL_DETERMINISTIC;
    made->plugin = &me(self);
    made->kernel.self = made;
    made->kernel.run = run_kernel;
    me(self).made.insert(made);
    ++me(self).num_made;
    *out = &made->kernel;
    return BP_OK;
  }
  static void release_kernel(void* self, const bp_kernel* kernel) {
    for (Made* each : me(self).made) {
      if (&each->kernel != kernel) continue;
      EXPECT_STREQ(each->op->name, each->name.c_str()) << "the operator is gone before its kernel";
      {
        const std::lock_guard lock(me(self).mutex);
        EXPECT_EQ(each->num_under_way, 0) << "released while its work is under way";
      }
      me(self).made.erase(each);
      delete each;
      ++me(self).num_released;
      return;
    }
    ADD_FAILURE() << "released twice, or never made";
  }
  static bp_code run_kernel(void* self, const bp_call* call) {
    const float* x = data(call->args[0].u.tensor);
    float* out = data(call->outputs[0]);
    auto& made = *static_cast<Made*>(self);
    const std::lock_guard lock(made.plugin->mutex);
    FakeStream& stream = *fake(call->stream);
    ++made.num_under_way;
    // Asynchronous work reads the operator, which lives until the kernel is released.
    stream.work.push_back([&made, x, out, op = call->op, n = call->outputs[0]->numel] {
      EXPECT_STREQ(op->schema + std::strlen(op->schema) - 6, "Tensor");
      for (std::int64_t i = 0; i < n; ++i) out[i] = 3 * x[i];
      --made.num_under_way;
    });
    ++stream.given;
    return BP_OK;
  }
};

std::vector<ChainStep> scaled_by(double factor) {
  return {{&ops::mul, {ChainInput::argument(0), ChainInput::number(factor)}},
          {&ops::add, {ChainInput::step(0), ChainInput::argument(0)}}};
}

ProgramPlugin* linked = nullptr;

bp_code get_plugin(const bp_host*, std::uint32_t*, const bp_plugin** out) {
  *out = &linked->plugin;
  return BP_OK;
}

class ChainEnd : public testing::Test {
 protected:
  ChainEnd() {
    linked = &plugin_;
    load();
    num_others_ = plugin_.num_made;
  }
  ~ChainEnd() override {
    if (backend_) unload();
    EXPECT_EQ(plugin_.num_released, plugin_.num_made);
  }

  void load() {
    backend_ = &bp::register_plugin(get_plugin, "programs");
    device_ = backend_->devices.front()->device;
  }
  void unload() { bp::unload_plugin(*std::exchange(backend_, nullptr)); }

  Tensor given(const std::vector<float>& values) {
    const Tensor tensor =
        bp::empty_tensor({static_cast<std::int64_t>(values.size())}, bp::f32, device_);
    bp::copy_from_host_memory(tensor, values.data());
    return tensor;
  }
  static std::vector<float> values(const Tensor& tensor) {
    std::vector<float> result(static_cast<std::size_t>(tensor.numel()));
    bp::copy_to_host_memory(tensor, result.data());
    return result;
  }
  static Tensor call_with(const Chain& chain, const Tensor& x) {
    bp_value args[] = {bp::value_of(x)};
    return bp::call_chain(chain, args, 1);
  }
  // Whoever lets a chain go looks at what was dropped before. This one the plugin has no kernel for.
  static void look() {
    bp::join(std::vector<ChainStep>{{&ops::logical_not, {ChainInput::argument(0)}},
                                    {&ops::logical_not, {ChainInput::step(0)}}});
  }
  // Beside those that other tests of the process hold.
  int num_living() const { return plugin_.num_made - plugin_.num_released - num_others_; }

  ProgramPlugin plugin_;
  bp::Backend* backend_ = nullptr;
  int num_others_ = 0;
  bp::Device device_;
};

TEST_F(ChainEnd, a_kernel_ends_with_its_chain) {
  const Tensor x = given({1, 2, 3});
  {
    const Chain chain = bp::join(scaled_by(2));
    EXPECT_EQ(values(call_with(chain, x)), (std::vector<float>{3, 6, 9}));
    EXPECT_EQ(num_living(), 1);
  }
  bp::synchronize(device_);
  look();
  EXPECT_EQ(num_living(), 0);
}

TEST_F(ChainEnd, one_that_never_ran_ends_at_once) {
  bp::join(scaled_by(2));
  EXPECT_EQ(plugin_.num_made, num_others_ + 1);
  EXPECT_EQ(num_living(), 0);
}

TEST_F(ChainEnd, waits_for_work_on_a_held_stream_and_not_for_the_other) {
  const Tensor x = given({1, 2});
  bp::synchronize(device_);
  const Stream held(device_), other(device_);
  Tensor result;
  {
    const bp::StreamGuard guard(held);
    result = call_with(bp::join(scaled_by(2)), x);
  }
  for (int i = 0; i < 3; ++i) {
    look();
    EXPECT_EQ(num_living(), 1);
  }
  other.synchronize();
  look();
  EXPECT_EQ(num_living(), 1);
  held.synchronize();
  look();
  EXPECT_EQ(num_living(), 0);
  EXPECT_EQ(values(result), (std::vector<float>{3, 6}));
}

TEST_F(ChainEnd, joined_again_while_it_waits_it_is_the_same_and_waits_anew) {
  const Tensor x = given({1, 2});
  bp::synchronize(device_);
  const Stream held(device_);
  const bp::StreamGuard guard(held);
  bp::Operator* first = nullptr;
  Tensor result, again;
  {
    const Chain chain = bp::join(scaled_by(2));
    first = &*chain;
    result = call_with(chain, x);
  }
  {
    const Chain chain = bp::join(scaled_by(2));
    EXPECT_EQ(&*chain, first);
    plugin_.finish(held);
    look();
    EXPECT_EQ(num_living(), 1) << "it is held";
    again = call_with(chain, x);
  }
  look();
  EXPECT_EQ(num_living(), 1) << "its second work is under way";
  held.synchronize();
  look();
  EXPECT_EQ(num_living(), 0);
  EXPECT_EQ(plugin_.num_made, num_others_ + 1);
  EXPECT_EQ(values(again), values(result));
}

TEST_F(ChainEnd, a_recording_holds_it) {
  const Tensor x = given({1, 2});
  Tensor result;
  bp::Recording recording;
  {
    const Chain chain = bp::join(scaled_by(2));
    recording = bp::capture(device_, [&] { result = call_with(chain, x); });
  }
  look();
  EXPECT_EQ(num_living(), 1);
  recording.replay();
  EXPECT_EQ(values(result), (std::vector<float>{3, 6}));
  recording.replay();
  recording = {};
  look();
  EXPECT_EQ(num_living(), 1) << "the last replay is under way";
  bp::synchronize(device_);
  look();
  EXPECT_EQ(num_living(), 0);
}

TEST_F(ChainEnd, a_plugin_that_goes_gets_its_kernels_back_and_makes_them_anew_when_it_comes) {
  const Chain kept = bp::join(scaled_by(2));
  { values(call_with(kept, given({1}))); }
  unload();
  EXPECT_EQ(plugin_.num_made, plugin_.num_released);
  const Chain later = bp::join(scaled_by(3));
  load();
  EXPECT_EQ(num_living(), 2);
  EXPECT_EQ(values(call_with(kept, given({1}))), (std::vector<float>{3}));
  EXPECT_EQ(values(call_with(later, given({1}))), (std::vector<float>{3}));
}

TEST_F(ChainEnd, a_plugin_goes_while_a_dropped_one_waits) {
  const Stream held(device_);
  {
    const bp::StreamGuard guard(held);
    const Tensor x = given({1});
    call_with(bp::join(scaled_by(2)), x);
    EXPECT_EQ(num_living(), 1);
  }
  bp::synchronize(device_);
}

TEST_F(ChainEnd, a_device_is_opened_anew_between) {
  const Chain kept = bp::join(scaled_by(2));
  { values(call_with(kept, given({1}))); }
  call_with(bp::join(scaled_by(3)), given({1}));
  bp::reset_device(device_);
  EXPECT_EQ(num_living(), 1);
  EXPECT_EQ(values(call_with(kept, given({2}))), (std::vector<float>{6}));
}

// The end takes the name out of the streams of all devices, while others of these come and go.
TEST_F(ChainEnd, other_devices_may_be_opened_and_closed_meanwhile) {
  FakePlugin others("others");
  others.make_asynchronous();
  const Registered registered(others);
  std::atomic<bool> is_over{false};
  std::atomic<int> num_reset{0};
  std::thread closes([&] {
    for (; !is_over; ++num_reset) {
      for (int i = 0; i < 3; ++i) const Stream stream(registered.device());
      bp::reset_device(registered.device());
    }
  });
  const Tensor x = given({1});
  // Until both have done enough: the other thread may get no turn for a while.
  for (int i = 0; i < 300 || num_reset < 3; ++i) values(call_with(bp::join(scaled_by(i)), x));
  is_over = true;
  closes.join();
  EXPECT_GT(others.num_closed, 0);
  bp::synchronize(device_);
  look();
  EXPECT_EQ(num_living(), 0);
}

TEST_F(ChainEnd, late_errors_name_it_or_that_it_was_one) {
  const Tensor x = given({1});
  bp::synchronize(device_);
  const Stream stream(device_);
  const bp::StreamGuard guard(stream);
  std::string name;
  {
    const Chain chain = bp::join(scaled_by(2));
    name = chain->name();
    call_with(chain, x);
    plugin_.stream_of(stream).late_error = BP_INTERNAL;
    EXPECT_NE(text_of([&] { stream.synchronize(); }).find("synchronize after " + name),
              std::string::npos);
    call_with(chain, x);
    plugin_.finish(stream);
  }
  look();
  EXPECT_EQ(num_living(), 0);
  plugin_.stream_of(stream).late_error = BP_INTERNAL;
  EXPECT_NE(text_of([&] { stream.synchronize(); }).find("synchronize after a joined operator"),
            std::string::npos);
  // The number of one of its calls finds its name for a while.
  plugin_.stream_of(stream).late_error.reset();
  const Chain chain = bp::join(scaled_by(4));
  const std::uint64_t number = (std::uint64_t{chain->id} + 1) << bp::call_count_bits;
  name = chain->name();
  EXPECT_EQ(bp::name_of_call(number).name, name);
}

TEST_F(ChainEnd, threads_make_call_and_drop_the_same_and_others_on_streams_of_their_own) {
  const Tensor x = given({1, 2});
  bp::synchronize(device_);
  std::atomic<int> num_wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      const Stream stream(device_);
      const bp::StreamGuard guard(stream);
      for (int i = 0; i < 200; ++i) {
        const Chain ours = bp::join(scaled_by(i % 3));
        const Tensor mine = call_with(bp::join(scaled_by(1000 * (t + 1) + i)), x);
        const Tensor both = call_with(ours, mine);
        if (i % 20 != 0) continue;
        if (values(both) != std::vector<float>{9, 18}) ++num_wrong;
        bp::call_counts();
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(num_wrong, 0);
  bp::synchronize(device_);
  look();
  EXPECT_EQ(num_living(), 0);
}

TEST_F(ChainEnd, of_a_plugin_that_releases_nothing_the_operators_stay_and_are_limited) {
  unload();
  plugin_.extension.release = nullptr;
  const int before = plugin_.num_made;  // then all that other tests hold, and new ones
  load();
  testing::internal::CaptureStderr();
  for (int i = 0; i < 1100; ++i) bp::join(scaled_by(i + 0.25));
  const std::string log = testing::internal::GetCapturedStderr();
  EXPECT_EQ(plugin_.num_made - before, 1024);
  EXPECT_NE(log.find("cannot release kernels"), std::string::npos) << log;
  EXPECT_EQ(log.find("cannot release kernels"), log.rfind("cannot release kernels")) << "once";
  const Chain first = bp::join(scaled_by(0.25));
  EXPECT_EQ(values(call_with(first, given({1}))), (std::vector<float>{3}));
  plugin_.num_released = plugin_.num_made;
}

}  // namespace
