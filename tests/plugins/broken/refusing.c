#include "minimal.h"

bp_code bp_get_plugin_v1(const bp_host* host, uint32_t* abi_inout, const bp_plugin** out) {
  (void)abi_inout;
  *out = &plugin;
  the_host = host;
  return host->set_error(host, BP_INTERNAL, "the licence\nhas run out");
}
