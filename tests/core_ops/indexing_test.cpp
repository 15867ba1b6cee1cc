// needs: cpu
#include <gmock/gmock.h>

#include <backplane/backplane.hpp>

namespace {

using bp::Ellipsis, bp::NewAxis, bp::Slice, bp::Tensor;

std::vector<std::int64_t> values(const Tensor& a) {
  return bp::to_vector<std::int64_t>(a);
}

Tensor numbers() {
  return bp::reshape(bp::arange(0, 24), {2, 3, 4});
}

TEST(Indexing, numbers_and_slices_are_views) {
  const Tensor a = numbers();
  EXPECT_TRUE(bp::equal(a[1], bp::select(a, 0, 1)));
  EXPECT_TRUE(bp::equal(a[-1], bp::select(a, 0, 1)));
  EXPECT_EQ(values((a[{1, 2}])), (std::vector<std::int64_t>{20, 21, 22, 23}));
  EXPECT_EQ(values((a[{1, Slice{1, 3}, -1}])), (std::vector<std::int64_t>{19, 23}));
  EXPECT_EQ(values((a[{0, 0, Slice{.step = 2}}])), (std::vector<std::int64_t>{0, 2}));
  EXPECT_TRUE((a[{Slice{}, 1}].shares_storage(a)));
}

TEST(Indexing, ellipsis_and_new_axis_place_the_rest) {
  const Tensor a = numbers();
  EXPECT_EQ((a[{Ellipsis{}, 0}].shape()), (bp::IntList{2, 3}));
  EXPECT_EQ((a[{0, Ellipsis{}, 0}].shape()), (bp::IntList{3}));
  EXPECT_EQ((a[{NewAxis{}, Ellipsis{}, NewAxis{}}].shape()), (bp::IntList{1, 2, 3, 4, 1}));
  EXPECT_EQ((a[{Ellipsis{}}].shape()), a.shape());
}

TEST(Indexing, tensors_choose_elements) {
  const Tensor a = numbers();
  const Tensor rows = bp::tensor({1, 0}), columns = bp::tensor({3, 2});
  EXPECT_EQ(a[rows].shape(), a.shape());
  EXPECT_EQ(values((a[{rows, 0, columns}])), (std::vector<std::int64_t>{15, 2}));
  EXPECT_EQ(values((a[{0, Slice{0, 2}, columns}])), (std::vector<std::int64_t>{3, 2, 7, 6}));
  EXPECT_EQ(values(a[a > 21]), (std::vector<std::int64_t>{22, 23}));
  const Tensor mask = bp::tensor({{true, false, false}, {false, false, true}});
  EXPECT_EQ(values((a[{mask, 0}])), (std::vector<std::int64_t>{0, 20}));
  EXPECT_EQ(values((a[{mask, columns}])), (std::vector<std::int64_t>{3, 22}));
}

TEST(Indexing, writes_go_through_views) {
  const Tensor a = bp::zeros({2, 2}, bp::i64);
  a[0] += 1;
  bp::copy_(a[{1, 1}], bp::tensor(7));
  EXPECT_EQ(values(a), (std::vector<std::int64_t>{1, 1, 0, 7}));
}

TEST(Indexing, is_differentiated) {
  const Tensor a = bp::ones({2, 3});
  bp::set_requires_grad(a, true);
  bp::backward(bp::sum(a[{1, Slice{1}}]));
  EXPECT_EQ(bp::to_vector<float>(bp::grad(a)), (std::vector<float>{0, 0, 0, 0, 1, 1}));
}

TEST(Indexing, takes_one_index_without_braces) {
  const Tensor a = numbers();
  EXPECT_TRUE(bp::equal(a[Slice{1}], a[{Slice{1}}]));
  EXPECT_EQ(a[NewAxis{}].shape(), (bp::IntList{1, 2, 3, 4}));
  EXPECT_EQ((a[{std::nullopt, 0}].shape()), (bp::IntList{1, 3, 4}));
  EXPECT_TRUE(bp::equal(a[Ellipsis{}], a));
}

TEST(Indexing, masked_fill_writes_where_a_mask_is_true) {
  const Tensor a = bp::arange(4);
  bp::masked_fill_(a, a > 1, -1);
  EXPECT_EQ(bp::to_vector<std::int64_t>(a), (std::vector<std::int64_t>{0, 1, -1, -1}));
  Tensor copy = a[a < 0];
  copy += 5;  // a tensor of its own, once it has a name
  EXPECT_EQ(bp::to_vector<std::int64_t>(copy), (std::vector<std::int64_t>{4, 4}));
}

TEST(Indexing, says_what_does_not_fit) {
  const auto message = [](auto&& call) -> std::string {
    try {
      call();
    } catch (const bp::Error& error) {
      return error.what();
    }
    return "no error";
  };
  const Tensor a = numbers();
  EXPECT_EQ(message([&] {
              a[{0, 0, 0, 0}];
            }),
            "[]: the indices are for 4 dimensions, and a tensor of shape [2, 3, 4] has 3; leave "
            "some out");
  EXPECT_EQ(message([&] {
              a[{Ellipsis{}, Ellipsis{}}];
            }),
            "[]: Ellipsis occurs 2 times; use it once");
  EXPECT_EQ(message([&] { a[Tensor()]; }),
            "[]: an index is an undefined tensor; give it a value first");
  EXPECT_THAT(message([&] { a[2]; }), testing::StartsWith("[]: index 2 "));
  EXPECT_THAT(message([&] { a[Slice{.step = -1}]; }), testing::StartsWith("[]: step -1 "));
  EXPECT_THAT(message([&] { a[bp::tensor({true})]; }), testing::StartsWith("[]: a mask "));
}

}  // namespace
