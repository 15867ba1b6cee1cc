#include "worker/guarded_block.hpp"

#include <algorithm>
#include <cstring>

namespace bp::conform {
GuardedBlock::GuardedBlock(DirectPlugin& plugin, int object, std::uint8_t poison, bool sparse)
    : plugin_(plugin), object_(object), poison_(poison), sparse_(sparse) {}

GuardedBlock::~GuardedBlock() {
  if (handle_) plugin_.release(handle_);
}

bp_code GuardedBlock::allocate(std::uint64_t bytes, std::uint64_t alignment, std::uint32_t space) {
  const std::uint64_t step =
      std::max(std::max<std::uint64_t>(alignment, 1), plugin_.offset_alignment());
  zones_ = Zones(bytes, step, poison_);
  bp_handle handle = 0;
  const bp_code code = plugin_.allocate(zones_.total, step, handle, space);
  if (code != BP_OK) return code;
  handle_ = handle;
  const auto write = [&](std::uint64_t offset, const Bytes& all) {
    plugin_.write(handle_, offset, all.data(), all.size());
  };
  if (sparse_ || zones_.total > largest_watched)
    zones_.paint_zones(write);
  else
    write(0, shadow_ = zones_.painted());
  return BP_OK;
}

void GuardedBlock::expect(std::uint64_t offset, const std::uint8_t* data, std::uint64_t count) {
  if (is_watched() && zones_.front + offset + count <= zones_.total)
    std::memcpy(shadow_.data() + zones_.front + offset, data, count);
  was_moved = true;
}

void GuardedBlock::forget(std::uint64_t offset, std::uint64_t count) {
  if (!is_watched() || count == 0) return;
  // Never of a zone: what lies there no call may change, whatever its tensors say.
  Span span{zones_.front + offset,
            std::min(zones_.front + offset + count, zones_.front + zones_.bytes)};
  if (span.begin >= span.end) return;
  const auto first =
      std::lower_bound(unknown_.begin(), unknown_.end(), span.begin,
                       [](const Span& known, std::uint64_t at) { return known.end < at; });
  auto last = first;
  for (; last != unknown_.end() && last->begin <= span.end; ++last)
    span = {std::min(span.begin, last->begin), std::max(span.end, last->end)};
  unknown_.insert(unknown_.erase(first, last), span);
}

void GuardedBlock::copy_expectation(std::uint64_t offset, const GuardedBlock& from,
                                    std::uint64_t from_offset, std::uint64_t count) {
  if (!from.is_watched() || from.zones_.front + from_offset + count > from.zones_.total)
    return forget(offset, count);
  for (const Span& span : from.unknown_)
    if (span.begin < from.zones_.front + from_offset + count &&
        from.zones_.front + from_offset < span.end)
      return forget(offset, count);
  expect(offset, from.shadow_.data() + from.zones_.front + from_offset, count);
}

const char* GuardedBlock::kind_by_role() const {
  if (was_output) return "gaps";
  if (was_input) return "inputs";
  return was_moved ? "copies" : "zones";
}

// One entry: the first byte that differs and how many do.
void GuardedBlock::report(Watch& watch, const char* kind, const std::uint8_t* found,
                          std::uint64_t at) {
  std::uint64_t last = at, differing = 0;
  for (std::uint64_t i = at; i < zones_.total; ++i) {
    if (found[i] == shadow_[i]) continue;
    if ((i >= zones_.front && i < zones_.front + zones_.bytes) !=
        (at >= zones_.front && at < zones_.front + zones_.bytes))
      break;
    last = i;
    ++differing;
  }
  watch.add(kind,
            {{"object", object_},
             {"at", static_cast<std::int64_t>(at) - static_cast<std::int64_t>(zones_.front)},
             {"last", static_cast<std::int64_t>(last) - static_cast<std::int64_t>(zones_.front)},
             {"bytes", differing},
             {"size", zones_.bytes},
             {"found", found[at]},
             {"expected", shadow_[at]}});
}

void GuardedBlock::look(Watch& watch, const char* kind) {
  if (!handle_) return;
  if (!is_watched()) {
    zones_.look(watch, {{"object", object_}}, [&](std::uint64_t offset, Bytes& to) {
      plugin_.read(handle_, offset, to.data(), to.size());
    });
  } else {
    Bytes found(zones_.total);
    plugin_.read(handle_, 0, found.data(), zones_.total);
    for (const Span& span : unknown_)
      std::copy(found.begin() + static_cast<std::ptrdiff_t>(span.begin),
                found.begin() + static_cast<std::ptrdiff_t>(span.end),
                shadow_.begin() + static_cast<std::ptrdiff_t>(span.begin));
    if (std::memcmp(found.data(), shadow_.data(), zones_.total) != 0) {
      const auto differs = [&](std::uint64_t begin, std::uint64_t end) {
        for (std::uint64_t i = begin; i < end; ++i)
          if (found[i] != shadow_[i]) return i;
        return end;
      };
      const std::uint64_t end = zones_.front + zones_.bytes;
      if (const std::uint64_t at = differs(0, zones_.front); at < zones_.front)
        report(watch, "zones", found.data(), at);
      if (const std::uint64_t at = differs(zones_.front, end); at < end)
        report(watch, kind ? kind : kind_by_role(), found.data(), at);
      if (const std::uint64_t at = differs(end, zones_.total); at < zones_.total)
        report(watch, "zones", found.data(), at);
      shadow_.swap(found);
    }
  }
  unknown_.clear();
  was_input = was_output = was_moved = false;
}

}  // namespace bp::conform
