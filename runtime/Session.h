//===- Session.h - One inference at a time ----------------------*- C++ -*-===//
#ifndef NNV12_RUNTIME_SESSION_H
#define NNV12_RUNTIME_SESSION_H

#include "runtime/FirstTouch.h"
#include "runtime/LoadedBundle.h"
#include "runtime/Team.h"
#include "runtime/system/Structs.h"

struct nnv12_session {
public:
  nnv12_session() = default;
  ~nnv12_session();

  /// Keeps `bundle` alive from here on. Here and below `options.gpu` is not
  /// null.
  [[nodiscard]] bool create(nnv12_bundle &bundle,
                            const nnv12_session_options &options,
                            nnv12::artifact::Fault &fault);
  [[nodiscard]] bool run(const nnv12_input *inputs, uint32_t numInputs,
                         const nnv12_output *outputs, uint32_t numOutputs,
                         uint64_t until, nnv12::artifact::Fault &fault);
  [[nodiscard]] bool prepare(uint32_t milliseconds,
                             nnv12::artifact::Fault &fault);

  uint32_t threads() const { return workers_.threads(); }
  nnv12_session_info info() const;

  /// How many threads such a session has.
  static nnv12::runtime::Team::Size
  teamFor(const nnv12_bundle &bundle, const nnv12_session_options &options);
  /// The bytes that hold the records of a session's last `runs` runs, and of
  /// its preparations before.
  static size_t recorderSize(const nnv12_bundle &bundle,
                             const nnv12_session_options &options,
                             nnv12::runtime::RecordLevel level, uint32_t runs);

private:
  using Step = nnv12::runtime::Step;

  /// A step that replaces another one in later runs.
  struct Change {
    Step step;
    const nnv12::runtime::After *after;
  };

  /// A place in the operand table that depends on the caller's buffers.
  struct Patch {
    void **place;
    uint32_t index; ///< of the input, or of the output
    bool isOutput;
    uint64_t offset;
  };

  /// Whether a GPU may take over a part of the session's operations: then
  /// threads of its own prepare for it.
  static bool mayUseGpu(const nnv12_bundle &bundle,
                        const nnv12_session_options &options);
  [[nodiscard]] bool createRecorder(const nnv12_session_options &options,
                                    nnv12::runtime::Team::Size size,
                                    nnv12::artifact::Fault &fault);
  [[nodiscard]] bool allocateMemory(uint32_t threads,
                                    nnv12::artifact::Fault &fault);
  [[nodiscard]] bool resolve(nnv12::artifact::Fault &fault);
  Step resolve(const nnv12::bundle::Operation *operation, uint32_t index,
               void **&place, Patch *&patch);
  [[nodiscard]] bool checkBuffers(const nnv12_input *inputs, uint32_t numInputs,
                                  const nnv12_output *outputs,
                                  uint32_t numOutputs,
                                  nnv12::artifact::Fault &fault) const;
  [[nodiscard]] bool runOnce(nnv12::artifact::Fault &fault);
  [[nodiscard]] bool runSteps(nnv12::artifact::Fault &fault);
  [[nodiscard]] bool runNext(const Step *&next, uint64_t &start,
                             nnv12::artifact::Fault &fault);
  [[nodiscard]] bool takeOver(const Step *&next, nnv12::artifact::Fault &fault);
  [[nodiscard]] bool prepareFor(uint32_t index, nnv12::artifact::Fault &fault);
  bool isPlanDone() const;
  bool isLate() const { return nnv12::runtime::isOver(deadline_); }
  bool reportStop(uint32_t index, nnv12::artifact::Fault &fault) const;
  bool reportHang(nnv12::artifact::Fault &fault) const;
  bool reportFailure(nnv12::artifact::Fault &fault) const;
  [[nodiscard]] bool prepareAll(nnv12::artifact::Fault &fault);
  [[nodiscard]] bool takeLater(nnv12::artifact::Fault &fault);
  void endFirst();

  /// The executor of the program's overlay; null where there is none.
  nnv12::runtime::OverlayExecutor *overlay() const {
    return nnv12::runtime::hasGpus ? overlay_ : nullptr;
  }
  [[nodiscard]] bool openOverlay(const nnv12_session_options &options,
                                 nnv12::runtime::Team::Size size,
                                 nnv12::artifact::Fault &fault);
  [[nodiscard]] bool beginBeside(nnv12::artifact::Fault &fault);
  void releaseLater();

  nnv12_bundle *bundle_ = nullptr;
  bool hasWeights_ = false;     ///< the bundle's, which sessions share
  nnv12::runtime::Pages pages_; ///< all that follows but those
  nnv12::runtime::Memory memory_ = {};
  uint8_t *scratch_ = nullptr; ///< of each thread, one after another
  size_t scratchStride_ = 0;
  nnv12::runtime::Array<void *> operandTable_;
  nnv12::runtime::Array<Step> steps_;
  nnv12::runtime::Array<Change> changes_;
  nnv12::runtime::Array<Patch> patches_;
  nnv12::runtime::Recorder recorder_;
  std::atomic<bool> running_{false};
  /// All that executes wait for is done.
  bool planDone_ = false;
  uint32_t planAt_ = 0; ///< where the run is in the execute lane's queue
  bool continuous_ = false;
  bool hasResult_ = false; ///< of a run
  /// Whether runs do the steps of later runs from now on, as far as they are
  /// known.
  bool isSteady_ = false;
  std::atomic<uint32_t> changesDone_{0}, steadyRun_{NNV12_NO_RUN};
  uint32_t numRuns_ = 0;                      ///< that have ended
  uint64_t deadline_ = nnv12::runtime::never; ///< of the call that goes on
  nnv12::runtime::FirstTouch firstTouch_;
  nnv12::runtime::Events events_;
  nnv12::runtime::Listener listener_ = {&events_, nullptr}; ///< of weights
  nnv12::runtime::Lanes lanes_;
  nnv12::runtime::Workers workers_;
  nnv12::runtime::OverlayExecutor *overlay_ = nullptr;
  uint32_t knowledge_ = 0; ///< overlay()'s, for which releaseLater() was done
  const char *whyNoGpu_ = "this library was built without GPUs";
  nnv12::runtime::CallersBuffers callers_ = {}; ///< of the run that goes on
  // Last: its threads end before anything else is freed.
  nnv12::runtime::Team team_;
};

#endif // NNV12_RUNTIME_SESSION_H
