// needs: cpu reference_primitives
// Reading and writing by tensors of indices, against loops that go by NumPy's definition.
#include <gmock/gmock.h>
#include <random>

#include <backplane/tensors.hpp>

#include "core_ops/rows.hpp"

namespace bp::index_test {
namespace {

using Indices = std::vector<std::int64_t>;
using testing::HasSubstr;

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

std::int64_t flat_place(IntList place, IntList shape) {
  std::int64_t at = 0;
  for (std::size_t d = 0; d < shape.size(); ++d) at = at * shape[d] + place[d];
  return at;
}

// Calls visit with every place of the shape, row-major.
void for_each_place(IntList shape, const std::function<void(const Dims&)>& visit) {
  const std::int64_t count = checked_numel("place", shape);
  for (std::int64_t i = 0; i < count; ++i) {
    Dims place(static_cast<std::uint32_t>(shape.size()), 0);
    std::int64_t rest = i;
    for (std::size_t d = shape.size(); d-- > 0; rest /= shape[d]) place[d] = rest % shape[d];
    visit(place);
  }
}

// The definition: the result's shape, and for each of its elements the place in the input.
struct Named {
  Dims shape;
  Indices places;
};

Named named_by(const Tensor& input, const std::vector<Tensor>& given) {
  std::vector<Tensor> indices = given;
  indices.resize(static_cast<std::size_t>(input.ndim()));
  Dims common;
  std::int64_t first = -1, last = -1, num_indexed = 0;
  for (std::size_t d = 0; d < indices.size(); ++d) {
    if (!indices[d].defined()) continue;
    common = num_indexed == 0 ? Dims(indices[d].shape())
                              : broadcast_shapes("index", common, indices[d].shape());
    if (first < 0) first = static_cast<std::int64_t>(d);
    last = static_cast<std::int64_t>(d);
    ++num_indexed;
  }
  const bool together = last - first + 1 == num_indexed;
  Named named;
  std::vector<std::int64_t> from;  // of each dimension of the result: input's, or -1 - i of common
  const auto take_common = [&] {
    for (std::size_t i = 0; i < common.size(); ++i) {
      named.shape.push_back(common[i]);
      from.push_back(-1 - static_cast<std::int64_t>(i));
    }
  };
  if (!together) take_common();
  for (std::int64_t d = 0; d < input.ndim(); ++d) {
    if (together && d == first) take_common();
    if (indices[static_cast<std::size_t>(d)].defined()) continue;
    named.shape.push_back(input.size(d));
    from.push_back(d);
  }
  for_each_place(named.shape, [&](const Dims& place) {
    Dims at(static_cast<std::uint32_t>(input.ndim()), 0), of_common(common);
    for (std::size_t r = 0; r < from.size(); ++r) {
      if (from[r] >= 0)
        at[from[r]] = place[r];
      else
        of_common[-1 - from[r]] = place[r];
    }
    for (std::size_t d = 0; d < indices.size(); ++d) {
      if (!indices[d].defined()) continue;
      const std::vector<std::int64_t> values =
          to_vector<std::int64_t>(contiguous(expand(indices[d], common)));
      const std::int64_t value = values[static_cast<std::size_t>(flat_place(of_common, common))];
      at[d] = value < 0 ? value + input.size(static_cast<std::int64_t>(d)) : value;
    }
    named.places.push_back(flat_place(at, input.shape()));
  });
  return named;
}

class AnyIndices : public testing::Test {
 protected:
  std::mt19937 random_{5};
  std::int64_t below(std::int64_t end) {
    return static_cast<std::int64_t>(random_() % static_cast<std::uint32_t>(end));
  }
  Tensor index_into(std::int64_t size) {
    static constexpr std::int64_t shapes[][2] = {{2, 3}, {1, 3}, {2, 1}};
    const auto& shape = shapes[below(3)];
    const bool is_vector = below(3) == 0;
    Indices values(static_cast<std::size_t>(is_vector ? 3 : shape[0] * shape[1]));
    for (std::int64_t& value : values) value = below(2 * size) - size;
    return is_vector ? tensor(values) : tensor(values, {shape[0], shape[1]});
  }
  std::vector<Tensor> indices_for(const Tensor& input) {
    std::vector<Tensor> indices;
    for (std::int64_t d = 0; d < input.ndim() && (d == 0 || below(4) != 0); ++d)
      indices.push_back(below(2) == 0 ? Tensor() : index_into(input.size(d)));
    return indices;
  }
};

TEST_F(AnyIndices, read_what_loops_do) {
  for (int i = 0; i < 200; ++i) {
    Dims shape;
    for (std::int64_t d = 1 + below(4); d > 0; --d) shape.push_back(2 + below(3));
    Tensor input = counted(shape);
    if (below(2) == 0 && input.ndim() >= 2) input = transpose(input, 0, 1);
    const std::vector<Tensor> indices = indices_for(input);
    const Named expected = named_by(input, indices);
    const Tensor result = index(input, indices);
    const std::vector<double> values = to_vector<double>(contiguous(input));
    ASSERT_EQ(to_string(result.shape()), to_string(expected.shape));
    ASSERT_TRUE(result.is_contiguous());
    const std::vector<double> found = to_vector<double>(result);
    for (std::size_t k = 0; k < found.size(); ++k)
      ASSERT_EQ(found[k], values[static_cast<std::size_t>(expected.places[k])]);
  }
}

TEST_F(AnyIndices, write_and_add_what_loops_do) {
  for (int i = 0; i < 200; ++i) {
    Dims shape;
    for (std::int64_t d = 1 + below(3); d > 0; --d) shape.push_back(2 + below(3));
    const Tensor input = counted(shape);
    const std::vector<Tensor> indices = indices_for(input);
    const Named named = named_by(input, indices);
    const bool adds = below(2) == 0;
    const Tensor values = below(3) == 0 ? tensor(100.0, {f64}) : add(counted(named.shape), 100);
    const std::vector<double> written = to_vector<double>(contiguous(expand(values, named.shape)));
    std::vector<double> expected = to_vector<double>(input);
    for (std::size_t k = 0; k < written.size(); ++k) {
      double& place = expected[static_cast<std::size_t>(named.places[k])];
      place = adds ? place + written[k] : written[k];
    }
    const Tensor result = index_put(input, indices, values, adds);
    ASSERT_TRUE(result.is_contiguous());
    ASSERT_EQ(to_string(result.shape()), to_string(input.shape()));
    ASSERT_EQ(to_vector<double>(result), expected);
  }
}

TEST(Index, is_pleasant_to_write) {
  const Tensor table = counted({3, 4, 5});
  const Tensor rows = tensor(Indices{0, -1}), columns = tensor(Indices{4, 0});
  EXPECT_EQ(to_string(index(table, {rows}).shape()), "[2, 4, 5]");
  EXPECT_EQ(to_string(index(table, {{}, rows}).shape()), "[3, 2, 5]");
  EXPECT_EQ(to_string(index(table, {rows, {}, columns}).shape()), "[2, 4]");
  EXPECT_EQ(to_string(index(table, {{}, rows, columns}).shape()), "[3, 2]");
  index_put_(table, {rows, {}, columns}, tensor(-1.0, {f64}));
  EXPECT_EQ(to_vector<double>(index(table, {rows, {}, columns})), std::vector<double>(8, -1));
  EXPECT_EQ(item<double>(sum(lt(table, 0))), 8);
}

TEST(Index, masks_name_the_places_where_they_hold) {
  const Tensor a = counted({2, 3});
  EXPECT_EQ(to_vector<double>(index(a, {gt(a, 3)})), (std::vector<double>{4, 5}));
  const Tensor columns = tensor({true, false, true});
  EXPECT_EQ(to_vector<double>(index(a, {{}, columns})), (std::vector<double>{0, 2, 3, 5}));
  EXPECT_EQ(to_vector<double>(index(a, {tensor(Indices{1, 0}), columns})),
            (std::vector<double>{3, 2}));
  EXPECT_EQ(to_string(index(a, {lt(a, 0)}).shape()), "[0]");
  EXPECT_EQ(to_vector<double>(index_put(a, {{}, columns}, tensor(9.0, {f64}))),
            (std::vector<double>{9, 1, 9, 9, 4, 9}));
}

TEST(Index, nothing_is_read_from_nothing) {
  const Tensor none = tensor(Indices{}, {0});
  EXPECT_EQ(to_string(index(counted({3, 4}), {none}).shape()), "[0, 4]");
  EXPECT_EQ(to_string(index(zeros({0, 4}, f64), {none}).shape()), "[0, 4]");
  EXPECT_EQ(to_string(index(zeros({3, 0}, f64), {tensor(Indices{1, 2})}).shape()), "[2, 0]");
  EXPECT_THAT(problem([] {
                index(zeros({0, 4}, f64), {tensor(Indices{0})});
              }),
              HasSubstr("index: 1 indices into shape [0, 4], which has no elements"));
}

// Few are scattered one by one, many are found by their last writer.
TEST(Index, the_last_of_many_writers_counts_for_few_and_for_many) {
  for (const char* name : {"cpu", "reference_primitives"}) {
    const Device where = device(name);
    for (const std::int64_t writers : {7, 400, 500}) {
      const Tensor numbers = arange(0, writers, 1, i64);
      const Tensor rows = sub(remainder(numbers, 3), 3);  // from the end
      const Tensor values =
          expand(unsqueeze(cast(numbers, f64), 1), {writers, 40});  // 16,000 elements and 20,000
      const Tensor result = index_put(to(zeros({4, 40}, f64), where), {to(rows, where)},
                                      to(contiguous(values), where));
      for (std::int64_t row = 0; row < 4; ++row) {
        std::int64_t last = 0;
        for (std::int64_t i = 0; i < writers; ++i)
          if (i % 3 + 1 == row) last = i;
        EXPECT_EQ(to_vector<double>(select(result, 0, row)),
                  std::vector<double>(40, static_cast<double>(last)))
            << name << " " << writers << " writers, row " << row;
      }
    }
  }
}

TEST(Index, int32_counts_as_an_index_and_floats_do_not) {
  const Tensor a = counted({4});
  EXPECT_EQ(to_vector<double>(index(a, {cast(tensor(Indices{2, -1}), i32)})),
            (std::vector<double>{2, 3}));
  EXPECT_EQ(problem([&] { index(a, {ones({2})}); }),
            "index: an index is float32; cast it to int64 (or int32, or bool)");
}

TEST(Index, wrong_calls_say_what_is_wrong) {
  const Tensor a = counted({3, 4}), i = tensor(Indices{0});
  EXPECT_EQ(problem([&] { index(a, std::vector<Tensor>{}); }),
            "index: 0 indices into shape [3, 4]; pass from one up to one for each dimension");
  EXPECT_EQ(problem([&] {
              index(a, {i, i, i});
            }),
            "index: 3 indices into shape [3, 4]; pass from one up to one for each dimension");
  EXPECT_EQ(problem([&] {
              index(a, {{}, ones({3}, boolean)});
            }),
            "index: a mask has shape [3] and input has shape [3, 4]; make their sizes equal");
  EXPECT_THAT(problem([&] { index(a, {tensor(Indices{3})}); }), HasSubstr("index 3 "));
  EXPECT_THAT(problem([&] { index(a, {tensor(Indices{-5})}); }), HasSubstr("index -5 "));
  EXPECT_THAT(problem([&] {
                index(a, {{}, tensor(Indices{1LL << 62})});
              }),
              HasSubstr("index 4611686018427387904 "));
  EXPECT_NE(problem([&] { index(a, {tensor(Indices{0}), tensor(Indices{-5})}); }), "no error");
  EXPECT_THAT(problem([&] {
                index(a, {tensor(Indices{0, 1}), tensor(Indices{0, 1, 2})});
              }),
              HasSubstr("index: shapes [2] and [3] do not broadcast"));
  EXPECT_THAT(problem([&] {
                index_put(a, {{}, i}, ones({2, 2}, f64));
              }),
              HasSubstr("index_put: shape [2, 2] does not expand to [3, 1]"));
  const Tensor far = to(i, device("reference_primitives"));
  EXPECT_EQ(problem([&] {
              index(a, {{}, far});
            }),
            "index: 'input' is on cpu:0 and an index is on reference_primitives:0; move one with "
            "to()");
  EXPECT_EQ(
      problem([&] { index_put(a, {i}, to(ones({1}, f64), far.device())); }),
      "index_put: 'input' is on cpu:0 and 'values' is on reference_primitives:0; move one with "
      "to()");
  EXPECT_EQ(problem([&] { index(Tensor(), {i}); }),
            "index: argument 'input' is an undefined tensor; give it a value first");
}

TEST(Index, gradients_go_back_to_the_places_that_were_read) {
  const Tensor a = set_requires_grad(counted({2, 3}));
  const Tensor read = index(a, {tensor(Indices{0, 1, 0}), tensor(Indices{2, 0, 2})});
  const Tensor total = sum(mul(read, read));
  const Tensor first = autograd::grad({total}, {a}, {}, {.create_graph = true})[0];
  EXPECT_EQ(to_vector<double>(detach(first)), (std::vector<double>{0, 0, 8, 6, 0, 0}));
  const Tensor second = autograd::grad({sum(first)}, {a})[0];
  EXPECT_EQ(to_vector<double>(second), (std::vector<double>{0, 0, 4, 2, 0, 0}));
}

TEST(Index, gradients_of_what_is_written_among_holes_meet) {
  const Tensor a = set_requires_grad(counted({2, 3}));
  const Tensor values = set_requires_grad(ones({2, 2}, f64));
  const Tensor result = index_put(a, {{}, tensor(Indices{2, 0})}, values);
  backward(sum(mul(result, counted({2, 3}))));
  EXPECT_EQ(to_vector<double>(grad(a)), (std::vector<double>{0, 1, 0, 0, 4, 0}));
  EXPECT_EQ(to_vector<double>(grad(values)), (std::vector<double>{2, 0, 5, 3}));
}

TEST(Index, writing_in_place_keeps_the_record) {
  const Tensor a = set_requires_grad(counted({3}));
  const Tensor b = mul(a, 2);
  index_put_(b, {tensor(Indices{1})}, tensor(5.0, {f64}));
  backward(sum(mul(b, b)));
  EXPECT_EQ(to_vector<double>(grad(a)), (std::vector<double>{0, 0, 16}));
}

TEST(Index, a_sum_of_bools_is_whether_one_is_true) {
  const Tensor some = tensor({true, false, false, false}), places = tensor({1, 2, 1, 0});
  const Tensor added = tensor({false, false, true, false});
  const std::vector<std::uint8_t> wanted{1, 1, 0, 0};
  const auto bytes = [](const Tensor& of) { return to_vector<std::uint8_t>(cast(of, u8)); };
  EXPECT_EQ(bytes(index_put(some, {places}, added, true)), wanted);
  EXPECT_EQ(bytes(put(some, places, added, true)), wanted);
  EXPECT_EQ(bytes(index_add(some, 0, places, added)), wanted);
  EXPECT_EQ(bytes(index_add(some, 0, places, added, -1)), wanted);  // no true takes another away
  EXPECT_EQ(bytes(index_add(some, 0, places, added, 0)), (std::vector<std::uint8_t>{1, 0, 0, 0}));
  // More than an unsigned byte counts.
  const Tensor many = full({512}, true, boolean);
  EXPECT_EQ(bytes(index_add(some, 0, full({512}, 3, i64), many)),
            (std::vector<std::uint8_t>{1, 0, 0, 1}));
}

TEST(Index, dtypes_are_pytorchs) {
  const Tensor a = counted({3, 4});
  EXPECT_EQ(gather(a, 0, zeros({0, 4}, u8)).shape(), (IntList{0, 4}));
  EXPECT_EQ(gather(counted({5}), 0, zeros({2, 0}, u8)).shape(), (IntList{2, 0}));
  EXPECT_EQ(problem([&] {
              gather(a, 0, zeros({1, 4}, u8));
            }),
            "gather: the index is uint8; cast it to int64 (or int32)");
  EXPECT_EQ(problem([&] { index_select(a, 0, zeros({0}, u8)); }),
            "index_select: the index is uint8; cast it to int64 (or int32)");
  const Tensor twice = repeat_interleave_by(tensor({5, 6}), cast(tensor({1, 2}), u8));
  EXPECT_EQ(to_vector<std::int64_t>(twice), (std::vector<std::int64_t>{5, 6, 6}));
  EXPECT_EQ(item<double>(nll_loss(narrow(a, 0, 0, 2), cast(tensor({1, 3}), u8))), -4);
}

}  // namespace
}  // namespace bp::index_test
