// needs: cpu
// Margins, blocks and sequences: ONNX's own examples, and what undoes what.
#include <gtest/gtest.h>

#include <backplane/tensors.hpp>

#include "core_ops/peer_values.hpp"
#include "core_ops/rows.hpp"

namespace bp::regrouping_test {
namespace {

using Numbers = std::vector<std::int64_t>;

Numbers whole(const Tensor& input) {
  return to_vector<std::int64_t>(to(input, i64));
}
Tensor counted(IntList shape) {
  return reshape(arange(0, checked_numel("counted", shape)), shape);
}

TEST(Regrouping, the_middle_leaves_the_odd_element_behind) {
  EXPECT_EQ(whole(center_crop_pad(arange(1, 8), {4})), (Numbers{2, 3, 4, 5}));
  EXPECT_EQ(whole(center_crop_pad(arange(1, 5), {7})), (Numbers{0, 1, 2, 3, 4, 0, 0}));
  const Tensor both = center_crop_pad(counted({2, 5}), {3, 2});
  EXPECT_EQ(whole(both), (Numbers{1, 2, 6, 7, 0, 0}));
  EXPECT_EQ(whole(center_crop_pad(counted({2, 3}), {1}, -1)), (Numbers{1, 4}));
  EXPECT_EQ(test::error_of([] {
              center_crop_pad(counted({2, 3}), {1, 2}, {1, -1});
            }),
            "center_crop_pad: dimension -1 of shape [2, 3] is listed twice or does not exist; list "
            "each once");
}

TEST(Regrouping, blocks_come_from_channels_in_either_order) {
  const Tensor input = counted({1, 8, 2, 3});
  const Tensor made = depth_to_space(mul(input, 1), 2);
  EXPECT_EQ(made.shape(), (Dims{1, 2, 4, 6}));
  EXPECT_EQ(whole(select(select(made, 1, 0), 1, 0)), (Numbers{0, 12, 1, 13, 2, 14}));
  EXPECT_EQ(whole(select(select(made, 1, 0), 1, 1)), (Numbers{24, 36, 25, 37, 26, 38}));
  EXPECT_EQ(whole(select(select(made, 1, 1), 1, 0)), (Numbers{6, 18, 7, 19, 8, 20}));
  EXPECT_EQ(whole(space_to_depth(made, 2)), whole(input));
  EXPECT_EQ(whole(depth_to_space(input, 2, "CRD")), whole(pixel_shuffle(input, 2)));
  EXPECT_EQ(test::error_of([&] { depth_to_space(input, 3); }),
            "depth_to_space: shape [1, 8, 2, 3] and blocksize 3; the channels must be a multiple "
            "of 9");
}

TEST(Regrouping, sequences_turn_up_to_their_length) {
  const Tensor by_step = transpose(counted({4, 4}), 0, 1);
  const Tensor turned = reverse_sequence(by_step, tensor({4, 3, 2, 1}));
  EXPECT_EQ(whole(turned), (Numbers{3, 6, 9, 12, 2, 5, 8, 13, 1, 4, 10, 14, 0, 7, 11, 15}));
  const Tensor rows = reverse_sequence(counted({4, 4}), to(tensor({1, 2, 3, 4}), i32), 0, 1);
  EXPECT_EQ(whole(rows), (Numbers{0, 1, 2, 3, 5, 4, 6, 7, 10, 9, 8, 11, 15, 14, 13, 12}));
  EXPECT_EQ(whole(reverse_sequence(counted({2, 1}), tensor({0}))), (Numbers{0, 1}));
}

TEST(Regrouping, packs_step_by_step_and_back) {
  const Tensor input = counted({4, 3});
  const Tensor lengths = tensor({4, 2, 1});
  const auto packed = pack_padded_sequence(input, lengths);
  EXPECT_EQ(whole(packed.data), (Numbers{0, 1, 2, 3, 4, 6, 9}));
  EXPECT_EQ(whole(packed.batch_sizes), (Numbers{3, 2, 1, 1}));
  const auto padded = pad_packed_sequence(packed.data, packed.batch_sizes, true, -1, 5);
  EXPECT_EQ(whole(padded.output), (Numbers{0, 3, 6, 9, -1, 1, 4, -1, -1, -1, 2, -1, -1, -1, -1}));
  EXPECT_EQ(whole(padded.lengths), (Numbers{4, 2, 1}));
  const auto first = pack_padded_sequence(transpose(input, 0, 1), lengths, true);
  EXPECT_EQ(whole(first.data), whole(packed.data));
}

TEST(Regrouping, gradients_reach_what_was_packed) {
  const Tensor input = set_requires_grad(ones({3, 2, 1}, f64));
  const auto packed = pack_padded_sequence(input, tensor({3, 1}));
  const auto padded = pad_packed_sequence(mul(packed.data, 2), packed.batch_sizes);
  backward(sum(padded.output));
  EXPECT_EQ(to_vector<double>(grad(input)), (std::vector<double>{2, 2, 2, 0, 2, 0}));
}

TEST(Regrouping, packing_refuses_lengths_that_make_no_sense) {
  const Tensor input = counted({4, 2});
  EXPECT_EQ(test::error_of([&] {
              pack_padded_sequence(input, tensor({1, 2}));
            }),
            "pack_padded_sequence: lengths rises; sort the sequences, the longest first");
  EXPECT_EQ(test::error_of([&] {
              pack_padded_sequence(input, tensor({1, 0}));
            }),
            "pack_padded_sequence: a number of lengths is below 1; pass 1 or more");
  EXPECT_EQ(test::error_of([&] {
              pack_padded_sequence(input, tensor({5, 1}));
            }),
            "pack_padded_sequence: a length is 5 of 4 steps; pass at most these");
  EXPECT_EQ(test::error_of([&] { pack_padded_sequence(input, tensor({2})); }),
            "pack_padded_sequence: 1 lengths for 2 sequences; pass one for each");
  EXPECT_EQ(test::error_of([&] {
              pad_packed_sequence(arange(0, 3), tensor({2, 2}));
            }),
            "pad_packed_sequence: batch_sizes add up to 4 for data of shape [3]; pass what packing "
            "gave");
}

}  // namespace
}  // namespace bp::regrouping_test
