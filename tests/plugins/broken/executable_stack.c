#include "minimal.h"
ENTRY_POINT(BP_ABI_LEVEL, (void)0)
