// needs: cpu reference
// An application shares the software device with Backplane, by bp.interop and reference.native.
#include <future>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <backplane/extensions/interop.h>
#include <backplane/extensions/reference.h>

#include "backends/adopting.hpp"

namespace {

using bp::NativeHandle;

template <class Extension>
const Extension& extension_of(const bp_plugin& plugin, const char* name) {
  const bp_header* found = plugin.extension(plugin.self, name, 1);
  if (found == nullptr) throw std::runtime_error(std::string("no extension ") + name);
  return *reinterpret_cast<const Extension*>(found);
}

struct SoftwareMaker {
  static constexpr const char* device_name = "reference:0";
  static constexpr const char* context_kind = BP_REFERENCE_CONTEXT;
  static constexpr const char* queue_kind = BP_REFERENCE_QUEUE;
  static constexpr const char* buffer_kind = BP_REFERENCE_BLOCK;
  static constexpr const char* says_of_foreign_buffer = "names no living allocation";

  explicit SoftwareMaker(bp::Device device)
      : native(extension_of<bp_reference_native>(*bp::find_backend("reference")->plugin,
                                                 BP_REFERENCE_NATIVE)),
        context(bp::native_handle(device).value) {
    must(native.create_context(1, &foreign));
  }
  ~SoftwareMaker() { must(native.destroy_context(foreign)); }
  SoftwareMaker(const SoftwareMaker&) = delete;

  static void must(bp_code code) { ASSERT_EQ(code, BP_OK); }

  NativeHandle make_buffer(const std::vector<float>& values) {
    NativeHandle made{buffer_kind, 0};
    must(native.create_block(context, values.size() * sizeof(float), &made.value));
    write(made, values);
    sizes[made.value] = values.size();
    return made;
  }
  void destroy_buffer(const NativeHandle& buffer) {
    must(native.destroy_block(context, buffer.value));
  }
  NativeHandle make_foreign_buffer() {
    NativeHandle made{buffer_kind, 0};
    must(native.create_block(foreign, 64, &made.value));
    return made;
  }
  void destroy_foreign_buffer(const NativeHandle& buffer) {
    must(native.destroy_block(foreign, buffer.value));
  }
  std::uint8_t* bytes_of(const NativeHandle& buffer) {
    std::uint8_t* at = nullptr;
    must(native.address_of_block(context, buffer.value, &at));
    return at;
  }
  void write(const NativeHandle& buffer, const std::vector<float>& values) {
    const auto* from = reinterpret_cast<const std::uint8_t*>(values.data());
    std::uint8_t* to = bytes_of(buffer);
    for (std::size_t i = 0; i < values.size() * sizeof(float); ++i) to[i] = from[i] ^ 0xA5;
  }
  // Of a block of Backplane's, the first kilobyte.
  std::vector<float> read(const NativeHandle& buffer) {
    std::vector<float> values(sizes.count(buffer.value) != 0 ? sizes[buffer.value] : 256);
    auto* to = reinterpret_cast<std::uint8_t*>(values.data());
    const std::uint8_t* from = bytes_of(buffer);
    for (std::size_t i = 0; i < values.size() * sizeof(float); ++i) to[i] = from[i] ^ 0xA5;
    return values;
  }

  NativeHandle make_queue_in(std::uint64_t in) {
    NativeHandle made{queue_kind, 0};
    must(native.create_queue(in, &made.value));
    return made;
  }
  NativeHandle make_queue() { return make_queue_in(context); }
  NativeHandle make_foreign_queue() { return make_queue_in(foreign); }
  void destroy_queue(const NativeHandle& queue) { must(native.destroy_queue(queue.value)); }
  void destroy_foreign_queue(const NativeHandle& queue) { destroy_queue(queue); }
  void finish(const NativeHandle& queue) { must(native.finish(queue.value)); }
  // Nothing later in the queue begins before let_go.
  void hold(const NativeHandle& queue) {
    gate.emplace();
    opened = gate->get_future();
    must(native.give(
        queue.value, [](void* self) { static_cast<SoftwareMaker*>(self)->opened.wait(); }, this));
  }
  void let_go() { gate->set_value(); }

  const bp_reference_native& native;
  std::uint64_t context, foreign = 0;
  std::map<std::uint64_t, std::size_t> sizes;
  std::optional<std::promise<void>> gate;
  std::future<void> opened;
};

using ReferenceInterop = adopting::Adopting<SoftwareMaker>;

ADOPTING_TEST(ReferenceInterop, handles_come_out_by_kind)
ADOPTING_TEST(ReferenceInterop, memory_is_one_and_the_same_on_both_sides)
ADOPTING_TEST(ReferenceInterop, an_offset_is_where_the_tensor_begins)
ADOPTING_TEST(ReferenceInterop, the_deleter_waits_for_work_views_and_copies)
ADOPTING_TEST(ReferenceInterop, the_deleter_waits_for_other_streams_too)
ADOPTING_TEST(ReferenceInterop, what_does_not_fit_is_refused_with_a_sentence)
ADOPTING_TEST(ReferenceInterop, a_queue_of_the_applications_is_a_stream)
ADOPTING_TEST(ReferenceInterop, one_side_waits_for_the_other)
ADOPTING_TEST(ReferenceInterop, a_queue_that_does_not_fit_is_refused_with_a_sentence)

TEST_F(ReferenceInterop, a_block_that_was_destroyed_is_refused) {
  const NativeHandle buffer = maker.make_buffer({1, 2, 3, 4, 5, 6});
  maker.destroy_buffer(buffer);
  EXPECT_THAT(refused(buffer), testing::HasSubstr("names no living allocation"));
  EXPECT_THAT(refused_queue({BP_REFERENCE_QUEUE, 4711}),
              testing::HasSubstr("names no living queue"));
}

}  // namespace
