// ResNet-50's convolutions, forwards and back.
#pragma once

void measure_convolutions();
