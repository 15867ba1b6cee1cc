// What a program computes, by definition: values in flat memory, views as lists of places, and beside each
// value the one that it would be if some leaves were moved a little. Their difference is what a
// derivative has to be.
#pragma once

#include <map>
#include <optional>

#include "autograd/programs/evaluate.hpp"

namespace bp::test::programs {

// What a variable is.
struct Seen : Shown {
  Dtype dtype = Dtype::f64;
  std::size_t memory = 0, way = 0;
  bool is_leaf = false;
  bool is_view = false;
  bool made_under_no_grad = false;  // a view, or a view of such
  // A view that came with others, or a view of such; and whether it was recorded. base_writes is of these, too.
  bool is_one_of_several = false, is_recorded_part = false;
  std::size_t base_way = 0;  // of such: whose view it is, and how often that had been written
  std::size_t base_writes = 0;
};

class Interpreter {
 public:
  // Added to the elements of a variable after a step (its index in the program), seen by derivatives alone.
  struct Shift {
    std::size_t after_step;
    std::int64_t variable;
    std::vector<double> by;
  };
  explicit Interpreter(std::vector<Shift> shifts = {}) : shifts_(std::move(shifts)) {}

  // Throws Refused, and then nothing has happened.
  void step(const Step& step);
  void run(const Program& program);

  // Refuses calls that are not regular, with results further from 0.
  void set_limit(double limit) { limit_ = limit; }

  const Seen& seen(std::int64_t variable) const { return seen_.at(variable); }
  const std::map<std::int64_t, Seen>& all() const { return seen_; }
  std::vector<double> values(std::int64_t variable) const;
  bool requires_grad(std::int64_t variable) const;
  // One of several views whose memory was written since: no record takes it any more.
  bool is_outdated_part(std::int64_t variable) const;
  // sum(v * weights) of the moved values.
  double loss(const std::vector<std::int64_t>& variables) const;

  // Was something written that PyTorch may have kept for a derivative?
  bool wrote_what_was_kept() const { return wrote_kept_; }
  // Would the next call keep something of the variable's memory? Asked before a later write.
  bool is_kept(std::int64_t variable) const;
  // The last step that wrote to what the variable's derivative goes through.
  std::size_t last_write(std::int64_t variable) const;
  bool has_other_ways(std::int64_t variable) const;
  bool uses_detached() const { return ways_.size() > num_memories_with_one_way_; }

 private:
  // What a derivative goes through: a memory, and its values if leaves were moved. Several over one memory
  // where some are detached.
  struct Way {
    std::size_t memory;
    std::vector<double> moved;
    bool requires_grad = false;
    bool is_of_leaf = false;
    std::size_t last_write = 0;
  };
  struct Memory {
    std::vector<double> values;
    Dtype dtype;
    std::vector<std::size_t> ways;
    std::size_t num_writes = 0;
    bool is_kept = false;
  };

  void make_input(const Step& step);
  void make_views(const Step& step);
  void call(const Step& step);
  void write(const Step& step, const std::vector<Plain>& values, const std::vector<Plain>& moved,
             bool is_recorded);
  void check_fits(const Step& step, const std::vector<Plain>& values) const;
  void check_writable(const Step& step, bool is_recorded) const;
  void check_order(const Step& step) const;
  void check_up_to_date(const Step& step) const;
  void note_kept(const Step& step);
  bool any_requires_grad(const Step& step) const;
  std::vector<Plain> evaluate_on(const Step& step, bool moved) const;
  Plain plain(std::int64_t variable, bool moved) const;
  std::size_t new_memory(const Plain& values, const std::vector<double>& moved, bool requires_grad);
  std::size_t new_way(std::size_t memory, bool requires_grad);

  std::vector<Shift> shifts_;
  double limit_ = 0;
  std::vector<Memory> memories_;
  std::vector<Way> ways_;
  std::map<std::int64_t, Seen> seen_;
  std::size_t step_index_ = 0;
  std::size_t num_memories_with_one_way_ = 0;
  bool wrote_kept_ = false;
};

}  // namespace bp::test::programs
