//===- Api.cpp - The C API over the runtime's classes ---------------------===//
#include "artifact/ProgramView.h"
#include "runtime/LoadedBundle.h"
#include "runtime/Session.h"
#include "runtime/system/Structs.h"
#if NNV12_GPU
#include "runtime/gpu/GpuDevice.h"
#endif
#include "runtime/include/nnv12.h"
#include "runtime/recorder/Recording.h"

#include <algorithm>

using namespace nnv12;
using namespace nnv12::runtime;
using artifact::Fault;

static_assert(int(Fault::InvalidArgument) == NNV12_INVALID_ARGUMENT);
static_assert(int(Fault::Io) == NNV12_IO);
static_assert(int(Fault::BadBundle) == NNV12_BAD_BUNDLE);
static_assert(int(Fault::Unsupported) == NNV12_UNSUPPORTED);
static_assert(int(Fault::Untrusted) == NNV12_UNTRUSTED);
static_assert(int(Fault::OutOfMemory) == NNV12_OUT_OF_MEMORY);
static_assert(int(Fault::Busy) == NNV12_BUSY);
static_assert(int(Fault::TimedOut) == NNV12_TIMED_OUT);
static_assert(int(bundle::ElementType_Bool) == NNV12_BOOL);
static_assert(int(bundle::ElementType_MAX) == NNV12_U2);
static_assert(int(bundle::OperationKind_Execute) == NNV12_EXECUTE);
static_assert(int(bundle::OperationKind_Read) == NNV12_READ);
static_assert(int(bundle::OperationKind_Decode) == NNV12_DECODE);
static_assert(int(bundle::OperationKind_Transform) == NNV12_TRANSFORM);
static_assert(int(bundle::BundleKind_Tuning) == NNV12_BUNDLE_TUNING);
static_assert(int(RecordLevel::Piece) == NNV12_RECORD_PIECE);
static_assert(int(RecordKind::Transform) == NNV12_RECORD_TRANSFORM);
static_assert(int(RecordKind::GpuKernel) == NNV12_RECORD_GPU_KERNEL);
static_assert(int(RecordKind::GpuCommands) == NNV12_RECORD_GPU_COMMANDS);
static_assert(int(RecordKind::Merge) == NNV12_RECORD_MERGE);
static_assert(sizeof(Record) == sizeof(nnv12_record) &&
              offsetof(Record, flags) == offsetof(nnv12_record, flags));
static_assert(sizeof(size_t) == 8, "byte sizes go up to 2^46");

struct nnv12_recording : Recording {};

/// Hands a fault to the caller: path in front, one line whatever names a file
/// may hold.
static nnv12_status report(const Fault &fault, const char *path,
                           nnv12_error *error) {
  auto status = static_cast<nnv12_status>(fault.code);
  if (!error)
    return status;
  error->status = status;
  snprintf(error->message, sizeof error->message, "%.500s%s%s",
           path ? path : "", path ? ": " : "", fault.text);
  for (char *c = error->message; *c; ++c)
    if (static_cast<unsigned char>(*c) < 0x20 || *c == 0x7f)
      *c = '?';
  return status;
}

/// The same where there may be none.
static nnv12_status statusOf(bool good, const Fault &fault,
                             nnv12_error *error) {
  return good ? NNV12_OK : report(fault, nullptr, error);
}

static nnv12_status reportArgument(const char *text, nnv12_error *error) {
  Fault fault;
  fault.set(Fault::InvalidArgument, "%s", text);
  return report(fault, nullptr, error);
}

/// Gives the caller an object that `open(object, fault)` has filled.
template <typename Object, typename Open>
static nnv12_status make(Object **object, const char *noMemory,
                         const char *path, nnv12_error *error, Open open) {
  Fault fault;
  auto *result = create<Object>();
  if (!result) {
    fault.set(Fault::OutOfMemory, "%s", noMemory);
  } else if (open(*result, fault)) {
    *object = result;
    return NNV12_OK;
  }
  destroy(result);
  return report(fault, path, error);
}

/// The steps that opening from a path and from memory share.
template <typename Open>
static nnv12_status openBundle(const nnv12_open_options *options,
                               const char *path, nnv12_bundle **bundle,
                               nnv12_error *error, Open open) {
  if (!bundle)
    return reportArgument("bundle: found NULL", error);
  *bundle = nullptr;
  nnv12_open_options known = NNV12_OPEN_OPTIONS_INIT;
  if (!readStruct(options, known))
    return reportArgument("options: struct_size is not set", error);
  return make(bundle, "no memory to open the bundle", path, error,
              [&](nnv12_bundle &result, Fault &fault) {
                return open(result, known, fault);
              });
}

/// Options of a session, each struct as this library knows it.
struct KnownOptions {
  nnv12_session_options session = NNV12_SESSION_OPTIONS_INIT;
  nnv12_gpu_options gpu = NNV12_GPU_OPTIONS_INIT;
  nnv12_stream_options stream = NNV12_STREAM_OPTIONS_INIT;

  /// Copies the caller's structs. `session.gpu` points to the copy, and so does
  /// `session.stream` if there is a stream.
  [[nodiscard]] bool read(const nnv12_session_options *options, Fault &fault) {
    if (!readStruct(options, session))
      return fault.set(Fault::InvalidArgument,
                       "options: struct_size is not set");
    if (!readStruct(session.gpu, gpu, "gpu", "NNV12_GPU_OPTIONS_INIT", fault))
      return false;
    session.gpu = &gpu;
    if (!session.stream)
      return true;
    if (!readStruct(session.stream, stream, "stream",
                    "NNV12_STREAM_OPTIONS_INIT", fault))
      return false;
    // A number that is no enumerator must not be read as one.
    int reuse;
    memcpy(&reuse, &stream.reuse, sizeof reuse);
    if (reuse < NNV12_REUSE_OFF || reuse > NNV12_REUSE_BOUNDED)
      return fault.set(Fault::InvalidArgument,
                       "stream: reuse: found %d, expected at most %d", reuse,
                       int(NNV12_REUSE_BOUNDED));
    session.stream = reuse == NNV12_REUSE_OFF ? nullptr : &stream;
    if (session.stream && gpu.mode == NNV12_GPU_WAIT)
      return fault.set(Fault::InvalidArgument,
                       "stream: found a GPU that is waited for "
                       "(NNV12_GPU_WAIT), expected none: CPUs compute frames");
    return checkTolerance("tolerance", stream.tolerance, fault) &&
           checkTolerance("input_tolerance", stream.input_tolerance, fault);
  }

private:
  static bool checkTolerance(const char *field, float given, Fault &fault) {
    return (given >= 0 && given <= 1) ||
           fault.set(Fault::InvalidArgument,
                     "stream: %s: found %g, expected a number from 0 to 1",
                     field, double(given));
  }
};

static const char *textOf(const flatbuffers::String *text) {
  return text ? text->c_str() : "";
}

extern "C" {

#define NNV12_STRING2(x) #x
#define NNV12_STRING(x) NNV12_STRING2(x)

const char *nnv12_version(void) {
  return NNV12_STRING(NNV12_VERSION_MAJOR) "." NNV12_STRING(
      NNV12_VERSION_MINOR) "." NNV12_STRING(NNV12_VERSION_PATCH);
}

const char *nnv12_status_name(nnv12_status status) {
  static constexpr const char *names[] = {
      "ok",          "invalid argument", "input/output error", "bad bundle",
      "unsupported", "untrusted",        "out of memory",      "busy",
      "timed out"};
  auto index = static_cast<unsigned>(status);
  return index < sizeof names / sizeof *names ? names[index] : "unknown status";
}

const char *nnv12_type_name(nnv12_type type) {
  static constexpr const char *names[] = {
      "f32",    "f64",      "f16",        "bf16",   "i8",         "u8",
      "i16",    "u16",      "i32",        "u32",    "i64",        "u64",
      "bool",   "f8e4m3fn", "f8e4m3fnuz", "f8e5m2", "f8e5m2fnuz", "f8e8m0",
      "f4e2m1", "i4",       "u4",         "i2",     "u2"};
  auto index = static_cast<unsigned>(type);
  return index < sizeof names / sizeof *names ? names[index] : "unknown type";
}

nnv12_status nnv12_bundle_open(const char *path,
                               const nnv12_open_options *options,
                               nnv12_bundle **bundle, nnv12_error *error) {
  if (!path)
    return reportArgument("path: found NULL", error);
  return openBundle(
      options, path, bundle, error,
      [&](nnv12_bundle &result, const nnv12_open_options &known, Fault &fault) {
        return result.open(path, known, fault);
      });
}

nnv12_status nnv12_bundle_open_memory(const void *data, size_t size,
                                      const nnv12_open_options *options,
                                      nnv12_bundle **bundle,
                                      nnv12_error *error) {
  return openBundle(
      options, nullptr, bundle, error,
      [&](nnv12_bundle &result, const nnv12_open_options &known, Fault &fault) {
        return result.openMemory(data, size, known, fault);
      });
}

void nnv12_bundle_close(nnv12_bundle *bundle) {
  if (bundle)
    bundle->release();
}

uint32_t nnv12_bundle_num_inputs(const nnv12_bundle *bundle) {
  return bundle ? static_cast<uint32_t>(bundle->inputs().size()) : 0;
}

uint32_t nnv12_bundle_num_outputs(const nnv12_bundle *bundle) {
  return bundle ? static_cast<uint32_t>(bundle->outputs().size()) : 0;
}

const nnv12_tensor_info *nnv12_bundle_input(const nnv12_bundle *bundle,
                                            uint32_t index) {
  return index < nnv12_bundle_num_inputs(bundle) ? &bundle->inputs()[index]
                                                 : nullptr;
}

const nnv12_tensor_info *nnv12_bundle_output(const nnv12_bundle *bundle,
                                             uint32_t index) {
  return index < nnv12_bundle_num_outputs(bundle) ? &bundle->outputs()[index]
                                                  : nullptr;
}

nnv12_status nnv12_bundle_get_property(const nnv12_bundle *bundle,
                                       uint32_t index, const char **key,
                                       const char **value) {
  const auto *list = bundle ? bundle->metadata()->properties() : nullptr;
  if (!list || index >= list->size() || !key || !value)
    return NNV12_INVALID_ARGUMENT;
  *key = list->Get(index)->key()->c_str();
  *value = list->Get(index)->value()->c_str();
  return NNV12_OK;
}

const char *nnv12_bundle_property(const nnv12_bundle *bundle, const char *key) {
  const char *found, *value;
  for (uint32_t i = 0;
       key && nnv12_bundle_get_property(bundle, i, &found, &value) == NNV12_OK;
       ++i)
    if (strcmp(found, key) == 0)
      return value;
  return nullptr;
}

void nnv12_bundle_get_info(const nnv12_bundle *bundle,
                           nnv12_bundle_info *info) {
  if (!bundle || !info)
    return;
  const bundle::Bundle *metadata = bundle->metadata();
  const bundle::Program *program = bundle->chosenProgram();
  const bundle::Target *target = bundle->target();
  nnv12_bundle_info result = {};
  result.model = textOf(metadata->model());
  result.producer = textOf(metadata->producer());
  result.target = target->name()->c_str();
  result.file_size = bundle->imageSize();
  result.code_size =
      metadata->segments()->Get(artifact::cpuOf(target)->code())->size();
  for (const bundle::Segment *segment : *metadata->segments())
    if (segment->kind() == bundle::SegmentKind_Weights)
      result.weights_size += segment->size();
  result.arena_size = artifact::memorySize(program, bundle::MemoryKind_Arena);
  result.scratch_size = artifact::scratchSize(target);
  result.num_operations = artifact::numExecutes(program);
  result.num_kernels = target->kernels()->size();
  result.is_signed = bundle->isSigned();
  result.code_is_mapped = bundle->codeIsMapped();
  result.prepared_size =
      artifact::memorySize(program, bundle::MemoryKind_Prepared);
  result.num_lanes = artifact::numLanes(program);
  result.num_preparations =
      program->operations()->size() - result.num_operations;
  result.num_switches = artifact::numSwitches(program);
  result.predicted_cold_ns = program->predicted_cold();
  result.predicted_warm_ns = program->predicted_warm();
  result.kind = static_cast<nnv12_bundle_kind>(metadata->kind());
  result.revision = textOf(target->revision());
  result.tune = textOf(artifact::cpuOf(target)->tune());
  result.digest = bundle->digest().bytes;
  result.program = bundle->programNumber();
  const bundle::Overlay *video =
      hasVideo ? artifact::videoOverlayOf(metadata, program) : nullptr;
  if (video)
    result.reuse = video->head()->reuse() == bundle::VideoReuse_Exact
                       ? NNV12_REUSE_EXACT
                       : NNV12_REUSE_BOUNDED;
  writeStruct(result, info);
}

nnv12_status nnv12_bundle_get_operation(const nnv12_bundle *bundle,
                                        uint32_t index,
                                        nnv12_operation_info *info) {
  if (!bundle || !info)
    return NNV12_INVALID_ARGUMENT;
  const bundle::Program *program = bundle->chosenProgram();
  if (index >= artifact::numExecutes(program))
    return NNV12_INVALID_ARGUMENT;
  const bundle::Operation *operation = program->operations()->Get(index);
  const bundle::Kernel *kernel =
      artifact::kernelOf(bundle->target(), operation);
  nnv12_operation_info result = {};
  result.layer = operation->layer()->c_str();
  result.kernel = kernel->name()->c_str();
  result.tiles = artifact::numTiles(operation);
  result.routine = textOf(kernel->routine());
  result.key = textOf(kernel->key());
  result.multiply_adds = kernel->multiply_adds();
  result.bytes = kernel->bytes();
  if (kernel->fingerprint() && kernel->fingerprint()->size())
    result.fingerprint = kernel->fingerprint()->data();
  result.live_bytes = operation->live_arena();
  writeStruct(result, info);
  return NNV12_OK;
}

const char *nnv12_stage_name(nnv12_stage stage) {
  static constexpr const char *names[] = {"execute", "read", "decode",
                                          "transform"};
  auto index = static_cast<unsigned>(stage);
  return index < sizeof names / sizeof *names ? names[index] : "unknown stage";
}

/// The lane that holds operation `index`, which a verified program has.
static void findLane(const bundle::Program *program, uint32_t index,
                     nnv12_preparation_info &info) {
  auto isIn = [index](const After *list) {
    const After &all = artifact::elementsOf(list);
    return std::find(all.begin(), all.end(), index) != all.end();
  };
  for (const bundle::Lane *lane : *program->lanes()) {
    info.in_background = isIn(lane->background());
    if (info.in_background || isIn(lane->queue()))
      return;
    ++info.lane;
  }
}

nnv12_status nnv12_bundle_get_preparation(const nnv12_bundle *bundle,
                                          uint32_t index,
                                          nnv12_preparation_info *info) {
  if (!bundle || !info)
    return NNV12_INVALID_ARGUMENT;
  const bundle::Program *program = bundle->chosenProgram();
  uint32_t executes = artifact::numExecutes(program);
  if (index >= program->operations()->size() - executes)
    return NNV12_INVALID_ARGUMENT;
  const bundle::Operation *operation =
      program->operations()->Get(executes + index);
  nnv12_preparation_info result = {};
  result.layer = operation->layer()->c_str();
  result.stage = static_cast<nnv12_stage>(operation->kind());
  result.kernel = "";
  uint32_t written = operation->kind() == bundle::OperationKind_Decode;
  if (operation->kind() == bundle::OperationKind_Transform) {
    const bundle::Kernel *kernel =
        artifact::kernelOf(bundle->target(), operation);
    result.kernel = kernel->name()->c_str();
    written = kernel->outputs();
  }
  for (uint32_t i = 0; i < operation->operands()->size(); ++i) {
    const bundle::Operand *operand = operation->operands()->Get(i);
    if (i < written)
      result.written_bytes += operand->size();
    else if (operand->space() == bundle::Space_Weights)
      result.stored_bytes += operand->size();
  }
  findLane(program, executes + index, result);
  writeStruct(result, info);
  return NNV12_OK;
}

nnv12_status nnv12_bundle_get_switch(const nnv12_bundle *bundle, uint32_t index,
                                     nnv12_switch_info *info) {
  if (!bundle || !info)
    return NNV12_INVALID_ARGUMENT;
  const bundle::Program *program = bundle->chosenProgram();
  if (index >= artifact::numSwitches(program))
    return NNV12_INVALID_ARGUMENT;
  const bundle::Switch *change = program->switches()->Get(index);
  nnv12_switch_info result = {};
  result.operation = change->operation();
  result.kernel = artifact::kernelOf(bundle->target(), change->replacement())
                      ->name()
                      ->c_str();
  result.tiles = artifact::numTiles(change->replacement());
  writeStruct(result, info);
  return NNV12_OK;
}

nnv12_status nnv12_session_create(nnv12_bundle *bundle,
                                  const nnv12_session_options *options,
                                  nnv12_session **session, nnv12_error *error) {
  if (!session)
    return reportArgument("session: found NULL", error);
  *session = nullptr;
  if (!bundle)
    return reportArgument("bundle: found NULL", error);
  return make(session, "no memory for a session", nullptr, error,
              [&](nnv12_session &result, Fault &fault) {
                KnownOptions known;
                return known.read(options, fault) &&
                       result.create(*bundle, known.session, fault);
              });
}

size_t nnv12_recorder_size(const nnv12_bundle *bundle,
                           const nnv12_session_options *options,
                           nnv12_record_level level, uint32_t runs) {
  KnownOptions known;
  Fault ignored;
  if (!bundle || level < NNV12_RECORD_RUN || level > NNV12_RECORD_PIECE ||
      !known.read(options, ignored))
    return 0;
  return Session::recorderSize(*bundle, known.session,
                               static_cast<RecordLevel>(level), runs);
}

void nnv12_session_close(nnv12_session *session) { destroy(session); }

uint32_t nnv12_session_threads(const nnv12_session *session) {
  return session ? session->threads() : 0;
}

void nnv12_session_get_info(const nnv12_session *session,
                            nnv12_session_info *info) {
  if (session && info)
    writeStruct(session->info(), info);
}

nnv12_status nnv12_session_prepare(nnv12_session *session, uint32_t timeout_ms,
                                   nnv12_error *error) {
  if (!session)
    return reportArgument("session: found NULL", error);
  Fault fault;
  return statusOf(session->prepare(timeout_ms, fault), fault, error);
}

void nnv12_session_get_stream_info(const nnv12_session *session,
                                   nnv12_stream_info *info) {
  if (session && info)
    writeStruct(session->streamInfo(), info);
}

nnv12_status nnv12_session_reset(nnv12_session *session, nnv12_error *error) {
  if (!session)
    return reportArgument("session: found NULL", error);
  Fault fault;
  return statusOf(session->reset(fault), fault, error);
}

static nnv12_status getPixels(nnv12_session *session, bool isInput,
                              uint32_t number, uint32_t *rows,
                              uint32_t *columns, uint8_t *pixels,
                              size_t capacity, nnv12_error *error) {
  if (!session || !rows || !columns)
    return reportArgument("session, rows, columns: found NULL", error);
  Fault fault;
  return statusOf(session->getPixels(isInput, number, *rows, *columns, pixels,
                                     capacity, fault),
                  fault, error);
}

nnv12_status nnv12_session_get_computed(nnv12_session *session,
                                        uint32_t operation, uint32_t *rows,
                                        uint32_t *columns, uint8_t *pixels,
                                        size_t capacity, nnv12_error *error) {
  return getPixels(session, /*isInput=*/false, operation, rows, columns, pixels,
                   capacity, error);
}

nnv12_status nnv12_session_get_changed(nnv12_session *session, uint32_t input,
                                       uint32_t *rows, uint32_t *columns,
                                       uint8_t *pixels, size_t capacity,
                                       nnv12_error *error) {
  return getPixels(session, /*isInput=*/true, input, rows, columns, pixels,
                   capacity, error);
}

nnv12_status nnv12_session_hint(nnv12_session *session,
                                const nnv12_stream_hint *hint,
                                nnv12_error *error) {
  if (!session)
    return reportArgument("session: found NULL", error);
  nnv12_stream_hint known = NNV12_STREAM_HINT_INIT;
  if (!hint || !readStruct(hint, known))
    return reportArgument("hint: struct_size is not set", error);
  Fault fault;
  return statusOf(session->hint(known, fault), fault, error);
}

nnv12_status nnv12_tuning_select(nnv12_session *session,
                                 const uint32_t *operations,
                                 uint32_t num_operations, nnv12_error *error) {
  if (!session)
    return reportArgument("session: found NULL", error);
  if (!operations && num_operations)
    return reportArgument("operations: found NULL", error);
  Fault fault;
  return statusOf(session->select(operations, num_operations, fault), fault,
                  error);
}

nnv12_status nnv12_session_run_until(nnv12_session *session,
                                     const nnv12_input *inputs,
                                     uint32_t num_inputs,
                                     const nnv12_output *outputs,
                                     uint32_t num_outputs, uint64_t deadline_ns,
                                     nnv12_error *error) {
  if (!session)
    return reportArgument("session: found NULL", error);
  if (!deadline_ns)
    return reportArgument("deadline_ns: found 0, expected a time of "
                          "CLOCK_MONOTONIC in nanoseconds",
                          error);
  Fault fault;
  bool good = session->run(inputs, num_inputs, outputs, num_outputs,
                           deadline_ns, fault);
  return statusOf(good, fault, error);
}

nnv12_status nnv12_session_run(nnv12_session *session,
                               const nnv12_input *inputs, uint32_t num_inputs,
                               const nnv12_output *outputs,
                               uint32_t num_outputs, nnv12_error *error) {
  return nnv12_session_run_until(session, inputs, num_inputs, outputs,
                                 num_outputs, NNV12_NO_DEADLINE, error);
}

#if NNV12_GPU

nnv12_status nnv12_gpu_start(const nnv12_gpu_options *options,
                             nnv12_error *error) {
  nnv12_gpu_options known = NNV12_GPU_OPTIONS_INIT;
  if (!readStruct(options, known))
    return reportArgument("options: struct_size is not set", error);
  Fault fault;
  GpuWish wish;
  return statusOf(wish.set(known, fault) && GpuDevice::start(wish, fault),
                  fault, error);
}

nnv12_status nnv12_gpu_use(const nnv12_gpu_handles *handles,
                           nnv12_error *error) {
  nnv12_gpu_handles known = NNV12_GPU_HANDLES_INIT;
  if (!handles || !readStruct(handles, known))
    return reportArgument("handles: struct_size is not set", error);
  Fault fault;
  return statusOf(GpuDevice::use(known, fault), fault, error);
}

void nnv12_gpu_release(void) { GpuDevice::forgetAll(); }

#else

static nnv12_status reportNoGpu(nnv12_error *error) {
  Fault fault;
  fault.set(Fault::Unsupported, "this library was built without GPUs");
  return report(fault, nullptr, error);
}

nnv12_status nnv12_gpu_start(const nnv12_gpu_options *, nnv12_error *error) {
  return reportNoGpu(error);
}

nnv12_status nnv12_gpu_use(const nnv12_gpu_handles *, nnv12_error *error) {
  return reportNoGpu(error);
}

void nnv12_gpu_release(void) {}

#endif

nnv12_status nnv12_recording_open(const void *memory, size_t size,
                                  nnv12_recording **recording,
                                  nnv12_error *error) {
  if (!recording)
    return reportArgument("recording: found NULL", error);
  *recording = nullptr;
  return make(recording, "no memory to read the recording", nullptr, error,
              [&](nnv12_recording &result, Fault &fault) {
                return result.open(memory, size, fault);
              });
}

void nnv12_recording_close(nnv12_recording *recording) { destroy(recording); }

void nnv12_recording_get_info(const nnv12_recording *recording,
                              nnv12_recording_info *info) {
  if (!recording || !info)
    return;
  const RecordingFacts &facts = recording->facts();
  nnv12_recording_info result = {};
  result.level = static_cast<nnv12_record_level>(facts.level);
  result.sample_every = facts.sampleEvery;
  result.process = facts.process;
  result.num_threads = recording->numThreads();
  result.has_gpu_threads = recording->hasGpu();
  result.num_preparing = facts.numPreparing;
  result.program = facts.program;
  result.digest = facts.bundle.bytes;
  // A reader that sees the end also sees all that was written before it.
  result.is_closed = recording->isClosed();
  result.runs = recording->runs();
  result.start_ns = recording->startTime();
  writeStruct(result, info);
}

size_t nnv12_recording_read(nnv12_recording *recording, uint32_t thread,
                            nnv12_record *records, size_t capacity,
                            uint64_t *lost) {
  if (!recording || !records || thread >= recording->facts().numRings)
    return 0;
  uint64_t ignored = 0;
  return recording->read(thread, reinterpret_cast<Record *>(records), capacity,
                         lost ? *lost : ignored);
}

} // extern "C"
