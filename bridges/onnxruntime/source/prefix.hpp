// What nearly every file here includes.
#pragma once

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <backplane/backplane.hpp>
