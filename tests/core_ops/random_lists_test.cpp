// needs: cpu
// Rows over lists of random tensors, alike and unlike, apart and overlapping, are the operator of one place bit for bit.
#include <cmath>
#include <fmt/format.h>
#include <functional>
#include <limits>
#include <random>

#include "autograd/tensors.hpp"

namespace bp::random_lists_test {
namespace {

using namespace bp::test;
using Tensors = std::vector<Tensor>;

// A row, the row that writes, and the operator of one place, for lists or one number beside the first list.
struct Row {
  const char* name;
  std::function<Tensors(const Tensors&, const Tensors&)> lists;
  std::function<void(const Tensors&, const Tensors&)> writes;  // empty: there is none
  std::function<Tensor(const Tensor&, const Tensor&)> one;
};

const std::vector<Row>& rows() {
  static const std::vector<Row> all{
      {"add", [](auto& a, auto& b) { return _foreach_add(a, b, 0.5); },
       [](auto& a, auto& b) { _foreach_add_(a, b, 0.5); },
       [](auto& a, auto& b) { return add(a, b, 0.5); }},
      {"sub", [](auto& a, auto& b) { return _foreach_sub(a, b, 2); },
       [](auto& a, auto& b) { _foreach_sub_(a, b, 2); },
       [](auto& a, auto& b) { return sub(a, b, 2); }},
      {"mul", [](auto& a, auto& b) { return _foreach_mul(a, b); },
       [](auto& a, auto& b) { _foreach_mul_(a, b); }, [](auto& a, auto& b) { return mul(a, b); }},
      {"div", [](auto& a, auto& b) { return _foreach_div(a, b); },
       [](auto& a, auto& b) { _foreach_div_(a, b); }, [](auto& a, auto& b) { return div(a, b); }},
      {"maximum",
       [](auto& a, auto& b) { return _foreach_maximum(a, b); },
       {},
       [](auto& a, auto& b) { return maximum(a, b); }},
      {"clamp_min",
       [](auto& a, auto& b) { return _foreach_clamp_min(a, b); },
       {},
       [](auto& a, auto& b) { return maximum(a, b); }},
      {"mul by a number", [](auto& a, auto&) { return _foreach_mul(a, 1.5); },
       [](auto& a, auto&) { _foreach_mul_(a, 1.5); }, [](auto& a, auto&) { return mul(a, 1.5); }},
      {"addcmul", [](auto& a, auto& b) { return _foreach_addcmul(a, b, a, -0.5); },
       [](auto& a, auto& b) { _foreach_addcmul_(a, b, b, -0.5); },
       [](auto& a, auto& b) { return addcmul(a, b, a, -0.5); }},
      {"addcdiv",
       [](auto& a, auto& b) { return _foreach_addcdiv(a, b, a, 3); },
       {},
       [](auto& a, auto& b) { return addcdiv(a, b, a, 3); }},
      {"lerp", [](auto& a, auto& b) { return _foreach_lerp(a, b, 0.25); },
       [](auto& a, auto& b) { _foreach_lerp_(a, b, 0.25); },
       [](auto& a, auto& b) { return lerp(a, b, 0.25); }},
      {"sign",
       [](auto& a, auto&) { return _foreach_sign(a); },
       {},
       [](auto& a, auto&) { return sign(a); }},
      {"exp",
       [](auto& a, auto&) { return _foreach_exp(a); },
       {},
       [](auto& a, auto&) { return exp(a); }},
      {"sqrt", [](auto& a, auto&) { return _foreach_sqrt(a); },
       [](auto& a, auto&) { _foreach_sqrt_(a); }, [](auto& a, auto&) { return sqrt(a); }},
  };
  return all;
}

class Lists {
 public:
  explicit Lists(std::uint32_t seed) : random_(seed), memory_(numbers(1 << 16)) {}

  std::int64_t below(std::int64_t bound) {
    return static_cast<std::int64_t>(random_() % static_cast<std::uint32_t>(bound));
  }

  // Mostly alike; one in four times of several dtypes, one in four with tensors that lie in one storage.
  void fill(Tensors& a, Tensors& b) {
    const std::int64_t count = 1 + below(12);
    const bool is_mixed = below(4) == 0, shares = below(4) == 0;
    Dtype dtype = floats[below(4)];
    for (std::int64_t i = 0; i < count; ++i) {
      if (is_mixed) dtype = floats[below(4)];
      const Dims shape = some_shape(below(5) == 0);
      a.push_back(laid(shape, dtype, shares));
      b.push_back(below(6) == 0 ? laid({}, dtype, shares) : laid(shape, dtype, shares));
    }
    if (shares && below(2) == 0) b[0] = a[0];
    if (shares && count > 1 && below(2) == 0 && a[0].shape() == a[1].shape()) std::swap(b[0], a[1]);
  }

 private:
  static constexpr Dtype floats[] = {f16, bf16, f32, f64};

  Tensor numbers(std::int64_t count) { return rand({count}, f32) * 4 - 1; }

  Dims some_shape(bool may_be_large) {
    Dims shape;
    for (std::int64_t i = below(4); i > 0; --i)
      shape.push_back(below(12) == 0 ? 0 : 1 + below(may_be_large ? 60 : 6));
    return shape;
  }

  // Of random numbers, in order, transposed, with gaps, or within the one storage at a random place.
  Tensor laid(IntList shape, Dtype dtype, bool shares) {
    const std::int64_t count = checked_numel("laid", shape);
    if (shares && dtype == f32 && count < 4096)
      return reshape(narrow(memory_, 0, below(200), count), shape);
    const Tensor flat = to(numbers(std::max<std::int64_t>(2 * count, 1)), dtype);
    const Tensor whole = reshape(narrow(flat, 0, 0, count), shape);
    switch (below(3)) {
      case 0:
        if (shape.size() > 1) return transpose(contiguous(transpose(whole, 0, 1)), 0, 1);
        return clone(whole);
      case 1:
        if (shape.size() == 1) return slice(flat, 0, 0, 2 * count, 2);
        return clone(whole);
      default: return clone(whole);
    }
  }

  std::mt19937 random_;
  Tensor memory_;
};

std::string bytes_of(const Tensor& tensor) {
  const Tensor flat = contiguous(tensor);
  if (flat.numel() == 0) return {};
  const auto size = static_cast<std::size_t>(flat.numel()) * itemsize(flat.dtype());
  return {static_cast<const char*>(flat.data_ptr()), size};
}

void expect_same(const Tensor& found, const Tensor& expected, const std::string& what) {
  ASSERT_EQ(found.shape(), expected.shape()) << what;
  ASSERT_EQ(found.dtype(), expected.dtype()) << what;
  EXPECT_TRUE(bytes_of(found) == bytes_of(expected)) << what;
}

TEST(RandomLists, are_the_operator_of_one_place_bit_for_bit) {
  manual_seed(3);
  for (std::uint32_t seed = 0; seed < 400; ++seed) {
    const Row& row = rows()[seed % rows().size()];
    Lists lists(seed);
    Tensors a, b;
    lists.fill(a, b);
    const Tensors found = row.lists(a, b);
    for (std::size_t i = 0; i < a.size(); ++i)
      expect_same(found[i], row.one(a[i], b[i]),
                  std::string(row.name) + " " + std::to_string(seed) + "/" + std::to_string(i));
  }
}

// Place by place, in order, where places share memory.
TEST(RandomLists, write_as_the_operator_of_one_place_does) {
  manual_seed(4);
  for (std::uint32_t seed = 0; seed < 400; ++seed) {
    const Row& row = rows()[seed % rows().size()];
    if (!row.writes) continue;
    Lists lists(seed);
    Tensors a, b;
    lists.fill(a, b);
    const auto restore = [&, kept = [&] {
      Tensors all;
      for (const Tensor& each : a) all.push_back(clone(each));
      for (const Tensor& each : b) all.push_back(clone(each));
      return all;
    }()] {
      for (std::size_t i = 0; i < a.size(); ++i) copy_(a[i], kept[i]);
      for (std::size_t i = 0; i < b.size(); ++i) copy_(b[i], kept[a.size() + i]);
    };
    restore();
    for (std::size_t i = 0; i < a.size(); ++i) row.writes({a[i]}, {b[i]});
    Tensors expected;
    for (const Tensor& each : a) expected.push_back(clone(each));
    restore();
    row.writes(a, b);
    for (std::size_t i = 0; i < a.size(); ++i)
      expect_same(a[i], expected[i],
                  std::string(row.name) + " " + std::to_string(seed) + "/" + std::to_string(i));
  }
}

// In pieces as well; a NaN is the norm, wherever it stands, and so is an infinity without one.
TEST(RandomLists, have_the_norms_of_their_tensors) {
  manual_seed(5);
  const double inf = std::numeric_limits<double>::infinity(), nan = std::nan("");
  for (const Dtype dtype : {f32, f64})
    for (const std::int64_t size : {1, 5, 16'384, 50'000})
      for (const double odd : {0.5, -7.0, inf, -inf, nan}) {
        const Tensor x = to(rand({size}, f64) * 4 - 2, dtype), y = to(rand({3, 3}, f64), dtype);
        for (const std::int64_t at : {std::int64_t{0}, size / 2, size - 1}) {
          const Tensor z = clone(x);
          fill_(select(z, 0, at), odd);
          for (const double ord : {2.0, inf, 1.0, -inf}) {
            const Tensors found = _foreach_norm({x, z, y}, ord);
            const std::string what =
                fmt::format("{} of {}, {} at {}, order {}", name(dtype), size, odd, at, ord);
            EXPECT_TRUE(
                item<bool>(all(isclose(to(found[1], f64), norm(to(z, f64), ord), 1e-6, 0, true))))
                << what;
            EXPECT_TRUE(
                item<bool>(all(isclose(to(found[2], f64), norm(to(y, f64), ord), 1e-6, 0, true))))
                << what;
            EXPECT_EQ(found[0].dtype(), dtype);
          }
        }
      }
}

// So that some tensor begins exactly where the part of one thread ends.
TEST(RandomLists, of_equal_tensors_are_taken_once_each) {
  for (const std::int64_t count : {2, 3, 4, 6, 16}) {
    Tensors all;
    for (std::int64_t i = 0; i < count; ++i) all.push_back(full({16'384}, i, f32));
    _foreach_add_(all, 1);
    for (std::int64_t i = 0; i < count; ++i)
      expect_same(all[static_cast<std::size_t>(i)], full({16'384}, i + 1, f32), "");
  }
}

}  // namespace
}  // namespace bp::random_lists_test
