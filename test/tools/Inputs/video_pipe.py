"""video_pipe.py BUNDLE: how nnv12-run --video - goes along with other
programs: each frame's line comes before the next frame is there, memory does
not grow, and a reader that is gone ends it."""
import os
import signal
import subprocess
import sys

WIDTH, HEIGHT, FRAMES = 160, 120, 1000
COMMAND = ["nnv12-run", sys.argv[1], "--video", "-"]
COMMAND += ["--video-size", f"{WIDTH}x{HEIGHT}"]
frame = bytes(WIDTH * HEIGHT * 3)


def memory(process):
    for line in open(f"/proc/{process}/status"):
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024


for mode in ([], ["--json", "-"]):
    tool = subprocess.Popen(
        COMMAND + mode, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    signal.alarm(120)  # a line that does not come
    for i in range(FRAMES if mode else 20):
        tool.stdin.write(frame)
        tool.stdin.flush()
        line = tool.stdout.readline().decode()
        expected = '{"frame":%d,' % i if mode else "frame %d: " % i
        assert line.startswith(expected), line
        if i == 20:
            before = memory(tool.pid)
    if mode:
        grown = memory(tool.pid) - before
        assert grown < 0.2 * FRAMES * len(frame), grown
    tool.stdin.close()
    assert tool.wait() == 0
    signal.alarm(0)
print("a line a frame")

for ignored, expected in ((False, -signal.SIGPIPE), (True, 1)):
    reading, writing = os.pipe()
    os.close(reading)
    tool = subprocess.run(
        COMMAND,
        input=3 * frame,
        stdout=writing,
        stderr=subprocess.PIPE,
        restore_signals=not ignored,
    )
    os.close(writing)
    assert tool.returncode == expected, tool
    print(tool.stderr.decode() or "no message")
