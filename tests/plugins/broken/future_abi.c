#include "minimal.h"
ENTRY_POINT(1000, (void)0)
