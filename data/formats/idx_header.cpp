#include "formats/idx_header.hpp"

#include <algorithm>

#include <backplane/tensor/check.hpp>
#include <backplane/tensor/shape.hpp>

#ifdef BP_DATA_ZLIB
#  include <zlib.h>
#endif

namespace bp::data {
namespace {

Dtype idx_dtype(unsigned code, const std::string& name) {
  switch (code) {
    case 0x08: return u8;
    case 0x09: return i8;
    case 0x0b: return i16;
    case 0x0c: return i32;
    case 0x0d: return f32;
    case 0x0e: return f64;
    default: break;
  }
  throw_error(
      ErrorClass::bad_argument,
      fmt::format("{}: not an idx file: its type is {:#04x}, none of 0x08 to 0x0e", name, code));
}

}  // namespace

IdxHeader idx_header(std::string_view bytes, const std::string& name) {
  const auto byte = [&](std::size_t at) { return unsigned{static_cast<unsigned char>(bytes[at])}; };
  BP_CHECK(bytes.size() >= 4 && byte(0) == 0 && byte(1) == 0,
           "{}: not an idx file: it does not begin with two zeros, a type and a rank", name);
  IdxHeader header;
  header.dtype = idx_dtype(byte(2), name);
  const std::size_t rank = byte(3);
  BP_CHECK(rank <= static_cast<std::size_t>(max_rank),
           "{}: has {} dimensions; tensors have at most {}", name, rank, max_rank);
  header.data_begin = 4 + 4 * rank;
  BP_CHECK(bytes.size() >= header.data_begin, "{}: is cut short in its {} sizes", name, rank);
  for (std::size_t at = 4; at < header.data_begin; at += 4)
    header.shape.push_back(std::int64_t{byte(at)} << 24 | byte(at + 1) << 16 | byte(at + 2) << 8 |
                           byte(at + 3));
  const auto numel = static_cast<std::uint64_t>(checked_numel(name.c_str(), header.shape));
  header.data_bytes = bytes.size() - header.data_begin;
  BP_CHECK(numel <= header.data_bytes && header.data_bytes == numel * itemsize(header.dtype),
           "{}: has {} bytes of numbers, and {} of {} take {} each", name, header.data_bytes,
           to_string(header.shape), bp::name(header.dtype), itemsize(header.dtype));
  return header;
}

bool is_gzip(std::string_view bytes) {
  return bytes.starts_with("\x1f\x8b");
}

#ifdef BP_DATA_ZLIB
std::string unpacked_gzip(std::string_view bytes, const std::string& name,
                          std::uint64_t most_bytes) {
  z_stream stream{};
  BP_CHECK(inflateInit2(&stream, 16 + MAX_WBITS) == Z_OK, "{}: zlib can't begin", name);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  std::size_t left = bytes.size();
  std::string result;
  char buffer[64 * 1024];
  int code = Z_OK;
  bool is_too_long = false;
  while (code == Z_OK && !is_too_long) {
    if (stream.avail_in == 0) {
      stream.avail_in = static_cast<uInt>(std::min<std::size_t>(left, 1 << 30));
      left -= stream.avail_in;
    }
    stream.next_out = reinterpret_cast<Bytef*>(buffer);
    stream.avail_out = sizeof buffer;
    code = inflate(&stream, Z_NO_FLUSH);
    const std::size_t made = sizeof buffer - stream.avail_out;
    is_too_long = made > most_bytes - result.size();
    if (!is_too_long) result.append(buffer, made);
  }
  const std::string why = stream.msg ? stream.msg : "it is cut short";
  inflateEnd(&stream);
  BP_CHECK(!is_too_long, "{}: unpacks to more than {} bytes; raise most_bytes to read it", name,
           most_bytes);
  BP_CHECK(code == Z_STREAM_END, "{}: can't be unpacked: {}", name, why);
  return result;
}
#else
std::string unpacked_gzip(std::string_view, const std::string& name, std::uint64_t) {
  throw_error(
      ErrorClass::unsupported,
      fmt::format(
          "{}: is packed, and this Backplane was built without zlib (apt install zlib1g-dev)",
          name));
}
#endif

}  // namespace bp::data
