//===- nnv12.hpp - C++ wrapper of the C API ---------------------*- C++ -*-===//
//
// RAII around nnv12.h, C++17, header only. Everything said there about
// ownership, threads and what is not promised holds here. Errors are thrown as
// nnv12::Error; with -fno-exceptions they end the process with the message.
//
//   nnv12::Bundle bundle("model.nnv");
//   nnv12::Session session(bundle);
//   session.run({{pixels.data(), pixels.size() * sizeof(float)}},
//               {{scores.data(), scores.size() * sizeof(float)}});
//
// Inputs and outputs are in the model's order, or named, in any order:
// session.run({{"x", data, size}}, {{"y", result, size}}).
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_HPP
#define NNV12_HPP

#include "nnv12.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace nnv12 {

/// A failed call.
class Error : public std::runtime_error {
public:
  explicit Error(const nnv12_error &error)
      : std::runtime_error(error.message), code_(error.status) {}
  nnv12_status status() const { return code_; }

private:
  nnv12_status code_;
};

namespace detail {
inline void check(nnv12_status status, const nnv12_error &error) {
  if (status == NNV12_OK)
    return;
#if defined(__cpp_exceptions) || defined(__EXCEPTIONS)
  throw Error(error);
#else
  std::fprintf(stderr, "nnv12: %s\n", error.message);
  std::abort();
#endif
}

/// Gives a handle back by a function of the C API.
template <auto close> struct Close {
  template <typename Handle> void operator()(Handle *handle) const {
    close(handle);
  }
};
} // namespace detail

/// Options of Bundle; the fields are those of nnv12_open_options.
struct OpenOptions {
  const uint8_t *publicKey = nullptr;
  bool verifyWeights = false;
  const char *target = nullptr;
  nnv12_copying copying = NNV12_COPY_SIGNED;
  bool trustWeights = false;
  const uint8_t *digest = nullptr;
  bool takeTuning = false;
};

/// An open bundle. Movable, not copyable.
class Bundle {
public:
  explicit Bundle(const std::string &path, const OpenOptions &options = {}) {
    nnv12_open_options c = convert(options);
    nnv12_bundle *raw = nullptr;
    nnv12_error error;
    detail::check(nnv12_bundle_open(path.c_str(), &c, &raw, &error), error);
    handle_.reset(raw);
  }

  /// `data` is borrowed: see nnv12_bundle_open_memory.
  Bundle(const void *data, size_t size, const OpenOptions &options = {}) {
    nnv12_open_options c = convert(options);
    nnv12_bundle *raw = nullptr;
    nnv12_error error;
    detail::check(nnv12_bundle_open_memory(data, size, &c, &raw, &error),
                  error);
    handle_.reset(raw);
  }

  uint32_t numInputs() const { return nnv12_bundle_num_inputs(get()); }
  uint32_t numOutputs() const { return nnv12_bundle_num_outputs(get()); }
  /// `index` must be less than numInputs() (numOutputs()).
  const nnv12_tensor_info &input(uint32_t index) const {
    return *nnv12_bundle_input(get(), index);
  }
  const nnv12_tensor_info &output(uint32_t index) const {
    return *nnv12_bundle_output(get(), index);
  }
  /// The model's property of this key; null: none.
  const char *property(const char *key) const {
    return nnv12_bundle_property(get(), key);
  }
  nnv12_bundle_info info() const {
    nnv12_bundle_info info = {};
    info.struct_size = sizeof info;
    nnv12_bundle_get_info(get(), &info);
    return info;
  }
  /// `index` must be less than info().num_operations.
  nnv12_operation_info operation(uint32_t index) const {
    nnv12_operation_info info = {};
    info.struct_size = sizeof info;
    nnv12_bundle_get_operation(get(), index, &info);
    return info;
  }

  /// `index` must be less than info().num_preparations.
  nnv12_preparation_info preparation(uint32_t index) const {
    nnv12_preparation_info info = {};
    info.struct_size = sizeof info;
    nnv12_bundle_get_preparation(get(), index, &info);
    return info;
  }
  /// `index` must be less than info().num_switches.
  nnv12_switch_info kernelSwitch(uint32_t index) const {
    nnv12_switch_info info = {};
    info.struct_size = sizeof info;
    nnv12_bundle_get_switch(get(), index, &info);
    return info;
  }

  nnv12_bundle *get() const { return handle_.get(); }

private:
  static nnv12_open_options convert(const OpenOptions &options) {
    nnv12_open_options c = NNV12_OPEN_OPTIONS_INIT;
    c.public_key = options.publicKey;
    c.verify_weights = options.verifyWeights;
    c.target = options.target;
    c.copying = options.copying;
    c.trust_weights = options.trustWeights;
    c.digest = options.digest;
    c.take_tuning = options.takeTuning;
    return c;
  }

  std::unique_ptr<nnv12_bundle, detail::Close<nnv12_bundle_close>> handle_;
};

/// Buffers of the caller: nnv12_input and nnv12_output, and nothing else, so
/// that arrays of them are arrays of those.
struct Input : nnv12_input {
  Input(const void *data, size_t size) : nnv12_input NNV12_INPUT(data, size) {}
};
struct Output : nnv12_output {
  Output(void *data, size_t size) : nnv12_output NNV12_OUTPUT(data, size) {}
};
static_assert(sizeof(Input) == sizeof(nnv12_input));
static_assert(sizeof(Output) == sizeof(nnv12_output));

/// The input or output with this name. The caller of run owns its memory.
struct NamedInput {
  const char *name;
  const void *data;
  size_t size; ///< bytes
};
struct NamedOutput {
  const char *name;
  void *data;
  size_t size; ///< bytes
};

namespace detail {
/// Buffers in the model's order. Each of the `count` that `infoOf` tells of
/// must be named once.
template <typename Buffer, typename Named>
std::vector<Buffer>
inOrder(const char *what, std::initializer_list<Named> named, uint32_t count,
        const nnv12_tensor_info *(*infoOf)(const nnv12_bundle *, uint32_t),
        const nnv12_bundle *bundle) {
  std::vector<Buffer> result(count, Buffer(nullptr, 0));
  std::vector<unsigned> times(count);
  auto require = [&](bool good, const char *name, const std::string &text) {
    nnv12_error error = {NNV12_INVALID_ARGUMENT, {}};
    if (good)
      return;
    std::snprintf(error.message, sizeof error.message, "%s '%.200s': %s", what,
                  name, text.c_str());
    check(error.status, error);
  };
  for (const Named &buffer : named) {
    const char *name = buffer.name ? buffer.name : "";
    std::string known;
    uint32_t i = 0;
    for (; i < count && std::strcmp(infoOf(bundle, i)->name, name) != 0; ++i)
      known += (i ? ", '" : "'") + std::string(infoOf(bundle, i)->name) + "'";
    require(i < count, name,
            "found no such name, expected " +
                (count ? known.substr(0, 500) : "none"));
    result[i] = Buffer(buffer.data, buffer.size);
    ++times[i];
  }
  for (uint32_t i = 0; i < count; ++i)
    require(times[i] == 1, infoOf(bundle, i)->name,
            "found " + std::to_string(times[i]) + " buffers, expected 1");
  return result;
}
} // namespace detail

/// Options of Session; the fields are those of nnv12_session_options.
struct SessionOptions {
  uint32_t threads = 0;
  bool pinThreads = false;
  uint32_t preparationThreads = 0;
  nnv12_mode mode = NNV12_MODE_PLAN;
  /// Its memory must stay until the session is gone.
  const nnv12_recorder *recorder = nullptr;
  bool noStealing = false;
  bool oversubscribe = false;
  nnv12_gpu_options gpu = NNV12_GPU_OPTIONS_INIT;
  /// Other than off: runs are frames of a stream.
  nnv12_stream_options stream = {
      sizeof(nnv12_stream_options), NNV12_REUSE_OFF, 0, 0, 0, 0};

  /// Points to `gpu` and `stream` of these options, which must stay meanwhile.
  nnv12_session_options get() const & {
    nnv12_session_options c = NNV12_SESSION_OPTIONS_INIT;
    c.threads = threads;
    c.pin_threads = pinThreads;
    c.preparation_threads = preparationThreads;
    c.mode = mode;
    c.recorder = recorder;
    c.no_stealing = noStealing;
    c.oversubscribe = oversubscribe;
    c.gpu = &gpu;
    c.stream = &stream;
    return c;
  }
  nnv12_session_options get() const && = delete;
};

/// Runs a bundle. Movable, not copyable. Keeps the bundle's contents alive.
class Session {
public:
  explicit Session(const Bundle &bundle, const SessionOptions &options = {})
      : bundle_(bundle.get()) {
    nnv12_session_options c = options.get();
    nnv12_session *raw = nullptr;
    nnv12_error error;
    detail::check(nnv12_session_create(bundle.get(), &c, &raw, &error), error);
    handle_.reset(raw);
  }

  /// Allocates nothing unless it fails.
  void run(const nnv12_input *inputs, uint32_t numInputs,
           const nnv12_output *outputs, uint32_t numOutputs) {
    nnv12_error error;
    detail::check(nnv12_session_run(get(), inputs, numInputs, outputs,
                                    numOutputs, &error),
                  error);
  }
  void run(std::initializer_list<Input> inputs,
           std::initializer_list<Output> outputs) {
    run(inputs.begin(), static_cast<uint32_t>(inputs.size()), outputs.begin(),
        static_cast<uint32_t>(outputs.size()));
  }
  void run(const std::vector<Input> &inputs,
           const std::vector<Output> &outputs) {
    run(inputs.data(), static_cast<uint32_t>(inputs.size()), outputs.data(),
        static_cast<uint32_t>(outputs.size()));
  }

  /// Takes all inputs and outputs of the model by their names, in any order. A
  /// name that is unknown, missing or there twice is an Error of
  /// NNV12_INVALID_ARGUMENT. Allocates.
  void run(std::initializer_list<NamedInput> inputs,
           std::initializer_list<NamedOutput> outputs) {
    run(detail::inOrder<Input>("input", inputs,
                               nnv12_bundle_num_inputs(bundle_),
                               nnv12_bundle_input, bundle_),
        detail::inOrder<Output>("output", outputs,
                                nnv12_bundle_num_outputs(bundle_),
                                nnv12_bundle_output, bundle_));
  }

  /// As run(), until a deadline: see nnv12_session_run_until. False where it is
  /// over before the outputs are complete.
  bool runUntil(std::chrono::steady_clock::time_point deadline,
                const nnv12_input *inputs, uint32_t numInputs,
                const nnv12_output *outputs, uint32_t numOutputs) {
    auto since = std::chrono::duration_cast<std::chrono::nanoseconds>(
        deadline.time_since_epoch());
    nnv12_error error;
    nnv12_status status =
        nnv12_session_run_until(get(), inputs, numInputs, outputs, numOutputs,
                                static_cast<uint64_t>(since.count()), &error);
    if (status != NNV12_TIMED_OUT)
      detail::check(status, error);
    return status == NNV12_OK;
  }
  bool runUntil(std::chrono::steady_clock::time_point deadline,
                const std::vector<Input> &inputs,
                const std::vector<Output> &outputs) {
    return runUntil(deadline, inputs.data(),
                    static_cast<uint32_t>(inputs.size()), outputs.data(),
                    static_cast<uint32_t>(outputs.size()));
  }

  /// Until all is prepared that later runs want: see nnv12_session_prepare.
  /// False where the timeout is over before.
  bool prepare(std::chrono::milliseconds timeout) {
    nnv12_error error;
    nnv12_status status = nnv12_session_prepare(
        get(), static_cast<uint32_t>(timeout.count()), &error);
    if (status != NNV12_TIMED_OUT)
      detail::check(status, error);
    return status == NNV12_OK;
  }

  /// Names the operations that runs compute: see nnv12_tuning_select.
  void selectTuning(const std::vector<uint32_t> &operations) {
    nnv12_error error;
    detail::check(nnv12_tuning_select(get(), operations.data(),
                                      static_cast<uint32_t>(operations.size()),
                                      &error),
                  error);
  }

  uint32_t threads() const { return nnv12_session_threads(get()); }
  nnv12_session_info info() const {
    nnv12_session_info info = {};
    info.struct_size = sizeof info;
    nnv12_session_get_info(get(), &info);
    return info;
  }

  nnv12_stream_info streamInfo() const {
    nnv12_stream_info info = {};
    info.struct_size = sizeof info;
    nnv12_session_get_stream_info(get(), &info);
    return info;
  }

  /// The pixels of an operation's result that the last run computed; `rows` and
  /// `columns` become the size of its plane. See nnv12_session_get_computed.
  std::vector<uint8_t> computed(uint32_t operation, uint32_t &rows,
                                uint32_t &columns) {
    return pixels(nnv12_session_get_computed, operation, rows, columns);
  }
  /// The pixels of an input that it found changed.
  std::vector<uint8_t> changed(uint32_t input, uint32_t &rows,
                               uint32_t &columns) {
    return pixels(nnv12_session_get_changed, input, rows, columns);
  }

  /// Forgets all that its stream remembers.
  void reset() {
    nnv12_error error;
    detail::check(nnv12_session_reset(get(), &error), error);
  }

  /// Tells its stream that these pixels of an input are the same in the next
  /// run as before.
  void hint(const std::vector<nnv12_rectangle> &clean, uint32_t input = 0) {
    nnv12_stream_hint hint = NNV12_STREAM_HINT_INIT;
    hint.input = input;
    hint.num_clean = clean.size();
    hint.clean = clean.data();
    nnv12_error error;
    detail::check(nnv12_session_hint(get(), &hint, &error), error);
  }

  nnv12_session *get() const { return handle_.get(); }

private:
  template <typename Get>
  std::vector<uint8_t> pixels(Get get, uint32_t number, uint32_t &rows,
                              uint32_t &columns) {
    nnv12_error error;
    std::vector<uint8_t> result;
    detail::check(
        get(handle_.get(), number, &rows, &columns, nullptr, 0, &error), error);
    result.resize(size_t(rows) * columns);
    detail::check(get(handle_.get(), number, &rows, &columns, result.data(),
                      result.size(), &error),
                  error);
    return result;
  }

  const nnv12_bundle *bundle_; ///< the session keeps it
  std::unique_ptr<nnv12_session, detail::Close<nnv12_session_close>> handle_;
};

/// A reader of a session's records; see nnv12_recording. Borrows the memory.
class Recording {
public:
  Recording(const void *memory, size_t size) {
    nnv12_recording *raw = nullptr;
    nnv12_error error;
    detail::check(nnv12_recording_open(memory, size, &raw, &error), error);
    handle_.reset(raw);
  }

  nnv12_recording_info info() const {
    nnv12_recording_info info = {};
    info.struct_size = sizeof info;
    nnv12_recording_get_info(handle_.get(), &info);
    return info;
  }

  /// The next records of a thread, at most `capacity`; how many. Adds to `lost`
  /// how many nobody read in time.
  size_t read(uint32_t thread, nnv12_record *records, size_t capacity,
              uint64_t &lost) {
    return nnv12_recording_read(handle_.get(), thread, records, capacity,
                                &lost);
  }

  /// All that is new, one thread after another.
  std::vector<nnv12_record> readAll(uint64_t &lost) {
    std::vector<nnv12_record> records;
    nnv12_recording_info all = info();
    uint32_t rings = all.num_threads + all.has_gpu_threads;
    for (uint32_t thread = 0; thread < rings; ++thread)
      for (size_t size = records.size(), count = ~size_t(0); count != 0;
           size += count) {
        records.resize(size + 4096);
        count = read(thread, &records[size], 4096, lost);
        records.resize(size + count);
      }
    return records;
  }

private:
  std::unique_ptr<nnv12_recording, detail::Close<nnv12_recording_close>>
      handle_;
};

/// Memory in which a session records the times of its work. Made before the
/// session, and kept until that is gone.
class Recorder {
public:
  /// For the last `runs` runs of a session with these options. `counters` may
  /// be null, and must stay as long as this.
  Recorder(const Bundle &bundle, const SessionOptions &options,
           nnv12_record_level level, uint32_t runs,
           const nnv12_counter_source *counters = nullptr) {
    nnv12_session_options c = options.get();
    recorder_.counters = counters;
    c.recorder = &recorder_;
    size_t size = nnv12_recorder_size(bundle.get(), &c, level, runs);
    memory_.reset(std::aligned_alloc(64, (size + 63) & ~size_t(63)));
    if (memory_)
      recorder_.size = size;
    recorder_.memory = memory_.get();
    recorder_.level = level;
  }

  /// Before the session: nnv12_recorder.gpu_per_mille.
  void setGpuPerMille(uint32_t most) { recorder_.gpu_per_mille = most; }

  /// For SessionOptions.
  const nnv12_recorder *get() const { return &recorder_; }
  /// Reads the records of a session that was made with it.
  Recording recording() const { return {recorder_.memory, recorder_.size}; }

private:
  struct Free {
    void operator()(void *bytes) const { std::free(bytes); }
  };
  std::unique_ptr<void, Free> memory_;
  nnv12_recorder recorder_ = NNV12_RECORDER_INIT(nullptr, 0);
};

} // namespace nnv12

#endif // NNV12_HPP
