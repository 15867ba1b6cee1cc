// For devices with memory of their own: copies between pageable host memory and the device through two pieces of
// pinned host memory. Drivers copy from and to such pieces at the full speed of the bus, while the processor fills or
// empties the other one. Not part of plugin.hpp: include it where it is needed.
#ifndef BACKPLANE_PLUGIN_STAGING_HPP
#define BACKPLANE_PLUGIN_STAGING_HPP

#include <algorithm>
#include <array>
#include <cstring>
#include <mutex>

#include <backplane/plugin/status.hpp>

namespace BP_SDK BP_HIDDEN {

// Of one queue. `Piece` is the backend's: `char* address`, of at least piece_bytes that the driver has pinned, and
// what says when the device is done with it. Threads: any; the functions wait for each other.
template <class Piece> class StagedCopies {
 public:
  // Smaller copies go directly: drivers stage small pieces themselves.
  static constexpr uint64_t least_bytes = uint64_t{64} << 10;
  static constexpr uint64_t piece_bytes = uint64_t{4} << 20;

  // Made and ended by their owner.
  std::array<Piece, 2> pieces{};

  // Both take two functions of the backend's, which return a Status:
  //   wait(Piece&): returns when the device is done with the piece, at once if it never had it
  //   give(Piece&, uint64_t offset, uint64_t bytes): queues a copy of so many bytes between the piece's begin
  //     and `offset` of the device's memory; the piece is busy until it ends
  //
  // To the device. `from` has been read when it returns; the last pieces may be on their way.
  template <class Wait, class Give>
  Status write(const void* from, uint64_t bytes, Wait wait, Give give) {
    std::lock_guard<std::mutex> lock(mutex_);
    size_t turn = 0;
    for (uint64_t done = 0; done < bytes; done += piece_bytes, turn ^= 1) {
      Piece& piece = pieces[turn];
      if (Status status = wait(piece); !status.is_ok()) return status;
      const uint64_t size = std::min(piece_bytes, bytes - done);
      std::memcpy(piece.address, static_cast<const char*>(from) + done, size);
      if (Status status = give(piece, done, size); !status.is_ok()) return status;
    }
    return ok;
  }

  // From the device. Returns when `to` is whole.
  template <class Wait, class Give> Status read(void* to, uint64_t bytes, Wait wait, Give give) {
    std::lock_guard<std::mutex> lock(mutex_);
    for (Piece& piece : pieces)
      if (Status status = wait(piece); !status.is_ok()) return status;
    // The device is one piece ahead of the processor.
    uint64_t asked = 0;
    for (uint64_t done = 0; done < bytes;) {
      for (; asked < bytes && asked < done + 2 * piece_bytes; asked += piece_bytes) {
        const uint64_t size = std::min(piece_bytes, bytes - asked);
        Status status = give(pieces[asked / piece_bytes % 2], asked, size);
        if (!status.is_ok()) return status;
      }
      Piece& piece = pieces[done / piece_bytes % 2];
      if (Status status = wait(piece); !status.is_ok()) return status;
      const uint64_t size = std::min(piece_bytes, bytes - done);
      std::memcpy(static_cast<char*>(to) + done, piece.address, size);
      done += size;
    }
    return ok;
  }

 private:
  std::mutex mutex_;
};

}  // namespace BP_HIDDEN

#endif  // BACKPLANE_PLUGIN_STAGING_HPP
