#include <stdlib.h>

#include "minimal.h"

__attribute__((constructor)) static void leave(void) {
  exit(0);
}
ENTRY_POINT(BP_ABI_LEVEL, (void)0)
