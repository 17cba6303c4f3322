//===- Session.h - Memory and threads of one inference at a time -*- C++
//-*-===//
#ifndef NNV12_RUNTIME_SESSION_H
#define NNV12_RUNTIME_SESSION_H

#include "runtime/LoadedBundle.h"
#include "runtime/Workers.h"

struct nnv12_session {
public:
  nnv12_session() = default;
  ~nnv12_session();

  /// Keeps `bundle` alive from here on.
  bool create(nnv12_bundle &bundle, const nnv12_session_options &options,
              nnv12::artifact::Fault &fault);
  bool run(const nnv12_input *inputs, uint32_t numInputs,
           const nnv12_output *outputs, uint32_t numOutputs,
           nnv12::artifact::Fault &fault);

  uint32_t threads() const { return workers.threads(); }
  void setProfile(uint64_t *nanoseconds) { profile = nanoseconds; }

private:
  /// An operation, resolved: all that run needs of it.
  struct Step {
    nnv12::artifact::KernelFn kernel;
    void **operands;
    uint64_t tiles;
  };

  /// A place in the operand table that depends on the caller's buffers.
  struct Patch {
    void **place;
    uint32_t index; ///< of the input, or of the output
    bool isOutput;
    uint64_t offset;
  };

  bool allocateMemory(uint32_t threads, nnv12::artifact::Fault &fault);
  bool resolve(nnv12::artifact::Fault &fault);
  bool checkBuffers(const nnv12_input *inputs, uint32_t numInputs,
                    const nnv12_output *outputs, uint32_t numOutputs,
                    nnv12::artifact::Fault &fault) const;
  template <bool Profiled> void runSteps();

  nnv12_bundle *bundle = nullptr;
  nnv12::runtime::Pages arena;
  nnv12::runtime::Pages scratch;
  size_t scratchStride = 0;
  nnv12::runtime::Array<void *> operandTable;
  nnv12::runtime::Array<Step> steps;
  nnv12::runtime::Array<Patch> patches;
  uint64_t *profile = nullptr;
  std::atomic<bool> running{false};
  // Last: its threads end before anything else is freed.
  nnv12::runtime::Workers workers;
};

#endif // NNV12_RUNTIME_SESSION_H
