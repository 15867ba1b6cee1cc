// What no single case shows: errors that lean to one side over all cases of a row and dtype (a hidden TF32).
#pragma once

#include <vector>

#include "runner/journal.hpp"

namespace bp::conform {

struct Aggregate {
  std::string row;  // "matmul[f32]"
  int level = 3;
  std::size_t cases = 0;
  double bias = 0;   // mean over cases of error / bound
  double t = 0;      // how many of its own standard errors that mean is from 0
  double share = 0;  // mean over cases of the largest |error| / bound
  bool leans = false;
};

std::vector<Aggregate> aggregate_bias(const std::vector<Record>& records);
Json to_json(const Aggregate& aggregate);
// The failing record of one that leans: "probe:bias.matmul[f32]@1".
Record record_of(const Aggregate& aggregate);
// Is that such a record's name, and so of no case?
bool is_aggregate(std::string_view record_name);
// All of a run's, and the records of those that lean.
void write_aggregates(const std::vector<Record>& records, Journal& journal);

}  // namespace bp::conform
