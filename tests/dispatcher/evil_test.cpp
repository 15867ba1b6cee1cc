// needs: cpu
// Every kind of tests/plugins/evil/README.md met by the whole core: a sentence, nothing lost, the next call works.
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <regex>
#include <set>

#include "dispatcher/calls.hpp"
#include "dispatcher/child.hpp"

namespace {

using namespace bp::test;
using bp::Tensor;

struct Kind {
  const char* name;
  const char* says;  // what the error holds; "no error"
  const char* n = "1";
};
void PrintTo(const Kind& kind, std::ostream* out) {
  *out << kind.name;
}
std::string name_of(const testing::TestParamInfo<Kind>& kind) {
  return kind.param.name;
}

// Chooses a kind while it lives. Each has a cache of its own: a library that was probed once as good is not asked again.
class Chosen {
 public:
  explicit Chosen(const Kind& kind) {
    setenv("BACKPLANE_EVIL", kind.name, 1);
    setenv("BACKPLANE_EVIL_N", kind.n, 1);
    const char* cache = std::getenv("XDG_CACHE_HOME");
    before_ = cache ? cache : "";
    setenv("XDG_CACHE_HOME", folder_.path().c_str(), 1);
  }
  ~Chosen() {
    unsetenv("BACKPLANE_EVIL");
    unsetenv("BACKPLANE_EVIL_N");
    before_.empty() ? unsetenv("XDG_CACHE_HOME") : setenv("XDG_CACHE_HOME", before_.c_str(), 1);
  }
  std::vector<std::string> words(const Kind& kind) const {
    return {std::string("BACKPLANE_EVIL=") + kind.name, std::string("BACKPLANE_EVIL_N=") + kind.n,
            "XDG_CACHE_HOME=" + folder_.path().string()};
  }

 private:
  TemporaryFolder folder_;
  std::string before_;
};

std::string names_of_devices() {
  std::string names;
  for (const bp::DeviceRecord* record : bp::registered_devices()) names += record->name + " ";
  return names;
}

// What a program does with a device: memory, copies, a kernel, the plugin's own operator, waiting.
void use(bp::Device device) {
  const Tensor a = counted({4}, device);
  EXPECT_EQ(values(add(a, a)), (std::vector<float>{0, 2, 4, 6}));
  EXPECT_EQ(values(bp::call_boxed("evil::twice", {bp::value_of(a)})[0]),
            (std::vector<float>{0, 2, 4, 6}));
  bp::synchronize(device);
}

class Evil : public testing::TestWithParam<Kind> {
 protected:
  Evil() {
    expect_cpu_works();
    before_ = names_of_devices();
    testing::internal::CaptureStderr();
  }
  ~Evil() override {
    const std::string log = testing::internal::GetCapturedStderr();
    EXPECT_EQ(log.find("allocations alive"), std::string::npos) << log;
    EXPECT_EQ(log.find("never allocated"), std::string::npos) << log;
    EXPECT_EQ(names_of_devices(), before_);
    EXPECT_FALSE(bp::find_backend("evil"));
    expect_cpu_works();
    // It behaves again: what failed before has left nothing in the way.
    bp::Backend& good = bp::load_plugin(test_plugin("evil"));
    EXPECT_EQ(error_of([&] { use(good.devices.front()->device); }), "no error");
    bp::unload_plugin(good);
  }

  void expect_says(const std::string& error) {
    EXPECT_NE(error.find(GetParam().says), std::string::npos) << error;
  }

 private:
  std::string before_;
};

// ---- Refused when it is loaded ----

using Refused = Evil;
TEST_P(Refused, by_load_plugin_with_a_sentence) {
  const Chosen chosen(GetParam());
  const std::string error =
      error_of([] { bp::unload_plugin(bp::load_plugin(test_plugin("evil"))); });
  expect_says(error);
  EXPECT_NE(error.find("evil"), std::string::npos) << error;
}

const Kind refused[] = {
    {"constructor_crashes", "crashed while it was opened, in its constructors (signal 11"},
    {"constructor_hangs", "no answer within 5 s"},
    {"start_crashes", "crashed in bp_get_plugin_v1 (signal 11"},
    {"start_hangs", "no answer within 5 s"},
    {"start_exits", "ended its process in bp_get_plugin_v1 (exit code 0)"},
    {"probe_crashes", "crashed in bp_plugin.probe (signal 11"},
    {"probe_hangs", "hung in bp_plugin.probe: no answer within 5 s"},
    {"start_fails", "returned code 7: evil does not want to"},
    {"start_fails_silently", "returned code 7 without a message"},
    {"start_strange_code", "returned code 4711 without a message"},
    {"null_plugin", "the plugin that bp_get_plugin_v1 returned is NULL"},
    {"abi_zero", "speaks ABI level 0, this host 1"},
    {"abi_future", "speaks ABI level 1000, this host 1"},
    {"abi_differs", "bp_plugin.abi is 3, but bp_get_plugin_v1 answered level 2"},
    {"plugin_too_small", "bp_plugin.h.size is 16"},
    {"plugin_wrong_type", "bp_plugin.h.type is 1 instead of 2"},
    {"null_name", "bp_plugin.name is NULL"},
    {"empty_name", "bp_plugin.name is empty"},
    {"bad_name", "bp_plugin.name is \"e v:i/l\""},
    {"null_vendor", "bp_plugin.vendor is NULL"},
    {"null_devices", "bp_plugin.devices is NULL"},
    {"null_open", "bp_plugin.open is NULL"},
    {"null_close", "bp_plugin.close is NULL"},
    {"null_memory", "bp_plugin.memory is NULL"},
    {"null_queue", "bp_plugin.queue is NULL"},
    {"memory_too_small", "bp_memory.h.size is 8"},
    {"queue_too_small", "bp_queue.h.size is 8"},
    {"memory_wrong_type", "bp_memory.h.type is 5 instead of 4"},
    {"null_allocate", "bp_plugin.memory->allocate is NULL; the eight required functions are"},
    {"null_release", "bp_plugin.memory->release is NULL; the eight required functions are"},
    {"null_copy", "bp_plugin.memory->copy is NULL; the eight required functions are"},
    {"null_synchronize", "bp_plugin.queue->synchronize is NULL; the eight required functions are"},
    {"half_of_the_streams", "fill in all functions of streams, or none"},
    {"probe_says_no", "the driver of evil is not installed"},
    {"probe_fails", "the probe broke"},
    {"init_fails", "init failed: the start broke"},
    {"no_devices", "no device here"},
    {"too_many_devices", "says that it has 4294967295 devices"},
    {"devices_fails", "the count of devices broke"},
    {"devices_fails_late", "the description of devices broke"},
    {"devices_writes_more", "said that it has 1 devices and then filled 1000"},
    {"device_name_unterminated", "the name of device 0 is not terminated"},
    {"offset_alignment_3", "offset_alignment 3, which is not a power of two"},
    {"null_kernels", "bp_plugin.kernels is NULL"},
    {"null_operators", "bp_plugin.operators is NULL"},
    {"null_kernel", "kernel 0: the pointer is NULL"},
    {"null_operator", "operator 0: the pointer is NULL"},
    {"kernel_too_small", "bp_kernel.h.size is 24"},
    {"kernel_wrong_type", "bp_kernel.h.type is 4 instead of 6"},
    {"kernel_null_name", "bp_kernel.op is NULL"},
    {"kernel_null_run", "bp_kernel.run of add is NULL"},
    {"kernel_null_args", "bp_kernel.args of add is NULL"},
    {"kernel_too_many_args", "declares 4294967295 arguments"},
    {"operator_bad_schema", "evil::twice(Tensor input, -> "},
    {"operator_null_schema", "bp_custom_operator.schema is missing"},
    {"operator_without_prefix", "a plugin's operator needs its prefix: evil::twice"},
    {"operator_of_the_core", "the operator 'add' exists already"},
    {"operator_unknown_backward", "evil::nowhere"},
    {"operator_saves_too_much", "saves an argument that it does not have"},
};
INSTANTIATE_TEST_SUITE_P(Kind, Refused, testing::ValuesIn(refused), name_of);

// ---- Loaded, and wrong when used ----

using Used = Evil;
TEST_P(Used, ends_a_call_with_a_sentence_and_can_be_unloaded) {
  const Chosen chosen(GetParam());
  bp::Backend& evil = bp::load_plugin(test_plugin("evil"));
  const std::string error = error_of([&] { use(evil.devices.front()->device); });
  expect_says(error);
  expect_cpu_works();
  bp::unload_plugin(evil);
}

const Kind used[] = {
    {"plugin_from_the_future", "no error"},
    {"duplicate_operator", "no error"},
    {"open_fails", "open: the device does not open (plugin evil, device evil:0)"},
    {"open_gives_null", "open: it succeeded without a device"},
    {"allocate_always_fails", "no memory at all"},
    {"allocate_fails_on_n", "no error"},
    {"allocate_fails_from_n", "no memory any more"},
    {"allocate_strange_code", "it returned 4711, which is not a bp_code"},
    {"allocate_negative_code", "it returned -3, which is not a bp_code"},
    {"allocate_gives_zero", "allocate: it succeeded without a handle"},
    {"copy_fails_on_n", "copy: this copy broke (plugin evil, device evil:0)", "2"},
    {"copy_fails_silently", "copy: the plugin gave no message"},
    {"copy_strange_code", "it returned 4711, which is not a bp_code"},
    {"copy_retries_for_ever", "still busy"},
    {"copy_fails_late", "an earlier copy broke"},
    {"synchronize_fails", "synchronize: the stream broke"},
    {"device_lost_on_n", "the device fell off the bus", "2"},
    {"kernel_unknown_operator", "no error"},
    {"kernel_wrong_hash", "no error"},
    {"kernel_fails_on_n", "add: the kernel broke (plugin evil, device evil:0)"},
    {"kernel_fails_silently", "add: the plugin gave no message"},
    {"kernel_strange_code", "it returned 4711, which is not a bp_code"},
    {"kernel_unsupported", "no error"},
    {"kernel_out_of_memory", "add: no scratch memory"},
    {"kernel_fails_late", "an earlier copy broke"},
    {"kernel_wants_too_much", "out of memory"},
    {"kernel_allocates_wrong_output",
     "add: allocate_output is for operators whose shape depends on data"},
    {"supports_fails", "no error"},
    {"supports_strange_code", "no error"},
    {"infer_fails", "evil::twice: `a` is not to its taste"},
    {"infer_rank_17", "rank 17"},
    {"infer_bad_dtype", "dtype 99"},
    {"infer_negative_size", "-1"},
    {"infer_huge_size", "more than 2^63 - 1 bytes"},
};
INSTANTIATE_TEST_SUITE_P(Kind, Used, testing::ValuesIn(used), name_of);

TEST(EvilOnce, an_error_that_comes_once_is_followed_by_good_calls) {
  for (const Kind& kind : {Kind{"copy_fails_on_n", "this copy broke", "3"},
                           Kind{"kernel_fails_on_n", "the kernel broke"},
                           Kind{"copy_fails_late", "an earlier copy broke", "2"}}) {
    SCOPED_TRACE(kind.name);
    const Chosen chosen(kind);
    bp::Backend& evil = bp::load_plugin(test_plugin("evil"));
    const bp::Device device = evil.devices.front()->device;
    EXPECT_NE(error_of([&] { use(device); }).find(kind.says), std::string::npos);
    EXPECT_EQ(error_of([&] { use(device); }), "no error");
    EXPECT_EQ(bp::num_live_storages(device), 0);
    bp::unload_plugin(evil);
  }
}

TEST(EvilOnce, a_lost_device_stays_lost_and_says_why) {
  const Kind kind{"device_lost_on_n", "", "2"};
  const Chosen chosen(kind);
  bp::Backend& evil = bp::load_plugin(test_plugin("evil"));
  const bp::Device device = evil.devices.front()->device;
  EXPECT_EQ(class_of_error([&] { use(device); }), bp::ErrorClass::device_lost);
  const std::string again = error_of([&] { use(device); });
  EXPECT_NE(again.find("evil:0: is lost since an earlier error"), std::string::npos) << again;
  EXPECT_NE(again.find("the device fell off the bus"), std::string::npos) << again;
  bp::unload_plugin(evil);
  expect_cpu_works();
}

// ---- What ends or blocks a process ----

TEST(EvilChild, DISABLED_uses_it) {
  expect_cpu_works();
  bp::Backend& evil = bp::load_plugin(test_plugin("evil"));
  use(evil.devices.front()->device);
}

TEST(EvilChild, a_crash_or_hang_in_use_stays_in_its_process) {
  const std::pair<Kind, int> deadly[] = {{{"init_crashes", ""}, 128 + SIGSEGV},
                                         {{"init_hangs", ""}, 124},
                                         {{"kernel_crashes", ""}, 128 + SIGSEGV},
                                         {{"kernel_hangs", ""}, 124},
                                         {{"synchronize_hangs", ""}, 124}};
  for (const auto& [kind, exit_code] : deadly) {
    SCOPED_TRACE(kind.name);
    const Chosen chosen(kind);
    const Child child = run_child("EvilChild.DISABLED_uses_it", chosen.words(kind), 3);
    EXPECT_EQ(child.exit_code, exit_code) << child.output;
  }
  expect_cpu_works();
}

// ---- All of them ----

TEST(EvilChild, no_kind_is_left_out) {
  std::set<std::string> met = {"init_crashes", "init_hangs", "kernel_crashes", "kernel_hangs",
                               "synchronize_hangs"};
  for (const Kind& kind : refused) met.insert(kind.name);
  for (const Kind& kind : used) met.insert(kind.name);
  std::ifstream file(BP_SOURCE_DIR "/tests/plugins/evil/evil.c");
  const std::string source{std::istreambuf_iterator<char>(file), {}};
  const std::regex pattern(R"re(is\("(\w+)"\))re");
  std::set<std::string> kinds;
  for (std::sregex_iterator match(source.begin(), source.end(), pattern), end; match != end;
       ++match)
    kinds.insert((*match)[1]);
  EXPECT_EQ(met, kinds);
}

}  // namespace
