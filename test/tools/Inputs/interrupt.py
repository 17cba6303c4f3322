"""interrupt.py NNV12C MODEL PROGRAM [OPTION...]: sends signals to a compile
with these options that runs PROGRAM.

A program that sleeps stands in for PROGRAM, beside NNV12C. It writes a file and
a folder where temporary files go, and its number where this script looks.
"""

import os
import signal
import subprocess
import sys
import tempfile
import time

nnv12c, model, program, *options = sys.argv[1:]
program = os.path.join(os.path.dirname(nnv12c), program)
with open(program, "w") as file:
    file.write(
        "#!/bin/sh\n"
        'folder=${1%/*}; mkdir $folder/below; echo > $folder/below/file\n'
        "echo $$ > $PIDFILE.new; mv $PIDFILE.new $PIDFILE\n"
        "exec sleep ${SECONDS_TO_SLEEP}\n"
    )
os.chmod(program, 0o755)


def wait_for(what, seconds=60):
    end = time.monotonic() + seconds
    while not what():
        if time.monotonic() > end:
            sys.exit("waited in vain")
        time.sleep(0.01)


def is_gone(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


def run(name, is_off):
    number = getattr(signal, name)
    with tempfile.TemporaryDirectory() as folder:
        temporary = os.path.join(folder, "tmp")
        os.mkdir(temporary)
        pid_file = os.path.join(folder, "pid")
        compile = subprocess.Popen(
            [nnv12c, model, "-o", os.path.join(folder, "o.nnv")]
            + ["--quiet", "--no-cache"]
            + options,
            env=dict(
                os.environ,
                TMPDIR=temporary,
                PIDFILE=pid_file,
                SECONDS_TO_SLEEP="1" if is_off else "600",
            ),
            stderr=subprocess.DEVNULL,
            preexec_fn=lambda: signal.signal(
                number, signal.SIG_IGN if is_off else signal.SIG_DFL
            ),
        )
        wait_for(lambda: os.path.exists(pid_file))
        child = int(open(pid_file).read())
        compile.send_signal(number)
        status = compile.wait(timeout=60)
        left = os.listdir(temporary)
        if is_off:
            # It may fail later without the measurements.
            how = f"status {status}" if status < 0 else "it ran on"
            print(f"{name}, switched off: {how}; left {left}")
            return
        wait_for(lambda: is_gone(child), 5)
        ended = signal.Signals(-status).name if status < 0 else status
        print(f"{name} ended by {ended}; the program is gone; left {left}")


for name in ("SIGINT", "SIGTERM", "SIGHUP"):
    run(name, False)
run("SIGHUP", True)
