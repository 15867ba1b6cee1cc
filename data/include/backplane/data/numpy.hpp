// NumPy's files: .npy with one array, .npz with several by name.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <backplane/tensor/tensor.hpp>

namespace bp::data {

// Arrays of all dtypes that tensors have and NumPy too, of either byte order and either order of dimensions; versions 1 to 3.
// Throws bad_argument, which names the file, for one that is cut short, not of this format, or of another dtype (objects
// among them: nothing is ever executed).
BP_API Tensor load_npy(const std::string& path);

// Row-major, from any device. An existing file is replaced completely or not at all, and keeps its mode and links. bf16 and
// fp8, which NumPy does not have, throw bad_argument, as does a file that can't be written; out_of_memory for a full disk.
BP_API void save_npy(const std::string& path, const Tensor& tensor);

struct NpzOptions {
  std::uint64_t most_bytes = std::uint64_t{1} << 34;  // all arrays together, unpacked
};
// The arrays of a zip file, stored or deflated, by their names without ".npy", in the file's order. Throws as load_npy does, for
// a bad checksum or a name that occurs twice, and for arrays that unpack to more than `most_bytes`; unsupported if this was
// built without libzip.
BP_API std::vector<std::pair<std::string, Tensor>> load_npz(const std::string& path,
                                                            const NpzOptions& options = {});

struct SaveNpzOptions {
  bool compressed = false;  // numpy.savez, or numpy.savez_compressed
};
// The same arrays make the same bytes. Names may be any text, each used once. Throws as save_npy
// does, and for names that are empty or occur twice; unsupported if this was built without libzip.
BP_API void save_npz(const std::string& path,
                     const std::vector<std::pair<std::string, Tensor>>& arrays,
                     const SaveNpzOptions& options = {});

}  // namespace bp::data
