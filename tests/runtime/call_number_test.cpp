// Numbers of calls, and what errors make of them.
#include <set>

#include <backplane/runtime/call_number.hpp>

#include "fake_plugin.hpp"

namespace bp::test {
namespace {

TEST(CallNumber, counts_the_calls_of_a_stream) {
  FakePlugin fake;
  fake.make_asynchronous();
  const Registered registered(fake);
  const Stream one(registered.device()), two(registered.device());
  std::set<std::uint64_t> numbers;
  for (int i = 0; i < 100; ++i) numbers.insert(next_call_number(*one.impl(), 7));
  EXPECT_EQ(numbers.size(), 100u);
  EXPECT_EQ(numbers.count(0), 0u) << "0 is for work that has no number";
  EXPECT_EQ(next_call_number(*two.impl(), 7) & 0xff, 1u) << "each stream counts for itself";
}

TEST(CallNumber, that_is_none_has_no_name) {
  for (const std::uint64_t number : {0ull, 12ull, ~0ull}) EXPECT_EQ(name_of_call(number).name, "");
}

// A plugin may hand back anything.
TEST(CallNumber, that_nobody_gave_out_leaves_the_error_as_it_is) {
  FakePlugin fake;
  fake.make_asynchronous();
  const Registered registered(fake);
  DeviceRecord& record = registered.record();
  for (const std::uint64_t number : {0ull, 12ull, ~0ull}) {
    say(BP_INTERNAL, "a kernel failed");
    thread_state().error_call = number;
    const Error error = plugin_error(record, BP_INTERNAL, "synchronize");
    EXPECT_EQ(std::string(error.what()),
              "synchronize: a kernel failed (plugin acme, device acme:0)");
    EXPECT_EQ(thread_state().error_call, 0u);
  }
}

TEST(PluginError, names_an_operator_once_that_the_plugin_has_named) {
  FakePlugin fake;
  const Registered registered(fake);
  DeviceRecord& record = registered.record();
  say(BP_BAD_ARGUMENT, "gather: index 7 is out of range");
  EXPECT_EQ(std::string(plugin_error(record, BP_BAD_ARGUMENT, "gather").what()),
            "gather: index 7 is out of range (plugin acme, device acme:0)");
}

}  // namespace
}  // namespace bp::test
