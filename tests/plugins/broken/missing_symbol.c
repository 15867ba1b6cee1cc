#include "minimal.h"

extern int nobody_has_this(void);
ENTRY_POINT(BP_ABI_LEVEL, if (nobody_has_this()) return BP_INTERNAL)
