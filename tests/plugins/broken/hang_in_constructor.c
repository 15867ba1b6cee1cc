#define _POSIX_C_SOURCE 200809L
#include <unistd.h>

#include "minimal.h"

__attribute__((constructor)) static void hang(void) {
  for (;;) pause();
}
ENTRY_POINT(BP_ABI_LEVEL, (void)0)
