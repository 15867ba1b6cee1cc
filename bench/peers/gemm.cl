// The peer of our matrix product on processors: what a person writes by hand for one shape of machine. Each
// work-item keeps a block of 8 rows by 32 columns of the result in registers and walks once along the inner
// dimension. Row-major and dense; m is a multiple of 8, n of 32. Grid: (n / 32, m / 8), groups of one.
#define ROWS 8

__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void gemm(__global const float* a,
                                                                  __global const float* b,
                                                                  __global float* c, int n,
                                                                  int k) {
  const size_t column = get_global_id(0) * 32, row = get_global_id(1) * ROWS;
  float16 left[ROWS], right[ROWS];
#pragma unroll
  for (int r = 0; r < ROWS; ++r) left[r] = right[r] = (float16)(0.0f);

  __global const float* of_a = a + row * k;
  __global const float* of_b = b + column;
  for (int i = 0; i < k; ++i, of_b += n) {
    const float16 b0 = vload16(0, of_b), b1 = vload16(1, of_b);
#pragma unroll
    for (int r = 0; r < ROWS; ++r) {
      const float16 each = (float16)(of_a[(size_t)r * k + i]);
      left[r] = fma(each, b0, left[r]);
      right[r] = fma(each, b1, right[r]);
    }
  }

#pragma unroll
  for (int r = 0; r < ROWS; ++r) {
    __global float* to = c + (row + r) * n + column;
    vstore16(left[r], 0, to);
    vstore16(right[r], 1, to);
  }
}
