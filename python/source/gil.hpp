// The lock of Python's interpreter around work that does not touch Python, and around calls from C++ into Python.
#pragma once

#include <cxxabi.h>
#include <nanobind/nanobind.h>

namespace bp::python {

// To be called once, when the module is made: from then on the functions below know that the interpreter ends.
void end_with_the_interpreter();

// When the interpreter ends, a thread that asks for the lock is ended by an unwinding that no frame of C++ may stop, and
// that ends the process where it meets a destructor. So the thread stays where it is until the process is gone.
[[noreturn]] void stay_until_the_process_ends();

// Stays, if the interpreter is ending on another thread: what this one would ask of it may be freed already.
void stay_if_the_interpreter_ends();

// Calls what may be unwound so. Other exceptions pass.
template <class F> decltype(auto) staying(F&& call) {
  try {
    return call();
  } catch (abi::__forced_unwind&) {
    stay_until_the_process_ends();
  }
}

// Counts this thread, until the matching end, among those that the process waits for before libraries take down what their kernels
// use: their destructors run while daemon threads still do.
void begin_work();
void end_work();

class WithoutGil {
 public:
  WithoutGil() : state_(counted_and_released()) {}
  ~WithoutGil() {
    end_work();
    stay_if_the_interpreter_ends();
    staying([this] { PyEval_RestoreThread(state_); });
  }
  WithoutGil(const WithoutGil&) = delete;
  WithoutGil& operator=(const WithoutGil&) = delete;

 private:
  // In this order: once it has let go of the lock, the interpreter may end.
  static PyThreadState* counted_and_released() {
    begin_work();
    return PyEval_SaveThread();
  }

  PyThreadState* state_;
};

class WithGil {
 public:
  WithGil() {
    stay_if_the_interpreter_ends();
    state_ = staying([] { return PyGILState_Ensure(); });
  }
  ~WithGil() { PyGILState_Release(state_); }
  WithGil(const WithGil&) = delete;
  WithGil& operator=(const WithGil&) = delete;

 private:
  PyGILState_STATE state_;
};

// Runs what does not touch Python while other threads of Python go on.
template <class F> auto without_gil(F&& call) {
  WithoutGil released;
  return call();
}

// From C++, which may be on any thread.
template <class F> auto with_gil(F&& call) {
  WithGil acquired;
  return staying(call);
}

}  // namespace bp::python
