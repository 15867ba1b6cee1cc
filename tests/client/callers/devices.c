/* Plugins come by path and by name; devices are counted and described. */
#include <string.h>

#include "caller.h"

static void load(void) {
  const char *name = NULL, *again = NULL;
  EXPECT_OK(bp->load_plugin(BP_PLUGIN_DIR "/libbackplane_reference.so", &name));
  EXPECT(name && strcmp(name, "reference") == 0);
  EXPECT_OK(bp->load_plugin(BP_PLUGIN_DIR "/libbackplane_reference.so", &again));
  EXPECT(again == name);
  EXPECT_OK(bp->load_plugin(BP_PLUGIN_DIR "/libbackplane_reference.so", NULL));
}

static void count(void) {
  uint32_t cpu = 0, meta = 99, num = 0, few = 1, numbers[64] = {0};
  EXPECT_OK(bp->find_device("cpu", &cpu)); /* found beside the library, and loaded */
  EXPECT(cpu != 0);
  EXPECT_OK(bp->find_device("meta", &meta));
  EXPECT(meta == 0);
  EXPECT_OK(bp->devices(&num, NULL));
  EXPECT(num >= 2 && num <= 64);
  EXPECT_OK(bp->devices(&few, numbers));
  EXPECT(few == num && numbers[0] != 0 && numbers[1] == 0);
  few = 64;
  EXPECT_OK(bp->devices(&few, numbers));
  int found = 0;
  for (uint32_t i = 0; i < few; ++i) found += numbers[i] == cpu;
  EXPECT(found == 1);
}

static void describe(void) {
  uint32_t cpu = 0, reference = 0;
  const char* name = NULL;
  EXPECT_OK(bp->find_device("cpu:0", &cpu));
  EXPECT_OK(bp->find_device("reference:0", &reference));
  EXPECT_OK(bp->device_name(reference, &name));
  EXPECT(name && strcmp(name, "reference:0") == 0);

  bp_device_info info = {.h = {.size = sizeof info, .type = BP_TYPE_DEVICE_INFO}};
  EXPECT_OK(bp->describe_device(cpu, &info));
  EXPECT(info.h.size == sizeof info && strlen(info.name) > 0);
  EXPECT(info.dl_device_type == BP_DL_CPU && (info.flags & BP_DEVICE_HOST_READABLE));
  EXPECT_OK(bp->describe_device(reference, &info));
  EXPECT(!(info.flags & (BP_DEVICE_HOST_READABLE | BP_DEVICE_SYNCHRONOUS)));

  /* A caller of an older ABI has a shorter struct, and gets no more than fits. */
  bp_device_info shorter;
  memset(&shorter, 0x5a, sizeof shorter);
  shorter.h = (bp_header){.size = offsetof(bp_device_info, flags)};
  EXPECT_OK(bp->describe_device(cpu, &shorter));
  EXPECT(shorter.dl_device_type == BP_DL_CPU && shorter.flags == 0x5a5a5a5au);
  shorter.h.size = 4;
  EXPECT_ERROR(bp->describe_device(cpu, &shorter), BP_BAD_ARGUMENT, "out->h.size is 4");
}

static void refuse(void) {
  const char* name = "unset";
  uint32_t device = 7;
  EXPECT_ERROR(bp->load_plugin("/nowhere/libacme.so", &name), BP_BAD_ARGUMENT,
               "/nowhere/libacme.so");
  EXPECT(name == NULL);
  EXPECT_ERROR(bp->load_plugin(BP_SOURCE_DIR "/LICENSE", &name), BP_BAD_ARGUMENT, "LICENSE");
  EXPECT_ERROR(bp->load_plugin(NULL, &name), BP_BAD_ARGUMENT, "load_plugin: 'path' is NULL");
  EXPECT_ERROR(bp->find_device("acme:0", &device), BP_BAD_ARGUMENT, "acme");
  EXPECT(device == 0);
  EXPECT_ERROR(bp->find_device(NULL, &device), BP_BAD_ARGUMENT, "find_device: 'name' is NULL");
  EXPECT_ERROR(bp->find_device("cpu", NULL), BP_BAD_ARGUMENT, "find_device: 'device' is NULL");
  EXPECT_ERROR(bp->devices(NULL, NULL), BP_BAD_ARGUMENT, "devices: 'count' is NULL");
  EXPECT_ERROR(bp->device_name(200, &name), BP_BAD_ARGUMENT, "there is no device 200");
  EXPECT_ERROR(bp->describe_device(1u << 31, NULL), BP_BAD_ARGUMENT, "there is no device");
  EXPECT_ERROR(bp->synchronize(200), BP_BAD_ARGUMENT, "200");
  const bp_client* table = NULL;
  EXPECT_ERROR(bp_get_client_v1(0, &table), BP_BAD_ARGUMENT, "the level is 0");
  EXPECT(table != NULL);
  EXPECT_ERROR(bp_get_client_v1(BP_CLIENT_LEVEL, NULL), BP_BAD_ARGUMENT, "'out' is NULL");
}

void try_devices(void) {
  load();
  count();
  describe();
  refuse();
}
