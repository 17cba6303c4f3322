//===- StreamFrames.cpp - Frames of a stream against runs without -*- C++ -===//
//
//   stream-frames BUNDLE.nnv [--frames=N] [--seed=S] [--bounded] [--time]
//
// Random frames (rectangles, noise, copies, all new) go to sessions with a
// stream, of one, two and four threads, and to one without. All outputs must be
// equal in every bit, whatever reset, a switch to later routines or a run that
// fails comes between. With --bounded all streams must be equal in every bit,
// and frames that compute all equal those without; the largest distance from
// those is told. With --time: how long runs take, with and without.
//
//===----------------------------------------------------------------------===//
#include "runtime/include/nnv12.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>

using namespace nnv12;

namespace {

using Buffer = std::vector<uint8_t>;

struct Options {
  const char *bundle = nullptr;
  unsigned frames = 100, seed = 1;
  bool isTimed = false, isBounded = false;
};

Options parse(int argc, char **argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    auto isNumber = [&](const char *name, unsigned &value) {
      size_t length = strlen(name);
      bool isIt = strncmp(argv[i], name, length) == 0;
      if (isIt)
        value = unsigned(atoi(argv[i] + length));
      return isIt;
    };
    if (isNumber("--frames=", options.frames) ||
        isNumber("--seed=", options.seed))
      continue;
    if (strcmp(argv[i], "--time") == 0)
      options.isTimed = true;
    else if (strcmp(argv[i], "--bounded") == 0)
      options.isBounded = true;
    else
      options.bundle = argv[i];
  }
  if (!options.bundle) {
    fprintf(stderr, "stream-frames: expected a bundle\n");
    exit(2);
  }
  return options;
}

class Frames {
public:
  Frames(const Bundle &bundle, unsigned seed) : random(seed) {
    for (uint32_t i = 0; i < bundle.numInputs(); ++i) {
      infos.push_back(&bundle.input(i));
      inputs.emplace_back(infos.back()->byte_size);
    }
  }

  /// Makes the next frame of the one before.
  void next() {
    switch (count++ ? random() % 8 : 0) {
    case 0:
      for (size_t i = 0; i < inputs.size(); ++i)
        fill(i, 0, infos[i]->byte_size / elementSize(i));
      break;
    case 1: // a copy
      break;
    case 2: // a few elements
      for (unsigned k = 0; k < 1 + random() % 5; ++k) {
        size_t i = random() % inputs.size();
        if (size_t elements = infos[i]->byte_size / elementSize(i))
          fill(i, random() % elements, 1);
      }
      break;
    default:
      for (unsigned k = 0; k < 1 + random() % 3; ++k)
        rectangle(random() % inputs.size());
    }
  }

  std::vector<Input> all() const {
    std::vector<Input> result;
    for (const Buffer &buffer : inputs)
      result.emplace_back(buffer.data(), buffer.size());
    return result;
  }

private:
  size_t elementSize(size_t input) const {
    return infos[input]->type == NNV12_F32 ? 4 : 1;
  }

  /// New values for `size` elements.
  void fill(size_t input, size_t begin, size_t size) {
    uint8_t *bytes = inputs[input].data();
    for (size_t i = begin; i < begin + size; ++i)
      if (elementSize(input) == 4) {
        float value = float(random() % 4096) / 2048 - 1;
        memcpy(bytes + 4 * i, &value, 4);
      } else {
        bytes[i] = uint8_t(random() % 2);
      }
  }

  /// Rows and columns of planes, or of pixels with channels behind.
  void rectangle(size_t input) {
    const nnv12_tensor_info &info = *infos[input];
    if (info.rank < 2)
      return fill(input, 0, info.byte_size / elementSize(input));
    uint32_t last = info.rank - 1;
    bool channelsLast = info.rank == 4 && info.shape[3] <= 4;
    uint32_t column = channelsLast ? last - 1 : last, row = column - 1;
    size_t inner = channelsLast ? size_t(info.shape[last]) : 1, outer = 1;
    for (uint32_t d = 0; d < row; ++d)
      outer *= size_t(info.shape[d]);
    size_t rows = size_t(info.shape[row]), columns = size_t(info.shape[column]);
    size_t height = std::max<size_t>(1, random() % (rows / 4 + 1)),
           width = std::max<size_t>(1, random() % (columns / 4 + 1)),
           y = random() % (rows - height + 1),
           x = random() % (columns - width + 1);
    for (size_t o = 0; o < outer; ++o)
      for (size_t r = y; r < y + height; ++r)
        fill(input, ((o * rows + r) * columns + x) * inner, width * inner);
  }

  std::vector<const nnv12_tensor_info *> infos;
  std::vector<Buffer> inputs;
  std::mt19937 random;
  unsigned count = 0;
};

struct Runner {
  Runner(const Bundle &bundle, unsigned threads, nnv12_reuse reuse,
         nnv12_mode mode)
      : session(bundle, optionsFor(threads, reuse, mode)) {
    for (uint32_t i = 0; i < bundle.numOutputs(); ++i)
      outputs.emplace_back(bundle.output(i).byte_size);
  }

  static SessionOptions optionsFor(unsigned threads, nnv12_reuse reuse,
                                   nnv12_mode mode) {
    SessionOptions options;
    options.threads = threads;
    options.oversubscribe = true;
    options.mode = mode;
    options.gpu.mode = NNV12_GPU_OFF;
    options.stream.reuse = reuse;
    return options;
  }

  double run(const std::vector<Input> &inputs) {
    std::vector<Output> out;
    for (Buffer &buffer : outputs) {
      if (!buffer.empty()) // a value that no run leaves
        memset(buffer.data(), 0xa5, buffer.size());
      out.emplace_back(buffer.data(), buffer.size());
    }
    auto start = std::chrono::steady_clock::now();
    session.run(inputs, out);
    return std::chrono::duration<double, std::milli>(
               std::chrono::steady_clock::now() - start)
        .count();
  }

  /// A run that ends somewhere in the middle.
  void fail(const std::vector<Input> &inputs, unsigned microseconds) {
    std::vector<Output> out;
    for (Buffer &buffer : outputs)
      out.emplace_back(buffer.data(), buffer.size());
    (void)session.runUntil(std::chrono::steady_clock::now() +
                               std::chrono::microseconds(microseconds),
                           inputs, out);
  }

  Session session;
  std::vector<Buffer> outputs;
};

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values.empty() ? 0 : values[values.size() / 2];
}

/// How many frames so far were not computed as a whole.
uint64_t reusedBy(const Session &session) {
  nnv12_stream_info info = session.streamInfo();
  return info.frames - info.whole_frames;
}

/// The root mean square of the differences of floats, by that of `plain`.
double distance(const Buffer &reused, const Buffer &plain) {
  double differences = 0, squares = 0;
  for (size_t at = 0; at + sizeof(float) <= plain.size(); at += sizeof(float)) {
    float a, b;
    memcpy(&a, &reused[at], sizeof a);
    memcpy(&b, &plain[at], sizeof b);
    differences += (double(a) - b) * (double(a) - b);
    squares += double(b) * b;
  }
  return differences > 0 ? std::sqrt(differences / squares) : 0;
}

/// Whether all frames agree.
bool compare(const Bundle &bundle, const Options &options, nnv12_mode mode) {
  nnv12_reuse reuse =
      options.isBounded ? NNV12_REUSE_BOUNDED : NNV12_REUSE_EXACT;
  Runner plain(bundle, 2, NNV12_REUSE_OFF, mode);
  std::vector<std::unique_ptr<Runner>> streams;
  for (unsigned threads : {1, 2, 4})
    streams.push_back(std::make_unique<Runner>(bundle, threads, reuse, mode));
  if (mode != NNV12_MODE_COLD) {
    // Without this the moments differ at which later routines take over.
    plain.session.prepare(std::chrono::seconds(60));
    for (auto &stream : streams)
      stream->session.prepare(std::chrono::seconds(60));
  }
  Frames frames(bundle, options.seed);
  std::mt19937 random(options.seed);
  std::vector<double> plainTimes, streamTimes;
  double mostDistance = 0;
  for (unsigned f = 0; f < options.frames; ++f) {
    frames.next();
    std::vector<Input> inputs = frames.all();
    plainTimes.push_back(plain.run(inputs));
    // Bounded streams depend on all their frames, so that these must be alike.
    bool resets = !options.isTimed && random() % 23 == 0;
    for (size_t s = 0; s < streams.size(); ++s) {
      Runner &stream = *streams[s];
      if (resets ||
          (!options.isBounded && !options.isTimed && random() % 23 == 0))
        stream.session.reset();
      if (!options.isBounded && !options.isTimed && random() % 17 == 0)
        stream.fail(inputs, random() % 2000);
      uint64_t reused = reusedBy(stream.session);
      double time = stream.run(inputs);
      if (s == 1)
        streamTimes.push_back(time);
      // Bounded streams are equal to each other alone in frames that reuse
      // values.
      bool isWithin = options.isBounded && reusedBy(stream.session) > reused;
      const Runner &other = isWithin ? *streams[0] : plain;
      for (uint32_t i = 0; i < bundle.numOutputs(); ++i) {
        if (stream.outputs[i] != other.outputs[i]) {
          fprintf(stderr,
                  "%s: frame %u, %u threads: output '%s' differs from that "
                  "%s\n",
                  options.bundle, f, stream.session.threads(),
                  bundle.output(i).name,
                  isWithin ? "of one thread" : "without a stream");
          return false;
        }
        if (isWithin && bundle.output(i).type == NNV12_F32)
          mostDistance = std::max(
              mostDistance, distance(stream.outputs[i], plain.outputs[i]));
      }
    }
  }
  nnv12_stream_info info = streams[1]->session.streamInfo();
  printf("%s: %u runs, %llu of them frames of a stream, %llu of these whole; "
         "of the others %.1f %% of the "
         "pixels changed and %.1f %% of the work was done; %.2f MB\n",
         options.bundle, options.frames,
         static_cast<unsigned long long>(info.frames),
         static_cast<unsigned long long>(info.whole_frames), 100 * info.changed,
         100 * info.computed, double(info.memory_size) * 1e-6);
  if (options.isBounded)
    printf("  outputs are within %.3g of the root mean square of those without "
           "a stream\n",
           mostDistance);
  if (options.isTimed)
    printf("  %.3f ms without a stream, %.3f ms with one\n", median(plainTimes),
           median(streamTimes));
  return true;
}

} // namespace

int main(int argc, char **argv) {
  Options options = parse(argc, argv);
  Bundle bundle(options.bundle);
  return compare(bundle, options, NNV12_MODE_COLD) &&
                 compare(bundle, options, NNV12_MODE_PLAN)
             ? 0
             : 1;
}
