// needs: cpu reference
// Rows with a list of results: what they give is what PyTorch gives, as views of their arguments.
#include <gmock/gmock.h>

#include <backplane/dispatcher/call.hpp>
#include <backplane/dispatcher/registry.hpp>
#include <backplane/tensors.hpp>

namespace bp::parts_test {
namespace {

using Sizes = std::vector<std::int64_t>;
using Numbers = std::vector<double>;

std::string problem(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

Tensor counted(IntList shape) {
  return reshape(arange(0, checked_numel("counted", shape), 1, f64), shape);
}

Sizes sizes_of(const std::vector<Tensor>& parts, std::int64_t dim) {
  Sizes sizes;
  for (const Tensor& part : parts) sizes.push_back(part.size(dim));
  return sizes;
}

TEST(Parts, unbind_gives_the_slices_as_views) {
  const Tensor a = counted({2, 3});
  const std::vector<Tensor> columns = unbind(a, -1);
  ASSERT_EQ(columns.size(), 3u);
  EXPECT_EQ(to_vector<double>(contiguous(columns[1])), (Numbers{1, 4}));
  EXPECT_TRUE(columns[2].shares_storage(a));
  EXPECT_EQ(unbind(a).size(), 2u);
  EXPECT_TRUE(unbind(zeros({0, 3})).empty());
  EXPECT_EQ(unbind(zeros({2, 0})).size(), 2u);
}

TEST(Parts, split_takes_a_size_or_sizes) {
  const Tensor a = counted({7});
  EXPECT_EQ(sizes_of(split(a, 3), 0), (Sizes{3, 3, 1}));
  EXPECT_EQ(sizes_of(split(a, 10), 0), Sizes{7});
  EXPECT_EQ(sizes_of(split(a, {2, 0, 5}), 0), (Sizes{2, 0, 5}));
  EXPECT_EQ(sizes_of(split_with_sizes(a, {2, 0, 5}), 0), (Sizes{2, 0, 5}));
  EXPECT_EQ(sizes_of(split(zeros({0}), 0), 0), Sizes{0});
  EXPECT_TRUE(split_with_sizes(zeros({0}), {}).empty());
  EXPECT_EQ(to_vector<double>(split(a, 3)[2]), Numbers{6});
}

TEST(Parts, tensor_split_takes_sections_or_places) {
  const Tensor a = counted({7});
  EXPECT_EQ(sizes_of(tensor_split(a, 3), 0), (Sizes{3, 2, 2}));
  EXPECT_EQ(sizes_of(tensor_split(a, 9), 0), (Sizes{1, 1, 1, 1, 1, 1, 1, 0, 0}));
  EXPECT_EQ(sizes_of(tensor_split(a, {2, 5}), 0), (Sizes{2, 3, 2}));
  EXPECT_EQ(sizes_of(tensor_split(a, {5, 2, -1, 100}), 0), (Sizes{5, 0, 4, 1, 0}));
  EXPECT_EQ(sizes_of(tensor_split(a, {}), 0), Sizes{7});
  EXPECT_EQ(to_vector<double>(tensor_split(a, {5, 2, -1})[2]), (Numbers{2, 3, 4, 5}));
}

TEST(Parts, meshgrid_lays_vectors_along_dimensions) {
  const Tensor x = counted({2}), y = counted({3});
  const std::vector<Tensor> grids = meshgrid({x, y});
  EXPECT_EQ(to_vector<double>(contiguous(grids[0])), (Numbers{0, 0, 0, 1, 1, 1}));
  EXPECT_EQ(to_vector<double>(contiguous(grids[1])), (Numbers{0, 1, 2, 0, 1, 2}));
  const std::vector<Tensor> swapped = meshgrid({x, y, tensor(7.0, {f64})}, "xy");
  EXPECT_EQ(to_string(swapped[0].shape()), "[3, 2, 1]");
  EXPECT_EQ(to_vector<double>(contiguous(swapped[0])), (Numbers{0, 1, 0, 1, 0, 1}));
  EXPECT_EQ(to_vector<double>(contiguous(swapped[1])), (Numbers{0, 0, 1, 1, 2, 2}));
}

TEST(Parts, broadcast_tensors_show_all_in_one_shape) {
  const std::vector<Tensor> all =
      broadcast_tensors({counted({2, 1}), counted({3}), tensor(7.0, {f64})});
  ASSERT_EQ(all.size(), 3u);
  for (const Tensor& each : all) EXPECT_EQ(to_string(each.shape()), "[2, 3]");
  EXPECT_EQ(to_vector<double>(contiguous(all[0])), (Numbers{0, 0, 0, 1, 1, 1}));
  EXPECT_TRUE(broadcast_tensors(std::vector<Tensor>{}).empty());
}

TEST(Parts, come_from_any_device_as_views_there) {
  const Tensor a = to(counted({4, 2}), device("reference"));
  const std::vector<Tensor> parts = chunk(a, 2);
  EXPECT_EQ(parts[1].device(), a.device());
  EXPECT_TRUE(parts[1].shares_storage(a));
  EXPECT_EQ(to_vector<double>(to(parts[1], device("cpu"))), (Numbers{4, 5, 6, 7}));
}

TEST(Parts, boxed_calls_give_the_list) {
  const Tensor a = counted({5});
  const std::vector<Tensor> parts = call_boxed("split", {value_of(a), value_of(std::int64_t{2})});
  EXPECT_EQ(sizes_of(parts, 0), (Sizes{2, 2, 1}));
  bp_value args[] = {value_of(a), value_of(std::int64_t{2}), value_of(std::int64_t{0})};
  EXPECT_EQ(num_results_of(*find_operator("split"), args, 3), 3u);
}

TEST(Parts, have_the_shapes_of_meta_tensors) {
  const Tensor a = empty({5, 3}, f32, meta_device);
  EXPECT_EQ(sizes_of(split(a, 2), 0), (Sizes{2, 2, 1}));
  EXPECT_EQ(unbind(a, 1).size(), 3u);
}

TEST(Parts, that_cannot_be_say_why) {
  const Tensor a = counted({2, 3}), number = tensor(1.0, {f64});
  EXPECT_EQ(problem([&] { unbind(number); }),
            "unbind: a 0-dim tensor has no parts; reshape it to [1] first");
  EXPECT_EQ(problem([&] { unbind(a, 2); }).substr(0, 8), "unbind: ");
  EXPECT_EQ(problem([&] { split(a, 0); }),
            "split: parts of 0 elements of dimension 0, which has 2; pass a positive number");
  EXPECT_EQ(
      problem([&] {
        split_with_sizes(a, {1, 1}, 1);
      }),
      "split_with_sizes: the sizes [1, 1] add up to 2 and dimension 1 has 3; make them equal");
  EXPECT_EQ(problem([&] {
              split_with_sizes(a, {4, -1}, 1);
            }),
            "split_with_sizes: a part of -1 elements; pass 0 or more");
  EXPECT_EQ(problem([&] { tensor_split(a, 0); }),
            "tensor_split: 0 sections; pass a positive number");
  EXPECT_EQ(problem([&] { meshgrid(std::vector<Tensor>{}); }),
            "meshgrid: no tensors; pass at least one");
  EXPECT_EQ(problem([&] { meshgrid({a}); }), "meshgrid: a tensor has shape [2, 3]; pass vectors");
  EXPECT_EQ(problem([&] { meshgrid({number}, "yx"); }),
            "meshgrid: indexing is 'yx'; pass 'ij' or 'xy'");
  EXPECT_EQ(problem([&] {
              meshgrid({number, ones({2})});
            }),
            "meshgrid: tensors are float64 and float32; cast one of them");
  EXPECT_EQ(problem([] {
              meshgrid({ones({2}), to(ones({2}), device("reference"))});
            }),
            "meshgrid: tensors are on cpu:0 and reference:0; move one with to()");
  EXPECT_EQ(problem([&] {
              broadcast_tensors({a, Tensor()});
            }),
            "broadcast_tensors: tensor 1 of 'tensors' is undefined; give it a value first");
  EXPECT_EQ(problem([&] { unbind(Tensor()); }),
            "unbind: argument 'input' is an undefined tensor; give it a value first");
}

// ---- Derivatives ----

TEST(PartsGradients, flow_from_each_part_and_are_zero_for_those_left_out) {
  const Tensor a = set_requires_grad(counted({5}));
  backward(sum(mul(split(a, 2)[1], 3)));
  EXPECT_EQ(to_vector<double>(grad(a)), (Numbers{0, 0, 3, 3, 0}));
  const Tensor b = set_requires_grad(counted({2, 3}));
  const std::vector<Tensor> columns = unbind(b, 1);
  backward(add(sum(mul(columns[0], columns[2])), sum(columns[2])));
  EXPECT_EQ(to_vector<double>(grad(b)), (Numbers{2, 0, 1, 5, 0, 4}));
  const Tensor c = set_requires_grad(counted({4}));
  backward(sum(mul(split_with_sizes(c, {1, 0, 3})[2], counted({3}))));
  EXPECT_EQ(to_vector<double>(grad(c)), (Numbers{0, 0, 1, 2}));
}

TEST(PartsGradients, of_the_second_order_flow_as_well) {
  for (const auto& cut : std::vector<std::function<std::vector<Tensor>(const Tensor&)>>{
           [](const Tensor& t) { return unbind(t); }, [](const Tensor& t) { return split(t, 1); },
           [](const Tensor& t) { return chunk(t, 2); },
           [](const Tensor& t) {
             return split_with_sizes(t, {1, 1});
           },
           [](const Tensor& t) { return tensor_split(t, 2); },
           [](const Tensor& t) { return tensor_split(t, {1}); }}) {
    const Tensor a = set_requires_grad(add(counted({2, 2}), 1));
    const std::vector<Tensor> parts = cut(a);
    const Tensor total = sum(mul(mul(parts[0], parts[1]), parts[1]));
    const Tensor first = autograd::grad({total}, {a}, {}, {.create_graph = true})[0];
    EXPECT_EQ(to_vector<double>(detach(first)), (Numbers{9, 16, 6, 16}));
    EXPECT_EQ(to_vector<double>(autograd::grad({sum(first)}, {a})[0]), (Numbers{6, 8, 8, 12}));
  }
}

TEST(PartsGradients, of_grids_and_broadcasts_are_sums) {
  const Tensor x = set_requires_grad(counted({2})), y = set_requires_grad(counted({3}));
  const std::vector<Tensor> grids = meshgrid({x, y});
  backward(sum(mul(grids[0], grids[1])));
  EXPECT_EQ(to_vector<double>(grad(x)), (Numbers{3, 3}));
  EXPECT_EQ(to_vector<double>(grad(y)), (Numbers{1, 1, 1}));
  const Tensor row = set_requires_grad(counted({3}));
  backward(sum(broadcast_tensors({row, zeros({2, 1}, f64)})[0]));
  EXPECT_EQ(to_vector<double>(grad(row)), (Numbers{2, 2, 2}));
}

// ---- Writing in place ----

TEST(PartsInPlace, one_of_several_views_is_not_written_while_derivatives_are_recorded) {
  const Tensor a = mul(set_requires_grad(counted({4})), 1);
  const std::vector<Tensor> parts = split(a, 2);
  EXPECT_EQ(problem([&] { add_(parts[1], 1); }),
            "add_: output 1 of split, shape [2], is one of several views that one call returned, "
            "and these cannot be written in place; write to a copy of it, or make the view with "
            "narrow or select");
  EXPECT_NE(problem([&] { add_(select(parts[0], 0, 0), 1); }), "no error");
  EXPECT_NE(problem([&] { add_(unbind(a)[2], 1); }), "no error");
  EXPECT_NE(problem([&] { add_(chunk(a, 2)[0], 1); }), "no error");
  EXPECT_EQ(problem([&] { add_(tensor_split(a, 2)[0], 1); }), "no error");  // as in PyTorch
  EXPECT_EQ(problem([&] { add_(narrow(a, 0, 2, 2), 1); }), "no error");
}

TEST(PartsInPlace, a_part_whose_memory_was_written_since_takes_no_part_any_more) {
  const Tensor a = mul(set_requires_grad(counted({4})), 1);
  const std::vector<Tensor> parts = split(a, 2);
  mul_(a, 2);
  EXPECT_EQ(problem([&] { mul(parts[1], 3); }),
            "mul: 'input', shape [2], is output 1 of split, and its memory was written since; "
            "split the tensor again afterwards, or write to a copy");
  EXPECT_EQ(problem([&] { mul(split(a, 2)[1], 3); }), "no error");
  const NoGrad constant;
  EXPECT_EQ(to_vector<double>(mul(parts[1], 3)), (Numbers{12, 18}));
}

TEST(PartsInPlace, without_a_record_parts_are_written_as_other_views) {
  const Tensor a = counted({4});
  add_(split(a, 2)[1], 10);
  EXPECT_EQ(to_vector<double>(a), (Numbers{0, 1, 12, 13}));
  const Tensor b = set_requires_grad(counted({4}));
  const NoGrad constant;
  fill_(unbind(b)[0], 9);
  EXPECT_EQ(to_vector<double>(detach(b)), (Numbers{9, 1, 2, 3}));
}

}  // namespace
}  // namespace bp::parts_test
