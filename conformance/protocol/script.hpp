// What a worker is asked for one case, and what it answers: JSON objects, whose binary values are bytes.
//
// A request is {"case": NAME, "poison": BYTE, "seed": N, "steps": [STEP...]} ("seed": the case's, which
// the generators begin with), for probes also "lane": "direct"|"core"|"bare" and "once": true if it is not to be repeated in search of leaks. The
// answer: {"case": NAME, "steps": [RESULT...], "watch": {...}}, or {"case", "failed": SENTENCE} where the device cannot be
// opened. With "telling": true each result comes by itself before, as {"told": RESULT}, so that a crash does not take
// it along. A step that fails answers {"code": BP_..., "message": TEXT} and the next one goes on; but after memory that
// could not be made or written, nothing is called that would read it. Objects (memory, tensors, streams, events) get their
// names, small numbers, from the parent; all are released when the script ends.
//
//   direct lane: functions of the ABI, on the device that the worker opened itself
//     {"do":"allocate", "object":N, "bytes":B, "alignment":A}   with red zones on both sides, filled with the poison
//        "sparse":true: gigabytes of which a few bytes are used: zones, but no poison between them and no look at gaps
//     {"do":"write", "object":N, "offset":O, "bytes":BINARY}    from the host; synchronized
//     {"do":"poison", "object":N}                               as write, of the script's poison
//     {"do":"read", "object":N, "offset":O, "count":B}          -> "bytes"
//     {"do":"copy", "to":N, "to_offset":O, "from":M, "from_offset":O, "count":B, "stream":S?}
//     {"do":"fill", "object":N, "offset":O, "count":B, "pattern":BINARY, "stream":S?}
//     {"do":"release", "object":N}
//     {"do":"stream", "object":S} {"do":"event", "object":E}
//     {"do":"record"|"wait"|"query_event"|"synchronize_event"|"query_stream"|"synchronize", "event":E?, "stream":S?}
//     {"do":"call", "op":NAME, "args":[VALUE...], "outputs":[TENSOR...], "stream":S?, "kernel":K?, "synchronize":true}
//        -> "code", "message", "kernel" (its position in the plugin's list), "outputs": [{"shape"}] where the kernel
//        allocates; "fault": the device word. Without "kernel" the candidates are tried as the core does, by falling
//        priority, among those whose declaration takes the call.
//        A kernel that plans gets a fresh plan; with "plan":N that of number N, made by the first call that names it.
//     {"do":"host_call", "object":H, "stream":S?, "gate":B?} {"do":"semaphore", "object":M}: see worker/direct_steps.cpp
//   core lane: an application's calls
//     {"do":"tensor", "object":N, "dtype":D, "shape":[], "strides":[], "offset":O, "storage":BINARY, "grad":bool}
//        "sparse":B, "pieces":[[OFFSET, BINARY]...] instead of "storage": B bytes, of which only these are written
//     {"do":"row", "op":NAME, "args":[VALUE...], "results":[N...], "into":[N...]?, "in_place":bool?, "stream":S?}
//        -> "shapes", "dtypes", "served": {ROW: RUNG} of what the call caused
//     {"do":"backward", "results":[N...], "cotangents":[N...], "inputs":[N...], "gradients":[N...]}
//     {"do":"values", "object":N}    -> "bytes": elements, row-major;  {"do":"storage", "object":N} -> all its memory
//     {"do":"replays", "steps":[ROW...], "times":T} -> "by_device": captured, and replayed so often
//     {"do":"side_streams", "threads":H, "rounds":R, "calls":B} -> "checked": tensors compared, "wrong": of these, "message":
//        the first error of a call. With "calls", sums are computed besides the copies: see worker/side_streams.cpp
//   both
//     {"do":"host", "threads":N?, "deterministic":B?, ...}: what the host says until the script ends. Direct lane: "fail_from"
//        N: the N-th allocate_host from now on fails. Core lane: "recycle": true: rows get memory that was used before; "seed":
//        of what they draw
//     {"do":"repeat", "times":T, "threads":H, "setup":[...]?, "steps":[...], "hash":[N...], "growth":B?} -> "hashes": the
//        distinct hashes, with counts; "codes", "message", "growth": see worker/repeat.cpp
//     {"do":"counters"} -> "host_allocations", "device_allocations", "files", "threads"
//     {"do":"describe"} -> what Subject is read from
//     {"do":"alive"} -> a copy there and back, compared
//   bare lane, which opens nothing by itself: loading, levels of the ABI, several plugins at once: worker/bare_lane.cpp
//
// VALUE: {"none":1} {"i":1} {"f":0.5} {"b":true} {"z":[re,im]} {"s":"mean"} {"ints":[]} {"doubles":[]} {"dtype":"f32"}
//        {"device":1} {"tensor":TENSOR} {"tensors":[TENSOR...]}; in the core lane TENSOR is the object's number.
// TENSOR: {"object":N, "offset":BYTES, "dtype":D, "shape":[], "strides":[]}
//
// "watch", on every script: {"zones": [what was written outside of what was asked for, with object and place],
//   "inputs": [objects whose bytes a call changed although it may not], "gaps": [bytes between strides that changed],
//   "leaks": {...counters that rise again each time that the script is repeated...}, "lost": the device's error, if it
//   answers no more, and the other kinds of Watch (worker/scope.hpp)}. Empty: all is well.
//
// "varies": true where a step that computes ran a kernel that does not declare BP_KERNEL_DETERMINISTIC: the same script may give other bits.
#pragma once

#include <deque>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include <backplane/dispatcher/operator.hpp>

#include "inputs/problem.hpp"

namespace bp::conform {

using Json = nlohmann::json;

// VALUEs of a problem's arguments, tensors being the objects `first`, `first + 1` ...
Json core_arguments(const Problem& problem, int first);
Json tensor_step(const Laid& laid, int object, bool wants_gradient);
// A call of the problem's row, whose tensors are the objects 0 and up; its results become `first_result` and up.
Json row_step(const Problem& problem, int first_result);
// Of the direct lane. A tensor's memory; `writes`: with its values, of a sparse one element by element.
Json allocate_step(int object, std::uint64_t bytes, std::uint64_t alignment = 1);
Json write_step(int object, std::uint64_t offset, Bytes bytes);
Json read_step(int object, std::uint64_t offset, std::uint64_t count);
void add_memory(Json& steps, const Laid& laid, int object, bool writes);
// A call of the problem's row by a kernel; the outputs lie in these objects, the tensors in `first_tensor` and up.
Json call_step(const Problem& problem, const std::vector<Laid>& outputs,
               const std::vector<int>& objects, int first_tensor = 0);

// What arguments point to; it stays where it is.
struct ArgumentLists {
  std::deque<std::vector<const bp_tensor*>> tensors;
  std::deque<Sizes> ints;
  std::deque<std::vector<double>> doubles;
  std::deque<std::string> strings;
};

// A VALUE with the lane's own tensors, and its device for {"device": 1}. Throws bad_argument.
bp_value read_value(const Json& json, ArgumentLists& lists, const bp_value& device,
                    const std::function<const bp_tensor*(const Json&)>& tensor_of);

// A message as bytes: CBOR without what its binary values hold, then that, one after the other.
void append_message(const Json& message, Bytes& frame);
// False where the bytes are none.
bool read_message(const std::uint8_t* begin, std::size_t size, Json& out);

// A frame on a pipe: its length as 8 bytes, then a message. False at the end of the stream; throws on a broken frame.
bool send(int file, const Json& message);
bool receive(int file, Json& out);

}  // namespace bp::conform
