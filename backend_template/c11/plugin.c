/* What Backplane loads. */
#include "acme.h"

const bp_host* acme_host;

bp_code acme_fail(bp_code code, const char* message) {
  return acme_host->set_error(acme_host, code, message);
}

#define ACME_ADDRESS(name) &acme_##name,
static const bp_kernel* const kernels[] = {ACME_KERNELS(ACME_ADDRESS)};

static void shutdown(void* self) {
  (void)self;
  acme_host = NULL; /* another host may come */
}

static bp_plugin plugin = {
    .h = {sizeof(bp_plugin), BP_TYPE_PLUGIN, NULL},
    .name = "acme",
    .vendor = "Acme",
    .version = "0.1",
    .shutdown = shutdown,
    .devices = acme_devices,
    .open = acme_open,
    .close = acme_close,
    .memory = &acme_memory,
    .queue = &acme_queue,
    .kernels = kernels,
    .num_kernels = sizeof kernels / sizeof kernels[0],
    .extension = acme_extension,
};

BP_EXPORT bp_code bp_get_plugin_v1(const bp_host* host, uint32_t* abi_inout,
                                   const bp_plugin** out) {
  if (acme_host != NULL && acme_host != host)
    return host->set_error(host, BP_RETRY, "acme serves another host of this process");
  if (*abi_inout > BP_ABI_LEVEL) *abi_inout = BP_ABI_LEVEL; /* a newer host speaks our level */
  if (*abi_inout < host->abi_min)
    return host->set_error(host, BP_UNSUPPORTED,
                           "this host no longer speaks the ABI level of this plugin");
  acme_host = host;
  plugin.abi = *abi_inout;
  *out = &plugin;
  return BP_OK;
}
