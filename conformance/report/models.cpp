#include "report/models.hpp"

#include <fmt/format.h>

#include <backplane/samples/row_facts.hpp>
#include <backplane/tensor/error.hpp>

#include "inputs/draft_problem.hpp"

namespace bp::conform {
namespace {

std::vector<Model> make_models() {
  std::vector<Model> all;
  for (const ModelRows& rows : model_rows())
    all.push_back({rows.name, split_text(rows.inference, ' '), split_text(rows.training, ' ')});
  return all;
}

}  // namespace

const std::vector<Model>& models() {
  static const std::vector<Model> all = make_models();
  return all;
}

const Model& model_of(std::string_view name) {
  std::string known;
  for (const Model& model : models()) {
    if (model.name == name) return model;
    known += (known.empty() ? "" : ", ") + model.name;
  }
  throw_error(ErrorClass::bad_argument,
              fmt::format("gaps: model {} is unknown; known are {}", name, known));
}

}  // namespace bp::conform
