// needs: cpu reference
// Every dtype in every layout on each device, through each kind of file.
#include <fmt/format.h>

#include "serialize/files.hpp"

namespace bp::test {
namespace {

using Views = std::vector<std::pair<std::string, Tensor>>;

// Of a tensor [4, 6]. Each has the same values whatever the layout of the base.
Views views_of(const Tensor& base) {
  const Tensor row = select(base, 0, 1);
  return {{"whole", base},
          {"reshaped", reshape(base, {2, 1, 12})},
          {"none of a narrowed one", narrow(base, 0, 2, 0)},
          {"none between", expand(narrow(reshape(base, {4, 1, 6}), 2, 6, 0), {4, 5, 0})},
          {"one element", select(row, 0, 5)},
          {"transposed", transpose(base, 0, 1)},
          {"rows from the second", narrow(base, 0, 1, 3)},
          {"columns from the third", narrow(base, 1, 2, 3)},
          {"every second", slice(base, 1, 1, 6, 2)},
          {"every second, transposed", transpose(slice(base, 0, 0, 4, 2), 0, 1)},
          {"one row many times", expand(reshape(row, {1, 6}), {3, 6})},
          {"one element many times", expand(select(row, 0, 3), {2, 0, 3})},
          {"one element in a square", expand(select(row, 0, 3), {3, 3})},
          {"permuted", permute(reshape(base, {2, 2, 6}), {2, 0, 1})}};
}

// Some with elements of their own, and all views of one storage.
nn::StateDict all_tensors(Device device) {
  nn::StateDict all;
  for (const Dtype dtype : all_dtypes) {
    const auto add = [&](const std::string& what, const Tensor& tensor) {
      all.set(fmt::format("{} of {}", what, name(dtype)), tensor);
    };
    const Tensor base = to(counted(dtype, {4, 6}), device);
    for (const auto& [what, view] : views_of(base)) add(what, view);
    add("scalar", to(counted(dtype, {}), device));
    add("nothing", to(counted(dtype, {0}), device));
    add("nothing of many dimensions", to(counted(dtype, {3, 0, 2}), device));
    if (!is_complex(dtype)) continue;
    add("imaginary parts", select(view_as_real(base), 2, 1));
    add("both parts, transposed", transpose(view_as_real(base), 0, 2));
  }
  return all;
}

class RoundTrip : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Devices, RoundTrip, testing::Values("cpu", "reference:0"));

TEST_P(RoundTrip, keeps_every_dtype_and_layout_in_safetensors) {
  const Folder folder;
  nn::StateDict tensors;
  for (const auto& [name, tensor] : all_tensors(device(GetParam()))) {
    if (tensor.dtype() != complex128) {
      tensors.set(name, tensor);
      continue;
    }
    EXPECT_THAT(sentence_of([&] {
                  serialize::save_file({{name, tensor}}, folder / "a");
                }),
                HasSubstr("which safetensors has no name for; save view_as_real of it"));
    tensors.set(name, view_as_real(tensor));
  }
  serialize::save_file(tensors, folder / "a");
  for (const bool mapped : {true, false}) {
    const nn::StateDict loaded = serialize::load_file(folder / "a", {.mapped = mapped});
    ASSERT_EQ(loaded.size(), tensors.size());
    for (const auto& [name, tensor] : tensors) {
      SCOPED_TRACE(name);
      expect_same(loaded.at(name), tensor);
    }
  }
}

TEST_P(RoundTrip, keeps_every_dtype_and_layout_in_checkpoints) {
  const Folder folder;
  const nn::StateDict tensors = all_tensors(device(GetParam()));
  serialize::CheckpointFolder runs(folder.path());
  runs.save({.step = 1, .model = tensors, .optimizer = serialize::to_state(tensors)});
  const auto loaded = runs.load_newest();
  ASSERT_TRUE(loaded);
  ASSERT_EQ(loaded->model.size(), tensors.size());
  for (const auto& [name, tensor] : tensors) {
    SCOPED_TRACE(name);
    expect_same(loaded->model.at(name), tensor);
    expect_same(loaded->optimizer.at(name).as_tensor(), tensor);
  }
}

}  // namespace
}  // namespace bp::test
