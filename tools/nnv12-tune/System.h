//===- System.h - Storage, memory and codec of this machine -----*- C++ -*-===//
#ifndef NNV12_TOOLS_NNV12_TUNE_SYSTEM_H
#define NNV12_TOOLS_NNV12_TUNE_SYSTEM_H

#include "artifact/NonCopyable.h"
#include "compiler/device/DeviceProfile.h"

#include <cstddef>
#include <string>
#include <vector>

namespace nnv12::tune {

/// A file of bytes that no file system can compress, gone with this object.
class StorageFile : artifact::NonCopyable {
public:
  /// In `folder`. Ends the process with one line when it cannot be written.
  StorageFile(const std::string &folder, size_t size);
  ~StorageFile();

  size_t size() const { return size_; }
  /// Takes the file out of memory; the part that stayed, 0 to 1.
  double evict();
  /// Reads the file as the runtime reads a bundle: its head, the part asked for
  /// early, and then page after page. `session`: milliseconds that pass
  /// between, for checking it and making a session.
  struct Arrivals {
    double head; ///< milliseconds, until the part asked for early has been
    /// Milliseconds until the bytes up to each of `offsets` are there.
    std::vector<double> times;
  };
  Arrivals readAsBundle(const std::vector<size_t> &offsets,
                        double session) const;

  struct Times {
    double wall; ///< milliseconds
    double core; ///< milliseconds that the thread was computing
  };
  /// Brings [offset, offset + size) into memory with the runtime's own reader:
  /// mapped, with huge pages where the system has them, and touched; the
  /// mapping is given back. `alone`: the system is told not to read more than
  /// that.
  Times populate(size_t offset, size_t size, bool alone = false) const;

private:
  int fd;
  size_t size_;
};

/// Reads of evicted files, one of each kind at a time: storage that others use
/// as well is faster or slower for seconds, so samples should be taken while
/// other things are measured.
class Storage {
public:
  /// Writes the files to `folder`, the large one of `size` bytes. Ends the
  /// process with one line where that cannot be.
  Storage(const std::string &folder, size_t size);

  StorageFile &file() { return large; }
  void sample();
  /// Writes medians of the samples, of which there must be one, to the
  /// storage's fields of `profile`; mapLittleUsPerMB only where it has no
  /// little cores.
  void describe(device::DeviceProfile &profile) const;
  /// The part of the file that could not be evicted, 0 to 1.
  double resident() const { return stays; }

private:
  StorageFile large, head, tiny;
  std::vector<size_t> offsets; ///< at which arrival is measured
  std::vector<StorageFile::Times> reads;
  std::vector<double> heads, leastHeads, tinyHeads, latencies;
  std::vector<std::vector<double>> arrivals; ///< by offset
  double stays = 0;
};

/// How long starting a thread keeps the one that starts it, microseconds.
double measureThreadStartUs(unsigned repeat);

/// A core's time for a megabyte that is populated.
double measureMap(StorageFile &file, unsigned repeat);
/// The time of the first use of a megabyte of fresh memory, in huge pages where
/// there are such, and in small ones. Medians over pieces of 2 MB.
struct FirstTouch {
  double usPerMB = 0, smallUsPerMB = 0;
};
FirstTouch measureFirstTouch();
/// One thread that reads memory which is not in the cache.
double measureMemoryGBps(unsigned repeat);
/// Decompressed MB/s of weights as nnv12c stores them: zstd over byte planes,
/// and over numbers that repeat; and the time to load the library, its pages in
/// memory. 0 without libzstd.
struct ZstdSpeed {
  double startUs = 0, MBps = 0, repeatsMBps = 0;
};
ZstdSpeed measureZstd(unsigned repeat);

} // namespace nnv12::tune

#endif // NNV12_TOOLS_NNV12_TUNE_SYSTEM_H
