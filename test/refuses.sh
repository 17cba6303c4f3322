#!/usr/bin/env bash
# Runs a command that must refuse: exit status 1 and exactly one line on stderr,
# which goes to stdout for FileCheck.
error=$("$@" 2>&1 >/dev/null)
status=$?
if [ "$status" -ne 1 ]; then
  echo "expected exit status 1, found $status: $error"
  exit 1
fi
if [ "$(printf '%s\n' "$error" | wc -l)" -ne 1 ] || [ -z "$error" ]; then
  echo "expected one line, found: $error"
  exit 1
fi
printf '%s\n' "$error"
