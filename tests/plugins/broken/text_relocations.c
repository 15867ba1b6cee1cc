#include "minimal.h"

/* An address among the code, as code compiled without -fPIC has. */
__asm__(".text\n.quad bp_get_plugin_v1\n");
ENTRY_POINT(BP_ABI_LEVEL, (void)0)
