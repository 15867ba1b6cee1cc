// Recurrent networks by oneDNN, layer by layer, where nobody asks for a gradient. Weights are brought into oneDNN's order
// in each call: their contents may have changed since the last one, and a call of several steps gains more than that costs.
#include <algorithm>

#include "../constants.hpp"
#include "../host.hpp"
#include "../tensor_view.hpp"
#include "../threads.hpp"
#include "kernels.hpp"
#include "recurrence_primitive.hpp"
#include "strided.hpp"

namespace bp::cpu {
namespace {

struct RecurrentCall {
  const bp_call* call;
  Cell cell;
  const bp_tensor* input;
  const bp_tensor* first_state;
  const bp_tensor* first_cell;  // NULL but for lstm, as last_cell
  InList params;
  bool has_biases;
  int64_t num_layers;
  bool bidirectional, batch_first;
  const bp_tensor* output;
  const bp_tensor* last_state;
  const bp_tensor* last_cell;

  int64_t steps() const { return input->dl.shape[batch_first ? 1 : 0]; }
  int64_t batch() const { return input->dl.shape[batch_first ? 0 : 1]; }
  int64_t input_size() const { return input->dl.shape[2]; }
  int64_t hidden() const { return first_state->dl.shape[2]; }
  int64_t directions() const { return bidirectional ? 2 : 1; }

  const bp_tensor& param(int64_t run, int64_t which) const {
    return params[static_cast<size_t>(run * (has_biases ? 4 : 2) + which)].abi();
  }
};

// A sequence [steps, batch, size] in memory, with strides in elements.
struct Sequence {
  float* data;
  std::array<int64_t, 3> shape, strides;

  static Sequence row_major(float* data, int64_t steps, int64_t batch, int64_t size) {
    return {data, {steps, batch, size}, {batch * size, size, 1}};
  }
  static Sequence of(const bp_tensor& tensor, bool batch_first) {
    Sequence made{data_of<float>(tensor), {}, {}};
    std::copy_n(tensor.dl.shape, 3, made.shape.begin());
    std::copy_n(tensor.dl.strides, 3, made.strides.begin());
    if (!batch_first) return made;
    std::swap(made.shape[0], made.shape[1]);
    std::swap(made.strides[0], made.strides[1]);
    return made;
  }

  bool is_row_major() const {
    return strides[2] == 1 && strides[1] == shape[2] && strides[0] == shape[1] * shape[2];
  }
  Sequence part(int64_t begin, int64_t size) const {
    Sequence made = *this;
    made.data += begin * strides[2];
    made.shape[2] = size;
    return made;
  }
};

void copy_sequence(const Sequence& to, const Sequence& from) {
  copy_strided(std::span<const int64_t>(from.shape), to.data, to.strides.data(),
               static_cast<const float*>(from.data), from.strides.data());
}

bp_code take_floats(const bp_call* call, int64_t count, float*& out) {
  char* room = nullptr;
  const bp_code code = take_workspace(call, static_cast<uint64_t>(count) * sizeof(float), room);
  out = reinterpret_cast<float*>(room);
  return code;
}

bp_code take_sequence(const RecurrentCall& c, int64_t size, Sequence& out) {
  float* room = nullptr;
  const bp_code code = take_floats(c.call, c.steps() * c.batch() * size, room);
  out = Sequence::row_major(room, c.steps(), c.batch(), size);
  return code;
}

// Row-major: as it lies, or a copy.
bp_code place_dense(const bp_call* call, const bp_tensor& tensor, float*& at) {
  at = data_of<float>(tensor);
  if (is_contiguous(tensor)) return BP_OK;
  const bp_code code = take_floats(call, tensor.numel, at);
  if (code == BP_OK)
    copy_strided(shape_of(tensor), at, contiguous_strides(shape_of(tensor)).data(),
                 static_cast<const float*>(data_of<float>(tensor)), tensor.dl.strides);
  return code;
}

// The gate of ours that stands at this place in oneDNN, whose gru has z before r.
int64_t gate_at(Cell cell, int64_t place) {
  return cell == gru_cell && place < 2 ? 1 - place : place;
}

bp_code place_weight(const RecurrentCall& c, const bp_tensor& weight, float*& at) {
  if (c.cell != gru_cell) return place_dense(c.call, weight, at);
  const bp_code code = take_floats(c.call, weight.numel, at);
  if (code != BP_OK) return code;
  const std::array<int64_t, 2> of_gate{c.hidden(), weight.dl.shape[1]}, dense{of_gate[1], 1};
  for (int64_t place = 0; place < num_gates_of(c.cell); ++place)
    copy_strided(
        std::span<const int64_t>(of_gate), at + place * of_gate[0] * of_gate[1], dense.data(),
        data_of<float>(weight) + gate_at(c.cell, place) * of_gate[0] * weight.dl.strides[0],
        weight.dl.strides);
  return BP_OK;
}

float bias_at(const bp_tensor& bias, int64_t index) {
  return data_of<float>(bias)[index * bias.dl.strides[0]];
}

bp_code place_bias(const RecurrentCall& c, int64_t run, float*& at) {
  const int64_t hidden = c.hidden();
  const bp_code code = take_floats(c.call, num_biases_of(c.cell) * hidden, at);
  if (code != BP_OK) return code;
  std::fill_n(at, num_biases_of(c.cell) * hidden, 0.0f);
  if (!c.has_biases) return BP_OK;
  const bp_tensor &of_input = c.param(run, 2), &of_state = c.param(run, 3);
  for (int64_t place = 0; place < num_gates_of(c.cell); ++place) {
    const int64_t from = gate_at(c.cell, place) * hidden;
    const bool is_apart = c.cell == gru_cell && place == 2;
    for (int64_t i = 0; i < hidden; ++i) {
      float* const sum = at + place * hidden + i;
      *sum = bias_at(of_input, from + i);
      sum[is_apart ? hidden : 0] += bias_at(of_state, from + i);
    }
  }
  return BP_OK;
}

using LayerCache = PrimitiveCache<LayerKey, LayerPrimitive, 64>;

LayerCache& layer_primitives() {
  thread_local LayerCache cache;
  return cache;
}

// Multiplications of one step: below this the threads' meeting costs more than a half of them.
int threads_for_step(const RecurrentCall& c) {
  return c.batch() * num_gates_of(c.cell) * c.hidden() * c.hidden() < constants::recurrence_work
             ? 1
             : max_threads;
}

struct States {
  float *state, *cell, *last_state, *last_cell;

  States of_run(const RecurrentCall& c, int64_t run) const {
    const int64_t offset = run * c.batch() * c.hidden();
    return {state + offset, cell ? cell + offset : nullptr, last_state + offset,
            last_cell ? last_cell + offset : nullptr};
  }
};

bp_code place_states(const RecurrentCall& c, States& out) {
  out = {nullptr, nullptr, data_of<float>(*c.last_state), nullptr};
  const bp_code code = place_dense(c.call, *c.first_state, out.state);
  if (code != BP_OK || c.cell != lstm_cell) return code;
  out.last_cell = data_of<float>(*c.last_cell);
  return place_dense(c.call, *c.first_cell, out.cell);
}

// From one row-major sequence to another.
bp_code run_layer(const RecurrentCall& c, int64_t run, const Sequence& from, const States& states,
                  const Sequence& to) {
  LayerKey key{c.cell, 0, run % c.directions(), c.steps(), c.batch(), from.shape[2], c.hidden()};
  const ThreadLimit threads(threads_for_step(c));
  key.num_threads = threads.count();
  LayerPrimitive& p = layer_primitives().find(key, [&] { return make_layer(key); });
  float *of_input = nullptr, *of_state = nullptr, *bias = nullptr, *scratch = nullptr;
  bp_code code = place_weight(c, c.param(run, 0), of_input);
  if (code == BP_OK) code = place_weight(c, c.param(run, 1), of_state);
  if (code == BP_OK) code = place_bias(c, run, bias);
  if (code == BP_OK) code = place_operand(c.call, p.of_input, reinterpret_cast<char*>(of_input));
  if (code == BP_OK) code = place_operand(c.call, p.of_state, reinterpret_cast<char*>(of_state));
  if (code == BP_OK && p.scratch_bytes != 0)
    code = take_floats(c.call, static_cast<int64_t>(p.scratch_bytes / sizeof(float) + 1), scratch);
  if (code != BP_OK) return code;
  if (key.num_threads > 1) leave_cores_to_openmp();
  const dnnl::stream& stream = layer_primitives().stream();
  reorder_before(p.of_input, stream);
  reorder_before(p.of_state, stream);
  p.input.set_data_handle(from.data);
  p.output.set_data_handle(to.data);
  p.bias.set_data_handle(bias);
  p.state.set_data_handle(states.state);
  p.last_state.set_data_handle(states.last_state);
  p.scratch.set_data_handle(scratch);
  std::vector<dnnl_exec_arg_t> args{{DNNL_ARG_SRC_LAYER, p.input.get()},
                                    {DNNL_ARG_SRC_ITER, p.state.get()},
                                    {DNNL_ARG_WEIGHTS_LAYER, p.of_input.wanted.get()},
                                    {DNNL_ARG_WEIGHTS_ITER, p.of_state.wanted.get()},
                                    {DNNL_ARG_BIAS, p.bias.get()},
                                    {DNNL_ARG_DST_LAYER, p.output.get()},
                                    {DNNL_ARG_DST_ITER, p.last_state.get()},
                                    {DNNL_ARG_SCRATCHPAD, p.scratch.get()}};
  if (c.cell == lstm_cell) {
    p.cell.set_data_handle(states.cell);
    p.last_cell.set_data_handle(states.last_cell);
    args.push_back({DNNL_ARG_SRC_ITER_C, p.cell.get()});
    args.push_back({DNNL_ARG_DST_ITER_C, p.last_cell.get()});
  }
  const NoSignals quiet;
  execute(p.run, stream, args, "oneDNN could not run a recurrent layer");
  return BP_OK;
}

// Both directions of a layer, side by side in `to`, which need not be row-major.
bp_code run_directions(const RecurrentCall& c, int64_t layer, const Sequence& from,
                       const States& states, const Sequence& to) {
  if (!c.bidirectional && to.is_row_major())
    return run_layer(c, layer, from, states.of_run(c, layer), to);
  Sequence one{};
  bp_code code = take_sequence(c, c.hidden(), one);
  for (int64_t direction = 0; code == BP_OK && direction < c.directions(); ++direction) {
    const int64_t run = layer * c.directions() + direction;
    code = run_layer(c, run, from, states.of_run(c, run), one);
    if (code == BP_OK) copy_sequence(to.part(direction * c.hidden(), c.hidden()), one);
  }
  return code;
}

bp_code run_network(const RecurrentCall& c) {
  States states{};
  bp_code code = place_states(c, states);
  Sequence from = Sequence::of(*c.input, c.batch_first);
  if (code == BP_OK && !from.is_row_major()) {
    const Sequence given = from;
    code = take_sequence(c, c.input_size(), from);
    if (code == BP_OK) copy_sequence(from, given);
  }
  for (int64_t layer = 0; code == BP_OK && layer < c.num_layers; ++layer) {
    Sequence to = Sequence::of(*c.output, c.batch_first);
    if (layer + 1 < c.num_layers) code = take_sequence(c, c.directions() * c.hidden(), to);
    if (code == BP_OK) code = run_directions(c, layer, from, states, to);
    from = to;
  }
  return code;
}

bool has_something(const RecurrentCall& c) {
  return c.batch() > 0 && c.input_size() > 0 && c.hidden() > 0;
}

// Steps from which a call earns back what bringing its weights into oneDNN's order costs. Those of gru are copied first.
int64_t least_steps(const RecurrentCall& c) {
  const int64_t weights = num_gates_of(c.cell) * c.hidden() * (c.input_size() + c.hidden());
  const int64_t large = c.cell == gru_cell ? constants::large_gru : constants::large_recurrence;
  if (weights <= constants::small_recurrence) return constants::steps_of_small;
  return weights <= large ? constants::steps_of_medium : constants::steps_of_large;
}

bool pays(const RecurrentCall& c) {
  return has_something(c) && c.steps() >= least_steps(c);
}

// ---- The rows

Status lstm(Call call, In input, InList hx, InList params, bool has_biases, int64_t num_layers,
            double, bool, bool bidirectional, bool batch_first, Out output, Out hidden, Out cell) {
  return Status::from_host(run_network({&call.abi(), lstm_cell, &input.abi(), &hx[0].abi(),
                                        &hx[1].abi(), params, has_biases, num_layers, bidirectional,
                                        batch_first, &output.abi(), &hidden.abi(), &cell.abi()}));
}

bool takes_lstm(Stream, In input, InList hx, InList params, bool has_biases, int64_t num_layers,
                double dropout, bool train, bool bidirectional, bool batch_first, Out output, Out,
                Out) {
  const bool drops = train && dropout > 0 && num_layers > 1;
  return !drops &&
         pays({nullptr, lstm_cell, &input.abi(), &hx[0].abi(), &hx[1].abi(), params, has_biases,
               num_layers, bidirectional, batch_first, &output.abi(), nullptr, nullptr});
}

template <Cell cell>
Status recurrence(Call call, In input, In hx, InList params, bool has_biases, int64_t num_layers,
                  double, bool, bool bidirectional, bool batch_first, Out output, Out hidden) {
  return Status::from_host(
      run_network({&call.abi(), cell, &input.abi(), &hx.abi(), nullptr, params, has_biases,
                   num_layers, bidirectional, batch_first, &output.abi(), &hidden.abi(), nullptr}));
}

template <Cell cell>
bool takes_recurrence(Stream, In input, In hx, InList params, bool has_biases, int64_t num_layers,
                      double dropout, bool train, bool bidirectional, bool batch_first, Out output,
                      Out) {
  const bool drops = train && dropout > 0 && num_layers > 1;
  return !drops && pays({nullptr, cell, &input.abi(), &hx.abi(), nullptr, params, has_biases,
                         num_layers, bidirectional, batch_first, &output.abi(), nullptr, nullptr});
}

template <class Op> KernelBuilder<Op> described(KernelBuilder<Op> kernel) {
  using place = typename Op::place;
  kernel.dtypes(f32)
      .layouts(strided)
      .layouts(place::output, contiguous)
      .layouts(place::hidden, contiguous)
      .deterministic()
      .scratch();
  return kernel;
}

template <class Op, Cell cell> void add_recurrence(Kernels& k) {
  described<Op>(k.add<Op>(recurrence<cell>)).supports(takes_recurrence<cell>);
}

}  // namespace

void add_recurrence_kernels(Kernels& k) {
  described<op::lstm>(k.add<op::lstm>(lstm))
      .layouts(op::lstm::place::cell, contiguous)
      .supports(takes_lstm);
  add_recurrence<op::gru, gru_cell>(k);
  add_recurrence<op::rnn_tanh, tanh_cell>(k);
  // Not rnn_relu: oneDNN's relu makes 0 of NaN.
}

}  // namespace bp::cpu
