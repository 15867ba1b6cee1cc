#include "recurrence_primitive.hpp"

namespace bp::cpu {
namespace {

using Layout = dnnl::memory::desc;
using SequenceTag = dnnl::memory::format_tag;

struct LayerDescriptions {
  explicit LayerDescriptions(const LayerKey& key) {
    const auto cell = static_cast<Cell>(key.cell);
    const int64_t gates = num_gates_of(cell);
    const auto type = dnnl::memory::data_type::f32;
    input = {{key.steps, key.batch, key.size}, type, SequenceTag::tnc};
    output = {{key.steps, key.batch, key.hidden}, type, SequenceTag::tnc};
    state = {{1, 1, key.batch, key.hidden}, type, SequenceTag::ldnc};
    bias = {{1, 1, num_biases_of(cell), key.hidden}, type, SequenceTag::ldgo};
    of_input = {{1, 1, key.size, gates, key.hidden}, type, SequenceTag::ldgoi};
    of_state = {{1, 1, key.hidden, gates, key.hidden}, type, SequenceTag::ldgoi};
    of_input_any = {of_input.dims(), type, SequenceTag::any};
    of_state_any = {of_state.dims(), type, SequenceTag::any};
  }

  Layout input, output, state, bias, of_input, of_state;  // as the caller has them
  Layout of_input_any, of_state_any;                      // as oneDNN may choose
};

template <class Description>
LayerPrimitive made_from(const Description& description, const LayerDescriptions& all) {
  const auto memory = [](const Layout& layout) {
    return dnnl::memory(layout, onednn_engine(), nullptr);
  };
  LayerPrimitive made;
  made.of_input.set(all.of_input, description.weights_layer_desc(), false);
  made.of_state.set(all.of_state, description.weights_iter_desc(), false);
  made.input = memory(all.input);
  made.output = memory(all.output);
  made.bias = memory(all.bias);
  for (dnnl::memory* each : {&made.state, &made.cell, &made.last_state, &made.last_cell})
    *each = memory(all.state);
  made.scratch = memory(description.scratchpad_desc());
  made.scratch_bytes = description.scratchpad_desc().get_size();
  return made;
}

}  // namespace

LayerPrimitive make_layer(const LayerKey& key) {
  const LayerDescriptions all(key);
  const auto kind = dnnl::prop_kind::forward_inference;
  const auto direction = key.is_backward ? dnnl::rnn_direction::unidirectional_right2left
                                         : dnnl::rnn_direction::unidirectional_left2right;
  dnnl::primitive_attr attr;
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);  // the host counts it
  LayerPrimitive made;
  if (key.cell == lstm_cell) {
    using Forward = dnnl::lstm_forward;
    const Forward::primitive_desc description(
        Forward::desc(kind, direction, all.input, all.state, all.state, all.of_input_any,
                      all.of_state_any, all.bias, all.output, all.state, all.state),
        attr, onednn_engine());
    made = made_from(description, all);
    made.run = Forward(description);
  } else if (key.cell == gru_cell) {
    using Forward = dnnl::lbr_gru_forward;
    const Forward::primitive_desc description(
        Forward::desc(kind, direction, all.input, all.state, all.of_input_any, all.of_state_any,
                      all.bias, all.output, all.state),
        attr, onednn_engine());
    made = made_from(description, all);
    made.run = Forward(description);
  } else {
    using Forward = dnnl::vanilla_rnn_forward;
    const Forward::primitive_desc description(
        Forward::desc(kind, dnnl::algorithm::eltwise_tanh, direction, all.input, all.state,
                      all.of_input_any, all.of_state_any, all.bias, all.output, all.state),
        attr, onednn_engine());
    made = made_from(description, all);
    made.run = Forward(description);
  }
  return made;
}

}  // namespace bp::cpu
