// Memory of the direct lane under watch: red zones on both sides, and a picture of what each byte ought to be.
#pragma once

#include <cstdint>
#include <vector>

#include "worker/direct_plugin.hpp"
#include "worker/watched_memory.hpp"

namespace bp::conform {

struct Span {
  std::uint64_t begin = 0, end = 0;
};

// One allocation of the plugin: a zone, what was asked for, a zone that begins with the very next byte.
class GuardedBlock {
 public:
  GuardedBlock(DirectPlugin& plugin, int object, std::uint8_t poison, bool sparse);
  ~GuardedBlock();
  GuardedBlock(const GuardedBlock&) = delete;
  GuardedBlock& operator=(const GuardedBlock&) = delete;

  // The plugin's code; on success all of it is written: poison inside. `space`: of the device's memories.
  bp_code allocate(std::uint64_t bytes, std::uint64_t alignment, std::uint32_t space = 0);

  bp_handle handle() const { return handle_; }
  std::uint64_t front() const {
    return zones_.front;
  }  // bytes before the first one that was asked for
  std::uint64_t bytes() const { return zones_.bytes; }
  int object() const { return object_; }
  bool is_watched() const { return !shadow_.empty(); }

  // What will be there once work that was just given is done; offsets are from the first byte that was asked for.
  void expect(std::uint64_t offset, const std::uint8_t* data, std::uint64_t count);
  // What is there may be anything from now on, until the next look.
  void forget(std::uint64_t offset, std::uint64_t count);
  void copy_expectation(std::uint64_t offset, const GuardedBlock& from, std::uint64_t from_offset,
                        std::uint64_t count);
  // Roles of the block in what was done since the last look.
  bool was_input = false, was_output = false, was_moved = false;

  // All work on it being done: compares, writes what is wrong into `watch` and takes what is there for given. `kind`
  // overrides what the roles say.
  void look(Watch& watch, const char* kind = nullptr);

 private:
  void report(Watch& watch, const char* kind, const std::uint8_t* found, std::uint64_t at);
  const char* kind_by_role() const;

  DirectPlugin& plugin_;
  const int object_;
  const std::uint8_t poison_;
  const bool sparse_;
  bp_handle handle_ = 0;
  Zones zones_;
  Bytes shadow_;  // of all of it; empty for large ones
  // From the start of the allocation; apart and in order, so that the same again is not growth.
  std::vector<Span> unknown_;
};

}  // namespace bp::conform
