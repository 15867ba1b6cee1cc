// The format of MNIST (yann.lecun.com/exdb/mnist): numbers of one type, with their sizes before them.
#pragma once

#include <cstdint>
#include <string>

#include <backplane/tensor/tensor.hpp>

namespace bp::data {

// u8, i8, i16, i32, f32 and f64, big-endian in the file; packed by gzip as well, which is recognized by its first bytes.
// Throws bad_argument, which names the file, for one that is cut short or longer than its sizes say, or that unpacks to more
// than `most_bytes`; unsupported for a packed one if this was built without zlib.
BP_API Tensor load_idx(const std::string& path, std::uint64_t most_bytes = std::uint64_t{1} << 34);

}  // namespace bp::data
