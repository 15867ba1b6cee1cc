#include <signal.h>
#include <stddef.h>

#include <backplane/abi.h>

static bp_code crash(void* self) {
  (void)self;
  raise(SIGSEGV);
  return BP_OK;
}
#define PROBE crash
#include "minimal.h"
ENTRY_POINT(BP_ABI_LEVEL, (void)0)
