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

#include "runtime/GpuUploads.h"
#include "runtime/Lanes.h"
#include "runtime/core/Executor.h"
#include "runtime/gpu/GpuWarmUp.h"
#include "runtime/gpu/Parts.h"
#include "runtime/gpu/Stretches.h"
#include "runtime/gpu/TryingMarker.h"

namespace nnv12::runtime {

/// The weights of a bundle on a device, which its sessions share.
struct GpuWeights {
  GpuBlock prepared;
  artifact::Array<Progress> progress; ///< by preparation: of uploads
  Listeners listeners;
  uint32_t sessions;
  const LoadedBundle *bundle; ///< null: nobody else begins to use them
  GpuWeights *next;           ///< of the device's
};

class Gpu final : public OverlayExecutor {
public:
  ~Gpu();

  /// The same as createGpu().
  [[nodiscard]] bool create(const LoadedBundle &bundle,
                            const nnv12_gpu_options &options, Memory memory,
                            const Lanes &host, Events &events,
                            Recorder &recorder, artifact::Fault &fault);

  Result submit(const Step &step, artifact::Fault &fault) override {
    return stretches_.submit(stretchOf(step), buffers_, fault);
  }
  Result wait(const Step &step, artifact::Fault &fault) override;
  void fail(const char *why) override {
    if (!lost())
      giveUp(why);
  }

  /// May have to wait for a call of the driver.
  void close() override { destroy(this); }
  void sessionBegins(bool hasSpareCpu) override;
  bool isWaitedFor() const override { return mode_ == NNV12_GPU_WAIT; }
  bool isSettled() const override { return phase() >= Phase::Settled; }
  void start() override;
  void runBegins(Run run, const CallersBuffers &buffers) override;
  uint8_t *arena() const override { return isGone() ? nullptr : arena_; }
  const Step *stepAt(uint32_t index) override;
  PartList partsOf(const Step &step) const override {
    return parts_.of(stretchOf(step));
  }
  const char *hangReason() const override {
    return *hangReason_ ? hangReason_ : nullptr;
  }
  bool isReadyForLater() const override;
  uint32_t knowledge() const override { return uint32_t(phase()) * 2 + lost(); }
  bool covers(uint32_t execute) const override;
  bool isGone() const override { return phase() == Phase::Failed || lost(); }
  void releaseNeeded(Lanes &lanes) const override;
#ifdef NNV12_TEST_HOOKS
  bool isAwaitedAt(uint32_t index) const override;
#endif
  void tell(nnv12_session_info &info) const override;

  static constexpr uint32_t none = ~0u;

private:
  /// Phases follow one another; Failed may follow each.
  enum class Phase : uint32_t { Idle, Starting, Prepared, Settled, Failed };

  /// The overlay's preparations.
  class Items final : public Preparations {
  public:
    explicit Items(Gpu &gpu) : gpu_(gpu) {}
    [[nodiscard]] bool create(const bundle::Program *program,
                              const bundle::ProgramGpu *overlay,
                              const Lanes &host);
    /// Drops those that wait for weights that the session does not prepare.
    void dropUnwanted(const Lanes &host);
    void share(GpuWeights &weights);
    void write(Record &record, uint32_t thread, uint32_t lane,
               Recorder &recorder) const override;

  private:
    End compute(uint32_t index, uint64_t begin, uint64_t end,
                Preparer &preparer) override;
    Gpu &gpu_;
  };

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
  Progress::End prepare(uint32_t index);
  [[nodiscard]] bool openDevice(artifact::Fault &fault);
  [[nodiscard]] bool makeMemory(artifact::Fault &fault);
  void leaveWeights(bool isHung);
  [[nodiscard]] bool makePipelines(const bundle::GpuPreparation *preparation,
                                   artifact::Fault &fault);
  bool collect();
  void settle();
  void giveUp(const char *why);
  void moveArena();
  bool isReady(uint32_t stretch) const {
    return items_.areDone(gpu_->stretches()->Get(stretch)->after());
  }
  bool mayBecomeReady(uint32_t stretch) const;
  uint32_t findStretch(uint32_t index);
  uint32_t stretchOf(const Step &step) const {
    return uint32_t(&step - steps_.data());
  }
  bool lost() const {
    return name_.load(std::memory_order_acquire) && device_->isLost();
  }
  bool mayGoOn() const {
    return !stop_.load(std::memory_order_relaxed) && phase() != Phase::Failed;
  }
  Phase phase() const { return phaseNow_.load(std::memory_order_acquire); }
  /// Whether its plan is known, and it has not failed.
  bool isPrepared() const {
    Phase now = phase();
    return now == Phase::Prepared || now == Phase::Settled;
  }

  const LoadedBundle *bundle_ = nullptr;
  const bundle::Program *program_ = nullptr;
  /// Once they have been verified: all, and the program's.
  const bundle::GpuOverlays *overlays_ = nullptr;
  const bundle::ProgramGpu *gpu_ = nullptr;
  Pages overlaysCopy_; ///< empty where they are used in place
  Memory memory_ = {};
  const Lanes *host_ = nullptr;
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
  artifact::Array<Step> steps_; ///< by stretch
  Parts parts_;
  CallersBuffers buffers_ = {}; ///< of the run that goes on
  uint8_t *arena_ = nullptr;    ///< as arena() has it, while the device lives
  std::atomic<uint32_t> numTaken_{0};

  // Large members come last.
  GpuMemory places_;
  GpuPipelines pipelines_;
  TryingMarker trying_; ///< held during the making of pipelines
  mutable pthread_mutex_t recording_ = PTHREAD_MUTEX_INITIALIZER;
  GpuUploads uploads_;
  Stretches stretches_;
  Items items_{*this};
  Lanes lanes_; ///< of items_
  GpuWeights *weights_ = nullptr;
  Listener itself_ = {}, shared_ = {}; ///< of items_, of the weights
  GpuWarmUp warmUp_;                   ///< where the device is software
  static constexpr uint32_t mostMembers = 8;
  Member members_[mostMembers] = {};
  GpuWish wish_;
  char folderText_[400] = {};
  char reason_[300] = {}; ///< once it has failed, or is settled
  char hangReason_[300] = {};
};

} // namespace nnv12::runtime

#endif // NNV12_RUNTIME_GPU_H
