// Recurrent networks by cuDNN, where nobody asks for a gradient: all steps, layers and directions in one call. Weights are
// copied into the library's order in each call, since their contents may have changed.
#include "kernels/cudnn/graph.hpp"
#include "kernels/cudnn/planner.hpp"
#include "kernels/cudnn/recurrence_plan.hpp"

namespace cuda_backend::cudnn {
namespace {

const char* name_of(const RecurrentCall& c) {
  if (c.mode == CUDNN_LSTM) return "lstm";
  if (c.mode == CUDNN_GRU) return "gru";
  return c.mode == CUDNN_RNN_TANH ? "rnn_tanh" : "rnn_relu";
}

using PlannedRecurrence = bp::Result<bp::Planned<RecurrencePlan>>;

bp::Status say_refused(const RecurrentCall& c, const Planner& planner, const Refused& refused) {
  bp::log(bp::LogLevel::debug, "%s: cuDNN refuses %s: %s", name_of(c), refused.what,
          planner.library().error_string(refused.status));
  return bp::Status::from_host(BP_UNSUPPORTED);
}

PlannedRecurrence plan_recurrence(const bp::Call& call, const RecurrentCall& c) {
  const OnCard card(call, name_of(c));
  Planner* const planner = planner_of(card);
  if (planner == nullptr) return bp::Status::from_host(BP_UNSUPPORTED);
  try {
    bp::Planned<RecurrencePlan> planned;
    planner->with_handle(card, [&](cudnnHandle_t handle) {
      planned.own = std::make_unique<RecurrencePlan>(planner->library(), handle, c);
    });
    planned.workspace = planned.own->workspace_bytes();
    planned.alignment = RecurrencePlan::alignment;
    return PlannedRecurrence(std::move(planned));
  } catch (const Refused& refused) {
    return say_refused(c, *planner, refused);
  }
}

bp::Status run_recurrence(const bp::Call& call, const RecurrentCall& c) {
  const OnCard card(call, name_of(c));
  Planner* const planner = planner_of(card);
  if (planner == nullptr) return bp::Status::from_host(BP_UNSUPPORTED);
  try {
    planner->with_handle(card, [&](cudnnHandle_t handle) {
      call.plan<RecurrencePlan>().run(handle, c, call.workspace().address<char>(), card.stream());
    });
    return card.check_launches();
  } catch (const Refused& refused) {
    // What the card says is the better reason.
    if (bp::Status failed = card.check_launches(); !failed.is_ok()) return failed;
    if (CUDNN_STATUS_CATEGORY(refused.status) == CUDNN_STATUS_NOT_SUPPORTED)
      return say_refused(c, *planner, refused);
    return bp::internal("%s: cuDNN: %s: %s", name_of(c), refused.what,
                        planner->library().error_string(refused.status));
  }
}

bool takes_recurrence(const RecurrentCall& c, double dropout, bool train) {
  if (train && dropout > 0 && c.num_layers > 1) return false;
  constexpr int64_t most = INT32_MAX;  // the library counts in ints
  if (c.input.numel() == 0 || c.output.numel() == 0 || c.first_state.numel() == 0) return false;
  return c.input.numel() <= most && c.output.numel() <= most && c.first_state.numel() <= most &&
         library() != nullptr;
}

// ---- The rows

RecurrentCall lstm_call(bp::In input, bp::InList hx, bp::InList params, bool has_biases,
                        int64_t num_layers, bool bidirectional, bool batch_first, bp::Out output,
                        bp::Out hidden, bp::Out cell) {
  return {CUDNN_LSTM, input,         hx[0],       hx[1],  params, has_biases,
          num_layers, bidirectional, batch_first, output, hidden, cell};
}

bp::Status lstm(bp::Call call, bp::In input, bp::InList hx, bp::InList params, bool has_biases,
                int64_t num_layers, double, bool, bool bidirectional, bool batch_first,
                bp::Out output, bp::Out hidden, bp::Out cell) {
  return run_recurrence(call, lstm_call(input, hx, params, has_biases, num_layers, bidirectional,
                                        batch_first, output, hidden, cell));
}

PlannedRecurrence plan_lstm(bp::Call call, bp::In input, bp::InList hx, bp::InList params,
                            bool has_biases, int64_t num_layers, double, bool, bool bidirectional,
                            bool batch_first, bp::Out output, bp::Out hidden, bp::Out cell) {
  return plan_recurrence(call, lstm_call(input, hx, params, has_biases, num_layers, bidirectional,
                                         batch_first, output, hidden, cell));
}

bool takes_lstm(bp::Call, bp::In input, bp::InList hx, bp::InList params, bool has_biases,
                int64_t num_layers, double dropout, bool train, bool bidirectional,
                bool batch_first, bp::Out output, bp::Out hidden, bp::Out cell) {
  return takes_recurrence(lstm_call(input, hx, params, has_biases, num_layers, bidirectional,
                                    batch_first, output, hidden, cell),
                          dropout, train);
}

// The rows with one state.
template <cudnnRNNMode_t mode> struct WithOneState {
  static RecurrentCall call_of(bp::In input, bp::In hx, bp::InList params, bool has_biases,
                               int64_t num_layers, bool bidirectional, bool batch_first,
                               bp::Out output, bp::Out hidden) {
    return {mode,       input,         hx,          std::nullopt, params, has_biases,
            num_layers, bidirectional, batch_first, output,       hidden, std::nullopt};
  }

  static bp::Status run(bp::Call call, bp::In input, bp::In hx, bp::InList params, bool has_biases,
                        int64_t num_layers, double, bool, bool bidirectional, bool batch_first,
                        bp::Out output, bp::Out hidden) {
    return run_recurrence(call, call_of(input, hx, params, has_biases, num_layers, bidirectional,
                                        batch_first, output, hidden));
  }

  static PlannedRecurrence plan(bp::Call call, bp::In input, bp::In hx, bp::InList params,
                                bool has_biases, int64_t num_layers, double, bool,
                                bool bidirectional, bool batch_first, bp::Out output,
                                bp::Out hidden) {
    return plan_recurrence(call, call_of(input, hx, params, has_biases, num_layers, bidirectional,
                                         batch_first, output, hidden));
  }

  static bool takes(bp::Call, bp::In input, bp::In hx, bp::InList params, bool has_biases,
                    int64_t num_layers, double dropout, bool train, bool bidirectional,
                    bool batch_first, bp::Out output, bp::Out hidden) {
    return takes_recurrence(call_of(input, hx, params, has_biases, num_layers, bidirectional,
                                    batch_first, output, hidden),
                            dropout, train);
  }
};

// Not deterministic: the library may add in parts on several streams.
template <class Op, cudnnRNNMode_t mode> void add_with_one_state(bp::Kernels& k) {
  using Row = WithOneState<mode>;
  k.add<Op>(Row::run).plan(Row::plan).dtypes(bp::f32, bp::f16, bp::bf16).supports(Row::takes);
}

}  // namespace
}  // namespace cuda_backend::cudnn

BP_KERNELS(cuda_recurrence) {
  namespace cudnn = cuda_backend::cudnn;
  k.add<bp::op::lstm>(cudnn::lstm)
      .plan(cudnn::plan_lstm)
      .dtypes(bp::f32, bp::f16, bp::bf16)
      .supports(cudnn::takes_lstm);
  cudnn::add_with_one_state<bp::op::gru, CUDNN_GRU>(k);
  cudnn::add_with_one_state<bp::op::rnn_tanh, CUDNN_RNN_TANH>(k);
  cudnn::add_with_one_state<bp::op::rnn_relu, CUDNN_RNN_RELU>(k);
}
