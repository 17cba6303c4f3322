// ONNX Runtime's sessions that run now and then: the process that
// tools/measure-idle watches. test/idle/IdleRuns.cpp has the protocol.
//
//   node --expose-gc ortidle.js MODULES THREADS SPINNING MODEL NAME=FILE.npy...
//     [-- MODEL NAME=FILE.npy...]...
//
// SPINNING is `default`, or the value of session.intra_op.allow_spinning. The
// CPU time of `run` lacks the last milliseconds of other threads that run at
// its end: it is right for one thread.
"use strict";
const readline = require("readline");
const ort = require("./ortbinding");

const [modules, threads, spinning, ...words] = process.argv.slice(2);
const {binding, Tensor} = ort.load(modules);
const config =
    spinning === "default" ? {} : {intra_op: {allow_spinning: spinning}};
const options = ort.options(threads, {graphOptimizationLevel: "all"}, config);

/// The models, each with the inputs of all its sessions.
const models = [];
for (let begin = 0, end; begin < words.length; begin = end + 1) {
  end = words.indexOf("--", begin);
  if (end < 0) end = words.length;
  const [file, ...inputs] = words.slice(begin, end);
  models.push({file, feeds: ort.readFeeds(inputs, Tensor)});
}

/// Each with outputs of its own, which the first run makes.
let sessions = [];

function open(count) {
  for (let i = 0; i < count; ++i)
    for (const {file, feeds} of models) {
      const session = new binding.InferenceSession();
      session.loadModel(file, options);
      const none =
          Object.fromEntries(session.outputMetadata.map(o => [o.name, null]));
      const fetches = session.run(feeds, none, {});
      sessions.push({session, feeds, fetches});
      run(sessions.length - 1);
    }
}

function run(index) {
  const {session, feeds, fetches} = sessions[index];
  session.run(feeds, fetches, {});
}

const RUNS = {
  none: () => {},
  first: () => run(0),
  next: number => run(number % sessions.length),
  all: () => sessions.forEach((_, index) => run(index)),
};

const cell = new Int32Array(new SharedArrayBuffer(4));
const now = () => Number(process.hrtime.bigint());
/// Sleeps without JavaScript's loop of events.
const sleepUntil = time =>
    Atomics.wait(cell, 0, 0, Math.max(0, (time - now()) / 1e6));
const cpuTime = () => {
  const {user, system} = process.cpuUsage();
  return (user + system) * 1e3;
};

function pace(which, period, count) {
  const wall = new Array(count).fill(0), before = cpuTime();
  let next = now();
  for (let i = 0; i < count; ++i) {
    sleepUntil(next += period);
    const start = now();
    RUNS[which](i);
    const end = now();
    wall[i] = end - start;
    if (next + period < end) next = end;
  }
  sleepUntil(next + period);
  return {cpu: cpuTime() - before, wall};
}

const COMMANDS = {
  ready: () => ({}),
  open: count => {
    open(Number(count));
    return {};
  },
  pace: (which, period, count) => pace(which, Number(period), Number(count)),
  run: () => {
    const before = cpuTime();
    run(0);
    return {cpu: cpuTime() - before};
  },
  close: () => {
    sessions.forEach(({session}) => session.dispose());
    sessions = [];
    global.gc();
    return {};
  },
};

readline.createInterface({input: process.stdin}).on("line", line => {
  const [name, ...words] = line.split(" ");
  let answer;
  try {
    answer = COMMANDS[name] ? COMMANDS[name](...words) :
                              {error: `unknown command '${name}'`};
  } catch (error) {
    answer = {error: String(error.message || error).split("\n")[0]};
  }
  console.log(JSON.stringify(answer));
});
