// needs: opencl
// matmul by CLBlast, called directly; skipped where CLBlast is not installed.
#include <cstdlib>
#include <cstring>

#include "backends/opencl/direct_device.hpp"

namespace {

struct WithClblast {
  WithClblast() { setenv("BACKPLANE_OPENCL_CLBLAST", "1", 1); }
  ~WithClblast() { unsetenv("BACKPLANE_OPENCL_CLBLAST"); }
};

class OpenClMatmul : private WithClblast, public direct::OpenCl {
 protected:
  struct Matrix {
    Matrix(bp_handle handle, uint64_t first, int64_t rows, int64_t columns, bool transposed)
        : shape{rows, columns}, strides{transposed ? 1 : columns, transposed ? rows : 1} {
      tensor.size = sizeof tensor;
      tensor.flags = BP_LAYOUT_STRIDED | (transposed ? 0u : BP_LAYOUT_CONTIGUOUS);
      tensor.dl.data = reinterpret_cast<void*>(handle);
      tensor.dl.ndim = 2;
      tensor.dl.shape = shape;
      tensor.dl.strides = strides;
      tensor.dl.byte_offset = first * sizeof(float);
      tensor.numel = rows * columns;
      tensor.dtype = BP_F32;
      tensor.itemsize = sizeof(float);
    }
    Matrix(const Matrix&) = delete;

    int64_t shape[2], strides[2];
    bp_tensor tensor{};
  };

  void SetUp() override {
    if (plugin->num_kernels == 0) GTEST_SKIP() << "CLBlast is not installed";
    ASSERT_STREQ(plugin->kernels[0]->op, "matmul");
  }

  // What the kernel says of a call, and what it does.
  bp_code call(const Matrix& a, const Matrix& b, Matrix& c, bool run) {
    bp_value args[2] = {};
    args[0].tag = args[1].tag = BP_TENSOR;
    args[0].u.tensor = &a.tensor;
    args[1].u.tensor = &b.tensor;
    bp_tensor* outputs[] = {&c.tensor};
    bp_call made{};
    made.h = {sizeof made, BP_TYPE_CALL, nullptr};
    made.args = args;
    made.outputs = outputs;
    made.num_args = 2;
    made.num_outputs = 1;
    made.device = device.get();
    const bp_kernel& kernel = *plugin->kernels[0];
    return run ? kernel.run(kernel.self, &made) : kernel.supports(kernel.self, &made);
  }
};

TEST_F(OpenClMatmul, multiplies_at_offsets_and_transposed) {
  constexpr int64_t m = 96, k = 70, n = 50;
  std::vector<float> numbers(16 + m * k + k * n);
  for (size_t i = 0; i < numbers.size(); ++i)
    numbers[i] = static_cast<float>(static_cast<int>(i * 7 % 11) - 5);
  const bp_handle from = upload(numbers), to = device.allocate(sizeof(float) * (32 + m * n));
  const auto at = [&](const Matrix& matrix, int64_t row, int64_t column) {
    return numbers[matrix.tensor.dl.byte_offset / 4 +
                   static_cast<size_t>(row * matrix.strides[0] + column * matrix.strides[1])];
  };
  for (const bool a_transposed : {false, true}) {
    for (const bool b_transposed : {false, true}) {
      const Matrix a(from, 16, m, k, a_transposed), b(from, 16 + m * k, k, n, b_transposed);
      Matrix c(to, 32, m, n, false);
      ASSERT_EQ(call(a, b, c, false), BP_OK);
      ASSERT_EQ(call(a, b, c, true), BP_OK) << fake::Host::last_message();
      const std::vector<float> got = download<float>(to, 32 + m * n);
      for (int64_t row = 0; row < m; ++row) {
        for (int64_t column = 0; column < n; ++column) {
          float sum = 0;  // exact: all are small integers
          for (int64_t i = 0; i < k; ++i) sum += at(a, row, i) * at(b, i, column);
          ASSERT_EQ(got[static_cast<size_t>(32 + row * n + column)], sum) << row << " " << column;
        }
      }
    }
  }
  device.release(from);
  device.release(to);
}

TEST_F(OpenClMatmul, declines_small_products_and_gaps_in_both_directions) {
  const bp_handle memory = device.allocate(1 << 20);
  Matrix a(memory, 0, 8, 8, false), b(memory, 0, 8, 8, false), c(memory, 0, 8, 8, false);
  EXPECT_EQ(call(a, b, c, false), BP_UNSUPPORTED);
  Matrix wide(memory, 0, 100, 100, false), other(memory, 0, 100, 100, false),
      result(memory, 0, 100, 100, false);
  EXPECT_EQ(call(wide, other, result, false), BP_OK);
  wide.strides[0] = 300;
  EXPECT_EQ(call(wide, other, result, false), BP_OK);
  wide.strides[1] = 2;
  EXPECT_EQ(call(wide, other, result, false), BP_UNSUPPORTED);
  device.release(memory);
}

TEST(OpenClClblast, takes_no_part_unless_asked_for) {
  fake::Host host;
  fake::Plugin plugin(host, BP_PLUGIN_DIR "/libbackplane_opencl.so");
  EXPECT_EQ(plugin->num_kernels, 0u);
}

}  // namespace
