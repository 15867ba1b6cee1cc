#include <signal.h>

#include "minimal.h"

__attribute__((constructor)) static void crash(void) {
  raise(SIGSEGV);
}
ENTRY_POINT(BP_ABI_LEVEL, (void)0)
