/* What the groups of this program share: the table, and how they say what they expect. */
#ifndef CALLER_H
#define CALLER_H

#include <backplane/backplane_client.h>

extern const bp_client* bp;

/* Each group runs on one device, and leaves nothing there. */
void try_devices(void); /* but this one, which loads them */
void try_tensors(uint32_t device);
void try_storages(uint32_t device);
void try_calls(uint32_t device);
void try_argument_types(uint32_t device);
void try_errors(uint32_t device);
void try_streams(uint32_t device);
void try_threads(uint32_t device);

#define EXPECT(condition) expect((condition), #condition, __FILE__, __LINE__)
/* The call succeeds. */
#define EXPECT_OK(call) expect_code((call), BP_OK, "", #call, __FILE__, __LINE__)
/* The call fails, and its sentence contains `words`. */
#define EXPECT_ERROR(call, code, words) \
  expect_code((call), (code), (words), #call, __FILE__, __LINE__)

void expect(int holds, const char* what, const char* file, int line);
void expect_code(bp_code found, bp_code expected, const char* words, const char* what,
                 const char* file, int line);

/* A new f32 tensor of up to two dimensions (rows 0: one) with these values. */
bp_tensor* made(uint32_t device, int64_t rows, int64_t columns, const float* values);
/* Are these the tensor's elements? Waits for the device. */
int has_values(const bp_tensor* tensor, const float* values, uint32_t count);
const bp_operator* op_of(const char* name);

static inline bp_value of_tensor(const bp_tensor* tensor) {
  return (bp_value){.tag = BP_TENSOR, .u = {.tensor = tensor}};
}
static inline bp_value of_int(int64_t number) {
  return (bp_value){.tag = BP_INT, .u = {.i = number}};
}
static inline bp_value of_double(double number) {
  return (bp_value){.tag = BP_DOUBLE, .u = {.f = number}};
}
static inline bp_value of_bool(int truth) {
  return (bp_value){.tag = BP_BOOLEAN, .u = {.i = truth}};
}
static inline bp_value of_list(const int64_t* numbers, uint32_t count) {
  return (bp_value){.tag = BP_INT_LIST, .aux = count, .u = {.ptr = numbers}};
}
static inline bp_value of_dtype(uint32_t dtype) {
  return (bp_value){.tag = BP_DTYPE, .u = {.i = dtype}};
}
static inline bp_value of_device(uint32_t device) {
  return (bp_value){.tag = BP_DEVICE, .u = {.i = device}};
}
static inline bp_value default_value(void) {
  return (bp_value){.tag = BP_DEFAULT};
}

#endif
