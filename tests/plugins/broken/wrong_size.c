#include "minimal.h"
ENTRY_POINT(BP_ABI_LEVEL, plugin.h.size = 24)
