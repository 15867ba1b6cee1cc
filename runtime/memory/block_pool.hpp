// Pools of one device's memory: segments taken from the backend, cut into blocks that are split and
// merged. Only bookkeeping: no lock, no plugin. CachingAllocator adds both.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include <backplane/tensor/storage.hpp>

#include "streams/stream_uses.hpp"

namespace bp {

class CachingAllocator;
struct PoolBlock;
struct StreamImpl;

// Who gave a segment and takes it back.
struct MemorySource {
  void* context = nullptr;
  void (*release)(void* context, bp_handle handle) = nullptr;
};

// Small requests share segments of their own, so that they don't chip pieces off large blocks; whole
// ones are never cut, for devices that cannot sub-allocate.
enum class PoolKind : std::uint8_t { small, large, whole };

struct Segment {
  CachingAllocator* allocator = nullptr;
  std::atomic<StreamImpl*> stream = nullptr;  // an adopted one hands over while blocks are released
  PoolKind kind = PoolKind::small;
  bp_handle handle = 0;
  std::uint64_t bytes = 0;
  MemorySource source;
  bool by_stream = false;      // of bp.stream_memory: it has one block, and goes with it
  bool is_of_graph = false;    // its free blocks belong to a graph: they are not given back
  PoolBlock* first = nullptr;  // by offset
  Segment* before = nullptr;
  Segment* after = nullptr;
};

// A piece of a segment, and the storage of a tensor while it is taken.
struct PoolBlock : Storage {
  Segment* segment = nullptr;
  PoolBlock* lower = nullptr;  // its neighbours in the segment
  PoolBlock* upper = nullptr;
  PoolBlock* previous = nullptr;  // in its list of free or waiting blocks
  PoolBlock* next = nullptr;
  StreamUses uses;
  bool taken = false;
  bool for_core = false;  // not a tensor's: left out of statistics and snapshots
};

// Free blocks of one stream and kind by size: four lists to each power of two.
class FreeBlocks {
 public:
  void insert(PoolBlock& block);
  void remove(PoolBlock& block);
  // The smallest block that `bytes` fit in, or nearly; at most `at_most` bytes. Not removed.
  PoolBlock* find(std::uint64_t bytes, std::uint64_t at_most) const;

 private:
  static constexpr unsigned num_bins = 256;
  static unsigned bin_of(std::uint64_t bytes);
  unsigned next_filled(unsigned bin) const;

  std::array<std::uint64_t, num_bins / 64> filled_{};
  std::array<PoolBlock*, num_bins> bins_{};
};

class BlockPool {
 public:
  // Offsets and sizes of blocks are multiples of `granule`, a power of two. `prototype` gives new
  // blocks their device, host_readable and release.
  BlockPool(std::uint64_t granule, const Storage& prototype);
  ~BlockPool();  // forgets all segments; the caller has given their memory back

  std::uint64_t granule() const { return granule_; }

  // A free block of at least `bytes` (a multiple of the granule), cut to size; null if there is none.
  PoolBlock* take(StreamImpl* stream, PoolKind kind, std::uint64_t bytes);
  // Adds a segment and takes its first `bytes`. Both pieces of bookkeeping come from prepare(), so
  // that it cannot fail.
  struct Prepared {
    std::unique_ptr<Segment> segment;
    std::unique_ptr<PoolBlock> block;
  };
  Prepared prepare(StreamImpl* stream);
  PoolBlock* add_segment(Prepared prepared, std::uint64_t bytes);
  // Makes a block free. Cannot fail. It joins its free neighbours only with the next call that does not take it again:
  // the next result is often as large as the one that has just gone.
  void give_back(PoolBlock& block);
  // Takes the segment of its only block, a taken one, out of the pool.
  std::unique_ptr<Segment> remove(PoolBlock& block) noexcept;

  // Makes sure that hand_over cannot fail.
  void prepare_hand_over(StreamImpl* from, StreamImpl* to);
  // Everything of the one stream belongs to the other from now on, whatever holds it, and may be used there.
  void hand_over(StreamImpl* from, StreamImpl* to);

  // Takes all segments without a taken block out of the pool, of every stream but those of graphs.
  std::vector<std::unique_ptr<Segment>> remove_free_segments();
  // All segments, newest first.
  const Segment* segments() {
    join_last();
    return segments_;
  }
  std::uint64_t free_bytes() const { return free_bytes_; }

 private:
  struct StreamPool {
    StreamImpl* stream;
    std::array<FreeBlocks, 3> free;
  };

  FreeBlocks& free_blocks(StreamImpl* stream, PoolKind kind);
  PoolBlock* new_block() noexcept;
  void drop_block(PoolBlock* block) noexcept;
  void split(PoolBlock& block, std::uint64_t bytes);
  void join_last();
  void absorb_upper(PoolBlock& block);
  void unlink(Segment& segment);

  const std::uint64_t granule_;
  const Storage& prototype_;
  std::vector<std::unique_ptr<StreamPool>> streams_;
  Segment* segments_ = nullptr;
  PoolBlock* last_ = nullptr;   // given back, but in no list and not joined
  PoolBlock* spare_ = nullptr;  // PoolBlocks without memory, to be used again
  std::uint64_t free_bytes_ = 0;
};

}  // namespace bp
