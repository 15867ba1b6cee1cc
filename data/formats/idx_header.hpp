// What stands before the numbers of an idx file.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <backplane/tensor/dtype.hpp>

namespace bp::data {

struct IdxHeader {
  Dtype dtype = Dtype::u8;
  std::vector<std::int64_t> shape;
  std::uint64_t data_begin = 0;
  std::uint64_t data_bytes = 0;
};

// Throws bad_argument, which begins with `name`, unless `bytes` are a whole file.
IdxHeader idx_header(std::string_view bytes, const std::string& name);

// Is it packed by gzip?
bool is_gzip(std::string_view bytes);
// Throws bad_argument for what is damaged, or unpacks to more than `most_bytes`.
std::string unpacked_gzip(std::string_view bytes, const std::string& name,
                          std::uint64_t most_bytes);

}  // namespace bp::data
