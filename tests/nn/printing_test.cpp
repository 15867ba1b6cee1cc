// needs: cpu
// Modules as text. tests/pytorch/compare_modules.py holds the text of every module to PyTorch's.
#include <sstream>

#include "nn/networks.hpp"

namespace bp::test {
namespace {

TEST(Printing, shows_the_tree) {
  EXPECT_EQ(nn::to_string(nn::Linear(4, 3)), "Linear(in_features=4, out_features=3, bias=True)");
  EXPECT_EQ(nn::to_string(nn::Sequential(nn::Linear(4, 3), nn::Sequential(Relu{}))), R"(Sequential(
  (0): Linear(in_features=4, out_features=3, bias=True)
  (1): Sequential(
    (0): Relu()
  )
))");
  EXPECT_EQ(nn::to_string(nn::Sequential()), "Sequential()");
  std::ostringstream stream;
  stream << nn::Sequential();
  EXPECT_EQ(stream.str(), "Sequential()");
}

TEST(Printing, folds_equal_modules_of_a_list) {
  const nn::Linear same(2, 2);
  EXPECT_EQ(nn::to_string(nn::ModuleList(same, same, Relu{}, same)), R"(ModuleList(
  (0-1): 2 x Linear(in_features=2, out_features=2, bias=True)
  (2): Relu()
  (3): Linear(in_features=2, out_features=2, bias=True)
))");
  EXPECT_EQ(nn::to_string(nn::ModuleList()), "ModuleList()");
  const nn::Sequential block(same);
  EXPECT_EQ(nn::to_string(nn::ModuleList(block, block)), R"(ModuleList(
  (0-1): 2 x Sequential(
    (0): Linear(in_features=2, out_features=2, bias=True)
  )
))");
}

TEST(Printing, shows_lines_that_a_module_says_of_itself_before_those_it_holds) {
  struct Verbose : nn::Module {
    Relu part;
    std::string text;
    void list_parts(nn::Parts& parts) override { parts.module("part", part); }
    std::string extra_repr() const override { return text; }
  } module;
  module.text = "one\ntwo";
  EXPECT_EQ(nn::to_string(module), "Verbose(\n  one\n  two\n  (part): Relu()\n)");
  module.text = "one";
  EXPECT_EQ(nn::to_string(module), "Verbose(\n  one\n  (part): Relu()\n)");
}

TEST(Printing, shows_parameters_of_lists_by_shape) {
  EXPECT_EQ(
      nn::to_string(nn::ParameterList({nn::Parameter(ones({2, 3})), nn::Parameter(ones({}))})),
      R"(ParameterList(
  (0): Parameter containing: [torch.float32 of size 2x3]
  (1): Parameter containing: [torch.float32 of size ]
))");
  EXPECT_EQ(nn::to_string(nn::ParameterDict{{"a", nn::Parameter(ones({4}, f64))}}),
            R"(ParameterDict(
  (a): Parameter containing: [torch.float64 of size 4]
))");
}

}  // namespace
}  // namespace bp::test
