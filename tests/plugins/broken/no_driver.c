#include <backplane/abi.h>

static bp_code say_no(void* self);
#define PROBE say_no
#include "minimal.h"

static bp_code say_no(void* self) {
  (void)self;
  return the_host->set_error(the_host, BP_UNSUPPORTED, "libacme-driver.so.1 is not installed");
}
ENTRY_POINT(BP_ABI_LEVEL, (void)0)
