// Files for the tests of those who read and write them.
#pragma once

#include <filesystem>
#include <fstream>
#include <iterator>
#include <sys/stat.h>
#include <unistd.h>

#include <backplane/serialize/checkpoint.hpp>
#include <backplane/serialize/pytorch.hpp>
#include <backplane/serialize/safetensors.hpp>

#include "nn/networks.hpp"

namespace bp::test {

namespace fs = std::filesystem;

// A folder that is gone when the test is.
class Folder {
 public:
  explicit Folder(const fs::path& where = fs::temp_directory_path()) {
    std::string name = (where / "backplane-serialize-XXXXXX").string();
    if (!mkdtemp(name.data())) throw std::runtime_error("no temporary folder " + name);
    path_ = name;
  }
  ~Folder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  fs::path operator/(const std::string& name) const { return path_ / name; }
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

inline std::string bytes_in(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

inline fs::path written(const fs::path& file, const std::string& bytes) {
  std::ofstream(file, std::ios::binary) << bytes;
  return file;
}

inline std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder))
    names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

inline std::string little_endian(std::uint64_t value, int bytes) {
  std::string text;
  for (int i = 0; i < bytes; ++i) text += static_cast<char>(value >> (8 * i) & 0xff);
  return text;
}

// A safetensors file by hand.
inline std::string safetensors_of(const std::string& header, const std::string& values = {}) {
  return little_endian(header.size(), 8) + header + values;
}

// The elements as they lie in memory, row-major.
inline std::string elements_of(const Tensor& tensor) {
  const Tensor dense = contiguous(cpu(detach(tensor)));
  if (dense.numel() == 0) return {};
  return {static_cast<const char*>(dense.data_ptr()), dense.nbytes()};
}

inline void expect_same(const Tensor& a, const Tensor& b) {
  EXPECT_EQ(a.dtype(), b.dtype());
  EXPECT_EQ(a.shape().to_vector(), b.shape().to_vector());
  EXPECT_EQ(elements_of(a), elements_of(b));
}

inline constexpr Dtype all_dtypes[] = {boolean, u8,        i8,         i16,       i32,    i64,
                                       u16,     u32,       u64,        f16,       f32,    bf16,
                                       f64,     complex64, complex128, f8_e4m3fn, f8_e5m2};

// Bytes 0, 1, 2 ... as elements of any dtype; of bools, 0 and 1 in turn.
inline Tensor counted(Dtype dtype, IntList shape) {
  const Tensor made = empty(shape, dtype, device("cpu"));
  auto* bytes = made.numel() > 0 ? static_cast<unsigned char*>(made.data_ptr()) : nullptr;
  for (std::uint64_t i = 0; i < made.nbytes(); ++i)
    bytes[i] = static_cast<unsigned char>(dtype == boolean ? i % 2 : i);
  return made;
}

}  // namespace bp::test
