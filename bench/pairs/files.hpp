// Loading 90 MB of tensors from a file that the system has in memory.
#pragma once

void measure_files();
