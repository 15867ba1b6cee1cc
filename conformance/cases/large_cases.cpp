// Cases past the sizes at which kernels change their way, and those that no luck of a crossing may leave out.
#include <algorithm>

#include <backplane/samples/row_facts.hpp>

#include "cases/special_cases.hpp"
#include "inputs/draft_problem.hpp"
#include "inputs/values.hpp"

namespace bp::conform {
namespace {

// One between each two of 128, 256, 1,024, 2,048, 4,096, 16,384, 32,768, 65,535, and one past all: tiles, blocks, grids,
// pieces of a scan, counters of 16 bits. Some are multiples of a power of two, some of nothing.
constexpr std::int64_t large_sizes[] = {192, 777, 1536, 3001, 6400, 20001, 40000, 66001};
constexpr std::size_t num_sizes = std::size(large_sizes);
constexpr std::int64_t small_size = 7;  // stands for them where only the form of a call matters

std::string with_size(const std::string& pattern, std::int64_t size) {
  std::string shape;
  for (const char each : pattern)
    shape += each == 'N' ? std::to_string(size) : std::string(1, each);
  return shape;
}

// "all", "floating", or names joined by '+'.
bool is_named(const std::string& dtypes, Dtype dtype) {
  if (dtypes == "all") return true;
  if (dtypes == "floating") return is_floating(dtype);
  const std::vector<std::string> names = split_text(dtypes, '+');
  return std::find(names.begin(), names.end(), short_name(dtype)) != names.end();
}

class LargeCases {
 public:
  LargeCases(const Operator& op, const Axes& axes, Thoroughness thoroughness, const Takes& takes,
             std::vector<Case>& out)
      : op_(op), axes_(axes), values_(split_text(find_row_facts(op.name())->large_values, ' ')),
        thoroughness_(thoroughness), takes_(takes), out_(out),
        turn_(static_cast<std::size_t>(hash_text(op.name()) % 1024)) {}

  void add(const std::string& pattern, std::size_t place) {
    if (pattern.find('N') == pattern.npos)
      add_layouts(pattern, num_blocks_++);
    else
      add_sizes(pattern, place);
  }

 private:
  // The largest shows what is lost past any of them; what is wrong between two of them alone, those between.
  void add_sizes(const std::string& pattern, std::size_t place) {
    const std::size_t period = thoroughness_ == Thoroughness::all              ? 1
                               : thoroughness_ == Thoroughness::most && !place ? 1
                               : thoroughness_ == Thoroughness::most           ? 3
                               : thoroughness_ == Thoroughness::some           ? 4
                                                                               : num_sizes;
    for (std::size_t i = 0; i + 1 < num_sizes; ++i)
      if (period != num_sizes && (i + turn_ + place) % period == 0)
        add_case(axes_.dtypes[0], pattern, large_sizes[i], "plain");
    add_case(axes_.dtypes[0], pattern, large_sizes[num_sizes - 1], "plain");
    const std::size_t others = axes_.dtypes.size() - 1;
    const std::size_t each = thoroughness_ == Thoroughness::all      ? 3
                             : thoroughness_ == Thoroughness::little ? 0
                                                                     : 1;
    for (std::size_t i = 0; i < std::min(each, others); ++i)
      add_case(axes_.dtypes[1 + (turn_ + place * each + i) % others], pattern,
               large_sizes[num_sizes - 1], "plain");
  }

  // Into a tensor of another order as well: that is what transposes.
  void add_layouts(const std::string& shape, std::size_t turn) {
    std::size_t most = thoroughness_ == Thoroughness::all    ? axes_.layouts.size()
                       : thoroughness_ == Thoroughness::most ? 3
                                                             : 2;
    std::size_t place = 0;
    for (const std::string& layouts : axes_.layouts) {
      if (repeats_elements(layouts)) continue;
      if (most-- == 0) return;
      const bool has_out = writes_where_told(op_) && (turn + place) % 2 != 0;
      add_case(axes_.dtypes[place++ % axes_.dtypes.size()], shape, 0, layouts,
               has_out ? "out" : "call");
    }
  }

  void add_case(Dtype dtype, const std::string& pattern, std::int64_t size,
                const std::string& layouts, const char* form = "call") {
    Case one = case_of(op_, dtype, with_size(pattern, small_size), layouts,
                       values_[num_added_++ % values_.size()], form);
    if (takes_ && !takes_(one)) return;
    one.shape = with_size(pattern, size);
    make_sensible(op_, one);
    out_.push_back(std::move(one));
  }

  const Operator& op_;
  const Axes& axes_;
  const std::vector<std::string> values_;
  const Thoroughness thoroughness_;
  const Takes& takes_;
  std::vector<Case>& out_;
  const std::size_t turn_;
  std::size_t num_added_ = 0, num_blocks_ = 0;
};

}  // namespace

void add_large_cases(const Operator& op, const Axes& axes, Profile profile,
                     Thoroughness thoroughness, const Takes& takes, std::vector<Case>& out) {
  const RowFacts* facts = find_row_facts(op.name());
  if (profile == Profile::quick || !facts || *facts->large == '\0') return;
  if (profile == Profile::full && thoroughness != Thoroughness::little)
    thoroughness = Thoroughness::all;
  LargeCases large(op, axes, thoroughness, takes, out);
  std::size_t place = 0;
  for (const std::string& pattern : split_text(facts->large, ' ')) large.add(pattern, place++);
}

void add_deciding_cases(const Operator& op, const Axes& axes, Profile profile,
                        std::vector<Case>& out) {
  const RowFacts* facts = find_row_facts(op.name());
  if (profile == Profile::quick || !facts || *facts->decides == '\0') return;
  std::vector<Dtype> dtypes = axes.dtypes;
  dtypes.insert(dtypes.end(), axes.minor_dtypes.begin(), axes.minor_dtypes.end());
  for (const std::string& decides : split_text(facts->decides, ' ')) {
    const std::vector<std::string> parts = split_text(decides, '/');
    for (const Dtype dtype : dtypes) {
      if (parts.size() > 2 && !is_named(parts[2], dtype)) continue;
      Case one =
          case_of(op, dtype, parts[0], parts.size() > 3 ? parts[3] : "plain", parts[1], "call");
      make_sensible(op, one);
      out.push_back(std::move(one));
    }
  }
}

}  // namespace bp::conform
