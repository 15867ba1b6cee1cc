// All layers.
#pragma once

#include <backplane/nn/activation.hpp>
#include <backplane/nn/attention.hpp>
#include <backplane/nn/convolution.hpp>
#include <backplane/nn/distance.hpp>
#include <backplane/nn/dropout.hpp>
#include <backplane/nn/embedding.hpp>
#include <backplane/nn/lazy.hpp>
#include <backplane/nn/linear.hpp>
#include <backplane/nn/losses.hpp>
#include <backplane/nn/normalization.hpp>
#include <backplane/nn/output_losses.hpp>
#include <backplane/nn/padding.hpp>
#include <backplane/nn/pooling.hpp>
#include <backplane/nn/recurrent.hpp>
#include <backplane/nn/regrouping.hpp>
#include <backplane/nn/transformer.hpp>
#include <backplane/nn/update_bn.hpp>
#include <backplane/nn/upsampling.hpp>
