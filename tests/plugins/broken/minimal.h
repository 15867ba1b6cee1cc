/* A plugin without devices that is right in everything. Each source beside it includes it and breaks
 * one thing, by defining what is to be different before or after. */
#include <backplane/abi.h>

static const bp_host* the_host;

static bp_code devices(void* self, uint32_t* count, bp_device_info* infos) {
  (void)self, (void)infos;
  *count = 0;
  return BP_OK;
}
static bp_code open_device(void* self, uint32_t index, bp_device** out) {
  (void)self, (void)index, (void)out;
  return the_host->set_error(the_host, BP_BAD_ARGUMENT, "there is no device");
}
static void close_device(bp_device* device) {
  (void)device;
}
static bp_code allocate(bp_device* device, uint64_t bytes, uint64_t alignment, bp_handle* out) {
  (void)device, (void)bytes, (void)alignment, (void)out;
  return BP_OUT_OF_MEMORY;
}
static void release(bp_device* device, bp_handle handle) {
  (void)device, (void)handle;
}
static bp_code copy(bp_device* device, const bp_region* to, const bp_region* from,
                    uint32_t direction, bp_stream* stream) {
  (void)device, (void)to, (void)from, (void)direction, (void)stream;
  return BP_OK;
}
static bp_code synchronize(bp_device* device, bp_stream* stream) {
  (void)device, (void)stream;
  return BP_OK;
}

#ifndef PROBE
#  define PROBE NULL
#endif

static bp_memory memory = {.h = {sizeof(bp_memory), BP_TYPE_MEMORY, NULL},
                           .allocate = allocate,
                           .release = release,
                           .copy = copy};
static bp_queue queue = {.h = {sizeof(bp_queue), BP_TYPE_QUEUE, NULL}, .synchronize = synchronize};
static bp_plugin plugin = {.h = {sizeof(bp_plugin), BP_TYPE_PLUGIN, NULL},
                           .abi = BP_ABI_LEVEL,
                           .name = "minimal",
                           .vendor = "Backplane tests",
                           .version = "1",
                           .probe = PROBE,
                           .devices = devices,
                           .open = open_device,
                           .close = close_device,
                           .memory = &memory,
                           .queue = &queue};

/* `level` is what the plugin answers; `breakage` changes `plugin` before it is handed out. */
#define ENTRY_POINT(level, breakage)                                                          \
  bp_code bp_get_plugin_v1(const bp_host* host, uint32_t* abi_inout, const bp_plugin** out) { \
    the_host = host;                                                                          \
    *abi_inout = (level);                                                                     \
    breakage;                                                                                 \
    *out = &plugin;                                                                           \
    return BP_OK;                                                                             \
  }
