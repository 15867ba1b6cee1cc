// Trajectories of optimizers and schedulers for compare_optimizers.py: `run_optimizers CASES FILE` reads cases of JSON and
// writes, for each, the parameters and rates after every step.
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>

#include <backplane/optim/optim.hpp>
#include <backplane/tensors.hpp>

#include "optimizer_cases.hpp"

namespace bp::test {
namespace {

using nlohmann::json;
using optim::Optimizer;

// A case's parameters, made again: [[{"value", "target", "weight", "complex"}]] by group.
struct Problem {
  explicit Problem(const json& given) {
    for (const json& group : given) {
      auto& made = groups.emplace_back();
      for (const json& each : group) {
        const auto shape = each["shape"].get<std::vector<std::int64_t>>();
        const auto numbers = [&](const char* key) {
          return tensor(each[key].get<std::vector<double>>(), shape);
        };
        Tensor value = numbers("value");
        if (each["complex"].get<bool>()) value = clone(view_as_complex(value));
        made.push_back(set_requires_grad(value));
        targets.push_back(numbers("target"));
        weights.push_back(numbers("weight"));
      }
    }
  }

  std::vector<Tensor> all() const {
    std::vector<Tensor> found;
    for (const auto& group : groups) found.insert(found.end(), group.begin(), group.end());
    return found;
  }

  // The loss of this step; some parameters may have no part in it.
  Tensor loss(std::int64_t step, bool skips) const {
    Tensor sum_of = tensor(0.0, {.dtype = f64});
    const std::vector<Tensor> params = all();
    for (std::size_t i = 0; i < params.size(); ++i) {
      if (skips && (step + static_cast<std::int64_t>(i)) % 5 == 4) continue;
      const Tensor p = is_complex(params[i].dtype()) ? view_as_real(params[i]) : params[i];
      sum_of = sum_of + sum(weights[i] * square(p - targets[i])) * 0.5 + sum(sin(p * 3)) * 0.1;
    }
    return sum_of;
  }

  std::vector<std::vector<Tensor>> groups;
  std::vector<Tensor> targets, weights;
};

json numbers_of(const Tensor& value) {
  const Tensor plain = detach(value);
  return to_vector<double>(is_complex(plain.dtype()) ? clone(view_as_real(plain)) : plain);
}

json snapshot(const Problem& problem) {
  json all = json::array();
  for (const Tensor& each : problem.all()) all.push_back(numbers_of(each));
  return all;
}

json rates_of(const Optimizer& optimizer) {
  json rates = json::array();
  for (std::size_t group = 0; group < optimizer.num_groups(); ++group) {
    json own = json::array({optimizer.option(group, "lr").as_double()});
    for (const char* name : {"momentum", "betas"})
      if (optimizer.has_option(group, name)) own.push_back(json_of(optimizer.option(group, name)));
    rates.push_back(own);
  }
  return rates;
}

// One run of a case, which can be left and taken up by another object.
struct Runner {
  explicit Runner(const json& given)
      : line(given), problem(given["params"]), optimizer(make_optimizer(line, problem.groups)),
        scheduler(make_scheduler(line, *optimizer)) {}

  void step(std::int64_t at) {
    const bool skips = line["skips"].get<bool>();
    const auto closure = [&] {
      optimizer->zero_grad();
      const Tensor loss = problem.loss(at, skips);
      backward(loss);
      return loss;
    };
    optimizer->step(closure);
    if (scheduler) scheduler->step(line, at);
    steps.push_back({{"params", snapshot(problem)}, {"rates", rates_of(*optimizer)}});
  }

  json state() const {
    return {{"optimizer", json_of(optimizer->state_dict())},
            {"scheduler", scheduler ? json_of(scheduler->state()) : json()},
            {"params", snapshot(problem)}};
  }

  void load(const json& saved) {
    const NoGrad no_grad;
    const std::vector<Tensor> params = problem.all();
    for (std::size_t i = 0; i < params.size(); ++i) {
      const Tensor real =
          is_complex(params[i].dtype()) ? view_as_real(detach(params[i])) : params[i];
      copy_(real, tensor(saved["params"][i].get<std::vector<double>>(), real.shape()));
    }
    if (scheduler) scheduler->load(state_of(saved["scheduler"]));
    optimizer->load_state_dict(state_of(saved["optimizer"]));
  }

  const json& line;
  Problem problem;
  std::unique_ptr<Optimizer> optimizer;
  std::unique_ptr<AnyScheduler> scheduler;
  json steps = json::array();
};

json run_case(const json& line) {
  const auto count = line["steps"].get<std::int64_t>(), half = line["half"].get<std::int64_t>();
  json made{{"name", line["name"]}};
  Runner straight(line), own(line), theirs(line);
  for (std::int64_t i = 0; i < count; ++i) {
    if (i == half) {
      made["state"] = straight.state();
      own.load(made["state"]);
      theirs.load(line["state"]);
    }
    straight.step(i);
    if (i < half) continue;
    own.step(i);
    theirs.step(i);
  }
  made["straight"] = straight.steps;
  made["own"] = own.steps;
  made["theirs"] = theirs.steps;
  return made;
}

int run_all(const char* from, const char* to) {
  device("cpu");
  std::ifstream in(from);
  std::ofstream out(to);
  for (std::string text; std::getline(in, text);) {
    const json line = json::parse(text);
    json made;
    try {
      made = run_case(line);
    } catch (const std::exception& error) {
      made = {{"name", line["name"]}, {"error", error.what()}};
    }
    out << made.dump() << '\n';
  }
  return out.flush().good() ? 0 : 1;
}

}  // namespace
}  // namespace bp::test

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: run_optimizers CASES FILE\n";
    return 2;
  }
  try {
    return bp::test::run_all(argv[1], argv[2]);
  } catch (const std::exception& error) {
    std::cerr << "run_optimizers: " << error.what() << '\n';
    return 1;
  }
}
