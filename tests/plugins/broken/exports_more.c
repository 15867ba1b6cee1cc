#include "minimal.h"

BP_EXPORT int helper_for_everybody(void);
int helper_for_everybody(void) {
  return 1;
}
ENTRY_POINT(BP_ABI_LEVEL, (void)0)
