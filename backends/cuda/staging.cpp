#include "staging.hpp"

#include "queue.hpp"

namespace cuda_backend {

bool Staging::is_wanted(const void* host_memory, uint64_t bytes) {
  if (bytes < bp::StagedCopies<Piece>::least_bytes) return false;
  unsigned int type = 0;
  // The driver knows pinned memory by its address; what it does not know is pageable.
  const CUresult error = driver.cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                                      reinterpret_cast<CUdeviceptr>(host_memory));
  return error != CUDA_SUCCESS || type != CU_MEMORYTYPE_HOST;
}

Staging::Staging(Queue& queue) : queue_(queue) {
  const OutsideCapture outside;
  constexpr uint64_t bytes = bp::StagedCopies<Piece>::piece_bytes;
  for (Piece& piece : copies_.pieces) {
    void* pinned = nullptr;
    CUresult error = driver.cuMemHostAlloc(&pinned, bytes, CU_MEMHOSTALLOC_PORTABLE);
    piece.address = static_cast<char*>(pinned);
    if (error == CUDA_SUCCESS) error = driver.cuEventCreate(&piece.busy, CU_EVENT_DISABLE_TIMING);
    if (error == CUDA_SUCCESS) continue;
    drop();
    require("pinning host memory", error);
  }
}

Staging::~Staging() {
  for (Piece& piece : copies_.pieces) driver.cuEventSynchronize(piece.busy);
  drop();
}

void Staging::drop() {
  for (Piece& piece : copies_.pieces) {
    if (piece.busy != nullptr) driver.cuEventDestroy(piece.busy);
    if (piece.address != nullptr) driver.cuMemFreeHost(piece.address);
    piece = {};
  }
}

bp::Status Staging::wait(Piece& piece) {
  return queue_.check("a copy through pinned memory", driver.cuEventSynchronize(piece.busy));
}

// The copy that was given last is the piece's.
bp::Status Staging::leave(Piece& piece, CUresult error_of_copy) {
  if (error_of_copy != CUDA_SUCCESS) return queue_.explain("copy", error_of_copy);
  return queue_.check("copy", driver.cuEventRecord(piece.busy, queue_.get()));
}

bp::Status Staging::write(CUdeviceptr to, uint64_t bytes, const void* from) {
  return copies_.write(
      from, bytes, [this](Piece& piece) { return wait(piece); },
      [&](Piece& piece, uint64_t done, uint64_t size) {
        return leave(piece, driver.cuMemcpyHtoDAsync(to + done, piece.address, size, queue_.get()));
      });
}

bp::Status Staging::read(CUdeviceptr from, uint64_t bytes, void* to) {
  return copies_.read(
      to, bytes, [this](Piece& piece) { return wait(piece); },
      [&](Piece& piece, uint64_t done, uint64_t size) {
        return leave(piece,
                     driver.cuMemcpyDtoHAsync(piece.address, from + done, size, queue_.get()));
      });
}

}  // namespace cuda_backend
