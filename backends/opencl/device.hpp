// One device of one platform, with a context of its own.
#pragma once

#include <memory>

#include <backplane/plugin/streams.hpp>

#include "capture.hpp"
#include "compiler.hpp"
#include "discovery.hpp"
#include "memory.hpp"
#include "opencl.hpp"
#include "queue.hpp"

namespace opencl {

class Device : public bp::StreamBackend<Device, Queue, Event> {
 public:
  static constexpr bp::Identity identity{"opencl", "Backplane", "0.1"};

  static bp::Status probe();
  static bp::Result<uint32_t> num_devices();
  static bp::Status describe(uint32_t index, bp::DeviceInfo& info);
  static const bp_header* extension(const char* name, uint32_t min_version);

  // In a context of the application's, if there is one, which then is of this device.
  explicit Device(uint32_t index, cl_context adopted = nullptr);
  ~Device();

  bp::Result<bp::Handle> allocate(uint64_t bytes, uint64_t alignment);
  void release(bp::Handle handle);
  bp::Status copy(bp::Region to, bp::Region from, bp::Direction direction, Queue* queue);
  bp::Status fill(bp::Region to, const void* pattern, uint32_t pattern_bytes, Queue* queue);

  bp::Result<Queue*> create_stream(int32_t priority);
  void destroy_stream(Queue* queue);

  bp::Result<Event*> create_event() { return new Event; }
  void destroy_event(Event* event);
  bp::Status query_event(Event* event);
  bp::Status synchronize_event(Event* event);

  // For the extensions.
  Queue& default_queue() { return *default_queue_; }
  Memory& memory() { return *memory_; }
  const Compiler& compiler() const { return compiler_; }
  const Capture& capture() const { return capture_; }
  cl_context context() const { return context_.get(); }
  cl_device_id id() const { return found_.id; }
  uint32_t index() const { return index_; }
  bp::Status check_process() const { return opencl::check_process(born_); }

 private:
  const uint32_t born_ = process_generation();
  uint32_t index_;
  FoundDevice found_;
  OwnedContext context_;
  std::unique_ptr<Memory> memory_;
  std::unique_ptr<Queue> default_queue_;
  Compiler compiler_;
  Capture capture_;
};

}  // namespace opencl
