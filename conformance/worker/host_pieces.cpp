#include "worker/host_pieces.hpp"

namespace bp::conform {

// The lowest that is free, so that the same calls get the same ones.
HostPieces::Piece::Piece(HostPieces& owner, std::uint64_t bytes) : owner_(owner) {
  if (bytes <= piece_bytes) {
    const std::lock_guard lock(owner.mutex_);
    for (std::size_t i = 0; i < owner.pieces_.size() && place_ < 0; ++i)
      if (!owner.lent_[i]) place_ = static_cast<int>(i);
    if (place_ >= 0) {
      const auto place = static_cast<std::size_t>(place_);
      std::unique_ptr<std::uint8_t[]>& piece = owner.pieces_[place];
      if (!piece) piece = std::make_unique<std::uint8_t[]>(piece_bytes);
      owner.lent_[place] = true;
      data_ = piece.get();
      return;
    }
  }
  apart_.reset(new std::uint8_t[bytes]);
  data_ = apart_.get();
}

HostPieces::Piece::~Piece() {
  if (place_ < 0) return;
  const std::lock_guard lock(owner_.mutex_);
  owner_.lent_[static_cast<std::size_t>(place_)] = false;
}

}  // namespace bp::conform
