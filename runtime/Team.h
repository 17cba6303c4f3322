//===- Team.h - The threads of a session ------------------------*- C++ -*-===//
//
// One set of threads, of which no two need the same CPU: those that compute,
// the caller of run being the first, and those that only prepare, where there
// are CPUs left for them. Each looks for the tiles of an operation that is
// under way, if it computes; else for a piece of its lane; else for one of
// another's; else for memory that is about to be used; and then waits for an
// event. Where all CPUs compute, one thread more only waits for the storage. It
// needs a CPU for a fiftieth of that time, and the others prepare the weights
// that it reads.
//
// Until the session has its first result each thread stays on CPUs of its own:
// left to itself the system often puts one that starts or wakes up on the CPU
// of the thread that started or woke it, and one of the two waits for some
// milliseconds then. Later a thread that wakes up there moves away.
//
// A thread spins for a while before it sleeps, as the next operation mostly
// follows soon. Behind a run it does so only where the next run followed soon
// the last time: an application that runs a model now and then pays for no
// spinning.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_RUNTIME_TEAM_H
#define NNV12_RUNTIME_TEAM_H

#include "runtime/FirstTouch.h"
#include "runtime/Lanes.h"

namespace nnv12::runtime {

class Team {
public:
  ~Team() { end(); }
  /// Ends and joins the threads, in the middle of the plan if need be.
  void end();

  /// The number of threads, by their task.
  struct Size {
    uint32_t computing; ///< the caller of run included
    uint32_t preparing; ///< that do nothing else
    bool onlyReads;     ///< these wait for the storage alone
  };

  /// Starts them. All of the others must stay until this is gone, and be
  /// created before. Threads that the system refuses are done without: workers
  /// and lanes are told how many there are.
  [[nodiscard]] bool start(const bundle::Program *program, Size size, bool pin,
                           Workers &workers, Lanes &lanes, Events &events,
                           FirstTouch &firstTouch, Recorder &recorder,
                           artifact::Fault &fault);

  /// How many of the threads that only prepare were started.
  uint32_t preparing() const { return numPreparing_; }

  /// There is a first result: threads may run on any CPU from now on.
  void release() { isPlaced_.store(false, std::memory_order_relaxed); }

private:
  struct Member {
    Team *team;
    uint32_t number; ///< from 1, those that only prepare first
    uint32_t worker; ///< among those that compute; 0 for others
    Lanes::Role role;
    int cpu;       ///< to stay on, or -1
    CpuMask place; ///< until there is a first result
    uint64_t startTime;
    pthread_t thread;
    bool isStarted;
    bool isFree;     ///< to run anywhere: there is a first result
    ThreadCpus cpus; ///< from then on
    bool mayBeHere;  ///< false: its CPU is another thread's as well
    bool awaitsRuns; ///< runs follow one another so soon that spinning pays
  };

  void choosePlaces(const bundle::Program *program, Size size, bool pin);
  static void *threadMain(void *argument);
  void work(Member &member);
  bool spin(const Member &member, uint32_t seen) const;
  void sleep(Member &member, uint32_t seen, uint32_t kinds);
  void waitForRun(Member &member, uint32_t seen);

  Workers *workers_ = nullptr;
  Lanes *lanes_ = nullptr;
  Events *events_ = nullptr;
  FirstTouch *firstTouch_ = nullptr;
  Recorder *recorder_ = nullptr;
  CpuMask allowed_; ///< to whom started the threads
  Array<Member> members_;
  uint32_t numPreparing_ = 0;
  std::atomic<bool> stop_{false};
  std::atomic<bool> isPlaced_{true};
};

} // namespace nnv12::runtime

#endif // NNV12_RUNTIME_TEAM_H
