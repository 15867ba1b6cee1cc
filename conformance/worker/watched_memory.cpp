#include "worker/watched_memory.hpp"

#include <algorithm>
#include <cstring>

#include <backplane/runtime/stream.hpp>

namespace bp::conform {

Zones::Zones(std::uint64_t asked, std::uint64_t alignment, std::uint8_t with)
    : front(alignment ? (zone_bytes + alignment - 1) / alignment * alignment : 0), bytes(asked),
      total(front + bytes + zone_bytes), poison(with) {}

Bytes Zones::paint(bool only_zones, const Write& write) const {
  Bytes all(only_zones || total > largest_watched ? 0 : total, poison);
  for (const Span& zone : zones()) {
    Bytes painted(zone.end - zone.begin);
    for (std::uint64_t i = zone.begin; i < zone.end; ++i)
      painted[i - zone.begin] = zone_byte(poison, i);
    if (all.empty())
      write(zone.begin, painted);
    else
      std::ranges::copy(painted, all.begin() + static_cast<std::ptrdiff_t>(zone.begin));
  }
  if (!all.empty()) write(0, all);
  return all;
}

void Zones::look(Watch& watch, const Json& entry, const Read& read) const {
  for (const Span& zone : zones()) {
    Bytes found(zone.end - zone.begin);
    read(zone.begin, found);
    std::uint64_t i = zone.begin;
    while (i < zone.end && found[i - zone.begin] == zone_byte(poison, i)) ++i;
    if (i == zone.end) continue;
    Json seen = entry;
    seen.update({{"at", static_cast<std::int64_t>(i) - static_cast<std::int64_t>(front)},
                 {"size", bytes},
                 {"found", found[i - zone.begin]},
                 {"expected", zone_byte(poison, i)}});
    watch.add("zones", std::move(seen));
  }
}

// The lowest that is free, so that the same calls get the same ones; memory of its own is a large piece's, and where too many
// are lent.
HostPieces::Piece HostPieces::lend(std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  const auto free = std::ranges::find(slots_, false, &Slot::is_lent);
  if (bytes > piece_bytes || free == slots_.end())
    return {new std::uint8_t[bytes], std::default_delete<std::uint8_t[]>()};
  free->is_lent = true;
  if (!free->memory) free->memory = std::make_unique<std::uint8_t[]>(piece_bytes);
  return {free->memory.get(), [this, slot = &*free](std::uint8_t*) {
            const std::lock_guard again(mutex_);
            slot->is_lent = false;
          }};
}

CoreMemory::CoreMemory(DeviceRecord& record)
    : record_(record),
      shifts_((record.info.flags & (BP_DEVICE_REAL_ADDRESSES | BP_DEVICE_HOST_READABLE)) != 0) {
  record.info.flags &= ~BP_DEVICE_CAN_SUBALLOCATE;
  CustomAllocator mine;
  mine.context = this;
  mine.allocate = [](void* context, std::uint64_t bytes, std::uint64_t alignment, bp_handle* out) {
    return static_cast<CoreMemory*>(context)->allocate(bytes, alignment, out);
  };
  mine.release = [](void* context, bp_handle handle) {
    static_cast<CoreMemory*>(context)->release(handle);
  };
  set_custom_allocator(record.device, mine);
}

bp_code CoreMemory::allocate(std::uint64_t bytes, std::uint64_t alignment, bp_handle* out) {
  if (is_paused_) return record_.memory->allocate(record_.handle, bytes, alignment, out);
  Block block{0, Zones(bytes, shifts_ ? alignment : 0, poison_)};
  const bp_code code =
      record_.memory->allocate(record_.handle, block.zones.total, alignment, &block.raw);
  if (code != BP_OK) return code;
  if (!block.raw) return *out = 0, BP_OK;
  // A large one gets zones alone: nobody asked for its pages yet.
  block.zones.paint(false,
                    [&](std::uint64_t at, const Bytes& bytes) { write(block.raw, at, bytes); });
  *out = block.raw + block.zones.front;
  const std::lock_guard lock(mutex_);
  blocks_[*out] = block;
  return BP_OK;
}

void CoreMemory::release(bp_handle handle) {
  Block block;
  {
    const std::lock_guard lock(mutex_);
    const auto found = blocks_.find(handle);
    if (found == blocks_.end()) return record_.memory->release(record_.handle, handle);
    block = found->second;
    blocks_.erase(found);
  }
  Watch seen;
  if (!record_.lost) look_at(block, seen);
  record_.memory->release(record_.handle, block.raw);
  const std::lock_guard lock(mutex_);
  findings_.merge(seen);
}

void CoreMemory::copy(const bp_region& to, const bp_region& from, std::uint32_t direction) {
  bp_stream* const stream = record_.default_stream ? record_.default_stream->raw.load() : nullptr;
  if (record_.memory->copy(record_.handle, &to, &from, direction, stream) != BP_OK) return;
  if (!record_.synchronous) static_cast<void>(record_.queue->synchronize(record_.handle, stream));
}

void CoreMemory::read(bp_handle raw, std::uint64_t offset, Bytes& to) {
  if (to.empty()) return;
  if (record_.host_readable) {
    std::memcpy(to.data(), reinterpret_cast<const void*>(raw + offset), to.size());
    return;
  }
  const HostPieces::Piece piece = pieces_.lend(to.size());
  copy(at_host(piece.get(), to.size()), {raw, offset, to.size()}, BP_COPY_TO_HOST);
  std::memcpy(to.data(), piece.get(), to.size());
}

void CoreMemory::write(bp_handle raw, std::uint64_t offset, const Bytes& from) {
  if (from.empty()) return;
  const HostPieces::Piece piece = pieces_.lend(from.size());
  std::ranges::copy(from, piece.get());
  copy({raw, offset, from.size()}, at_host(piece.get(), from.size()), BP_COPY_FROM_HOST);
}

void CoreMemory::look_at(const Block& block, Watch& watch) {
  block.zones.look(watch, Json::object(),
                   [&](std::uint64_t offset, Bytes& to) { read(block.raw, offset, to); });
}

void CoreMemory::look(Watch& watch) {
  std::vector<Block> living;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [handle, block] : blocks_) living.push_back(block);
  }
  for (const Block& block : living) look_at(block, watch);
  take_findings(watch);
}

void CoreMemory::take_findings(Watch& watch) {
  const std::lock_guard lock(mutex_);
  watch.merge(std::exchange(findings_, {}));
}

Bytes CoreMemory::bytes_of(const Storage& storage) {
  if (storage.bytes > largest_watched) return {};
  Bytes bytes(storage.bytes);
  read(storage, 0, bytes);
  return bytes;
}

void CoreMemory::read(const Storage& storage, std::uint64_t offset, Bytes& to) {
  read(storage.handle, storage.offset + offset, to);
}

void CoreMemory::write(const Storage& storage, std::uint64_t offset, const Bytes& from) {
  write(storage.handle, storage.offset + offset, from);
}

std::int64_t CoreMemory::num_live() {
  const std::lock_guard lock(mutex_);
  return static_cast<std::int64_t>(blocks_.size());
}

// ---- The direct lane

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
  shadow_ = zones_.paint(sparse_, [&](std::uint64_t offset, const Bytes& all) {
    plugin_.write(handle_, offset, all.data(), all.size());
  });
  return BP_OK;
}

void GuardedBlock::read(void* to, std::uint64_t count) const {
  plugin_.read(handle_, zones_.front, to, count);
}

void GuardedBlock::write(const void* from, std::uint64_t count) {
  plugin_.write(handle_, zones_.front, from, count);
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
  const auto first = std::ranges::lower_bound(unknown_, span.begin, {}, &Span::end);
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

void GuardedBlock::compare(const Bytes& found, std::uint64_t begin, std::uint64_t end,
                           const char* kind, Watch& watch) const {
  std::uint64_t first = end, last = end, differing = 0;
  for (std::uint64_t i = begin; i < end; ++i) {
    if (found[i] == shadow_[i]) continue;
    if (differing++ == 0) first = i;
    last = i;
  }
  if (differing == 0) return;
  const auto place = [&](std::uint64_t i) { return static_cast<std::int64_t>(i - zones_.front); };
  watch.add(kind, {{"object", object_},
                   {"at", place(first)},
                   {"last", place(last)},
                   {"bytes", differing},
                   {"size", zones_.bytes},
                   {"found", found[first]},
                   {"expected", shadow_[first]}});
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
      std::memcpy(shadow_.data() + span.begin, found.data() + span.begin, span.end - span.begin);
    if (found != shadow_) {
      const std::uint64_t end = zones_.front + zones_.bytes;
      compare(found, 0, zones_.front, "zones", watch);
      const char* const role = was_output  ? "gaps"
                               : was_input ? "inputs"
                               : was_moved ? "copies"
                                           : "zones";
      compare(found, zones_.front, end, kind ? kind : role, watch);
      compare(found, end, zones_.total, "zones", watch);
      shadow_.swap(found);
    }
  }
  unknown_.clear();
  was_input = was_output = was_moved = false;
}

void GuardedBlock::look_around(Watch& watch) {
  forget(0, bytes());
  look(watch);
}

}  // namespace bp::conform
