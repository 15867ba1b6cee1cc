// PyTorch's checkpoints, which torch.save writes, without PyTorch and without running anything that they say.
#pragma once

#include <filesystem>

#include <backplane/state/state.hpp>

namespace bp::serialize {

// Loads a .pt or .pth file that torch.save wrote, on the host's device: tensors, dicts, lists, tuples (as lists), numbers,
// text, None, torch.Size (as a list), dtypes ("torch.float32") and devices ("cuda:0", as text). Integer keys of dicts become
// decimal text. Tensors that share a storage share it here; requires_grad and the attributes of an OrderedDict are left out.
//
// A checkpoint is a program for Python's pickle machine, which can call any function. Here it is read by one that knows the
// functions which make the above and refuses all others by name. Throws bad_argument, naming the
// file, for one that names such a function, for a damaged one and for one that PyTorch wrote before
// 1.6 or on big-endian machines; unsupported if Backplane was built without libzip. Limits: a
// million values, 40000 entries in one dict, nesting of 200, 64 MiB besides tensors.
BP_API State load_pytorch(const std::filesystem::path& path);

}  // namespace bp::serialize
