//===- StretchTimes.h - When a GPU computed in a run ------------*- C++ -*-===//
//
// Where a session has a recorder, stretches have a second set of commands, with
// a time stamp before and behind each dispatch. Recorded runs take that set, so
// many of them that stamps cost little time; other runs pay nothing.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_RUNTIME_GPU_STRETCHTIMES_H
#define NNV12_RUNTIME_GPU_STRETCHTIMES_H

#include "bundle_generated.h"
#include "runtime/gpu/DeviceClock.h"
#include "runtime/gpu/GpuDevice.h"
#include "runtime/recorder/Recorder.h"

namespace nnv12::runtime {

class StretchTimes {
public:
  /// Makes room for so many stretches of at most so many dispatches. Where the
  /// device has no time stamps, or refuses them, hand-overs are recorded
  /// without kernels.
  void create(GpuDevice &device, uint32_t stretches, uint32_t mostDispatches,
              Recorder &recorder);
  void destroy();

  /// Whether commands with time stamps are wanted.
  bool isOn() const { return pool_ != nullptr; }
  /// Whether the run that goes on is recorded so far.
  bool areRecorded() const {
    return recorder_ && recorder_->records(RecordLevel::Operation);
  }
  /// Whether the run that is recorded takes commands with time stamps.
  bool areStamped(uint32_t stretch) const;
  uint64_t ticks() const { return recorder_->ticks(); }

  // Into commands, in this order: before all dispatches, and after each.
  void begin(VkCommandBuffer commands, uint32_t dispatches) const;
  void stamp(VkCommandBuffer commands, uint32_t dispatch) const;

  /// Writes down stretch `index` that the device has finished, which was handed
  /// over and seen to be finished at these times of the recorder. `isStamped`:
  /// by commands with time stamps. The thread that runs the session.
  void write(uint32_t index, const bundle::Stretch *stretch, bool isStamped,
             uint64_t before, uint64_t after);

private:
  bool readStamps(uint32_t count);
  void writeKernels(const bundle::Stretch *stretch, uint64_t before,
                    uint64_t after);

  GpuDevice *device_ = nullptr;
  Recorder *recorder_ = nullptr;
  VkQueryPool pool_ = nullptr;
  artifact::Array<uint64_t> stamps_;
  /// Least ticks of a stretch, without and with time stamps; 0: not known.
  struct Least {
    uint64_t ticks[2];
  };
  artifact::Array<Least> least_;
  uint64_t spent_ = 0; ///< ticks, for time stamps
  DeviceClock clock_;
};

} // namespace nnv12::runtime

#endif // NNV12_RUNTIME_GPU_STRETCHTIMES_H
