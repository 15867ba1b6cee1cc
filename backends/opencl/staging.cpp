#include "staging.hpp"

#include <cstdlib>

#include "discovery.hpp"
#include "queue.hpp"

namespace opencl {

bool Staging::is_wanted(cl_device_id device) {
  if (const char* asked = std::getenv("BACKPLANE_OPENCL_STAGING")) return std::atoi(asked) != 0;
  return (device_value<cl_device_type>(device, CL_DEVICE_TYPE) & CL_DEVICE_TYPE_CPU) == 0 &&
         device_value<cl_bool>(device, CL_DEVICE_HOST_UNIFIED_MEMORY) == CL_FALSE;
}

Staging::Staging(cl_context context, cl_command_queue commands) : commands_(commands) {
  for (Piece& piece : copies_.pieces) pin(context, piece);
}

Staging::~Staging() {
  for (Piece& piece : copies_.pieces) {
    if (piece.address != nullptr) {
      clEnqueueUnmapMemObject(commands_, piece.memory.get(), piece.address, 0, nullptr, nullptr);
    }
  }
  clFinish(commands_);
}

void Staging::pin(cl_context context, Piece& piece) {
  constexpr uint64_t bytes = bp::StagedCopies<Piece>::piece_bytes;
  cl_int error = CL_SUCCESS;
  piece.memory.reset(
      clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR, bytes, nullptr, &error));
  require("pinning host memory", error);
  piece.address = static_cast<char*>(clEnqueueMapBuffer(commands_, piece.memory.get(), CL_TRUE,
                                                        CL_MAP_READ | CL_MAP_WRITE, 0, bytes, 0,
                                                        nullptr, nullptr, &error));
  require("mapping pinned host memory", error);
}

bp::Status Staging::wait(Piece& piece) {
  const OwnedEvent busy = std::move(piece.busy);
  if (!busy) return bp::ok;
  const cl_event event = busy.get();
  return check("a copy through pinned memory", clWaitForEvents(1, &event));
}

template <class Enqueue> bp::Status Staging::give(Queue& queue, Piece& piece, Enqueue enqueue) {
  cl_event event = nullptr;
  bp::Status status = queue.submit("copy", [&](cl_command_queue commands) {
    const cl_int error = enqueue(commands, &event);
    return error == CL_SUCCESS ? clFlush(commands) : error;
  });
  piece.busy.reset(event);
  return status;
}

bp::Status Staging::write(Queue& queue, cl_mem to, uint64_t offset, uint64_t bytes,
                          const void* from) {
  return copies_.write(from, bytes, wait, [&](Piece& piece, uint64_t done, uint64_t size) {
    return give(queue, piece, [&](cl_command_queue commands, cl_event* event) {
      return clEnqueueWriteBuffer(commands, to, CL_FALSE, offset + done, size, piece.address, 0,
                                  nullptr, event);
    });
  });
}

bp::Status Staging::read(Queue& queue, cl_mem from, uint64_t offset, uint64_t bytes, void* to) {
  return copies_.read(to, bytes, wait, [&](Piece& piece, uint64_t done, uint64_t size) {
    return give(queue, piece, [&](cl_command_queue commands, cl_event* event) {
      return clEnqueueReadBuffer(commands, from, CL_FALSE, offset + done, size, piece.address, 0,
                                 nullptr, event);
    });
  });
}

}  // namespace opencl
