// The product of two f32 matrices, for the module that is made when the plugin is built. Each work-item holds a block of
// `height` x 8 * `vectors` results in registers; both are specialization constants, which the device's shape decides. Each is
// asked for once, since every call makes a constant of its own.
int __attribute__((overloadable, const)) __spirv_SpecConstant(int id, int value);
#define UNROLL __attribute__((opencl_unroll_hint))
#define MOST_ROWS 8
#define MOST_VECTORS 4

// Offsets in bytes; a is m x k, b is k x n, c is m x n, each without gaps.
typedef struct {
  long a, b, c;
  long m, n, k;
} Values;

// A block that lies within the matrix.
void whole_block(__global const float* a, __global const float* b, __global float* c, int height,
                 int vectors, long n, long k) {
  float8 sums[MOST_ROWS][MOST_VECTORS];
  UNROLL for (int i = 0; i < height; ++i)
    UNROLL for (int j = 0; j < vectors; ++j) sums[i][j] = 0.0f;
  for (long at = 0; at < k; ++at) {
    float8 row[MOST_VECTORS];
    UNROLL for (int j = 0; j < vectors; ++j) row[j] = vload8(j, b + at * n);
    UNROLL for (int i = 0; i < height; ++i) {
      const float8 factor = a[i * k + at];
      UNROLL for (int j = 0; j < vectors; ++j) sums[i][j] = fma(factor, row[j], sums[i][j]);
    }
  }
  UNROLL for (int i = 0; i < height; ++i)
    UNROLL for (int j = 0; j < vectors; ++j) vstore8(sums[i][j], j, c + i * n);
}

// One at the right or lower edge, with so many rows and columns.
void cut_block(__global const float* a, __global const float* b, __global float* c, long rows, long columns,
               long n, long k) {
  for (long i = 0; i < rows; ++i) {
    for (long j = 0; j < columns; ++j) {
      float sum = 0.0f;
      for (long at = 0; at < k; ++at) sum = fma(a[i * k + at], b[at * n + j], sum);
      c[i * n + j] = sum;
    }
  }
}

__kernel void matmul_f32(__global const uchar* a_memory, __global const uchar* b_memory,
                         __global uchar* c_memory, const Values v) {
  const int height = __spirv_SpecConstant(0, 4), vectors = __spirv_SpecConstant(1, 2);
  const int width = 8 * vectors;
  const long row = (long)get_global_id(0) * height, column = (long)get_global_id(1) * width;
  __global const float* a = (__global const float*)(a_memory + v.a) + row * v.k;
  __global const float* b = (__global const float*)(b_memory + v.b) + column;
  __global float* c = (__global float*)(c_memory + v.c) + row * v.n + column;
  const long rows = min((long)height, v.m - row), columns = min((long)width, v.n - column);
  if (rows == height && columns == width)
    whole_block(a, b, c, height, vectors, v.n, v.k);
  else
    cut_block(a, b, c, rows, columns, v.n, v.k);
}
