#!/usr/bin/env bash
# limits.sh MODEL FOLDER: compiles under many limits on memory. Each compile
# either succeeds or says in one line that memory is out, and then writes no
# bundle.
set -u
cd "$2" || exit 1
export TMPDIR=$2/tmp
# What the process has before main, in KB; with less the loader gives up.
low=0 least=8000000
while ((least - low > 1000)); do
  middle=$(((low + least) / 2))
  if (ulimit -v $middle; nnv12c --version >/dev/null 2>&1); then
    least=$middle
  else
    low=$middle
  fi
done
said=0
for more in 0 2000 5000 10000 15000 20000 30000 40000 60000 80000 \
  100000 150000 200000; do
  rm -f limited.nnv
  line=$(ulimit -v $((least + more))
         nnv12c "$1" --target x86-64-v3 --quiet -o limited.nnv 2>&1)
  status=$?
  if [ $status -eq 0 ]; then
    [ -s limited.nnv ] || { echo "limit $((least + more)): no bundle"; exit 1; }
    continue
  fi
  if [ $status -ne 1 ] || [ "$(printf '%s\n' "$line" | wc -l)" -ne 1 ] ||
    [ -e limited.nnv ]; then
    echo "limit $((least + more)): exit status $status: $line"
    exit 1
  fi
  case $line in
    "nnv12c: $1: out of memory") said=$((said + 1)) ;;
    *"Cannot allocate memory"*) ;;
    *) echo "limit $((least + more)): found: $line"; exit 1 ;;
  esac
done
[ $said -gt 0 ] || { echo "no limit was too small"; exit 1; }
