/* The template's backend with the mistake that the suite looks for: a field of a later level is read without BP_HAS. */
#define bp_get_plugin_v1 get_template
#include "plugin.c"
#undef bp_get_plugin_v1

BP_EXPORT bp_code bp_get_plugin_v1(const bp_host* host, uint32_t* abi_inout, const bp_plugin** out);

static const bp_kernel* original;

static bp_code run_careless(void* self, const bp_call* call) {
  (void)self;
  return call->of_the_next_level[4] == 0 ? original->run(original->self, call) : BP_INTERNAL;
}

bp_code bp_get_plugin_v1(const bp_host* host, uint32_t* abi_inout, const bp_plugin** out) {
  static bp_kernel kernel;
  static const bp_kernel* only[] = {&kernel};
  const bp_code code = get_template(host, abi_inout, out);
  if (code != BP_OK) return code;
  original = plugin.kernels[0];
  kernel = *original;
  kernel.run = run_careless;
  plugin.kernels = only;
  plugin.num_kernels = 1;
  return BP_OK;
}
