/* Runs each group on cpu and on reference, whose work is asynchronous and whose memory the host cannot read. An argument
 * names another library to take the table from. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "caller.h"

const bp_client* bp = NULL;
static int num_expected = 0, num_failed = 0;

void expect(int holds, const char* what, const char* file, int line) {
  ++num_expected;
  if (holds) return;
  ++num_failed;
  fprintf(stderr, "%s:%d: %s does not hold\n", file, line, what);
}

void expect_code(bp_code found, bp_code expected, const char* words, const char* what,
                 const char* file, int line) {
  const char* sentence = found == BP_OK ? "" : bp->error_message();
  ++num_expected;
  if (found == expected && strstr(sentence, words)) return;
  ++num_failed;
  fprintf(stderr, "%s:%d: %s\n  gives %d, \"%s\"\n  instead of %d, \"%s\"\n", file, line, what,
          (int)found, sentence, (int)expected, words);
}

bp_tensor* made(uint32_t device, int64_t rows, int64_t columns, const float* values) {
  const int64_t shape[2] = {rows, columns};
  const uint64_t count = (uint64_t)(rows ? rows : 1) * (uint64_t)columns;
  bp_tensor* tensor = NULL;
  EXPECT_OK(bp->empty(BP_F32, rows ? 2 : 1, rows ? shape : shape + 1, NULL, device, &tensor));
  EXPECT_OK(bp->write(tensor, values, count * sizeof(float)));
  return tensor;
}

int has_values(const bp_tensor* tensor, const float* values, uint32_t count) {
  float found[64];
  if (!tensor || tensor->dtype != BP_F32 || tensor->numel != count || count > 64) return 0;
  if (bp->read(tensor, found, count * sizeof(float)) != BP_OK) return 0;
  for (uint32_t i = 0; i < count; ++i)
    if (!(found[i] - values[i] < 1e-5f && values[i] - found[i] < 1e-5f)) return 0;
  return 1;
}

const bp_operator* op_of(const char* name) {
  const bp_operator* op = NULL;
  EXPECT_OK(bp->find_operator(name, &op));
  return op;
}

static bp_get_client_fn entry_of(const char* library) {
  bp_get_client_fn entry = NULL;
  void* opened = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  void* symbol = opened ? dlsym(opened, "bp_get_client_v1") : NULL;
  if (symbol) memcpy(&entry, &symbol, sizeof entry);
  return entry;
}

int main(int argc, char** argv) {
  const bp_get_client_fn entry = argc > 1 ? entry_of(argv[1]) : bp_get_client_v1;
  if (!entry || entry(BP_CLIENT_LEVEL, &bp) != BP_OK) {
    fprintf(stderr, "there is no table of level %u\n", BP_CLIENT_LEVEL);
    return 1;
  }
  EXPECT(strcmp(bp->error_message(), "") == 0);
  EXPECT(bp->level >= BP_CLIENT_LEVEL && bp->h.size >= sizeof(bp_client));
  EXPECT(bp->abi_level >= BP_ABI_LEVEL && strchr(bp->version, '.') != NULL);

  try_devices();
  static const char* const names[] = {"cpu:0", "reference:0"};
  for (int i = 0; i < 2; ++i) {
    uint32_t device = 0;
    EXPECT_OK(bp->find_device(names[i], &device));
    try_tensors(device);
    try_storages(device);
    try_calls(device);
    try_argument_types(device);
    try_errors(device);
    try_streams(device);
    try_threads(device);
  }
  /* Refused if a tensor, a stream or an event was left: no group loses a reference. */
  EXPECT_OK(bp->unload_plugin("reference"));
  EXPECT_OK(bp->unload_plugin("cpu"));
  EXPECT_ERROR(bp->unload_plugin("cpu"), BP_BAD_ARGUMENT, "no loaded plugin");

  printf("%d of %d expectations hold\n", num_expected - num_failed, num_expected);
  return num_failed != 0;
}
