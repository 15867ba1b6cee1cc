// Whole networks forwards, in evaluation, by the modules that an application uses.
#pragma once

// ResNet-50 on pictures of 224x224, and BERT's encoder of 12 layers, 768 wide, on texts of 128: batches of 1 and 4.
void measure_inference();
