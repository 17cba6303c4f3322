#include <nnv12.h>
#ifdef WITH_COUNTERS
#include <nnv12_counters.h>
#endif
#include <stdio.h>

int main(int argc, char **argv) {
  float x[48] = {1}, y[48] = {0};
  nnv12_input in = NNV12_INPUT(x, sizeof x);
  nnv12_output out = NNV12_OUTPUT(y, sizeof y);
  nnv12_gpu_options gpu = NNV12_GPU_OPTIONS_INIT;
  nnv12_session_options options = NNV12_SESSION_OPTIONS_INIT;
  gpu.mode = NNV12_GPU_OFF;
  options.gpu = &gpu;
  nnv12_bundle *bundle;
  nnv12_session *session;
  nnv12_error error;
  if (nnv12_bundle_open(argv[argc - 1], NULL, &bundle, &error) ||
      nnv12_session_create(bundle, &options, &session, &error) ||
      nnv12_session_run(session, &in, 1, &out, 1, &error))
    return fprintf(stderr, "%s\n", error.message), 1;
  nnv12_session_close(session);
  nnv12_bundle_close(bundle);
#ifdef WITH_COUNTERS
  nnv12_counters *counters = nnv12_counters_create(NNV12_COUNT_SOFTWARE);
  if (!counters || !nnv12_counters_source(counters)->read)
    return fprintf(stderr, "no counters\n"), 1;
  nnv12_counters_close(counters);
#endif
  return printf("%g\n", y[0]) < 0;
}
