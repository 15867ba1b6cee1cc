/* Which devices there are, and what Backplane must know of each. */
#include <string.h>

#include "acme.h"

struct bp_device {
  uint32_t index;
};

static struct bp_device only_device;

bp_code acme_devices(void* self, uint32_t* count, bp_device_info* infos) {
  (void)self;
  if (infos == NULL) {
    *count = 1;
    return BP_OK;
  }
  strcpy(infos->name, "Acme device");
  infos->dl_device_type = BP_DL_EXT_DEV;
  /* Handles are addresses that may be advanced, and every call has done its work when it returns. Take
   * BP_DEVICE_SYNCHRONOUS away when your queue runs on its own. */
  infos->flags = BP_DEVICE_REAL_ADDRESSES | BP_DEVICE_CAN_SUBALLOCATE | BP_DEVICE_SYNCHRONOUS;
  infos->offset_alignment = 64;
  return BP_OK;
}

bp_code acme_open(void* self, uint32_t index, bp_device** out) {
  (void)self;
  only_device.index = index;
  *out = &only_device;
  return BP_OK;
}

void acme_close(bp_device* device) {
  (void)device;
}
