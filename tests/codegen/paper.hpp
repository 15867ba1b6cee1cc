// What codegen writes for a GPU that takes CUDA C++, without one: tests/plugins/paper_gpu.
#pragma once

#include <span>
#include <vector>

#include <backplane/codegen/codegen.hpp>
#include <backplane/tensors.hpp>

namespace bp::test {

// The device; its launches do nothing, and its memory is zeros.
Device paper_gpu();

// Every kernel that the samples of all rows need there, in each dtype that a row takes.
std::vector<codegen::GeneratedSource> sources_on_paper(std::span<const Dtype> dtypes);

}  // namespace bp::test
