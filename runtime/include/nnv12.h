/*===- nnv12.h - The C API of the nnv12 runtime -------------------*- C -*-===*\
|*                                                                            *|
|* Open a bundle, make a session, run it:                                     *|
|*                                                                            *|
|*   nnv12_error error;                                                       *|
|*   nnv12_bundle *bundle;                                                    *|
|*   nnv12_session *session;                                                  *|
|*   if (nnv12_bundle_open("model.nnv", NULL, &bundle, &error) != NNV12_OK || *|
|*       nnv12_session_create(bundle, NULL, &session, &error) != NNV12_OK) {  *|
|*     fprintf(stderr, "%s\n", error.message);                                *|
|*     exit(1);                                                               *|
|*   }                                                                        *|
|*   nnv12_input in = NNV12_INPUT(pixels, sizeof pixels);                     *|
|*   nnv12_output out = NNV12_OUTPUT(scores, sizeof scores);                  *|
|*   if (nnv12_session_run(session, &in, 1, &out, 1, &error) != NNV12_OK) {   *|
|*     fprintf(stderr, "%s\n", error.message);                                *|
|*     exit(1);                                                               *|
|*   }                                                                        *|
|*   nnv12_session_close(session);                                            *|
|*   nnv12_bundle_close(bundle);                                              *|
|*                                                                            *|
|* Ownership. The caller of a function that makes a handle closes it. A       *|
|* session keeps its bundle alive, so the two may be closed in any order.     *|
|* Strings, shapes and tensor descriptions belong to the bundle and live      *|
|* until it and all its sessions are closed. Buffers belong to the caller;    *|
|* run borrows them while it runs.                                            *|
|*                                                                            *|
|* Threads. A bundle is read-only: any number of threads may use it at once,  *|
|* and any number of sessions may share it. Different sessions may run at the *|
|* same time. One session runs one inference at a time: a second call while   *|
|* the first runs returns NNV12_BUSY and does nothing. Closing a session      *|
|* while it runs is a mistake that is not detected.                           *|
|*                                                                            *|
|* Memory. Sessions and processes share code, and weights that are used where *|
|* the file is mapped. Weights that are stored narrow or compressed, or that  *|
|* are transformed, are prepared into memory that the sessions of a bundle    *|
|* share                                                                      *|
|* (nnv12_bundle_info.prepared_size).                                         *|
|*                                                                            *|
|* Results. The same bundle on the same CPU gives the same bytes for the same *|
|* inputs, for any number of threads and any order of their waits. Where a    *|
|* bundle has routines for later runs, or a part for a GPU, that holds for    *|
|* the runs before they take over, and for those from then on. All of them    *|
|* take over together, between two runs: nnv12_session_info.steady_run says   *|
|* which run is the first. With nnv12_session_prepare before the first run    *|
|* that is the first; with NNV12_MODE_COLD the CPU's never take over, and     *|
|* with NNV12_GPU_OFF no GPU does. (With NNV12_GPU_AUTO a bundle may have the *|
|* GPU take over in the middle of the first run; that run may differ.)        *|
|* Another CPU may take another program of the bundle and differ in the last  *|
|* bits.                                                                      *|
|*                                                                            *|
|* These are not promised:                                                    *|
|*   - A bundle that is cut in place while it is open may end the process     *|
|*     with SIGBUS. Weights that are overwritten in place give wrong numbers. *|
|*     Code and metadata that are overwritten in place are run and believed   *|
|*     as they are then, unless they were copied when the bundle was opened:  *|
|*     nnv12_open_options.copying. Replace bundles by renaming, as nnv12c     *|
|*     does. Give write access to nobody whose code you would not run.        *|
|*   - An unsigned bundle is a program: opening it checks it, running it      *|
|*     trusts it. Its code runs with the rights of the process. The digests   *|
|*     inside of it tell damage, not malice: for bundles from elsewhere give  *|
|*     nnv12_open_options.public_key, or .digest.                             *|
|*   - Input and output buffers of one run that overlap give wrong numbers.   *|
|*   - A session does not survive fork() in the child: make a new one there.  *|
|*   - Subnormal numbers are flushed to zero, in inputs too.                  *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/
#ifndef NNV12_H
#define NNV12_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define NNV12_API __attribute__((visibility("default")))
#else
#define NNV12_API
#endif

/** The version of this header; compare with nnv12_version(). From 1.0 on a
 *  program that was built with an older header runs with a newer library of the
 *  same major version; before, of the same minor version. Structs grow at their
 *  end, and their struct_size says how much of them the caller knows. */
#define NNV12_VERSION_MAJOR 0
#define NNV12_VERSION_MINOR 1
#define NNV12_VERSION_PATCH 0

/** "0.1.0": the version of the library. */
NNV12_API const char *nnv12_version(void);

/*===- Errors -------------------------------------------------------------===*/

typedef enum nnv12_status {
  NNV12_OK = 0,
  NNV12_INVALID_ARGUMENT = 1, /**< the caller's mistake */
  NNV12_IO = 2,               /**< the system could not open, read or map */
  NNV12_BAD_BUNDLE = 3,       /**< malformed, truncated or foreign bytes */
  NNV12_UNSUPPORTED = 4,      /**< not for this runtime or this CPU */
  NNV12_UNTRUSTED = 5,        /**< a digest or the signature does not match */
  NNV12_OUT_OF_MEMORY = 6,
  NNV12_BUSY = 7,     /**< the session runs already, on another thread */
  NNV12_TIMED_OUT = 8 /**< the deadline or the timeout is over */
} nnv12_status;

/** Filled in by the call that fails; untouched by one that succeeds. Memory of
 *  the caller; every function takes NULL for it as well. */
typedef struct nnv12_error {
  nnv12_status status;
  /** One line without a line end that says what was found and what was
   *  expected. Starts with the path when the fault lies in a file. */
  char message[1020];
} nnv12_error;

/** The name of a status, such as "bad bundle". */
NNV12_API const char *nnv12_status_name(nnv12_status status);

/*===- Bundles ------------------------------------------------------------===*/

/** A verified, mapped bundle. */
typedef struct nnv12_bundle nnv12_bundle;

/** Whether header, metadata and code are copied before they are checked. A copy
 *  makes sure that the checked bytes are the ones that run, whatever happens to
 *  the file or the memory. */
typedef enum nnv12_copying {
  NNV12_COPY_SIGNED = 0, /**< where a public key or a digest is given */
  NNV12_COPY_ALWAYS = 1,
  NNV12_COPY_NEVER = 2 /**< used where they lie */
} nnv12_copying;

/** Start from NNV12_OPEN_OPTIONS_INIT. */
typedef struct nnv12_open_options {
  size_t struct_size;
  /** 32 bytes: the Ed25519 public key that must have signed the bundle, or NULL
   *  to take unsigned ones. The signature covers the header and, by way of
   *  digests, the metadata and every segment: all code and all weights. It is
   *  checked right after the magic, the version and the header's digest. Needs
   *  libsodium at run time, which is loaded then and only then; without it the
   *  call fails with NNV12_UNSUPPORTED. */
  const uint8_t *public_key;
  /** Not zero: check the digest of the weights as well, which reads all of
   *  them. Zero: check it only if there is a public key or `digest`. Damaged
   *  weights that are not checked give wrong numbers, and nothing worse.
   *  Metadata and the chosen program's code are always checked. */
  int verify_weights;
  /** Take this target's program (as in `nnv12c --target`) and no other; NULL
   *  takes the best one that this CPU can run. For tests and measurements. */
  const char *target;
  /** A copy takes as much memory as metadata and code. Processes do not share
   *  it. Weights are never copied. */
  nnv12_copying copying;
  /** Not zero: take the weights unchecked although there is a public key or
   *  `digest`. A program that can change the file can change the results then,
   *  and nothing more. It can do so after the check, too: weights are used in
   *  place. An error together with verify_weights. */
  int trust_weights;
  /** The 32 bytes of nnv12_bundle_info.digest that the bundle must have, or
   *  NULL to take any. A signature says who made a bundle, this says which one
   *  it is: metadata, code and weights. Weights and copies are treated as with
   *  a public key. Needs no libsodium. */
  const uint8_t *digest;
  /** Not zero: take bundles of the kind NNV12_BUNDLE_TUNING, too. They run
   *  kernels and compute no model's results. */
  int take_tuning;
} nnv12_open_options;

#define NNV12_OPEN_OPTIONS_INIT                                                \
  {sizeof(nnv12_open_options), NULL, 0, NULL, NNV12_COPY_SIGNED, 0, NULL, 0}

/** Maps and verifies the bundle at `path`. `options` may be NULL. On failure
 *  `*bundle` is NULL. The file may be unlinked or renamed over afterwards. */
NNV12_API nnv12_status nnv12_bundle_open(const char *path,
                                         const nnv12_open_options *options,
                                         nnv12_bundle **bundle,
                                         nnv12_error *error);

/** The same for a bundle in memory. `data` must be 64-byte aligned, and must
 *  stay, unchanged, until the bundle and all its sessions are closed: weights
 *  are used in place. The code is copied. */
NNV12_API nnv12_status nnv12_bundle_open_memory(
    const void *data, size_t size, const nnv12_open_options *options,
    nnv12_bundle **bundle, nnv12_error *error);

/** Closes the handle. Sessions of it keep working. NULL is allowed. */
NNV12_API void nnv12_bundle_close(nnv12_bundle *bundle);

/** Element types. Elements of fewer than 8 bits are not packed: each one is a
 *  byte of its own. */
typedef enum nnv12_type {
  NNV12_F32,
  NNV12_F64,
  NNV12_F16,
  NNV12_BF16,
  NNV12_I8,
  NNV12_U8,
  NNV12_I16,
  NNV12_U16,
  NNV12_I32,
  NNV12_U32,
  NNV12_I64,
  NNV12_U64,
  NNV12_BOOL, /**< one byte, 0 or 1 */
  /* Floats of 8 and 4 bits, as their code: ONNX's FLOAT8... and FLOAT4E2M1 */
  NNV12_F8E4M3FN,
  NNV12_F8E4M3FNUZ,
  NNV12_F8E5M2,
  NNV12_F8E5M2FNUZ,
  NNV12_F8E8M0, /**< powers of two, without sign and zero */
  NNV12_F4E2M1, /**< in bits 0 to 3 of its byte; outputs have zeros above */
  /* Integers of 4 and 2 bits. Those low bits of an input's byte count; an
   * output's byte is the number, as int8 or uint8. */
  NNV12_I4,
  NNV12_U4,
  NNV12_I2,
  NNV12_U2
} nnv12_type;

/** "f32", "i64", "bool", "f8e4m3fn", "i4"... */
NNV12_API const char *nnv12_type_name(nnv12_type type);

/** An input or output. The library alone makes these, and hands out pointers to
 *  single ones, so that it may grow. */
typedef struct nnv12_tensor_info {
  const char *name; /**< as in the ONNX model, UTF-8 */
  nnv12_type type;
  uint32_t rank;
  const int64_t *shape; /**< `rank` extents; all fixed at compile time */
  size_t byte_size;     /**< of a buffer for it: dense, row-major */
} nnv12_tensor_info;

NNV12_API uint32_t nnv12_bundle_num_inputs(const nnv12_bundle *bundle);
NNV12_API uint32_t nnv12_bundle_num_outputs(const nnv12_bundle *bundle);

/** In the model's order. NULL when there is no such one. */
NNV12_API const nnv12_tensor_info *
nnv12_bundle_input(const nnv12_bundle *bundle, uint32_t index);
NNV12_API const nnv12_tensor_info *
nnv12_bundle_output(const nnv12_bundle *bundle, uint32_t index);

/** A property of the model: key and value, UTF-8, from ONNX's metadata_props or
 *  from nnv12c's options. docs/tools.md has the keys that mean the same in
 *  every bundle ("labels", "mean", "std"...). The value, or NULL where there is
 *  none for this key. */
NNV12_API const char *nnv12_bundle_property(const nnv12_bundle *bundle,
                                            const char *key);
/** Sets `*key` and `*value` to number `index` of them, in the order of their
 *  keys. NNV12_INVALID_ARGUMENT, and nothing set, when there is no such one. */
NNV12_API nnv12_status nnv12_bundle_get_property(const nnv12_bundle *bundle,
                                                 uint32_t index,
                                                 const char **key,
                                                 const char **value);

/** The purpose of a bundle. */
typedef enum nnv12_bundle_kind {
  NNV12_BUNDLE_MODEL = 0, /**< inputs and outputs are a model's */
  NNV12_BUNDLE_TUNING = 1 /**< its operations are kernels to be measured
                               (nnv12-tune) */
} nnv12_bundle_kind;

/** How runs use the values of the run before, where their inputs are frames of
 *  a video. */
typedef enum nnv12_reuse {
  NNV12_REUSE_OFF = 0,
  /** Layers compute the parts alone that a change of the inputs can reach. All
   *  outputs are those of a session without reuse, bit by bit. */
  NNV12_REUSE_EXACT = 1,
  /** The same, and values that would differ little stay as they are: see
   *  nnv12_stream_options. */
  NNV12_REUSE_BOUNDED = 2
} nnv12_reuse;

/** Facts about the bundle and its chosen program. */
typedef struct nnv12_bundle_info {
  size_t struct_size;      /**< set by the caller: sizeof(nnv12_bundle_info) */
  const char *model;       /**< the model's name, "" when it has none */
  const char *producer;    /**< the tool that wrote the bundle */
  const char *target;      /**< the chosen program's target */
  uint64_t file_size;      /**< bytes */
  uint64_t code_size;      /**< of the chosen program, bytes */
  uint64_t weights_size;   /**< bytes */
  uint64_t arena_size;     /**< bytes that each session allocates */
  uint64_t scratch_size;   /**< bytes that each thread of a session allocates */
  uint32_t num_operations; /**< in the chosen program */
  uint32_t num_kernels;    /**< in the chosen program */
  int is_signed;           /**< the bundle carries a signature */
  int code_is_mapped;      /**< 0: the code had to be copied (noexec, memory) */
  uint64_t prepared_size;  /**< bytes for decoded and transformed weights, which
                                sessions share */
  uint32_t num_lanes;      /**< of the plan, the execute lane included; 0: the
                                bundle has no plan, weights are used in place */
  uint32_t num_preparations;  /**< reads, decodes and transforms */
  uint32_t num_switches;      /**< kernels that later runs may change to */
  uint64_t predicted_cold_ns; /**< the compiler's prediction of a first run; 0:
                                   unknown */
  uint64_t predicted_warm_ns; /**< and of a later one */
  nnv12_bundle_kind kind;
  const char *revision;  /**< of the code generator, for device profiles; "":
                              not said */
  const char *tune;      /**< the processor that code is scheduled for, LLVM's
                              name; "": not said */
  const uint8_t *digest; /**< 32 bytes: of all that the bundle says */
  uint32_t program;      /**< the number of the chosen one */
  nnv12_reuse reuse;     /**< the most that a stream of its sessions does; OFF:
                              the program has no part for video, or the library
                              is built without it */
} nnv12_bundle_info;

NNV12_API void nnv12_bundle_get_info(const nnv12_bundle *bundle,
                                     nnv12_bundle_info *info);

/** One step of the chosen program. */
typedef struct nnv12_operation_info {
  size_t struct_size;     /**< set by the caller */
  const char *layer;      /**< the layer's name in the model */
  const char *kernel;     /**< the kernel's name */
  uint64_t tiles;         /**< independent pieces that threads share */
  const char *routine;    /**< the layer's routine; "": not said */
  const char *key;        /**< names layer and kernel for device profiles, 32
                               hexadecimal digits; "": not said */
  uint64_t multiply_adds; /**< of the kernel's whole grid */
  uint64_t bytes;         /**< read and written at least, of the grid */
  const uint8_t *fingerprint; /**< 32 bytes: digest of the kernel's code; NULL:
                                   not said */
  uint64_t live_bytes; /**< of the arena that hold a value meanwhile, which
                            this operation reads or writes or a later one still
                            reads; 0: not said */
} nnv12_operation_info;

/** NNV12_INVALID_ARGUMENT when there is no operation `index`. */
NNV12_API nnv12_status nnv12_bundle_get_operation(const nnv12_bundle *bundle,
                                                  uint32_t index,
                                                  nnv12_operation_info *info);

/** The stages of a routine. */
typedef enum nnv12_stage {
  NNV12_EXECUTE,
  NNV12_READ,     /**< brings bytes of the file into memory */
  NNV12_DECODE,   /**< decompresses weights */
  NNV12_TRANSFORM /**< brings weights into the form that a kernel wants */
} nnv12_stage;

/** "execute", "read"... */
NNV12_API const char *nnv12_stage_name(nnv12_stage stage);

/** One preparation of the chosen program's plan. */
typedef struct nnv12_preparation_info {
  size_t struct_size; /**< set by the caller */
  const char *layer;  /**< the layer whose weights it prepares */
  nnv12_stage stage;
  const char *kernel;     /**< of a transform; "" for others */
  uint64_t stored_bytes;  /**< that it reads from the file */
  uint64_t written_bytes; /**< that it writes to the session's memory */
  uint32_t lane;          /**< whose queue holds it */
  int in_background;      /**< for a switch: done when the lane is idle */
} nnv12_preparation_info;

/** NNV12_INVALID_ARGUMENT when there is no preparation `index`. Looks for it in
    the lanes, one after the other: for tools, not for the first inference. */
NNV12_API nnv12_status nnv12_bundle_get_preparation(
    const nnv12_bundle *bundle, uint32_t index, nnv12_preparation_info *info);

/** A kernel that takes over an operation once its weights are prepared. */
typedef struct nnv12_switch_info {
  size_t struct_size; /**< set by the caller */
  uint32_t operation; /**< which one it takes over */
  const char *kernel; /**< the later kernel's name */
  uint64_t tiles;     /**< of the later kernel */
} nnv12_switch_info;

/** NNV12_INVALID_ARGUMENT when there is no switch `index`. */
NNV12_API nnv12_status nnv12_bundle_get_switch(const nnv12_bundle *bundle,
                                               uint32_t index,
                                               nnv12_switch_info *info);

/*===- Sessions -----------------------------------------------------------===*/

/** Memory and threads for one inference at a time. */
typedef struct nnv12_session nnv12_session;

/** Whether later runs change to kernels that are faster once their weights are
 *  prepared, where the bundle has such. All are changed to between two runs:
 *  nnv12_session_info.steady_run. */
typedef enum nnv12_mode {
  NNV12_MODE_PLAN = 0, /**< as the bundle was compiled: change where it can */
  /** Never. Their weights are not prepared: for a session that runs once or
   *  twice, that must take little memory, or whose runs must all give the same
   *  bytes. */
  NNV12_MODE_COLD = 1,
  NNV12_MODE_CONTINUOUS = 2 /**< change where it can */
} nnv12_mode;

/** For nnv12_session_options.preparation_threads. */
#define NNV12_NO_PREPARATION_THREADS 0xffffffffu

/** How much a session writes down; each level all that those before it do. */
typedef enum nnv12_record_level {
  NNV12_RECORD_OFF = 0,
  NNV12_RECORD_RUN = 1,       /**< each run */
  NNV12_RECORD_OPERATION = 2, /**< and each operation, preparation, wait for
                                   weights and start of a thread */
  NNV12_RECORD_PIECE = 3      /**< and each thread's part of an operation */
} nnv12_record_level;

/** Counters of a thread in a run. Numbers never change. */
typedef enum nnv12_counter {
  NNV12_COUNTER_CPU_TIME = 0, /**< nanoseconds on a CPU */
  NNV12_COUNTER_CPU_WAIT = 1, /**< nanoseconds in which it could have run, but
                                   had no CPU */
  NNV12_COUNTER_PAGE_FAULTS = 2,
  NNV12_COUNTER_CONTEXT_SWITCHES = 3, /**< how often it got a CPU */
  NNV12_COUNTER_MIGRATIONS = 4,       /**< from CPU to CPU */
  NNV12_COUNTER_CYCLES = 5,           /**< from here on: processors' counters */
  NNV12_COUNTER_INSTRUCTIONS = 6,
  NNV12_COUNTER_CACHE_MISSES = 7, /**< of the last level */
  NNV12_COUNTER_BRANCH_MISSES = 8,
  NNV12_COUNTER_STALLED_CYCLES = 9 /**< waiting for data or for units */
} nnv12_counter;

#define NNV12_NUM_COUNTERS 10

/** A source of counts: the system (nnv12_counters.h, a library of its own), or
 *  the caller's own. Must not wait. */
typedef struct nnv12_counter_source {
  size_t struct_size;
  void *context;
  /** The calling thread has that number from now on. Each thread calls it when
   *  it starts, and the one that calls run at the beginning of each run that is
   *  recorded. Returns 0 if it had that number already; otherwise counts begin
   *  anew. */
  int (*attach)(void *context, uint32_t thread);
  /** Reads a thread's counters since it was attached. The thread that calls run
   *  calls it before and after each run that is recorded; only after it, if
   *  runs follow one another at once. Sets values[nnv12_counter] and
   *  returns which of them it knows, a bit each: none of a thread that was not
   *  attached. See nnv12_recorder.counters_per_mille. */
  uint32_t (*read)(void *context, uint32_t thread,
                   uint64_t values[NNV12_NUM_COUNTERS]);
} nnv12_counter_source;

/** Memory of the caller in which a session records the times of its work: see
 *  nnv12_recording_open. Start from NNV12_RECORDER_INIT. The struct is read
 *  when the session is created; the memory must stay until it is closed. When
 *  it is full, the newest records take the place of the oldest. */
typedef struct nnv12_recorder {
  size_t struct_size;
  void *memory;   /**< a multiple of 64. Other processes may read it as well, if
                       it is mapped from a file. */
  size_t size;    /**< bytes, as nnv12_recorder_size says */
  uint32_t level; /**< nnv12_record_level */
  uint32_t sample_every; /**< one run of so many is recorded, the first one
                              first; 0: each */
  /** The source of threads' counters in runs; NULL: none. It must stay as long
      as the memory. */
  const nnv12_counter_source *counters;
  /** At most so many thousandths of the time since the first run are spent on
      reading counters. After the first recorded run, runs that would take more
      are recorded without counters. 0: each recorded run has them. */
  uint32_t counters_per_mille;
  /** The same for time stamps behind each kernel of a GPU, each of which takes
     a microsecond of it or more. Other runs record the hand-over alone. 0: each
      run has them. */
  uint32_t gpu_per_mille;
} nnv12_recorder;

#define NNV12_RECORDER_INIT(memory, size)                                      \
  {sizeof(nnv12_recorder),                                                     \
   (memory),                                                                   \
   (size),                                                                     \
   NNV12_RECORD_OPERATION,                                                     \
   0,                                                                          \
   NULL,                                                                       \
   1,                                                                          \
   10}

/** How a session uses a GPU, if the bundle has a part for GPUs. Results differ
 *  in the last bits between both processors. */
typedef enum nnv12_gpu_mode {
  /** As the bundle plans: the first run begins on the CPU, and the GPU takes
   *  over where and when it is ready, or from later runs on, or never. */
  NNV12_GPU_AUTO = 0,
  NNV12_GPU_OFF = 1, /**< nothing; Vulkan is not touched */
  /** Nothing of the first run, unless nnv12_session_prepare came before: the
   *  second one has it prepared. */
  NNV12_GPU_AFTER_FIRST = 2,
  /** Each run is as all later ones: the first one waits until all is prepared,
   *  and the GPU is ready or has failed. */
  NNV12_GPU_WAIT = 3
} nnv12_gpu_mode;

/** Start from NNV12_GPU_OPTIONS_INIT. */
typedef struct nnv12_gpu_options {
  size_t struct_size;
  nnv12_gpu_mode mode;
  /** How many threads prepare for the GPU. 0: one for two CPUs, or one for each
   *  CPU if the first run waits for them, as far as the plan has lanes for it.
   *  They end with the session. */
  uint32_t threads;
  /** The folder that keeps the driver's compiled code for the next process.
   *  NULL: $XDG_CACHE_HOME/nnv12 or ~/.cache/nnv12; but nowhere if the bundle
   *  was opened with a public key or a digest, because drivers run the code
   *  that they find there. "": nowhere. A folder of another user, or one that
   *  others can write, is not used. nnv12_session_info.gpu_cache says whether
   *  there was a file; no failure is an error. While a driver makes a device or
   *  pipelines, a file NAME.trying is there, too. A process that dies of that
   *  leaves it behind, and three such deaths in a row keep later processes from
   *  that driver. */
  const char *cache_dir;
  /** 16 bytes: VkPhysicalDeviceIDProperties.deviceUUID of the device to take;
   *  NULL: a discrete one, else an integrated one, else a virtual one. */
  const uint8_t *device_uuid;
  /** NULL: libvulkan.so.1. */
  const char *vulkan_library;
  /** Not zero: take a device that is software (llvmpipe) where there is no
   *  other. For tests: the CPU itself is faster. */
  int allow_software;
} nnv12_gpu_options;

#define NNV12_GPU_OPTIONS_INIT                                                 \
  {sizeof(nnv12_gpu_options), NNV12_GPU_AUTO, 0, NULL, NULL, NULL, 0}

/** A session's runs as frames of a stream, for bundles with a part for video
 *  (nnv12c --video). Start from NNV12_STREAM_OPTIONS_INIT. */
typedef struct nnv12_stream_options {
  size_t struct_size;
  nnv12_reuse reuse;
  /** BOUNDED, 0 to 1; 0: the bundle's. A pixel of a layer's result keeps its
   *  values where the root mean square of their differences is at most this
   *  part of that of the result's values. */
  float tolerance;
  /** BOUNDED, 0 to 1; 0: the bundle's. A cell of 8x8 pixels of an input in f32
   *  or u8 counts as unchanged where the root mean square of its differences is
   *  at most this part of the standard deviation of the input's values. The
   *  kept values were computed from a reference picture, and that is compared,
   *  never the frame before: nothing drifts. */
  float input_tolerance;
  /** A frame of so many computes all; NNV12_NO_REFRESH: none does. 0: with
   *  BOUNDED the bundle's number, otherwise none. Frames that compute less than
   *  a twentieth of the work do not count, but of 100 frames one computes
   *  all. */
  uint32_t refresh;
  /** Not zero: frames that compute all because of `refresh` are computed with
   *  reuse as well, and nnv12_stream_info says how much their outputs differ.
   *  All outputs are as without. */
  int audit;
} nnv12_stream_options;

/** For nnv12_stream_options.refresh. */
#define NNV12_NO_REFRESH 0xffffffffu

#define NNV12_STREAM_OPTIONS_INIT                                              \
  {sizeof(nnv12_stream_options), NNV12_REUSE_EXACT, 0, 0, 0, 0}

/** Start from NNV12_SESSION_OPTIONS_INIT. */
typedef struct nnv12_session_options {
  size_t struct_size;
  /** How many threads compute, the one that calls run included; at most 64. If
   *  the process may use fewer CPUs (sched_getaffinity, and the quotas of its
   *  control groups), as many as these are taken. The session goes on without
   *  threads that the system refuses. nnv12_session_info.threads says how many
   *  there are. 0: as many as the bundle was compiled for (nnv12c --threads);
   *  without that, one a CPU. The session starts the others, with all signals
   *  blocked, and keeps them until it is closed. They sleep while nothing runs.
   *  Until the first result each is kept on CPUs of its own, and off the CPU on
   *  which the session was created. */
  uint32_t threads;
  /** Not zero: pin each thread that the session starts to a CPU of its own, as
   *  long as there are enough. If CPUs differ, threads that compute get fast
   *  ones, and preparation lanes those that the plan means them for. The
   *  calling thread is never pinned. */
  int pin_threads;
  /** How many threads do nothing but prepare weights. 0: as many as the plan
   *  has lanes for it, and one more if kernels will change; but no more than
   *  threads that compute leave CPUs. If they leave none, one is started that
   *  only waits for the storage; on a single CPU none is. Threads that compute
   *  prepare when they have nothing else to do.
   *  NNV12_NO_PREPARATION_THREADS: none, the calling thread does it all. If the
   *  system refuses some, the others do the work. They end when all is
   *  prepared; where a GPU makes some of it needless, with the session. */
  uint32_t preparation_threads;
  nnv12_mode mode;
  /** Where to record the session's work; NULL: nowhere. */
  const nnv12_recorder *recorder;
  /** Not zero: each thread does the work of its own lane and no more. That is
   *  slower when a core is busy. For measurements. Without effect when there
   *  are fewer threads than lanes. */
  int no_stealing;
  /** Not zero: as many threads as asked for or planned, even if the process may
   *  use fewer CPUs. For tests: threads that wait for a CPU make runs slow. */
  int oversubscribe;
  /** The use of a GPU, if the bundle has a part for GPUs; NULL: the defaults.
   *  Borrowed while the session is created, with its strings and its UUID. */
  const nnv12_gpu_options *gpu;
  /** Not NULL: runs are frames of a stream. The first run is one without
   *  reuse, and the second one computes all again. A GPU is not used then.
   *  Borrowed while the session is created. NNV12_UNSUPPORTED: the bundle has
   *  no part for video, or the library is built without it. */
  const nnv12_stream_options *stream;
} nnv12_session_options;

#define NNV12_SESSION_OPTIONS_INIT                                             \
  {sizeof(nnv12_session_options),                                              \
   0,                                                                          \
   0,                                                                          \
   0,                                                                          \
   NNV12_MODE_PLAN,                                                            \
   NULL,                                                                       \
   0,                                                                          \
   0,                                                                          \
   NULL,                                                                       \
   NULL}

/** Allocates all that run will need. `options` may be NULL. On failure
 *  `*session` is NULL. If the bundle has a plan with preparation lanes, their
 *  threads begin to read and prepare weights at once. */
NNV12_API nnv12_status
nnv12_session_create(nnv12_bundle *bundle, const nnv12_session_options *options,
                     nnv12_session **session, nnv12_error *error);

/** The size in bytes of memory for nnv12_recorder. It holds, at that level, the
 *  last `runs` runs of a session with these options, and the session's
 *  preparations before. `options` NULL: the defaults. Their own recorder
 *  matters only for whether it has counters. 0 when `bundle` is NULL, there is
 *  no such level, or no session takes such options. */
NNV12_API size_t nnv12_recorder_size(const nnv12_bundle *bundle,
                                     const nnv12_session_options *options,
                                     nnv12_record_level level, uint32_t runs);

/** Ends the session's threads and frees its memory. NULL is allowed. */
NNV12_API void nnv12_session_close(nnv12_session *session);

/** How many threads compute, the caller of run included. */
NNV12_API uint32_t nnv12_session_threads(const nnv12_session *session);

/** Buffers of the caller. `size` must be the tensor's byte_size, `data` aligned
 *  to its element; `data` may be NULL when `size` is 0. In an array, all have
 *  the struct_size of the first. Start from NNV12_INPUT and NNV12_OUTPUT. */
typedef struct nnv12_input {
  size_t struct_size;
  const void *data;
  size_t size;
} nnv12_input;

typedef struct nnv12_output {
  size_t struct_size;
  void *data;
  size_t size;
} nnv12_output;

#define NNV12_INPUT(data, size) {sizeof(nnv12_input), (data), (size)}
#define NNV12_OUTPUT(data, size) {sizeof(nnv12_output), (data), (size)}

/** How far a session is with a GPU. */
typedef enum nnv12_gpu_state {
  NNV12_GPU_NONE = 0, /**< it has none: by its options or its bundle */
  NNV12_GPU_WAITING,  /**< for the first result */
  NNV12_GPU_STARTING, /**< device, pipelines, weights are being prepared */
  NNV12_GPU_READY,
  NNV12_GPU_FAILED, /**< there is none, or it cannot do its part */
  NNV12_GPU_LOST    /**< it failed in a run; the CPU computes everything */
} nnv12_gpu_state;

/** The state of the file in nnv12_gpu_options.cache_dir. */
typedef enum nnv12_gpu_cache {
  /** No folder, one that others can write, or no device yet. */
  NNV12_GPU_CACHE_OFF = 0,
  NNV12_GPU_CACHE_MISS, /**< there was none that fits */
  NNV12_GPU_CACHE_HIT,
  NNV12_GPU_CACHE_WRITTEN /**< there is one for the next process */
} nnv12_gpu_cache;

/** The state of a session. */
typedef struct nnv12_session_info {
  size_t struct_size;           /**< set by the caller */
  uint32_t threads;             /**< that compute, the caller of run included */
  uint32_t preparation_threads; /**< that were started */
  uint32_t num_preparations;    /**< that this session does, sooner or later */
  uint32_t preparations_done;
  uint32_t num_switches;   /**< that this session takes, sooner or later; those
                                that a GPU makes needless are none */
  uint32_t switches_ready; /**< their weights are prepared; all are taken at the
                                start of one run, once all are ready */
  uint32_t switches_done;  /**< taken */
  nnv12_gpu_state gpu_state;
  /** A line for people that says why the GPU computes nothing (yet), or what it
   *  lacks for some of the stretches; "" where it computes all of them. It
   *  stays as long as the session lives. */
  const char *gpu_reason;
  const char *gpu_device_name;   /**< "": none (yet). As long as the session */
  uint32_t gpu_stretches;        /**< ranges of layers that it could compute */
  uint32_t gpu_stretches_ready;  /**< those that it can */
  uint32_t gpu_stretches_taken;  /**< those that it did, in the last run */
  uint32_t gpu_pipelines;        /**< that this session has made */
  uint32_t gpu_pipelines_cached; /**< of these, those that were in the file, as
                                      far as the driver says */
  uint64_t gpu_bytes_uploaded;   /**< of weights, by this session: those that
                                      another one has uploaded are shared */
  uint64_t gpu_bytes_imported;   /**< of the arena, where it works in that: by
                                      import, or in memory of the device's, to
                                      which the arena has moved */
  nnv12_gpu_cache gpu_cache;
  /** How long its preparing has taken, from its beginning until the device was
   *  open (most of it the driver's; next to nothing where another session has
   *  opened it), and until all was ready; 0: not yet. */
  uint64_t gpu_open_ns;
  uint64_t gpu_ready_ns;
  /** The run (from 0, as in nnv12_record.run) from which later routines
   *  compute: each run from it on gives the same bytes for the same inputs, and
   *  so does each run before it. NNV12_NO_RUN: not yet. 0: the first one, for
   *  there are none, they are forbidden, or nnv12_session_prepare came before.
   *  When a GPU is lost after that, the session prepares the CPU's routines for
   *  the GPU's layers, and this becomes the run from which those compute. */
  uint32_t steady_run;
} nnv12_session_info;

/** For nnv12_session_info.steady_run. */
#define NNV12_NO_RUN 0xffffffffu

/** May be called while the session runs. */
NNV12_API void nnv12_session_get_info(const nnv12_session *session,
                                      nnv12_session_info *info);

/** Prepares all that any later run wants, and returns when that is done:
 * weights of the first run and of later routines, and a GPU's part. The
 * calling thread helps. From the next run on later routines compute, even if
 * that is the first one, for any value of nnv12_gpu_options.mode; so a
 * session that was prepared before its first run gives the same bytes in all of
 * them.
 *
 *  NNV12_TIMED_OUT: not all was ready after `timeout_ms`, or a piece of work
 *  later. Nothing is lost: threads go on with it, and runs are as without the
 *  call. 0: only whether all is ready. NNV12_BUSY: the session runs. Other
 *  errors as those of run. A GPU that fails is no error: the CPU's routines for
 *  its part are prepared then. */
NNV12_API nnv12_status nnv12_session_prepare(nnv12_session *session,
                                             uint32_t timeout_ms,
                                             nnv12_error *error);

/** The state of a session's stream. */
typedef struct nnv12_stream_info {
  size_t struct_size;    /**< set by the caller */
  uint64_t runs;         /**< so far, but the first one */
  uint64_t frames;       /**< of these, those that reused values, or kept them
                              for the next run. The others were computed as
                              without a stream: runs of which more than a
                              quarter of the pixels changed, and runs behind
                              them. Behind two such runs in a row, or frames
                              with little to reuse, come 8, behind the next one
                              16, and so on up to 64 */
  uint64_t whole_frames; /**< of these, those that computed all */
  uint64_t memory_size;  /**< bytes for kept values, beside the arena */
  /** The part of the inputs' pixels that changed, 0 to 1, in runs that compared
   *  them. */
  double changed;
  /** The part of the multiply-adds that frames computed which reused values. */
  double computed;
  uint64_t audits; /**< frames that were computed both ways */
  /** The largest root mean square of the differences of their outputs in f32,
   *  as a part of that of the outputs without reuse; NaN where a difference is
   *  no finite number. */
  double audit_error;
} nnv12_stream_info;

/** Not while the session runs. Zeros for a session without a stream. */
NNV12_API void nnv12_session_get_stream_info(const nnv12_session *session,
                                             nnv12_stream_info *info);

/** Forgets all that a stream remembers: the next run computes all. NNV12_BUSY:
 *  the session runs. Without effect where there is no stream. */
NNV12_API nnv12_status nnv12_session_reset(nnv12_session *session,
                                           nnv12_error *error);

/** Tells the pixels of an operation's result that the last run computed, for
 *  pictures of a stream's reuse. `*rows` and `*columns` become the size of
 *  the result's plane; a batch's images lie one below the other, and a result
 *  without rows and columns is one pixel. `pixels`, the caller's, gets a byte
 *  for each pixel, row by row: 1 where it was computed, be it since it shares a
 *  tile with another one, otherwise 0. `capacity` is its size in bytes. NULL:
 *  the size of the plane alone is asked for. All pixels are computed in runs
 *  that compute all, and count as computed before the first run, after a reset
 *  and after a run that failed.
 *
 *  NNV12_BUSY: the session runs. NNV12_UNSUPPORTED: it has no stream.
 *  NNV12_INVALID_ARGUMENT: there is no such operation, or `capacity` is too
 *  small; `pixels` is untouched then. NNV12_OUT_OF_MEMORY. */
NNV12_API nnv12_status nnv12_session_get_computed(
    nnv12_session *session, uint32_t operation, uint32_t *rows,
    uint32_t *columns, uint8_t *pixels, size_t capacity, nnv12_error *error);

/** The same for an input: its pixels that the last run found changed. */
NNV12_API nnv12_status nnv12_session_get_changed(
    nnv12_session *session, uint32_t input, uint32_t *rows, uint32_t *columns,
    uint8_t *pixels, size_t capacity, nnv12_error *error);
/** Pixels of an input: rows and columns as the model has them, from the upper
 *  left one on. At least one. */
typedef struct nnv12_rectangle {
  uint32_t x, y, width, height;
} nnv12_rectangle;

/** Facts about the next frame of an input, as a decoder or a detector of motion
 *  knows them. Start from NNV12_STREAM_HINT_INIT. */
typedef struct nnv12_stream_hint {
  size_t struct_size;
  uint32_t input;
  int32_t shift_x, shift_y; /**< 0: values are not moved */
  size_t num_clean;
  /** Pixels that are as in the frame before: they are not compared. An input
   *  without rows and columns is one pixel. */
  const nnv12_rectangle *clean;
} nnv12_stream_hint;

#define NNV12_STREAM_HINT_INIT {sizeof(nnv12_stream_hint), 0, 0, 0, 0, NULL}

/** Tells a stream about the next run, even if that fails. Hints of several
 *  calls add up. The input must be complete all the same: a frame that computes
 *  all reads all of it. Where a hint is wrong, results of that frame and later
 *  ones may be old until a frame computes all, and nothing worse happens. After
 *  an error nothing is noted. NNV12_INVALID_ARGUMENT: there is no stream, no
 *  such input, or a rectangle that is not inside of it. NNV12_UNSUPPORTED: a
 *  shift. NNV12_BUSY: the session runs. */
NNV12_API nnv12_status nnv12_session_hint(nnv12_session *session,
                                          const nnv12_stream_hint *hint,
                                          nnv12_error *error);

/** For a session of a bundle NNV12_BUNDLE_TUNING: later runs compute these
 *  operations alone; the others do nothing. They are numbered as for
 *  nnv12_bundle_get_operation; one may occur several times. No operations: all
 *  of them compute again. NNV12_BUSY: the session runs.
 *  NNV12_INVALID_ARGUMENT: the bundle is of another kind, or has no such
 *  operation; nothing has changed then. */
NNV12_API nnv12_status nnv12_tuning_select(nnv12_session *session,
                                           const uint32_t *operations,
                                           uint32_t num_operations,
                                           nnv12_error *error);

/** Computes all outputs from all inputs, in the model's order. Allocates
 *  nothing, and returns when the outputs are complete. The first run waits for
 *  weights that are not prepared yet. In continuous mode with no preparation
 *  thread, a run ends with a bounded time of preparing for later ones: a
 *  sixteenth of the time that it took to compute, but one piece at least.
 *
 *  When it fails for its arguments, the outputs are untouched, and the session
 *  is as good as before. When compressed weights turn out to be damaged
 *  (NNV12_BAD_BUNDLE), the outputs' contents are undefined and the session's
 *  threads stop preparing. Every later run of it says the same at once, without
 *  computing anything: close it. In continuous mode that holds for weights of
 *  kernels for later runs, too: the runs until then were good.
 *
 *  An index that the model computes or is given, and that lies outside of the
 *  dimension that it points into, counts as the nearest one inside: a run makes
 *  no fault of it. An output of which only a run tells how many elements it has
 *  (the rows of boxes that a detector finds) has room for the most there can
 *  be. Another output, NAME.count of one i64, says how many of them count; the
 *  rest is padding.
 *
 *  A run waits for nothing but pieces of work that are under way, and never for
 *  ever. It sets the CPU's floating-point modes for the time of the call and
 *  restores them. */
NNV12_API nnv12_status nnv12_session_run(
    nnv12_session *session, const nnv12_input *inputs, uint32_t num_inputs,
    const nnv12_output *outputs, uint32_t num_outputs, nnv12_error *error);

/** For nnv12_session_run_until. */
#define NNV12_NO_DEADLINE 0xffffffffffffffffull

/** nnv12_session_run with a deadline: a time of CLOCK_MONOTONIC, nanoseconds.
 *  The run looks at the clock before each operation and, while it waits for
 *  weights, between pieces of preparing. Once the deadline is over it ends with
 *  NNV12_TIMED_OUT, a piece of work later at most. A run whose last operation
 *  has begun in time is good, however late it ends.
 *
 *  After NNV12_TIMED_OUT the outputs' contents are undefined, no thread writes
 *  to them, and the session is as good as before. Preparing goes on, so that
 *  the next run has less to wait for, and its results are right. The run waits
 *  for a stretch that a GPU has begun, since the GPU writes to the session's
 *  memory: a stretch is one operation. With NNV12_GPU_WAIT the wait for the
 *  GPU's preparations ends as well, and the next run waits for the rest of
 *  them. Such a run counts as one in
 *  nnv12_session_info.steady_run.
 *
 *  A deadline that is over before the call: NNV12_TIMED_OUT, with nothing
 *  computed and the outputs untouched. 0: NNV12_INVALID_ARGUMENT. */
NNV12_API nnv12_status nnv12_session_run_until(
    nnv12_session *session, const nnv12_input *inputs, uint32_t num_inputs,
    const nnv12_output *outputs, uint32_t num_outputs, uint64_t deadline_ns,
    nnv12_error *error);

/*===- GPUs ---------------------------------------------------------------===*/

/** Sessions of a process share devices: opening one takes tenths of a second.
 *  A device that could not be opened or was lost is not tried again, until
 *  nnv12_gpu_release. In a process that was forked from one that has used
 *  Vulkan, sessions have no GPU. */

/** Begins to open the device of sessions with these options, on a thread of its
 *  own, for example while an app shows that it starts. Only those that name a
 *  device matter: device_uuid, vulkan_library and allow_software. NULL: the
 *  defaults. Does not wait, and says nothing of the device: sessions do.
 *  NNV12_UNSUPPORTED: this library was built without GPUs. */
NNV12_API nnv12_status nnv12_gpu_start(const nnv12_gpu_options *options,
                                       nnv12_error *error);

/** A device of the application: Vulkan's handles, of version 1.1 at least, with
 *  robustBufferAccess switched on. Until nnv12_gpu_release and the end of all
 *  sessions nobody else may use the queue, and the handles must stay. Start
 * from NNV12_GPU_HANDLES_INIT. */
typedef struct nnv12_gpu_handles {
  size_t struct_size;
  void *instance;        /**< VkInstance */
  void *physical_device; /**< VkPhysicalDevice */
  void *device;          /**< VkDevice */
  void *queue;           /**< VkQueue, which computes */
  uint32_t queue_family; /**< its family */
  /** vkGetInstanceProcAddr */
  void (*(*get_instance_proc_addr)(void *instance, const char *name))(void);
  uint64_t features; /**< that are switched on: bits of GpuFeature
                          (docs/bundle-format.md) */
} nnv12_gpu_handles;

#define NNV12_GPU_HANDLES_INIT                                                 \
  {sizeof(nnv12_gpu_handles), NULL, NULL, NULL, NULL, 0, NULL, 0}

/** Sessions that are created from now on, and ask for no device and no library
 *  in particular, have this one. */
NNV12_API nnv12_status nnv12_gpu_use(const nnv12_gpu_handles *handles,
                                     nnv12_error *error);

/** Closes devices when the last session that has one is closed, or at once if
 *  there is none. Later sessions look for a device anew. Waits until
 *  nnv12_gpu_start's thread has ended. */
NNV12_API void nnv12_gpu_release(void);

/*===- Recordings ---------------------------------------------------------===*/

/** A reader of a session's records. It may read at any time, while the session
 *  runs too: in this process, in another one that has mapped the
 *  same memory, or later, from a file. Nothing in a recording is trusted. One
 *  thread at a time may use a handle. */
typedef struct nnv12_recording nnv12_recording;

/** The kinds of record. Numbers never change; pass over those that you do not
 *  know. */
typedef enum nnv12_record_kind {
  NNV12_RECORD_EXECUTE = 0,   /**< an operation */
  NNV12_RECORD_READ = 1,      /**< of a preparation, or a part of it: threads
                                   share preparations in pieces */
  NNV12_RECORD_DECODE = 2,    /**< the same */
  NNV12_RECORD_TRANSFORM = 3, /**< the same */
  NNV12_RECORD_THREAD_START =
      4,                      /**< from when it was asked for until it runs */
  NNV12_RECORD_WHOLE_RUN = 5, /**< index: the nnv12_status it ended with */
  NNV12_RECORD_TILES =
      6,                 /**< of an operation, by one thread, without a break */
  NNV12_RECORD_WAIT = 7, /**< for weights. index: the operation that needs them,
                              or behind those the preparation */
  NNV12_RECORD_JOIN = 8, /**< for other threads' tiles of an operation */
  NNV12_RECORD_COUNTER = 9, /**< index: nnv12_counter; duration: by how much it
                                 grew in the run; lane: the thread that it is
                                 of */
  /** From handing work to the GPU until it is seen to be finished. index: the
   *  first operation that it computes; count: how many. */
  NNV12_RECORD_GPU_SUBMIT = 10,
  /** A kernel of that work, by the GPU's clock. index: the operation that it
   *  computes, or a part of which. */
  NNV12_RECORD_GPU_KERNEL = 11,
  /** The following are done by threads that prepare for a GPU: see
   *  nnv12_recording_info.has_gpu_threads. index: the preparation's number
   *  among those of the part for GPUs, g0, g1... of nnv12-inspect; lane: which
   *  of the threads. */
  NNV12_RECORD_GPU_DEVICE = 12,   /**< the device is opened */
  NNV12_RECORD_GPU_PIPELINE = 13, /**< pipelines are made */
  NNV12_RECORD_GPU_UPLOAD = 14,   /**< weights are brought there */
  NNV12_RECORD_GPU_COMMANDS = 15, /**< a stretch's commands are recorded */
  /** The following are of frames of a stream that reuse values. An input is
   *  compared with the one that the kept values belong to. index: the input;
   *  count: pixels that changed. */
  NNV12_RECORD_MATCH = 16,
  /** Results that were computed again are compared with the kept ones. index:
   *  the operation; count: pixels that changed, of all of the result. */
  NNV12_RECORD_MERGE = 17
} nnv12_record_kind;

#define NNV12_RECORD_STOLEN 1u   /**< `thread` took it from another lane */
#define NNV12_RECORD_SWITCHED 2u /**< with the kernel of its switch */
/** An operation that a frame of a stream computed a part of: see
 *  nnv12_record.count. */
#define NNV12_RECORD_PARTIAL 4u
/** One that a frame of a stream kept the result of, which took no time. */
#define NNV12_RECORD_SKIPPED 8u

/** One thing that a thread did without a break. Never grows. */
typedef struct nnv12_record {
  uint64_t start_ns; /**< CLOCK_MONOTONIC */
  uint64_t duration_ns;
  uint32_t index; /**< of the operation or the preparation, see the kinds */
  uint32_t run;   /**< of the session, from 0; preparations before the first one
                       belong to it */
  /** In parts of all, of which 65535 are all. NNV12_RECORD_TILES: where they
   *  begin and how many they are, of the tiles that the operation computed.
   *  NNV12_RECORD_PARTIAL: `count` is how many it computed, rounded up, of all
   *  tiles of the kernel for parts. NNV12_RECORD_MATCH and NNV12_RECORD_MERGE:
   *  `count` is how many pixels changed, rounded up, of all pixels. */
  uint16_t first, count;
  uint8_t kind;   /**< nnv12_record_kind */
  uint8_t thread; /**< 0: the one that called run; then those that only prepare,
                       then the others that compute */
  uint8_t lane;   /**< of a preparation: whose queue it comes from; of a
                       counter: whose; of one for a GPU: whose work it is */
  uint8_t flags;  /**< NNV12_RECORD_STOLEN... */
} nnv12_record;

/** Checks what lies in `memory`, a multiple of 64 as well. It is borrowed, and
 *  may change meanwhile. NNV12_BAD_BUNDLE: it is no recording (yet: a session
 *  makes it one when it is created). On failure `*recording` is NULL. */
NNV12_API nnv12_status nnv12_recording_open(const void *memory, size_t size,
                                            nnv12_recording **recording,
                                            nnv12_error *error);

/** NULL is allowed. */
NNV12_API void nnv12_recording_close(nnv12_recording *recording);

typedef struct nnv12_recording_info {
  size_t struct_size; /**< set by the caller */
  nnv12_record_level level;
  uint32_t sample_every;
  uint32_t process; /**< that wrote it: its number where it runs */
  uint32_t num_threads;
  uint32_t num_preparing; /**< threads from number 1 that only prepare */
  uint32_t program;       /**< which one of the bundle's runs */
  const uint8_t *digest;  /**< 32 bytes: nnv12_bundle_info.digest of the bundle
                               that has the names and the plan */
  uint64_t runs;          /**< that have ended, recorded or not */
  int is_closed;          /**< the session has ended, nothing more comes */
  uint32_t has_gpu_threads; /**< 1: thread number num_threads has the records of
                                 all threads that prepare for a GPU */
  uint64_t start_ns; /**< when the session was created, CLOCK_MONOTONIC */
} nnv12_recording_info;

NNV12_API void nnv12_recording_get_info(const nnv12_recording *recording,
                                        nnv12_recording_info *info);

/** Copies the next records of a thread to `records`, at most `capacity`, in the
 *  order in which they ended, and returns their number. Adds to `*lost`, which
 *  may be NULL, the number of those that went lost because nobody read them in
 *  time. There are none before the first run has ended: only then it is known
 *  how fast the clock ticks. */
NNV12_API size_t nnv12_recording_read(nnv12_recording *recording,
                                      uint32_t thread, nnv12_record *records,
                                      size_t capacity, uint64_t *lost);

#ifdef __cplusplus
}
#endif

#endif /* NNV12_H */
