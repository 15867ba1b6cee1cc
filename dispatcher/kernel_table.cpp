#include "kernel_table.hpp"

#include <algorithm>
#include <memory>

#include "counter_slots.hpp"
#include "joined.hpp"

namespace bp {
namespace {

// Replaced tables are kept with their operator: a call on another thread may be reading one. They are small (about 1 KiB
// for each registration of an operator), and registrations are few. See note: retired-tables.
std::vector<std::unique_ptr<OwnedTable>>& retired_and_live(Operator& op) {
  static auto* of_rows = new std::vector<std::unique_ptr<OwnedTable>>;
  return op.joined ? static_cast<Joined&>(op).kernel_tables : *of_rows;
}

bool accepts_dtype(const bp_arg& arg, Dtype dtype) {
  return contains(arg.dtypes, dtype);
}

// Nothing about this place depends on the call: any rank, contiguous, main memory.
bool accepts_any_contiguous(const bp_arg& arg, Dtype dtype) {
  return accepts_dtype(arg, dtype) &&
         (arg.layouts & (BP_LAYOUT_CONTIGUOUS | BP_LAYOUT_DENSE | BP_LAYOUT_STRIDED)) &&
         (arg.spaces & 1u) && arg.min_rank == 0 && arg.max_rank == 0 && arg.alignment <= 1;
}

// True if the candidate takes every call whose tensors all have `dtype` and lie contiguously.
bool takes_common_calls(const Operator& op, const Candidate& candidate, Dtype dtype, Dtype result) {
  if (candidate.declared.supports || (candidate.declared.flags & BP_KERNEL_SCRATCH)) return false;
  if (!(candidate.declared.flags & BP_KERNEL_DETERMINISTIC)) return false;
  if (candidate.plans || (candidate.declared.flags & BP_KERNEL_MEASURED)) return false;
  const std::size_t num_arguments = op.schema->arguments.size();
  // Somebody must look at the defaults, or at numbers.
  if (candidate.num_known != num_arguments || candidate.whole != 0) return false;
  for (std::size_t i = 0; i < candidate.args.size(); ++i) {
    const bool is_output = i >= num_arguments;
    if (!is_output && op.schema->arguments[i].type != ArgumentType::tensor) continue;
    if (!accepts_any_contiguous(candidate.args[i], is_output ? result : dtype)) return false;
    if (!is_output && (op.scalar_ok >> i & 1) && !candidate.args[i].scalar_ok) return false;
  }
  return true;
}

// True if the candidate might take some such call: then nothing after it may be cached.
bool may_take(const Operator& op, const Candidate& candidate, Dtype dtype) {
  for (std::size_t i = 0; i < candidate.num_known; ++i)
    if (op.schema->arguments[i].type == ArgumentType::tensor &&
        !accepts_dtype(candidate.args[i], dtype))
      return false;
  return true;
}

// The dtype of the result when all tensors have `dtype`; false if promotion would change them.
bool common_result(const Operator& op, Dtype dtype, Dtype& result) {
  result = op.promotion == Promotion::compare ? Dtype::boolean : dtype;
  if (op.promotion == Promotion::floating && !is_floating(dtype) && !is_complex(dtype))
    return false;
  return op.promotion != Promotion::none && contains(op.dtypes, dtype);
}

// In place of a kernel that is not deterministic, so that calls of the others need not ask.
bp_code run_varying(void* self, const bp_call* call) {
  const bp_kernel& declared = static_cast<const Candidate*>(self)->declared;
  const bp_code code = declared.run(declared.self, call);
  if (code == BP_OK) count_varying();
  return code;
}

void fill_entries(Operator& op, std::uint32_t backend, OwnedTable& table) {
  for (unsigned d = 0; d < num_dtypes; ++d) {
    const Dtype dtype = static_cast<Dtype>(d);
    Dtype result;
    if (op.kind != BP_KIND_POINTWISE || !common_result(op, dtype, result)) continue;
    if (op.asks_in_integers && contains(dtypes::integral, dtype)) continue;
    for (const Candidate* candidate : table.list) {
      // Legalizing for a native kernel comes before a generated one.
      if (candidate->rung == Rung::generated && table.num_native != 0) break;
      if (takes_common_calls(op, *candidate, dtype, result)) {
        KernelEntry& entry = table.entries[d];
        entry.run = candidate->declared.run;
        entry.self = candidate->declared.self;
        if (!(candidate->declared.flags & BP_KERNEL_DETERMINISTIC)) {
          entry.run = run_varying;
          entry.self = const_cast<Candidate*>(candidate);
        }
        entry.ran_on = &candidate->ran_on;
        entry.counter = counter_slot(op, backend) + static_cast<std::uint32_t>(candidate->rung);
        entry.generated = candidate->rung == Rung::generated;
        entry.in_place_safe = (candidate->declared.flags & BP_KERNEL_IN_PLACE_SAFE) != 0;
        entry.result_dtype = result;
        break;
      }
      if (may_take(op, *candidate, dtype)) break;
    }
  }
}

}  // namespace

void publish_table(Operator& op, std::uint32_t backend, std::vector<const Candidate*> candidates) {
  auto table = std::make_unique<OwnedTable>();
  table->list = std::move(candidates);
  table->candidates = table->list.data();
  table->num_candidates = static_cast<std::uint32_t>(table->list.size());
  table->num_native = static_cast<std::uint32_t>(
      std::count_if(table->list.begin(), table->list.end(),
                    [](const Candidate* each) { return each->rung == Rung::native; }));
  table->has_measured = std::any_of(
      table->list.begin(), table->list.end(),
      [](const Candidate* each) { return (each->declared.flags & BP_KERNEL_MEASURED) != 0; });
  fill_entries(op, backend, *table);
  op.tables[backend].store(table.get(), std::memory_order_release);
  retired_and_live(op).push_back(std::move(table));
}

}  // namespace bp
