// Steps of training of whole networks, by the modules and optimizers that an application uses.
#pragma once

#include <string>

// "digits", "resnet18" or "transformer"; one to a process, since the memory that a process took is counted.
void measure_training(const std::string& network);
