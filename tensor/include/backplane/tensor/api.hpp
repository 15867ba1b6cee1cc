// Marks what libbackplane shows to applications; everything else is hidden.
#pragma once

#define BP_API __attribute__((visibility("default")))
