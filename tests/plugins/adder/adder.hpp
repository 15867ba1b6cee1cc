// The extension that the test plugin `adder` offers, without having a device.
#pragma once

#include <backplane/abi.h>

#define ACME_ADDER "acme.adder"

typedef struct acme_adder {
  bp_header h;
  int64_t (*add)(int64_t a, int64_t b);
} acme_adder;
