#include "worker/watched_memory.hpp"

#include <algorithm>
#include <cstring>

#include <backplane/runtime/stream.hpp>

namespace bp::conform {
namespace {

constexpr std::uint64_t period = 256;  // of a zone's bytes

constexpr auto two_periods = [] {
  std::array<std::uint8_t, 2 * period> bytes{};
  for (std::uint64_t i = 0; i < bytes.size(); ++i) bytes[i] = zone_byte(0, i);
  return bytes;
}();

// A period of the zone's bytes, from a place on: another poison is another place.
const std::uint8_t* period_from(std::uint8_t poison, std::uint64_t place) {
  constexpr std::uint64_t places_of_one = 173;  // zone_byte is 1 more there
  static_assert(zone_byte(0, places_of_one) == zone_byte(1, 0));
  return two_periods.data() + (place + poison * places_of_one) % period;
}

bool is_zone(const Bytes& found, std::uint8_t poison, std::uint64_t begin) {
  for (std::uint64_t i = 0; i < found.size(); i += period)
    if (std::memcmp(found.data() + i, period_from(poison, begin),
                    std::min(period, found.size() - i)) != 0)
      return false;
  return true;
}

void paint_zone(std::uint8_t* bytes, std::uint8_t poison, std::uint64_t begin, std::uint64_t end) {
  for (std::uint64_t i = begin; i < end; i += period)
    std::memcpy(bytes + (i - begin), period_from(poison, begin), std::min(period, end - i));
}

}  // namespace

Zones::Zones(std::uint64_t asked, std::uint64_t alignment, std::uint8_t with)
    : front(alignment ? (zone_bytes + alignment - 1) / alignment * alignment : 0), bytes(asked),
      total(front + bytes + zone_bytes), poison(with) {}

Bytes Zones::painted() const {
  Bytes all(total, poison);
  paint_zone(all.data(), poison, 0, front);
  paint_zone(all.data() + front + bytes, poison, front + bytes, total);
  return all;
}

void Zones::paint_zones(const Write& write) const {
  for (const std::uint64_t begin : {std::uint64_t{0}, front + bytes}) {
    Bytes zone(begin == 0 ? front : zone_bytes);
    paint_zone(zone.data(), poison, begin, begin + zone.size());
    write(begin, zone);
  }
}

void Zones::look(Watch& watch, const Json& entry, const Read& read) const {
  for (const std::uint64_t begin : {std::uint64_t{0}, front + bytes}) {
    Bytes found(begin == 0 ? front : zone_bytes);
    read(begin, found);
    if (is_zone(found, poison, begin)) continue;
    std::uint64_t i = begin;
    while (found[i - begin] == zone_byte(poison, i)) ++i;
    Json seen = entry;
    seen.update({{"at", static_cast<std::int64_t>(i) - static_cast<std::int64_t>(front)},
                 {"size", bytes},
                 {"found", found[i - begin]},
                 {"expected", zone_byte(poison, i)}});
    watch.add("zones", std::move(seen));
  }
}

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
  paint(block);
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

// Zones, and inside as well unless it is large: nobody asked for its pages yet.
void CoreMemory::paint(const Block& block) {
  const auto write = [&](std::uint64_t offset, const Bytes& bytes) {
    write_raw(block.raw, offset, bytes.data(), bytes.size());
  };
  if (block.zones.total > largest_watched)
    block.zones.paint_zones(write);
  else
    write(0, block.zones.painted());
}

void CoreMemory::copy(const bp_region& to, const bp_region& from, std::uint32_t direction) {
  bp_stream* const stream = record_.default_stream ? record_.default_stream->raw.load() : nullptr;
  if (record_.memory->copy(record_.handle, &to, &from, direction, stream) != BP_OK) return;
  if (!record_.synchronous) static_cast<void>(record_.queue->synchronize(record_.handle, stream));
}

void CoreMemory::read_raw(bp_handle raw, std::uint64_t offset, void* to, std::uint64_t bytes) {
  if (bytes == 0) return;
  if (record_.host_readable) {
    std::memcpy(to, reinterpret_cast<const void*>(raw + offset), bytes);
    return;
  }
  const HostPieces::Piece piece(pieces_, bytes);
  copy({reinterpret_cast<std::uintptr_t>(piece.data()), 0, bytes}, {raw, offset, bytes},
       BP_COPY_TO_HOST);
  std::memcpy(to, piece.data(), bytes);
}

void CoreMemory::write_raw(bp_handle raw, std::uint64_t offset, const void* from,
                           std::uint64_t bytes) {
  if (bytes == 0) return;
  const HostPieces::Piece piece(pieces_, bytes);
  std::memcpy(piece.data(), from, bytes);
  copy({raw, offset, bytes}, {reinterpret_cast<std::uintptr_t>(piece.data()), 0, bytes},
       BP_COPY_FROM_HOST);
}

void CoreMemory::look_at(const Block& block, Watch& watch) {
  block.zones.look(watch, Json::object(), [&](std::uint64_t offset, Bytes& to) {
    read_raw(block.raw, offset, to.data(), to.size());
  });
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
  read_raw(storage.handle, storage.offset, bytes.data(), bytes.size());
  return bytes;
}

void CoreMemory::read(const Storage& storage, std::uint64_t offset, void* to, std::uint64_t bytes) {
  read_raw(storage.handle, storage.offset + offset, to, bytes);
}

void CoreMemory::write(const Storage& storage, std::uint64_t offset, const void* from,
                       std::uint64_t bytes) {
  write_raw(storage.handle, storage.offset + offset, from, bytes);
}

std::int64_t CoreMemory::num_live() {
  const std::lock_guard lock(mutex_);
  return static_cast<std::int64_t>(blocks_.size());
}

// ---- The direct lane

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
