// Host memory for the instruments' own copies: the same few addresses, however many threads copy and however often.
// Intel's OpenCL runtime keeps about 100 bytes for each address that it has not seen, which would look like a leak of the
// call that is watched.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>

namespace bp::conform {

class HostPieces {
 public:
  // A piece of host memory that nobody else has while this lives.
  class Piece {
   public:
    Piece(HostPieces& owner, std::uint64_t bytes);
    ~Piece();
    Piece(const Piece&) = delete;
    Piece& operator=(const Piece&) = delete;
    std::uint8_t* data() const { return data_; }

   private:
    HostPieces& owner_;
    int place_ = -1;                         // among the owner's; -1: memory of its own
    std::unique_ptr<std::uint8_t[]> apart_;  // of a large piece, or where too many are lent
    std::uint8_t* data_ = nullptr;
  };

 private:
  static constexpr std::uint64_t piece_bytes = 1u << 16;

  std::mutex mutex_;
  std::array<std::unique_ptr<std::uint8_t[]>, 16> pieces_;  // made when first lent
  std::array<bool, 16> lent_{};
};

}  // namespace bp::conform
