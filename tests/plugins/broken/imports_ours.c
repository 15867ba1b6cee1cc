#include "minimal.h"

extern bp_code bp_private_helper(void);
ENTRY_POINT(BP_ABI_LEVEL, if (bp_private_helper() != BP_OK) return BP_INTERNAL)
