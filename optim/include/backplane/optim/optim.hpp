// All optimizers and schedulers, clipping and averaging.
#pragma once

#include <backplane/optim/adam.hpp>
#include <backplane/optim/adaptive.hpp>
#include <backplane/optim/averaging.hpp>
#include <backplane/optim/clip.hpp>
#include <backplane/optim/large_scale.hpp>
#include <backplane/optim/lbfgs.hpp>
#include <backplane/optim/schedulers/combined.hpp>
#include <backplane/optim/schedulers/cycles.hpp>
#include <backplane/optim/schedulers/factors.hpp>
#include <backplane/optim/schedulers/plateau.hpp>
#include <backplane/optim/sgd.hpp>
