/*===- nnv12_counters.h - The system's counters of threads --------*- C -*-===*\
|*
|* For nnv12_recorder.counters: time on CPUs and without one, page faults,
|* context switches and migrations, and processors' counters where the system
|* grants them. A library of its own, nnv12-counters: the runtime itself makes
|* no system call in a run. Reading a thread costs about two microseconds:
|* record one run of some (nnv12_recorder.sample_every) where runs are short.
|*
|*   nnv12_counters *counters = nnv12_counters_create(NNV12_COUNT_SOFTWARE);
|*   recorder.counters = nnv12_counters_source(counters);
|*
|* A refused counter is a state and no error: the others count.
|*
\*===----------------------------------------------------------------------===*/
#ifndef NNV12_RUNTIME_INCLUDE_NNV12_COUNTERS_H
#define NNV12_RUNTIME_INCLUDE_NNV12_COUNTERS_H

#include "nnv12.h"

#ifdef __cplusplus
extern "C" {
#endif

#define NNV12_COUNT_SOFTWARE 1u /**< by the system itself */
#define NNV12_COUNT_HARDWARE 2u /**< by the processor; these as well */

typedef struct nnv12_counters nnv12_counters;

/** For one session at a time. NULL: there is no memory for it. */
NNV12_API nnv12_counters *nnv12_counters_create(unsigned wanted);

/** The session must be closed. NULL is allowed. */
NNV12_API void nnv12_counters_close(nnv12_counters *counters);

/** Stays as long as the counters. */
NNV12_API const nnv12_counter_source *
nnv12_counters_source(const nnv12_counters *counters);

/** One line for people that says what is not counted, and why: "" where all
 *  wanted counters count. Stays as long as the counters. */
NNV12_API const char *nnv12_counters_state(const nnv12_counters *counters);

/** "CPU time", "page faults"...; "other" for those of newer runtimes. */
NNV12_API const char *nnv12_counter_name(uint32_t counter);

#ifdef __cplusplus
}
#endif

#endif /* NNV12_RUNTIME_INCLUDE_NNV12_COUNTERS_H */
