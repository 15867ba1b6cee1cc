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
  front_ = (zone_bytes + step - 1) / step * step;
  bytes_ = bytes;
  total_ = front_ + bytes + zone_bytes;
  bp_handle handle = 0;
  const bp_code code = plugin_.allocate(total_, step, handle, space);
  if (code != BP_OK) return code;
  handle_ = handle;
  const std::uint64_t end = front_ + bytes_;
  if (sparse_ || total_ > largest_watched) {
    std::vector<std::uint8_t> zone(std::max(front_, zone_bytes));
    paint_zone(zone.data(), poison_, 0, front_);
    plugin_.write(handle_, 0, zone.data(), front_);
    paint_zone(zone.data(), poison_, end, total_);
    plugin_.write(handle_, end, zone.data(), zone_bytes);
    return BP_OK;
  }
  shadow_.assign(total_, poison_);
  paint_zone(shadow_.data(), poison_, 0, front_);
  paint_zone(shadow_.data() + end, poison_, end, total_);
  plugin_.write(handle_, 0, shadow_.data(), total_);
  return BP_OK;
}

void GuardedBlock::expect(std::uint64_t offset, const std::uint8_t* data, std::uint64_t count) {
  if (is_watched() && front_ + offset + count <= total_)
    std::memcpy(shadow_.data() + front_ + offset, data, count);
  was_moved = true;
}

void GuardedBlock::forget(std::uint64_t offset, std::uint64_t count) {
  if (!is_watched() || count == 0) return;
  // Never of a zone: what lies there no call may change, whatever its tensors say.
  Span span{front_ + offset, std::min(front_ + offset + count, front_ + bytes_)};
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
  if (!from.is_watched() || from.front_ + from_offset + count > from.total_)
    return forget(offset, count);
  for (const Span& span : from.unknown_)
    if (span.begin < from.front_ + from_offset + count && from.front_ + from_offset < span.end)
      return forget(offset, count);
  expect(offset, from.shadow_.data() + from.front_ + from_offset, count);
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
  for (std::uint64_t i = at; i < total_; ++i) {
    if (found[i] == shadow_[i]) continue;
    if ((i >= front_ && i < front_ + bytes_) != (at >= front_ && at < front_ + bytes_)) break;
    last = i;
    ++differing;
  }
  watch.add(kind, {{"object", object_},
                   {"at", static_cast<std::int64_t>(at) - static_cast<std::int64_t>(front_)},
                   {"last", static_cast<std::int64_t>(last) - static_cast<std::int64_t>(front_)},
                   {"bytes", differing},
                   {"size", bytes_},
                   {"found", found[at]},
                   {"expected", shadow_[at]}});
}

void GuardedBlock::look(Watch& watch, const char* kind) {
  if (!handle_) return;
  if (!is_watched()) {
    look_at_zone(watch, 0, front_);
    look_at_zone(watch, front_ + bytes_, total_);
  } else {
    std::vector<std::uint8_t> found(total_);
    plugin_.read(handle_, 0, found.data(), total_);
    for (const Span& span : unknown_)
      std::copy(found.begin() + static_cast<std::ptrdiff_t>(span.begin),
                found.begin() + static_cast<std::ptrdiff_t>(span.end),
                shadow_.begin() + static_cast<std::ptrdiff_t>(span.begin));
    if (std::memcmp(found.data(), shadow_.data(), total_) != 0) {
      const auto differs = [&](std::uint64_t begin, std::uint64_t end) {
        for (std::uint64_t i = begin; i < end; ++i)
          if (found[i] != shadow_[i]) return i;
        return end;
      };
      const std::uint64_t end = front_ + bytes_;
      if (const std::uint64_t at = differs(0, front_); at < front_)
        report(watch, "zones", found.data(), at);
      if (const std::uint64_t at = differs(front_, end); at < end)
        report(watch, kind ? kind : kind_by_role(), found.data(), at);
      if (const std::uint64_t at = differs(end, total_); at < total_)
        report(watch, "zones", found.data(), at);
      shadow_.swap(found);
    }
  }
  unknown_.clear();
  was_input = was_output = was_moved = false;
}

void GuardedBlock::look_at_zone(Watch& watch, std::uint64_t begin, std::uint64_t end) {
  std::vector<std::uint8_t> found(end - begin);
  plugin_.read(handle_, begin, found.data(), found.size());
  conform::look_at_zone(watch, found, poison_, begin, front_, bytes_, {{"object", object_}});
}

}  // namespace bp::conform
