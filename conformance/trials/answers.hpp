// Reading what workers answered, for trials.
#pragma once

#include <string>
#include <vector>

#include "judge/expected.hpp"
#include "trials/trial.hpp"

namespace bp::conform {

inline constexpr int poisons[2] = {0xff, 0x11};

// A script with its head; steps are added.
Json new_script(const Case& one, int index);
// Appends and returns the position, by which its result is found.
std::size_t add_step(Json& script, Json step);

// The result of a step; an object without "code" where there is none.
const Json& result_of(const Json& answer, std::size_t step);
int code_of(const Json& result);
std::string message_of(const Json& result);
// "error 1: ..."
std::string error_of(const Json& result);
// Did every kernel's `supports` say no, as it may to a problem as small as this one?
bool is_refused(const Json& result);
const std::vector<unsigned char>* bytes_of(const Json& result);

// What the oracle says; elements that lie gigabytes apart are put together for it.
Expected expect_call(const Problem& problem, const Case& one, const Numerics& numerics,
                     bool gradients);

// What the instruments say, as a sentence; empty if nothing. `written`: inputs that the row writes, as it should.
std::string complaint_of(const Json& answer, const std::vector<int>& written = {});

// Did only kernels run that declare that they give the same bits each time?
bool repeats_bits(const Json& answer);
bool repeats_bits(const std::vector<Json>& answers);

// Why two runs with different poison give different bytes: `changes` if the second one's poison gives others again.
const char* disagreement(bool changes);

// Keeps the first failure.
void fail_with(Verdict& verdict, const std::string& why);
// If the call failed, the verdict says so: "unsupported" or a failure.
bool has_succeeded(Verdict& verdict, const Json& result);

// The worst rung among those that served: that of the row itself where it is counted.
std::string served_rung(const Json& result, const std::string& op);

// Compares one result and takes the figures over into the verdict.
void judge_result(Verdict& verdict, const std::vector<unsigned char>& bytes,
                  const ExpectedTensor& expected, const std::string& what);

std::string hash_of(const std::vector<std::vector<unsigned char>>& all);

}  // namespace bp::conform
