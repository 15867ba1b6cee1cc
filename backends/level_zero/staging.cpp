#include "staging.hpp"

#include <cstdlib>

#include "device.hpp"

namespace level_zero {

bool Staging::is_wanted(const FoundDevice& found) {
  if (const char* asked = std::getenv("BACKPLANE_LEVEL_ZERO_STAGING")) return std::atoi(asked) != 0;
  return found.properties.type != ZE_DEVICE_TYPE_CPU &&
         (found.properties.flags & ZE_DEVICE_PROPERTY_FLAG_INTEGRATED) == 0;
}

Staging::Staging(Device& device) : device_(device) {
  const auto wanted = describe<ze_host_mem_alloc_desc_t>(ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC);
  constexpr uint64_t bytes = bp::StagedCopies<Piece>::piece_bytes;
  for (Piece& piece : copies_.pieces) {
    void* memory = nullptr;
    bp::Status status =
        device.check("memory for copies", "zeMemAllocHost",
                     loader.zeMemAllocHost(device.context(), &wanted, bytes, 64, &memory));
    piece.address = static_cast<char*>(memory);
    if (status.is_ok()) continue;
    drop();
    throw bp::Failure{status};
  }
}

Staging::~Staging() {
  if (device_.is_of_this_process()) drop();
}

void Staging::drop() {
  for (Piece& piece : copies_.pieces)
    if (piece.address != nullptr) loader.zeMemFree(device_.context(), piece.address);
}

bp::Status Staging::wait(Piece& piece) {
  const Mark busy = std::move(piece.busy);
  if (!busy) return bp::ok;
  return device_.check("copy", "zeEventHostSynchronize",
                       loader.zeEventHostSynchronize(busy.get(), UINT64_MAX));
}

bp::Status Staging::copy(Queue& queue, void* to, const void* from, uint64_t bytes, Piece& piece) {
  bp::Status status = copy_bytes(queue, to, from, bytes);
  if (!status.is_ok()) return status;
  bp::Result<Mark> given = queue.mark();
  piece.busy = std::move(given.value());
  return given.status();
}

bp::Status Staging::write(Queue& queue, void* to, uint64_t bytes, const void* from) {
  return copies_.write(
      from, bytes, [this](Piece& piece) { return wait(piece); },
      [&](Piece& piece, uint64_t done, uint64_t size) {
        return copy(queue, static_cast<char*>(to) + done, piece.address, size, piece);
      });
}

bp::Status Staging::read(Queue& queue, const void* from, uint64_t bytes, void* to) {
  return copies_.read(
      to, bytes, [this](Piece& piece) { return wait(piece); },
      [&](Piece& piece, uint64_t done, uint64_t size) {
        return copy(queue, piece.address, static_cast<const char*>(from) + done, size, piece);
      });
}

}  // namespace level_zero
