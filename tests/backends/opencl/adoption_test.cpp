// needs: cpu opencl
// An application with OpenCL of its own shares the device with Backplane, through the public API.
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <thread>

#include "backends/adopting.hpp"
#include "backends/opencl/driver_faults.hpp"

namespace {

using bp::NativeHandle;

struct OpenClMaker {
  static constexpr const char* device_name = "opencl:0";
  static constexpr const char* context_kind = "opencl.context";
  static constexpr const char* queue_kind = "opencl.command_queue";
  static constexpr const char* buffer_kind = "opencl.mem";
  static constexpr const char* says_of_foreign_buffer = "belongs to another context";

  explicit OpenClMaker(bp::Device device)
      : context(reinterpret_cast<cl_context>(bp::native_handle(device).value)),
        id(reinterpret_cast<cl_device_id>(bp::native_handle(device, "opencl.device").value)) {
    cl_int error = CL_SUCCESS;
    foreign = clCreateContext(nullptr, 1, &id, nullptr, nullptr, &error);
    must(error);
    own = make_queue_in(context, 0);
  }
  ~OpenClMaker() {
    destroy_queue(own);
    must(clReleaseContext(foreign));
  }
  OpenClMaker(const OpenClMaker&) = delete;

  static void must(cl_int error) { ASSERT_EQ(error, CL_SUCCESS); }
  static cl_mem mem(const NativeHandle& buffer) { return reinterpret_cast<cl_mem>(buffer.value); }
  static cl_command_queue queue_of(const NativeHandle& queue) {
    return reinterpret_cast<cl_command_queue>(queue.value);
  }

  static NativeHandle make_buffer_in(cl_context in, cl_mem_flags flags, std::size_t bytes) {
    cl_int error = CL_SUCCESS;
    const cl_mem made = clCreateBuffer(in, flags, bytes, nullptr, &error);
    must(error);
    return {buffer_kind, reinterpret_cast<std::uint64_t>(made)};
  }
  NativeHandle make_buffer(const std::vector<float>& values) const {
    const NativeHandle made =
        make_buffer_in(context, CL_MEM_READ_WRITE, values.size() * sizeof(float));
    write(made, values);
    return made;
  }
  NativeHandle make_foreign_buffer() const {
    return make_buffer_in(foreign, CL_MEM_READ_WRITE, 64);
  }
  // Backplane has given back what it took. The driver holds on to what commands used until it has tidied up.
  static void destroy_buffer(const NativeHandle& buffer) {
    cl_uint references = 0;
    for (int i = 0; i < 2000 && references != 1; ++i) {
      if (i != 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      must(clGetMemObjectInfo(mem(buffer), CL_MEM_REFERENCE_COUNT, sizeof references, &references,
                              nullptr));
    }
    EXPECT_EQ(references, 1u);
    must(clReleaseMemObject(mem(buffer)));
  }
  static void destroy_foreign_buffer(const NativeHandle& buffer) { destroy_buffer(buffer); }
  void write(const NativeHandle& buffer, const std::vector<float>& values) const {
    must(clEnqueueWriteBuffer(queue_of(own), mem(buffer), CL_TRUE, 0, values.size() * sizeof(float),
                              values.data(), 0, nullptr, nullptr));
  }
  std::vector<float> read(const NativeHandle& buffer) const {
    std::size_t bytes = 0;
    must(clGetMemObjectInfo(mem(buffer), CL_MEM_SIZE, sizeof bytes, &bytes, nullptr));
    std::vector<float> values(std::min<std::size_t>(bytes, 1024) / sizeof(float));
    must(clEnqueueReadBuffer(queue_of(own), mem(buffer), CL_TRUE, 0, values.size() * sizeof(float),
                             values.data(), 0, nullptr, nullptr));
    return values;
  }

  NativeHandle make_queue_in(cl_context in, cl_command_queue_properties flags) const {
    const cl_queue_properties properties[] = {CL_QUEUE_PROPERTIES, flags, 0};
    cl_int error = CL_SUCCESS;
    const cl_command_queue made = clCreateCommandQueueWithProperties(in, id, properties, &error);
    must(error);
    return {queue_kind, reinterpret_cast<std::uint64_t>(made)};
  }
  NativeHandle make_queue() const { return make_queue_in(context, 0); }
  NativeHandle make_foreign_queue() const { return make_queue_in(foreign, 0); }
  static void destroy_queue(const NativeHandle& queue) {
    must(clReleaseCommandQueue(queue_of(queue)));
  }
  static void destroy_foreign_queue(const NativeHandle& queue) { destroy_queue(queue); }
  static void finish(const NativeHandle& queue) { must(clFinish(queue_of(queue))); }

  // Functions of the host among a queue's commands, which is how events note its time.
  bool runs_functions() const {
    cl_device_type type = 0;
    cl_device_exec_capabilities can = 0;
    must(clGetDeviceInfo(id, CL_DEVICE_TYPE, sizeof type, &type, nullptr));
    must(clGetDeviceInfo(id, CL_DEVICE_EXECUTION_CAPABILITIES, sizeof can, &can, nullptr));
    return (type & CL_DEVICE_TYPE_CPU) != 0 && (can & CL_EXEC_NATIVE_KERNEL) != 0;
  }
  // When the driver says that an event of a queue that measures was reached.
  static double end_ms(const bp::Event& event) {
    cl_ulong ns = 0;
    must(clGetEventProfilingInfo(reinterpret_cast<cl_event>(bp::native_handle(event).value),
                                 CL_PROFILING_COMMAND_END, sizeof ns, &ns, nullptr));
    return static_cast<double>(ns) / 1e6;
  }

  void hold(const NativeHandle& queue) {
    cl_int error = CL_SUCCESS;
    gate = clCreateUserEvent(context, &error);
    must(error);
    must(clEnqueueBarrierWithWaitList(queue_of(queue), 1, &gate, nullptr));
  }
  void let_go() {
    must(clSetUserEventStatus(gate, CL_COMPLETE));
    must(clReleaseEvent(gate));
  }

  cl_context context, foreign = nullptr;
  cl_device_id id;
  NativeHandle own;
  cl_event gate = nullptr;
};

using OpenClAdoption = adopting::Adopting<OpenClMaker>;

ADOPTING_TEST(OpenClAdoption, handles_come_out_by_kind)
ADOPTING_TEST(OpenClAdoption, memory_is_one_and_the_same_on_both_sides)
ADOPTING_TEST(OpenClAdoption, an_offset_is_where_the_tensor_begins)
ADOPTING_TEST(OpenClAdoption, the_deleter_waits_for_work_views_and_copies)
ADOPTING_TEST(OpenClAdoption, the_deleter_waits_for_other_streams_too)
ADOPTING_TEST(OpenClAdoption, what_does_not_fit_is_refused_with_a_sentence)
ADOPTING_TEST(OpenClAdoption, a_queue_of_the_applications_is_a_stream)
ADOPTING_TEST(OpenClAdoption, one_side_waits_for_the_other)
ADOPTING_TEST(OpenClAdoption, a_queue_that_does_not_fit_is_refused_with_a_sentence)

TEST_F(OpenClAdoption, buffers_that_kernels_cannot_both_read_and_write_are_refused) {
  for (const auto& [flag, what] :
       {std::pair(CL_MEM_READ_ONLY, "read-only"), std::pair(CL_MEM_WRITE_ONLY, "write-only")}) {
    const NativeHandle buffer = OpenClMaker::make_buffer_in(maker.context, flag, 64);
    EXPECT_THAT(refused(buffer), testing::HasSubstr(what));
    OpenClMaker::destroy_buffer(buffer);
  }
  EXPECT_EQ(num_deleted, 0);
}

TEST_F(OpenClAdoption, a_queue_without_an_order_is_refused) {
  const NativeHandle queue =
      maker.make_queue_in(maker.context, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
  EXPECT_THAT(refused_queue(queue), testing::HasSubstr("in any order"));
  OpenClMaker::destroy_queue(queue);
}

TEST_F(OpenClAdoption, times_need_a_queue_that_measures_unless_events_note_the_hosts) {
  const NativeHandle silent = maker.make_queue();
  const NativeHandle timed = maker.make_queue_in(maker.context, CL_QUEUE_PROFILING_ENABLE);
  for (const NativeHandle& queue : {silent, timed}) {
    const bp::Stream stream = bp::adopt_stream(device, queue);
    bp::Event start(device), end(device);
    start.record(stream);
    end.record(stream);
    stream.synchronize();
    if (queue.value == timed.value || maker.runs_functions())
      EXPECT_GE(start.elapsed_ms(end), 0);
    else
      EXPECT_THAT(bp::test::error_of([&] { start.elapsed_ms(end); }),
                  testing::HasSubstr("CL_QUEUE_PROFILING_ENABLE"));
  }
  OpenClMaker::destroy_queue(silent);
  OpenClMaker::destroy_queue(timed);
}

// Whichever of them measures: an own stream's, and those of two queues of the application's.
TEST_F(OpenClAdoption, times_of_two_queues_are_of_one_clock) {
  if (!maker.runs_functions()) GTEST_SKIP() << "queues that measure nothing have no times there";
  const NativeHandle silent = maker.make_queue();
  const NativeHandle timed = maker.make_queue_in(maker.context, CL_QUEUE_PROFILING_ENABLE);
  {
    const bp::Stream streams[] = {bp::Stream::current(device), bp::adopt_stream(device, silent),
                                  bp::adopt_stream(device, timed)};
    for (const bp::Stream& first : streams) {
      for (const bp::Stream& second : streams) {
        bp::Event start(device), end(device);
        start.record(first);
        start.synchronize();
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
        end.record(second);
        end.synchronize();
        EXPECT_GE(start.elapsed_ms(end), 2);
        EXPECT_LT(start.elapsed_ms(end), 10'000);
        EXPECT_LE(end.elapsed_ms(start), -2);
      }
    }
  }
  OpenClMaker::destroy_queue(silent);
  OpenClMaker::destroy_queue(timed);
}

TEST_F(OpenClAdoption, times_are_those_that_the_driver_measures) {
  const NativeHandle timed = maker.make_queue_in(maker.context, CL_QUEUE_PROFILING_ENABLE);
  double least_difference_ms = 1e9;  // of many, since other programs run as well
  for (int i = 0; i < 20; ++i) {
    const bp::Stream stream = bp::adopt_stream(device, timed);
    bp::Event start(device), end(device);
    start.record(stream);
    stream.synchronize();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    end.record(stream);
    stream.synchronize();
    const double measured = OpenClMaker::end_ms(end) - OpenClMaker::end_ms(start);
    least_difference_ms = std::min(least_difference_ms, std::abs(start.elapsed_ms(end) - measured));
  }
  EXPECT_LT(least_difference_ms, 0.05);
  OpenClMaker::destroy_queue(timed);
}

TEST_F(OpenClAdoption, an_event_is_the_marker_that_was_recorded) {
  bp::Event event(device);
  EXPECT_THAT(bp::test::error_of([&] { bp::native_handle(event); }),
              testing::HasSubstr("never recorded"));
  event.record(bp::Stream::current(device));
  const NativeHandle handle = bp::native_handle(event);
  EXPECT_EQ(handle.kind, "opencl.event");
  const auto marker = reinterpret_cast<cl_event>(handle.value);
  EXPECT_EQ(clWaitForEvents(1, &marker), CL_SUCCESS);
}

// Kernels of few elements take an allocation once where all their tensors lie in it.
TEST_F(OpenClAdoption, tensors_of_one_allocation_and_of_several_are_computed_with) {
  const NativeHandle buffer = maker.make_buffer({1, 2, 3, 4, 5, 6});
  {
    const bp::Tensor theirs = over(buffer);
    const bp::Tensor ours = bp::mul(bp::ones(theirs.shape(), bp::f32, device), 10);
    const bp::Tensor both = bp::add(ours, theirs);
    EXPECT_EQ(bp::test::values(bp::add(ours, both)), (adopting::Floats{21, 22, 23, 24, 25, 26}));
    EXPECT_EQ(bp::test::values(bp::add(both, theirs)), (adopting::Floats{12, 14, 16, 18, 20, 22}));
    EXPECT_EQ(bp::test::values(bp::add(theirs, theirs)), (adopting::Floats{2, 4, 6, 8, 10, 12}));
  }
  bp::synchronize(device);
  OpenClMaker::destroy_buffer(buffer);
}

TEST_F(OpenClAdoption, nothing_is_copied_between_the_two) {
  const NativeHandle buffer = maker.make_buffer({1, 2, 3, 4, 5, 6});
  {
    const bp::Tensor tensor = over(buffer);
    bp::mul_(tensor, 2);  // compiled now, which may well read and write
    bp::synchronize(device);
    const int before = driver::num_copies;
    bp::mul_(tensor, 2);
    bp::synchronize(device);
    EXPECT_EQ(driver::num_copies, before);
    maker.read(buffer);
    EXPECT_EQ(driver::num_copies, before + 1) << "copies are not counted";
  }
  bp::synchronize(device);
  EXPECT_EQ(maker.read(buffer), (adopting::Floats{4, 8, 12, 16, 20, 24}));
  OpenClMaker::destroy_buffer(buffer);
}

}  // namespace
