//===- Lock.h - A lock for a scope ------------------------------*- C++ -*-===//
#ifndef NNV12_RUNTIME_GPU_LOCK_H
#define NNV12_RUNTIME_GPU_LOCK_H

#include <pthread.h>

namespace nnv12::runtime {

/// Holds the mutex until the end of the scope. Nobody waits for a lock of ours
/// on a caller's thread for longer than one call of the driver takes that hands
/// over work.
class Lock {
public:
  explicit Lock(pthread_mutex_t &mutex) : mutex_(mutex) {
    pthread_mutex_lock(&mutex);
  }
  ~Lock() { pthread_mutex_unlock(&mutex_); }
  Lock(const Lock &) = delete;
  Lock &operator=(const Lock &) = delete;

private:
  pthread_mutex_t &mutex_;
};

} // namespace nnv12::runtime

#endif // NNV12_RUNTIME_GPU_LOCK_H
