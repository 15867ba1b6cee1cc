#include "minimal.h"

extern int from_a_library_that_is_gone(void);
ENTRY_POINT(BP_ABI_LEVEL, if (from_a_library_that_is_gone()) return BP_INTERNAL)
