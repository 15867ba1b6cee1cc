// needs: cpu
// alone: BP_LINKED_AS
// Backends that are linked into the program. One of them stands in this source, beside the core's API: the names of the
// SDK are those of bp::plugin here, bp::Stream and its like are the core's.
#define BP_LINKED_AS tally
#include <cstdlib>
#include <cstring>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <backplane/backplane.hpp>
#include <backplane/loading/certified.hpp>
#include <backplane/loading/loader.hpp>
#include <backplane/plugin.hpp>

#include "dispatcher/calls.hpp"

extern "C" {
bp_code bp_get_plugin_v1_memonly(const bp_host*, uint32_t*, const bp_plugin**);
bp_code bp_get_plugin_v1_partial(const bp_host*, uint32_t*, const bp_plugin**);
bp_code bp_get_plugin_v1_c11(const bp_host*, uint32_t*, const bp_plugin**);
}

namespace {

namespace sdk = bp::plugin;

// ---- A backend in the application's own source -------------------------------------------------------

struct Tally : sdk::Backend {
  static constexpr sdk::Identity identity{"tally", "Backplane tests", "0.1"};
  static inline int additions = 0;
  static inline bool has_driver = true;

  static sdk::Status probe() {
    return has_driver ? sdk::ok : sdk::unsupported("the tally has no driver");
  }
  sdk::Result<sdk::Handle> allocate(uint64_t bytes, uint64_t alignment) {
    return sdk::handle_of(
        std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment));
  }
  void release(sdk::Handle handle) { std::free(sdk::address_of(handle)); }
  sdk::Status copy(sdk::Region to, sdk::Region from) {
    std::memcpy(to.address(), from.address(), to.bytes);
    return sdk::ok;
  }
};

sdk::Status add(sdk::Stream, sdk::In a, sdk::In b, double alpha, sdk::Out out) {
  if (a.numel() == 13) return sdk::bad_argument("thirteen is too many");
  ++Tally::additions;
  for (int64_t i = 0; i < out.numel(); ++i)
    out.data<float>()[i] = a.data<float>()[i] + static_cast<float>(alpha) * b.data<float>()[i];
  return sdk::ok;
}

}  // namespace

BP_KERNELS(pointwise) {  // the plugin `partial` has a group of this name as well
  k.add<sdk::op::add>(add).dtypes(sdk::f32);
}
BP_PLUGIN(Tally, pointwise)

namespace {

using namespace bp::test;
using testing::HasSubstr;
using testing::StartsWith;

bp::Device first(const bp::Backend& backend) {
  return backend.devices.front()->device;
}

// Two backends at once, which leave with the test.
class Linked : public testing::Test {
 protected:
  Linked()
      : tally(bp::register_plugin(bp_get_plugin_v1_tally, "tally")),
        partial(bp::register_plugin(bp_get_plugin_v1_partial, "partial")) {}
  ~Linked() override {
    bp::unload_plugin(tally);
    bp::unload_plugin(partial);
  }

  bp::Backend& tally;
  bp::Backend& partial;
};

// ---- Coming ----

TEST_F(Linked, runs_its_kernel_for_the_application_in_the_same_source) {
  const int before = Tally::additions;
  const bp::Tensor a = counted({4}, bp::device("tally:0"));
  EXPECT_EQ(values(a + a), (std::vector<float>{0, 2, 4, 6}));
  EXPECT_EQ(Tally::additions, before + 1);
}

TEST_F(Linked, backends_work_beside_each_other_with_the_kernels_of_each) {
  const Served by_tally("add", "tally"), by_partial("add", "partial");
  const bp::Tensor a = counted({4}, first(tally)), b = counted({4}, first(partial));
  EXPECT_EQ(values(a + a), values(b + b));
  EXPECT_EQ(by_tally.since(), "native 1");
  EXPECT_EQ(by_partial.since(), "native 1");
}

TEST_F(Linked, each_speaks_with_its_own_host) {
  EXPECT_EQ(&sdk::host(), tally.host);  // though `partial` came later
  EXPECT_NE(tally.host, partial.host);
  const bp::Tensor a = counted({13}, first(tally));
  EXPECT_THAT(error_of([&] { a + a; }), HasSubstr("thirteen is too many"));
}

TEST_F(Linked, the_same_entry_twice_is_the_same_backend) {
  EXPECT_EQ(&bp::register_plugin(bp_get_plugin_v1_tally, "tally"), &tally);
}

TEST_F(Linked, says_where_it_is) {
  EXPECT_THAT(tally.path, StartsWith("tally, linked into /"));
  EXPECT_THAT(tally.path, HasSubstr("test_linked"));
  EXPECT_EQ("tally, linked into " + std::string(tally.host->plugin_path), tally.path);
  EXPECT_EQ(bp::certified_level(first(tally)).profile, "");
}

TEST(LinkedInC, works_as_any_other) {
  bp::Backend& c11 = bp::register_plugin(bp_get_plugin_v1_c11, "c11");
  EXPECT_EQ(values(counted({2}, first(c11)) + 1), (std::vector<float>{1, 2}));
  bp::unload_plugin(c11);
}

TEST(LinkedBesideLoaded, one_source_serves_both_ways_in_one_process) {
  bp::Backend& linked = bp::register_plugin(bp_get_plugin_v1_memonly, "memonly");
  bp::Backend& loaded = bp::load_plugin(test_plugin("memonly"));
  EXPECT_EQ(linked.name, "memonly");
  EXPECT_EQ(loaded.name, "Backplane tests:memonly");
  EXPECT_EQ(values(counted({2}, first(linked)) + 1), values(counted({2}, first(loaded)) + 1));
  bp::unload_plugin(loaded);
  EXPECT_EQ(values(counted({2}, first(linked)) + 1), (std::vector<float>{1, 2}));
  bp::unload_plugin(linked);
}

// ---- Going ----

TEST_F(Linked, cannot_go_while_something_lives_on_it) {
  const bp::Tensor a = counted({4}, first(tally));
  EXPECT_EQ(class_of_error([&] { bp::unload_plugin(tally); }), bp::ErrorClass::retry);
  EXPECT_EQ(values(a + a), (std::vector<float>{0, 2, 4, 6}));
}

TEST(LinkedComing, and_going_can_be_repeated) {
  for (int i = 0; i < 100; ++i) {
    bp::Backend& partial = bp::register_plugin(bp_get_plugin_v1_partial, "partial");
    bp::Tensor a = counted({2}, first(partial));
    ASSERT_EQ(values(a + a), (std::vector<float>{0, 2}));
    ASSERT_EQ(values(bp::call_boxed("partial::square", {bp::value_of(a)})[0])[1], 1);
    a = {};
    bp::unload_plugin(partial);
    ASSERT_EQ(bp::find_backend("partial"), nullptr);
  }
}

// ---- What is refused ----

std::string refusal(bp_get_plugin_fn entry, const std::string& name) {
  const std::size_t before = bp::registered_devices().size();
  const std::string said = error_of([&] { bp::register_plugin(entry, name); });
  EXPECT_EQ(bp::registered_devices().size(), before);
  return said;
}

TEST(LinkedRefused, an_entry_that_is_null) {
  EXPECT_EQ(refusal(nullptr, "acme"), "register_plugin: the entry of 'acme' is null");
}

TEST(LinkedRefused, another_name_than_its_own) {
  EXPECT_THAT(refusal(bp_get_plugin_v1_tally, "acme"), StartsWith("acme, linked into /"));
  EXPECT_THAT(refusal(bp_get_plugin_v1_tally, "acme"),
              HasSubstr(": the plugin calls itself 'tally'; register it by that name"));
}

TEST(LinkedRefused, one_that_says_no_at_its_start) {
  const auto no = [](const bp_host* host, uint32_t*, const bp_plugin**) {
    return host->set_error(host, BP_UNSUPPORTED, "not today");
  };
  EXPECT_THAT(refusal(no, "acme"), HasSubstr(": bp_get_plugin_v1 returned code 2: not today"));
  Tally::has_driver = false;
  EXPECT_THAT(refusal(bp_get_plugin_v1_tally, "tally"),
              HasSubstr("probe failed: the tally has no driver"));
  Tally::has_driver = true;
}

TEST(LinkedRefused, another_level_of_the_abi) {
  const auto next = [](const bp_host*, uint32_t* abi, const bp_plugin**) {
    *abi = BP_ABI_LEVEL + 1;
    return bp_code{BP_OK};
  };
  EXPECT_THAT(refusal(next, "acme"), HasSubstr("speaks ABI level"));
}

TEST(LinkedRefused, structs_that_a_plugin_from_a_file_may_not_have_either) {
  const auto without_copy = [](const bp_host* host, uint32_t* abi, const bp_plugin** out) {
    static bp_plugin plugin;
    static bp_memory memory;
    const bp_plugin* whole = nullptr;
    const bp_code code = bp_get_plugin_v1_tally(host, abi, &whole);
    plugin = *whole;
    memory = *whole->memory;
    memory.copy = nullptr;
    plugin.memory = &memory;
    *out = &plugin;
    return code;
  };
  EXPECT_THAT(refusal(without_copy, "tally"), HasSubstr("bp_plugin.memory->copy is NULL"));
}

}  // namespace
