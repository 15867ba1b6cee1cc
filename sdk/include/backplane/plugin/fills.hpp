// For backends that fill memory: which patterns there are, and how a fill that the driver does not take is made of
// copies. Not part of plugin.hpp: include it where it is needed.
#ifndef BACKPLANE_PLUGIN_FILLS_HPP
#define BACKPLANE_PLUGIN_FILLS_HPP

#include <algorithm>
#include <vector>

#include <backplane/plugin/status.hpp>

namespace BP_SDK BP_HIDDEN {

// BP_BAD_ARGUMENT for a pattern that bp_memory.fill does not have.
inline Status check_pattern(uint32_t pattern_bytes) {
  if (pattern_bytes != 0 && pattern_bytes <= 16 && (pattern_bytes & (pattern_bytes - 1)) == 0)
    return ok;
  return bad_argument("fill: a pattern of %u bytes; 1, 2, 4, 8 or 16 are possible", pattern_bytes);
}

// Fills `bytes` with copies from the host: drivers want whole patterns at multiples of them, and a fill may be
// otherwise. `copy(uint64_t offset, const void* from, uint64_t bytes)` gives the stream a copy to that place of what
// is filled, and `synchronize()` waits for all of them, also after one that failed, since what they read ends here.
// Rare.
template <class Copy, class Synchronize>
Status fill_by_copies(uint64_t bytes, const void* pattern, uint32_t pattern_bytes, Copy copy,
                      Synchronize synchronize) {
  std::vector<char> piece(
      static_cast<size_t>(std::min<uint64_t>(bytes, uint64_t{pattern_bytes} << 16)));
  for (size_t i = 0; i < piece.size(); ++i)
    piece[i] = static_cast<const char*>(pattern)[i % pattern_bytes];
  Status status = ok;
  for (uint64_t done = 0; done < bytes && status.is_ok(); done += piece.size())
    status = copy(done, piece.data(), std::min<uint64_t>(piece.size(), bytes - done));
  const Status waited = synchronize();
  return status.is_ok() ? waited : status;
}

}  // namespace BP_HIDDEN

#endif  // BACKPLANE_PLUGIN_FILLS_HPP
