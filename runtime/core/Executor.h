//===- Executor.h - Computes the steps of a run -----------------*- C++ -*-===//
//
// A run is a list of steps. Each names its executor: the CPU's threads
// (runtime/Workers.h), or that of an overlay, which may take over a range of
// the CPU's steps (runtime/Gpu.h). Submitting a step and waiting for it are
// apart, so that one executor computes while the calling thread computes
// something else.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_RUNTIME_CORE_EXECUTOR_H
#define NNV12_RUNTIME_CORE_EXECUTOR_H

#include "artifact/Fault.h"
#include "artifact/NonCopyable.h"
#include "runtime/core/LoadedProgram.h"
#include "runtime/include/nnv12.h"

namespace nnv12::runtime {

#if NNV12_GPU
constexpr bool hasGpus = true;
#else
/// This library is built without them.
constexpr bool hasGpus = false;
#endif

#if NNV12_VIDEO
constexpr bool hasVideo = true;
#else
constexpr bool hasVideo = false;
#endif

class Events;
class Executor;
class Lanes;
class LoadedBundle;
class Recorder;
struct CallersBuffers;

/// A part of a run, resolved: all that its executor needs of it.
struct Step {
  Executor *executor;
  uint32_t operation;  ///< the first execute that it computes
  uint32_t count;      ///< how many executes it computes
  uint64_t begin, end; ///< tiles
  // A CPU's.
  artifact::KernelFn kernel;
  void **operands;
  bool switched;
  /// The tiles are those that this lists from `begin` to `end`; null: it is
  /// about these tiles themselves.
  const uint32_t *tiles = nullptr;
};

/// A step that computes a range of the tiles of an execute.
struct Part {
  Step step;
  uint64_t allTiles; ///< of its kernel's grid
};

struct PartList {
  const Part *first = nullptr, *last = nullptr; ///< `last`: behind the last one
  const Part *begin() const { return first; }
  const Part *end() const { return last; }
};

/// The thread that runs the session calls these functions.
class Executor : artifact::NonCopyable {
public:
  enum class Result : uint8_t {
    Done,
    Failed, ///< the CPU must compute it, and can: all that it reads is there
    Hung    ///< the executor may still write to the step's results
  };

  /// Begins a step; wait() for it is the next call to this executor. Where the
  /// result is not Done, `fault` says why, and there is nothing to wait for.
  [[nodiscard]] virtual Result submit(const Step &step,
                                      artifact::Fault &fault) = 0;
  /// Returns when the step that was submitted last is computed, or will not be.
  [[nodiscard]] virtual Result wait(const Step &step,
                                    artifact::Fault &fault) = 0;
  /// A step has failed: from now on it takes no step, and prepares nothing.
  /// `why` is a line for people.
  virtual void fail(const char *why) = 0;

protected:
  ~Executor() = default;
};

/// The executor of a program's overlay. It prepares beside the runs, on threads
/// of its own, and takes over steps once it is ready for them. The program is
/// complete without it, so it may fail at any time.
class OverlayExecutor : public Executor {
public:
  /// Ends its threads, and frees it.
  virtual void close() = 0;

  /// Starts the threads where the plan wants that while the first run goes on
  /// and a CPU is to spare, or where runs shall wait for them.
  virtual void sessionBegins(bool /*hasSpareCpu*/) {}
  /// Whether runs wait until all is prepared or has failed.
  virtual bool isWaitedFor() const { return false; }
  /// Whether all is prepared or has failed by now.
  virtual bool isSettled() const { return true; }

  // The thread that runs the session calls the following functions.

  /// Starts the threads if they have not been started: the second run does.
  virtual void start() {}
  enum class Run : uint8_t {
    First, ///< there is no result yet
    Next,
    Later ///< takes later steps
  };
  /// Decides which steps this run may leave to it. The buffers stay until the
  /// run ends.
  virtual void runBegins(Run, const CallersBuffers &) {}
  /// Memory of the executor's in which the session's arena has to lie from here
  /// on; null: the session's own. It changes from null as a run begins. Once it
  /// is null again, the memory holds nothing any more.
  virtual uint8_t *arena() const { return nullptr; }
  /// The step in place of those of the CPU from execute `index` on, or null.
  /// Executes are asked for in order.
  virtual const Step *stepAt(uint32_t index) = 0;
  /// The rest of such a step, which CPUs compute between submit() and wait(),
  /// in order.
  virtual PartList partsOf(const Step &) const { return {}; }
  /// Why it may write to the session's memory for ever, as the last fault of
  /// wait() said; null: it does not.
  virtual const char *hangReason() const { return nullptr; }

  // For the CPU's part of later runs.

  /// Whether later runs begin, as far as the overlay is concerned: they have
  /// all of it that they will have, or nothing.
  virtual bool isReadyForLater() const { return true; }
  /// Numbers the state of the overlay: covers() may answer differently once
  /// this has changed.
  virtual uint32_t knowledge() const { return 0; }
  /// Whether it computes an execute in later runs, as far as is known. Before
  /// its plan has been read it may compute any.
  virtual bool covers(uint32_t execute) const = 0;
  /// Whether it has failed or was lost.
  virtual bool isGone() const { return false; }
  /// Releases those preparations of `lanes` that its own ones wait for.
  virtual void releaseNeeded(Lanes &) const {}
#ifdef NNV12_TEST_HOOKS
  /// Whether a test wants the run to wait here, in the middle, until all is
  /// prepared, as it may become at any time.
  virtual bool isAwaitedAt(uint32_t /*index*/) const { return false; }
#endif

  /// Fills in its part.
  virtual void tell(nnv12_session_info &) const {}
};

/// Makes the executor of a program's overlay for GPUs. Checks the options and
/// takes them over; starts nothing. `host` are the session's own preparations.
/// All arguments must stay until close(). Null, with a fault, where it cannot.
[[nodiscard]] OverlayExecutor *createGpu(const LoadedBundle &bundle,
                                         const nnv12_gpu_options &options,
                                         Memory memory, const Lanes &host,
                                         Events &events, Recorder &recorder,
                                         artifact::Fault &fault);

} // namespace nnv12::runtime

#endif // NNV12_RUNTIME_CORE_EXECUTOR_H
