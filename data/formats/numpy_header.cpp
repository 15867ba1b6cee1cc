#include "formats/numpy_header.hpp"

#include <bit>
#include <charconv>
#include <cstring>

#include <backplane/tensor/check.hpp>
#include <backplane/tensor/shape.hpp>

namespace bp::data {
namespace {

struct NumpyType {
  const char* code;
  Dtype dtype;
};
constexpr NumpyType numpy_types[] = {
    {"b1", boolean}, {"u1", u8},  {"i1", i8},        {"i2", i16},         {"i4", i32},
    {"i8", i64},     {"u2", u16}, {"u4", u32},       {"u8", u64},         {"f2", f16},
    {"f4", f32},     {"f8", f64}, {"c8", complex64}, {"c16", complex128},
};

constexpr std::string_view numpy_magic = "\x93NUMPY";

// The header is a literal of a Python dict with three keys, which is all that is read of Python here.
class DictScanner {
 public:
  DictScanner(std::string_view text, const std::string& name) : rest_(text), name_(name) {}

  bool take(std::string_view token) {
    skip_blanks();
    if (!rest_.starts_with(token)) return false;
    rest_.remove_prefix(token.size());
    return true;
  }
  void expect(std::string_view token) {
    BP_CHECK(take(token), "{}: not an .npy file: its header lacks \"{}\" before \"{}\"", name_,
             token, rest_.substr(0, 20));
  }
  std::string text() {
    skip_blanks();
    const char quote = rest_.empty() ? '\0' : rest_[0];
    const std::size_t end =
        quote == '\'' || quote == '"' ? rest_.find(quote, 1) : std::string_view::npos;
    BP_CHECK(end != std::string_view::npos,
             "{}: not an .npy file that can be read here: its header has no text at \"{}\"", name_,
             rest_.substr(0, 20));
    std::string result(rest_.substr(1, end - 1));
    rest_.remove_prefix(end + 1);
    return result;
  }
  bool boolean() {
    if (take("True")) return true;
    expect("False");
    return false;
  }
  std::vector<std::int64_t> tuple() {
    std::vector<std::int64_t> sizes;
    expect("(");
    while (!take(")")) {
      skip_blanks();
      std::int64_t size = -1;
      const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), size);
      BP_CHECK(error == std::errc() && size >= 0, "{}: its header has no size at \"{}\"", name_,
               rest_.substr(0, 20));
      rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
      sizes.push_back(size);
      BP_CHECK(sizes.size() <= static_cast<std::size_t>(max_rank),
               "{}: has more than {} dimensions, which tensors can't have", name_, max_rank);
      if (take(",")) continue;
      expect(")");
      break;
    }
    return sizes;
  }

 private:
  void skip_blanks() {
    while (!rest_.empty() && (rest_[0] == ' ' || rest_[0] == '\n')) rest_.remove_prefix(1);
  }

  std::string_view rest_;
  const std::string& name_;
};

void read_descr(const std::string& descr, const std::string& name, NumpyHeader& header) {
  const char order = descr.empty() ? '\0' : descr[0];
  for (const NumpyType& each : numpy_types)
    if (descr.size() > 1 && descr.substr(1) == each.code) {
      header.dtype = each.dtype;
      const bool is_little =
          order == '<' || (order == '=' && std::endian::native == std::endian::little);
      const bool has_order = itemsize(each.dtype) > 1;
      BP_CHECK(order == '<' || order == '>' || order == '=' || (order == '|' && !has_order),
               "{}: its dtype \"{}\" has no byte order", name, descr);
      header.is_swapped = has_order && is_little != (std::endian::native == std::endian::little);
      return;
    }
  BP_CHECK(false, "{}: its dtype is \"{}\", which tensors do not have", name, descr.substr(0, 40));
}

// Where the dict begins and how long it is.
std::string_view numpy_dict(std::string_view bytes, const std::string& name, NumpyHeader& header) {
  BP_CHECK(bytes.size() >= 10 && bytes.starts_with(numpy_magic), "{}: not an .npy file", name);
  const auto byte = [&](std::size_t at) {
    return std::uint64_t{static_cast<unsigned char>(bytes[at])};
  };
  const auto version = byte(6);
  BP_CHECK(version >= 1 && version <= 3, "{}: is of version {} of .npy; 1 to 3 can be read", name,
           version);
  const std::size_t begin = version == 1 ? 10 : 12;
  BP_CHECK(bytes.size() >= begin, "{}: is cut short in its header", name);
  const std::uint64_t length = version == 1
                                   ? byte(8) | byte(9) << 8
                                   : byte(8) | byte(9) << 8 | byte(10) << 16 | byte(11) << 24;
  BP_CHECK(length <= bytes.size() - begin, "{}: is cut short in its header", name);
  header.data_begin = begin + length;
  return bytes.substr(begin, length);
}

}  // namespace

NumpyHeader numpy_header(std::string_view bytes, const std::string& name) {
  NumpyHeader header;
  DictScanner in(numpy_dict(bytes, name, header), name);
  bool has_descr = false, has_order = false, has_shape = false;
  in.expect("{");
  while (!in.take("}")) {
    const std::string key = in.text();
    in.expect(":");
    if (key == "descr") {
      read_descr(in.text(), name, header);
      has_descr = true;
    } else if (key == "fortran_order") {
      header.is_fortran = in.boolean();
      has_order = true;
    } else {
      BP_CHECK(key == "shape", "{}: its header has the unknown key \"{}\"", name,
               key.substr(0, 40));
      header.shape = in.tuple();
      has_shape = true;
    }
    if (!in.take(",")) {
      in.expect("}");
      break;
    }
  }
  BP_CHECK(has_descr && has_order && has_shape,
           "{}: its header lacks one of descr, fortran_order and shape", name);
  const std::int64_t numel = checked_numel(name.c_str(), header.shape);
  const std::uint64_t there = bytes.size() - header.data_begin;
  BP_CHECK(static_cast<std::uint64_t>(numel) <= there / itemsize(header.dtype) &&
               there == static_cast<std::uint64_t>(numel) * itemsize(header.dtype),
           "{}: has {} bytes of numbers, and {} of {} take {} each", name, there,
           to_string(header.shape), bp::name(header.dtype), itemsize(header.dtype));
  header.data_bytes = there;
  return header;
}

std::string numpy_descr(Dtype dtype) {
  const char order = itemsize(dtype) == 1                         ? '|'
                     : std::endian::native == std::endian::little ? '<'
                                                                  : '>';
  for (const NumpyType& each : numpy_types)
    if (each.dtype == dtype) return order + std::string(each.code);
  return {};
}

}  // namespace bp::data
