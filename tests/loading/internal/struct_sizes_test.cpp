// What a plugin gives to the host may have the size of any level there was, or of one to come: the host reads no byte
// behind its end, takes what is missing for 0, and ignores what it does not know.
#include <cstring>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <set>
#include <sys/mman.h>
#include <unistd.h>

#include <backplane/core_ops/generated/all.hpp>
#include <backplane/dispatcher/custom.hpp>
#include <backplane/dispatcher/operator_source.hpp>
#include <backplane/dispatcher/registry.hpp>
#include <backplane/dispatcher/transfer.hpp>
#include <backplane/loading/plugin_check.hpp>
#include <backplane/runtime/generated/abi_sizes.hpp>
#include <backplane/runtime/interop.hpp>

#include "runtime/fake_plugin.hpp"

namespace bp {
namespace {

// A copy that ends where a page begins that nobody may read.
template <class T> class Placed {
 public:
  Placed(const T& from, std::size_t bytes) {
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    pages_ = static_cast<char*>(
        mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    mprotect(pages_ + page, page, PROT_NONE);
    at_ = pages_ + page - bytes;
    std::memset(at_, 0xAA, bytes);
    std::memcpy(at_, &from, std::min(bytes, sizeof from));
    get()->h.size = static_cast<std::uint32_t>(bytes);
  }
  Placed(const Placed&) = delete;
  Placed& operator=(const Placed&) = delete;
  ~Placed() { munmap(pages_, 2 * static_cast<std::size_t>(sysconf(_SC_PAGESIZE))); }
  T* get() const { return reinterpret_cast<T*>(at_); }

 private:
  char *pages_ = nullptr, *at_ = nullptr;
};

// Bytes of a struct at a level; at 0, which is none, of a level to come.
std::size_t bytes_of(const char* name, std::size_t here, std::uint32_t level) {
  return level == 0 ? here + 40 : abi_size(name, level);
}

class StructSizes : public testing::TestWithParam<std::uint32_t> {
 protected:
  StructSizes() {
    ensure_operators();
    fake_.make_asynchronous();
    kernel_.h = {sizeof kernel_, BP_TYPE_KERNEL, nullptr};
    kernel_.op = "neg";
    kernel_.schema_hash = find_operator("neg")->schema->hash;
    kernel_.run = [](void*, const bp_call*) { return ++num_runs, BP_OK; };
    custom_.h = {sizeof custom_, BP_TYPE_CUSTOM_OPERATOR, nullptr};
    custom_.schema = "acme::twice(Tensor input) -> Tensor";
    interop_.h = {sizeof interop_, BP_TYPE_EXTENSION, nullptr};
    static const char* const kinds[] = {"acme.context", nullptr};
    interop_.device_kinds = kinds;
  }
  template <class T> std::unique_ptr<Placed<T>> place(const char* name, const T& from) const {
    return std::make_unique<Placed<T>>(from, bytes_of(name, sizeof from, GetParam()));
  }

  test::FakePlugin fake_;
  bp_kernel kernel_{};
  bp_custom_operator custom_{};
  bp_interop interop_{};
  inline static int num_runs = 0;
  inline static const bp_header* offered = nullptr;
};

TEST_P(StructSizes, of_any_level_are_read_to_their_end_and_no_further) {
  const auto memory = place("bp_memory", fake_.memory);
  const auto queue = place("bp_queue", fake_.queue);
  const auto kernel = place("bp_kernel", kernel_);
  const auto custom = place("bp_custom_operator", custom_);
  const auto interop = place("bp_interop", interop_);
  offered = &interop->get()->h;
  const bp_kernel* kernels[] = {kernel->get()};
  const bp_custom_operator* operators[] = {custom->get()};
  bp_plugin whole = fake_.plugin;
  whole.memory = memory->get();
  whole.queue = queue->get();
  whole.kernels = kernels;
  whole.num_kernels = 1;
  whole.operators = operators;
  whole.num_operators = 1;
  whole.extension = [](void*, const char* name, std::uint32_t) {
    return std::strcmp(name, BP_INTEROP) == 0 ? offered : nullptr;
  };
  const auto plugin = place("bp_plugin", whole);

  EXPECT_EQ(loading::find_fault(plugin->get(), BP_ABI_LEVEL, "acme"), "");
  EXPECT_EQ(loading::find_fault_in_tables(*plugin->get()), "");
  Backend& backend = register_backend(*plugin->get(), fake_.host, "");
  register_plugin_operators(*plugin->get());
  register_kernels(backend, kernels, 1);
  {
    const Device device = backend.devices.front()->device;
    EXPECT_THAT(native_kinds(device).device, testing::ElementsAre("acme.context"));
    const float sent[] = {1, 2, 3};
    float got[3] = {};
    const Tensor tensor = empty_tensor({3}, Dtype::f32, device);
    copy_from_host_memory(tensor, sent);
    copy_to_host_memory(tensor, got);
    EXPECT_THAT(got, testing::ElementsAre(1, 2, 3));
    num_runs = 0;
    neg(tensor);
    EXPECT_EQ(num_runs, 1);
    EXPECT_NE(find_operator("acme::twice"), nullptr);
  }
  forget_plugin_operators(*plugin->get());
  unregister_kernels(backend.number);
  unregister_backend(backend);
}

TEST_P(StructSizes, below_those_of_1_0_are_refused) {
  for (bp_header* header : {&fake_.plugin.h, &fake_.memory.h, &fake_.queue.h}) {
    const std::uint32_t kept = header->size;
    header->size -= 1;
    EXPECT_THAT(loading::find_fault(&fake_.plugin, BP_ABI_LEVEL, "acme"),
                testing::HasSubstr("has at least"));
    header->size = kept;
  }
  const bp_kernel* kernels[] = {&kernel_};
  const bp_custom_operator* operators[] = {&custom_};
  fake_.plugin.kernels = kernels;
  fake_.plugin.operators = operators;
  fake_.plugin.num_kernels = fake_.plugin.num_operators = 1;
  for (bp_header* header : {&kernel_.h, &custom_.h}) {
    header->size -= 1;
    EXPECT_THAT(loading::find_fault_in_tables(fake_.plugin), testing::HasSubstr("has at least"));
    header->size += 1;
  }
}

std::vector<std::uint32_t> levels() {
  std::set<std::uint32_t> all = {0};
  for (const AbiSize& each : abi_sizes) all.insert(each.level);
  return {all.begin(), all.end()};
}
INSTANTIATE_TEST_SUITE_P(OfLevel, StructSizes, testing::ValuesIn(levels()));

// A new struct is asked about here and in conformance/worker/skew.hpp.
TEST(StructSizesTable, says_of_every_struct_who_gives_it) {
  const std::set<std::string_view> host_gives = {
      "bp_call",   "bp_compiler_info", "bp_device_info", "bp_generator", "bp_host",
      "bp_launch", "bp_link",          "bp_operator",    "bp_plan",      "bp_settings",
      "bp_source", "bp_space_info",    "bp_tensor",      "bp_tuner"};
  const std::set<std::string_view> plugin_gives = {
      "bp_capture",       "bp_compiler",      "bp_custom_operator",
      "bp_host_calls",    "bp_host_memory",   "bp_inject",
      "bp_interop",       "bp_kernel",        "bp_memory",
      "bp_numerics",      "bp_peer",          "bp_plugin",
      "bp_program",       "bp_queue",         "bp_semaphores",
      "bp_stream_memory", "bp_tuner_question"};
  for (const AbiSize& each : abi_sizes)
    EXPECT_EQ(host_gives.count(each.name) + plugin_gives.count(each.name), 1u) << each.name;
  EXPECT_EQ(host_gives.size() + plugin_gives.size(),
            static_cast<std::size_t>(
                std::count_if(std::begin(abi_sizes), std::end(abi_sizes),
                              [](const AbiSize& each) { return each.level == BP_ABI_LEVEL; })));
}

}  // namespace
}  // namespace bp
