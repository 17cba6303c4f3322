//===- Session.h - One inference at a time ----------------------*- C++ -*-===//
#ifndef NNV12_RUNTIME_SESSION_H
#define NNV12_RUNTIME_SESSION_H

#include "runtime/FirstTouch.h"
#include "runtime/LoadedBundle.h"
#include "runtime/Stream.h"
#include "runtime/Team.h"
#include "runtime/core/OperandTable.h"
#include "runtime/system/Structs.h"

namespace nnv12::runtime {

class Session {
public:
  ~Session();

  /// Keeps `bundle` alive from here on. Here and below `options.gpu` is not
  /// null.
  [[nodiscard]] bool create(LoadedBundle &bundle,
                            const nnv12_session_options &options,
                            artifact::Fault &fault);
  [[nodiscard]] bool run(const nnv12_input *inputs, uint32_t numInputs,
                         const nnv12_output *outputs, uint32_t numOutputs,
                         uint64_t until, artifact::Fault &fault);
  [[nodiscard]] bool prepare(uint32_t milliseconds, artifact::Fault &fault);
  [[nodiscard]] bool select(const uint32_t *operations, uint32_t count,
                            artifact::Fault &fault);

  uint32_t threads() const { return workers_.threads(); }
  nnv12_session_info info() const;
  nnv12_stream_info streamInfo() const;
  /// Makes a stream forget.
  [[nodiscard]] bool reset(artifact::Fault &fault);
  /// A byte for each pixel of an operation's result, or of an input: whether
  /// the last run computed it, or found it changed. Without bytes the size
  /// alone.
  [[nodiscard]] bool getPixels(bool isInput, uint32_t number, uint32_t &rows,
                               uint32_t &columns, uint8_t *pixels,
                               size_t capacity, artifact::Fault &fault);
  /// Tells a stream about the next run.
  [[nodiscard]] bool hint(const nnv12_stream_hint &hint,
                          artifact::Fault &fault);

  /// How many threads such a session has.
  static Team::Size teamFor(const LoadedBundle &bundle,
                            const nnv12_session_options &options);
  /// The bytes that hold the records of a session's last `runs` runs, and of
  /// its preparations before.
  static size_t recorderSize(const LoadedBundle &bundle,
                             const nnv12_session_options &options,
                             RecordLevel level, uint32_t runs);

private:
  /// A step that replaces another one in later runs.
  struct Change {
    Step step;
    const After *after;
  };

  /// Whether a GPU may take over a part of the session's operations: then
  /// threads of its own prepare for it.
  static bool mayUseGpu(const LoadedBundle &bundle,
                        const nnv12_session_options &options);
  [[nodiscard]] bool createRecorder(const nnv12_session_options &options,
                                    Team::Size size, artifact::Fault &fault);
  [[nodiscard]] bool allocateMemory(uint32_t threads, artifact::Fault &fault);
  [[nodiscard]] bool resolve(artifact::Fault &fault);
  [[nodiscard]] bool runOnce(artifact::Fault &fault);
  [[nodiscard]] bool runSteps(artifact::Fault &fault);
  [[nodiscard]] bool runFrame(artifact::Fault &fault);
  [[nodiscard]] bool computeFrame(bool isAudit, artifact::Fault &fault);
  void runStep(const Step &step, uint64_t &start, uint64_t allTiles = 0);
  void recordSkipped(uint32_t index, uint64_t start);
  [[nodiscard]] bool runNext(const Step *&next, uint64_t &start,
                             artifact::Fault &fault);
  [[nodiscard]] bool takeOver(const Step *&next, artifact::Fault &fault);
  bool runParts(const Step &step);
  [[nodiscard]] bool prepareFor(uint32_t index, artifact::Fault &fault);
  bool isPlanDone() const;
  bool isLate() const { return isOver(deadline_); }
  bool reportStop(uint32_t index, artifact::Fault &fault) const;
  bool reportFailure(artifact::Fault &fault) const;
  [[nodiscard]] bool prepareAll(artifact::Fault &fault);
  [[nodiscard]] bool takeLater(artifact::Fault &fault);

  /// The executor of the program's overlay; null where there is none.
  OverlayExecutor *overlay() const { return hasGpus ? overlay_ : nullptr; }
  [[nodiscard]] bool createStream(const nnv12_session_options &options,
                                  artifact::Fault &fault);
  [[nodiscard]] bool openOverlay(const nnv12_session_options &options,
                                 Team::Size size, artifact::Fault &fault);
  [[nodiscard]] bool beginBeside(artifact::Fault &fault);
  bool moveArena();
  bool beginAgain(const Step *&next);
  void releaseLater();

  LoadedBundle *bundle_ = nullptr;
  Stream stream_;           ///< off, unless the session is asked for one
  bool hasWeights_ = false; ///< the bundle's, which sessions share
  Pages pages_;             ///< all that follows but those
  Memory memory_ = {};
  uint8_t *scratch_ = nullptr; ///< of each thread, one after another
  size_t scratchStride_ = 0;
  OperandTable operands_;
  Array<Step> steps_;
  Array<Change> changes_;
  Recorder recorder_;
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
  uint32_t numRuns_ = 0;      ///< that have ended
  uint64_t deadline_ = never; ///< of the call that goes on
  FirstTouch firstTouch_;
  Events events_;
  Listener listener_ = {&events_, nullptr}; ///< of weights
  Lanes lanes_;
  Workers workers_;
  OverlayExecutor *overlay_ = nullptr;
  uint32_t knowledge_ = 0; ///< overlay()'s, for which releaseLater() was done
  const char *whyNoGpu_ = "this library was built without GPUs";
  CallersBuffers callers_ = {}; ///< of the run that goes on
  // Last: its threads end before anything else is freed.
  Team team_;
};

} // namespace nnv12::runtime

struct nnv12_session : nnv12::runtime::Session {};

#endif // NNV12_RUNTIME_SESSION_H
