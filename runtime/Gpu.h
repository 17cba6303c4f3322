//===- Gpu.h - A session's use of a GPU -------------------------*- C++ -*-===//
//
// Threads of its own find the device, make pipelines, upload weights and record
// commands, in the order of the bundle's overlay. The thread that calls run
// looks, before each execute, whether a stretch that begins there is ready. It
// waits for a stretch only if it is asked to. The CPU's program is complete, so
// any of these steps may fail.
//
// The first of those threads verifies the overlay. Nothing reads the overlay
// before.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_RUNTIME_GPU_H
#define NNV12_RUNTIME_GPU_H

#include "runtime/GpuLanes.h"
#include "runtime/GpuUploads.h"
#include "runtime/Lanes.h"
#include "runtime/gpu/GpuWarmUp.h"
#include "runtime/gpu/Stretches.h"
#include "runtime/gpu/TryingMarker.h"

namespace nnv12::runtime {

class Gpu {
public:
  /// Ends the threads, which may have to wait for a call of the driver.
  ~Gpu();

  /// Checks the options and takes them over. Starts nothing. `arenaSize` is in
  /// bytes. All other arguments must stay until this is gone.
  [[nodiscard]] bool create(const nnv12_bundle &bundle,
                            const nnv12_session_options &options, Memory memory,
                            uint64_t arenaSize, const Preparations &prepared,
                            Events &events, Recorder &recorder,
                            artifact::Fault &fault);

  /// Starts the threads where the plan wants that while the first run goes on
  /// and a CPU is to spare, or where runs shall wait for them.
  void sessionBegins(bool hasSpareCpu);

  /// Whether runs wait until all is prepared or has failed.
  bool isWaitedFor() const { return mode_ == NNV12_GPU_WAIT; }
  /// Whether all is prepared or has failed by now.
  bool isSettled() const;

  // The thread that runs the session calls the following functions.

  /// Starts the threads if they have not been started: the second run does.
  void start();
  /// Decides which stretches this run may take. `isLater`: as in later runs.
  void runBegins(bool isLater);
  void runEnds() { ran_ = true; }
  bool hasRun() const { return ran_; }
  /// Whether later runs begin, as far as the GPU is concerned: they have all of
  /// it that they will have, or nothing.
  bool isReadyForLater() const;

  // For the CPU's part of later runs.

  /// Numbers the state of the GPU: covers() may answer differently once this
  /// has changed.
  uint32_t knowledge() const { return uint32_t(phase()) * 2 + lost(); }
  /// Whether the GPU computes an execute in later runs, as far as is known.
  /// Before its plan has been read it may compute any.
  bool covers(uint32_t execute) const;
  /// Whether it has failed or was lost.
  bool isGone() const { return phase() == Phase::Failed || lost(); }
  /// Releases those preparations of `lanes` that the GPU's preparations wait
  /// for.
  void releaseNeeded(Lanes &lanes) const;
  /// The stretch that this run takes from execute `index` on, or `none`.
  /// Executes are asked for in order.
  uint32_t at(uint32_t index);
#ifdef NNV12_TEST_HOOKS
  /// Whether a test wants the run to wait here, in the middle, until the GPU is
  /// ready, as it may become at any time.
  bool isAwaitedAt(uint32_t index) const;
#endif
  /// How many executes it has.
  uint32_t countOf(uint32_t stretch) const {
    return gpu_->stretches()->Get(stretch)->count();
  }
  using Result = Stretches::Result;
  Result run(uint32_t stretch, const CallersBuffers &buffers,
             artifact::Fault &fault);
  /// Whether the device may write to the session's memory for ever, as the last
  /// fault of run() says.
  bool isHung() const { return hung_; }
  bool reportHang(artifact::Fault &fault) const;

  static constexpr uint32_t none = ~0u;

  /// Fills in its part.
  void tell(nnv12_session_info &info) const;

private:
  /// Phases follow one another; Failed may follow each.
  enum class Phase : uint32_t { Idle, Starting, Prepared, Settled, Failed };

  struct Member {
    Gpu *gpu;
    uint32_t number;
    /// Begins with the weights while others make pipelines.
    bool bringsWeights;
    pthread_t thread;
  };

  static void *threadMain(void *argument);
  void work(const Member &member);
  void workOnLanes(const Member &member);
  void stay();
  void startOthers();
  bool startThread(uint32_t number, bool bringsWeights);
  [[nodiscard]] bool begin(artifact::Fault &fault);
  [[nodiscard]] bool prepare(uint32_t index, bool &isDropped,
                             artifact::Fault &fault);
  void writeRecord(uint32_t index, uint32_t thread, uint64_t start);
  [[nodiscard]] bool openDevice(artifact::Fault &fault);
  [[nodiscard]] bool makePipelines(const bundle::GpuPreparation *preparation,
                                   artifact::Fault &fault);
  bool collect();
  void settle();
  void fail(const char *why);
  bool isReady(uint32_t stretch) const;
  bool lost() const;
  bool mayGoOn() const;
  Phase phase() const { return phaseNow_.load(std::memory_order_acquire); }

  const nnv12_bundle *bundle_ = nullptr;
  const bundle::Program *program_ = nullptr;
  /// Once they have been verified: all, and the program's.
  const bundle::GpuOverlays *overlays_ = nullptr;
  const bundle::ProgramGpu *gpu_ = nullptr;
  Pages overlaysCopy_; ///< empty where they are used in place
  Memory memory_ = {};
  uint64_t arenaSize_ = 0;
  const Preparations *prepared_ = nullptr;
  Events *events_ = nullptr;
  Recorder *recorder_ = nullptr;

  GpuDevice *device_ = nullptr;
  nnv12_gpu_mode mode_ = NNV12_GPU_AUTO;
  /// The folder of files about devices, as CachePath::begin takes it.
  const char *folder() const { return hasFolder_ ? folderText_ : nullptr; }
  bool hasFolder_ = false;
  uint32_t mostThreads_ = 0;

  std::atomic<uint32_t> burstLeft_{0}; ///< preparations that make pipelines
  uint32_t numMembers_ = 0; ///< of the first of them, once there is one
  bool isStarted_ = false;
  bool hasThread_ = false; ///< the first one
  std::atomic<bool> stop_{false};
  std::atomic<Phase> phaseNow_{Phase::Idle};
  std::atomic<bool> isReasonSaid_{false};
  /// The name of the device, once it is open and has memory for us.
  std::atomic<const char *> name_{nullptr};
  std::atomic<uint64_t> imported_{0}; ///< bytes
  // In nanoseconds: when preparing began; how long it took, 0: not yet.
  std::atomic<uint64_t> began_{0}, openTime_{0}, readyTime_{0};
  std::atomic<bool> isLacking_{false};
  Lack lacks_; ///< of the device, for a stretch, if for any

  // The thread that runs uses the following members.
  artifact::Array<uint32_t> cold_, warm_;            ///< stretches, in order
  const artifact::Array<uint32_t> *taken_ = nullptr; ///< by this run
  uint32_t next_ = 0;
  bool ran_ = false;
  bool hung_ = false;
  std::atomic<uint32_t> numTaken_{0};

  // Large members come last.
  GpuMemory places_;
  GpuPipelines pipelines_;
  TryingMarker trying_; ///< held during the making of pipelines
  pthread_mutex_t recording_ = PTHREAD_MUTEX_INITIALIZER; ///< of commands
  GpuUploads uploads_;
  Stretches stretches_;
  GpuLanes lanes_;
  GpuWarmUp warmUp_; ///< where the device is software
  static constexpr uint32_t mostMembers = 8;
  Member members_[mostMembers] = {};
  GpuWish wish_;
  char folderText_[400] = {};
  char reason_[300] = {}; ///< once it has failed, or is settled
  char hangReason_[300] = {};
};

} // namespace nnv12::runtime

#endif // NNV12_RUNTIME_GPU_H
