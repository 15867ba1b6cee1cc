// The whole of backplane_data.
#pragma once

#include <backplane/data/collate.hpp>
#include <backplane/data/csv.hpp>
#include <backplane/data/dataset.hpp>
#include <backplane/data/idx.hpp>
#include <backplane/data/images.hpp>
#include <backplane/data/loader.hpp>
#include <backplane/data/numpy.hpp>
#include <backplane/data/sample.hpp>
#include <backplane/data/sampler.hpp>
#include <backplane/data/text_lines.hpp>
#include <backplane/data/transforms.hpp>
