// What a device's processors can do at most: multiply-adds of f32 that need nothing but registers, in CHAINS vectors of 16 that do
// not wait for each other.
__kernel void multiply_adds(__global float* out, float by, int times) {
  float16 sums[CHAINS];
#pragma unroll
  for (int i = 0; i < CHAINS; ++i) sums[i] = (float16)((float)(get_global_id(0) + i));
  const float16 factor = (float16)(by);
  for (int step = 0; step < times; ++step) {
#pragma unroll
    for (int i = 0; i < CHAINS; ++i) sums[i] = fma(sums[i], factor, factor);
  }
  float16 all = sums[0];
#pragma unroll
  for (int i = 1; i < CHAINS; ++i) all += sums[i];
  const float8 half_of_it = all.lo + all.hi;
  out[get_global_id(0)] = dot(half_of_it.lo + half_of_it.hi, (float4)(1.0f));
}
