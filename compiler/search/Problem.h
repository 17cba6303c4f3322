//===- Problem.h - The problem of a cold plan -------------------*- C++ -*-===//
//
// Plain structs: the layers of a model with the candidates for each, and the
// device. All times are milliseconds. NNV12, section 3.2.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_COMPILER_SEARCH_PROBLEM_H
#define NNV12_COMPILER_SEARCH_PROBLEM_H

#include "dialects/plan/StoredForm.h"

#include <algorithm>
#include <cassert>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace nnv12::search {

enum class Core : uint8_t { Big, Little };

/// The time of a stage that one core does alone, for each kind of core.
struct CoreTime {
  double big = 0;
  double little = 0;
  double on(Core core) const { return core == Core::Big ? big : little; }
  /// Whether there is anything to do.
  explicit operator bool() const { return big > 0 || little > 0; }
};

/// A coprocessor's times for the front of a layer's result: positions [0, end)
/// of dimension `dim`; the other dimensions are whole.
struct Front {
  uint32_t dim = 0;
  /// Positions, ascending; the last one is the dimension's extent.
  std::vector<uint32_t> ends;
  /// The kernels' times by ends. Between two ends time goes evenly; before the
  /// first one it is the first one's.
  std::vector<double> times;
  /// A front ends at a multiple of this, or at the extent.
  uint32_t unit = 1;
};

/// The CPUs' times for the back of a layer's result: positions from `start` to
/// the extent of dimension `dim`; the other dimensions are whole.
struct Back {
  uint32_t dim = 0, extent = 0;
  /// Where a back can begin beside at 0: ascending, less than the extent.
  std::vector<uint32_t> starts;
  std::vector<double> times; ///< by starts
  double whole = 0;          ///< for all positions
};

/// One way to compute a layer on a processor, together with one way to keep its
/// weights. CPUs decode and transform; a coprocessor's weights are uploaded,
/// and its kernels are made into pipelines, before.
struct Candidate {
  std::string routine;           ///< e.g. "conv.winograd4.nChw16c"
  plan::StoredForm storage = {}; ///< of the weights in the file
  /// The form in which the execute reads its weights: "" as the operand's
  /// layout packs them, else the name of the routine's weight form. Candidates
  /// of equal form can take over each other's weights.
  std::string form;
  bool readsNarrow = false; ///< the form is that of the file, in fewer bits
  /// Not for the first inference where there are others.
  bool onlyLater = false;
  double bytes = 0;   ///< read from storage; in a stretch: for that alone
  CoreTime decode;    ///< 0: not compressed
  CoreTime transform; ///< on a CPU; 0: ready as stored
  double upload = 0;  ///< bytes that are copied to where a coprocessor reads
  /// Indices into Problem::pipelines.
  std::vector<uint32_t> pipelines = {};
  /// With everything in memory: on the execute lane; in a stretch that runs
  /// already, the kernels.
  double execute = 0;
  /// Bytes that its weights take beside those of the file, or less.
  double memory = 0;
  /// Bytes that a session makes of them for itself: decoded and transformed
  /// ones. 0: they are used where the file is mapped, by all processes at once.
  double prepared = 0;
  /// In a stretch: the dimensions along which its kernels can compute a front.
  std::vector<Front> fronts = {};

  bool uses(uint32_t pipeline) const {
    return std::find(pipelines.begin(), pipelines.end(), pipeline) !=
           pipelines.end();
  }
};

/// One execute, with the preparation of its weights.
struct Layer {
  std::string name;
  std::vector<Candidate> candidates; ///< on the execute lane; at least one
  /// The first execute's extra time: memory that the system supplies at
  /// its first use, code and weights not yet in caches.
  double firstTouch = 0;
  /// Inside of a stretch. Empty: the coprocessor cannot compute the layer.
  std::vector<Candidate> inStretch = {};
  /// The dimensions along which CPUs can compute a back, by their routine of
  /// later runs.
  std::vector<Back> backs = {};
};

/// A kernel that the coprocessor's driver makes its code for, once a process.
/// Layers share pipelines.
struct Pipeline {
  double build = 0;  ///< of one CPU
  double cached = 0; ///< where the driver's cache of a run before has it
};

/// The part of a tensor that a part of a reader's result needs. Both are parts
/// along the same dimension.
struct Reach {
  enum class Kind : uint8_t {
    /// Position i needs floor((i * num + low) / den) to
    /// floor((i * num + high) / den), as far as the tensor has them.
    Window,
    All ///< each position needs all of the tensor
  };
  uint32_t reader = 0; ///< a layer
  uint32_t dim = 0;
  uint32_t extent = 0; ///< of the tensor
  Kind kind = Kind::Window;
  int64_t num = 1, den = 1, low = 0, high = 0;
};

/// A tensor between layers. Only needed where there is a coprocessor: to pass
/// it from one processor to the other may cost.
struct Tensor {
  static constexpr uint32_t input = ~0u;
  double bytes = 0;
  uint32_t producer = input;     ///< a layer, or the model's input
  std::vector<uint32_t> readers; ///< layers, ascending, behind the producer
  bool output = false;           ///< of the model
  /// It lies in memory with others, such as a part of a concatenation. So a
  /// split stretch writes it to the CPUs' memory, even if no other layer reads
  /// it.
  bool isShared = false;
  /// A reader has one for each dimension and each of its operands that is this
  /// tensor. Without one it cannot be cut along the dimension.
  std::vector<Reach> reaches = {};
};

/// Watts.
struct Power {
  double base = 0; ///< of the whole device
  /// Beyond that, while they work: of the threads that execute, and of the
  /// coprocessor.
  double cpu = 0, gpu = 0;
};

/// A processor beside the CPUs, with memory of its own, that takes over
/// stretches of executes (Overlay.h): a GPU.
struct Coprocessor {
  /// Finds and opens it, on one CPU, before anything else of it.
  double start = 0;
  /// Threads that build pipelines and upload, each a host lane.
  unsigned threads = 1;
  /// Pipelines that one call builds: they are ready together.
  unsigned batch = 1;
  /// Threads that build pipelines at once are 1 + (n - 1) * this as fast as
  /// one: drivers have locks.
  double pipelineScaling = 1;
  double uploadBandwidth = 1e6; ///< bytes a millisecond
  double submit = 0;            ///< of the caller's thread, a stretch
  double sync = 0;              ///< of the caller's thread, a stretch
  /// Time of the caller's thread, for each byte that a stretch reads and the
  /// CPU wrote, and the other way round.
  double inPerByte = 0, outPerByte = 0;
  /// CPUs that it takes while it computes, where it is software.
  unsigned hostCores = 0;
  /// How many times longer its kernels take while CPUs compute, and CPUs while
  /// it computes: memory, turbo and heat are shared.
  double beside = 1, besideCpu = 1;
  std::optional<Power> power = {}; ///< absent: unknown
};

/// See Device::arrival.
struct Arrival {
  double bytes, time;
};

struct Device {
  /// Bytes a millisecond, shared by reads that run together.
  double readBandwidth = 1e6;
  double readLatency = 0; ///< of each read
  /// Where a device was seen reading a file in order: the pieces in which
  /// weights come, in the order of the layers. The piece that ends at `bytes`
  /// is there, all of it at once, `time` after the start of the first
  /// operation; the last piece of a file that ends within takes a part of that.
  /// Both ascend; bytes after them come evenly, at readBandwidth. With it
  /// latency counts no more: a read ends when its layer's last byte has
  /// arrived; on the execute lane see Simulator.h. Empty: unknown.
  std::vector<Arrival> arrival;
  /// With arrival: so many bytes have come before the start, with the bundle's
  /// head.
  double arrivedBytes = 0;
  /// With arrival: bytes that are asked for ahead of what lanes read. Where
  /// lanes are busy with other things until these are there, the storage
  /// pauses, and all that follows arrives later. 0: everything is asked for at
  /// once.
  double askedAhead = 0;
  /// Once, before anything else, where anything is decoded.
  double decoderStart = 0;
  /// Before anything else, for each preparation lane that has something to do:
  /// its thread.
  double laneStart = 0;
  /// Before anything else where no preparation lane has anything to do: the
  /// execute lane itself touches the memory that another thread would have
  /// touched.
  double aloneStart = 0;
  CoreTime mapPerByte; ///< work of a lane's core for each byte that is read
  /// The kind of core of each preparation lane. Empty: the execute lane does
  /// all.
  std::vector<Core> preparationLanes;
  Core executeCore = Core::Big;
  /// The threads of the execute lane.
  unsigned executeThreads = 1;
  /// CPUs in all. Where lanes and threads are more, executes come first.
  unsigned cpus = 2;
  /// How many times longer an execute takes while a preparation runs, and a
  /// preparation while an execute runs: they share memory bandwidth.
  double executeInterference = 1;
  double prepareInterference = 1;
  /// Absent: all is done by CPUs.
  std::optional<Coprocessor> coprocessor = {};

  /// How many times longer executes take, since their threads, with others
  /// beside them, are more than CPUs.
  double crowding(unsigned others = 0) const {
    return std::max(1.0, double(executeThreads + others) / std::max(1u, cpus));
  }
  /// The kind of core of a lane as Schedule numbers them.
  Core coreOf(size_t lane) const {
    return lane ? preparationLanes[lane - 1] : executeCore;
  }
};

/// Index of the chosen candidate, a layer.
using Choice = std::vector<unsigned>;

struct Problem {
  std::vector<Layer> layers; ///< in execution order
  Device device;
  std::vector<Pipeline> pipelines = {}; ///< of all candidates in stretches
  std::vector<Tensor> tensors = {};

  /// The candidate of a layer that a choice takes.
  const Candidate &chosen(const Choice &choice, size_t layer) const {
    return layers[layer].candidates[choice[layer]];
  }
  /// The candidate in stretches that a choice takes.
  const Candidate &chosenInStretch(const Choice &choice, size_t layer) const {
    assert(choice.size() == layers.size() &&
           choice[layer] < layers[layer].inStretch.size() &&
           "the layer can be in a stretch");
    return layers[layer].inStretch[choice[layer]];
  }
};

/// Those behind Execute are a coprocessor's, see Overlay.h: no Schedule has
/// them.
enum class Stage : uint8_t {
  Read,
  Decode,
  Transform,
  Execute,
  Device,   ///< finds and opens the coprocessor
  Pipeline, ///< builds a batch of pipelines
  Upload,   ///< reads, transforms and copies a layer's weights to it
  HandOver, ///< of the caller's thread: copies a stretch's inputs, submits it
  Kernels,  ///< of the coprocessor: a stretch
  TakeBack  ///< of the caller's thread: waits, copies a stretch's results
};

struct Operation {
  /// For stages of a coprocessor: of Pipeline the first one's index, of
  /// HandOver, Kernels and TakeBack the stretch's, of Device 0.
  uint32_t layer;
  Stage stage;
  bool operator==(const Operation &o) const {
    return layer == o.layer && stage == o.stage;
  }
};

/// Operations of each lane in order. Lane 0 is the execute lane; lane 1 + i is
/// `Device::preparationLanes[i]`. A layer's read exists where bytes > 0, its
/// decode and transform where their times are not 0; the stages of a layer's
/// preparation follow one another on one lane (they are bundled).
struct Schedule {
  std::vector<std::vector<Operation>> lanes;
};

struct Event {
  Operation operation;
  uint32_t lane;
  double start, end;
};

struct Timeline {
  std::vector<Event> events; ///< by start
  /// End of the last execute; infinite if the schedule cannot be carried out.
  double finish = 0;
};

struct Plan {
  Choice choice;
  Schedule schedule;
  double finish = 0; ///< as simulated
  double bound = 0;  ///< no plan can finish earlier, see lowerBound()
  /// Events that the search simulated: its cost, the same on all machines.
  uint64_t steps = 0;

  /// How far from the best there may be at most: 0.02 is 2 %.
  double gap() const { return bound > 0 ? finish / bound - 1 : 0; }
};

} // namespace nnv12::search

#endif // NNV12_COMPILER_SEARCH_PROBLEM_H
