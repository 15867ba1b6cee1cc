#!/usr/bin/env bash
# Correctness and timing on a machine with an NVIDIA card, from what was built on another one.
#   bench/gpu.sh pack [BUILD]     where it was built: programs, plugins and their libraries into build/gpu-package
#   bench/gpu.sh run [--quick] [--only STEP,STEP...]     on the card, with that folder and this tree
# Steps: devices ops tests interop digits memcheck conform bench; all take under ten minutes. A step that fails or hangs does not stop the
# others. $OUT, else build/gpu-output, gets tests.log, memcheck.log, bench.json and bench.svg. One more, only when it is asked for:
# torch, which builds bridges/torch for the PyTorch that is there and compares OpInfo's samples and networks with its CPU.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

package=build/gpu-package/package.tar.gz
failures=0

main() {
  case ${1:-} in
    pack) shift; pack "$@" ;;
    run) shift; run "$@" ;;
    *) sed -n '2,/^set /{/^set /!s/^# \{0,1\}//p}' bench/gpu.sh; exit 2 ;;
  esac
}

# ---- Where it was built ------------------------------------------------------------------------------------

pack() {
  set -e
  local build=${1:-build/release} folder size test
  folder=$(mktemp -d)
  trap "rm -rf '$folder'" EXIT
  mkdir -p "$folder"/{bin,tests,libraries,lib/backplane}
  cp "$build"/bin/{backplane,backplane-conform,backplane-probe,digits} "$folder/bin"
  cp "$build"/bin/backplane_bench_cuda "$folder/bin" 2>/dev/null || echo "without bin/backplane_bench_cuda: not built"
  cp -P "$build"/lib/libbackplane{,_codegen,_data,_serialize}.so* "$folder/lib"
  cp "$build"/lib/backplane/{,libbackplane_}{cpu,cuda,reference,reference_primitives}.* "$folder/lib/backplane" 2>/dev/null || true
  mkdir -p "$folder/lib/backplane/conformance"
  cp "$build"/lib/backplane/conformance/* "$folder/lib/backplane/conformance"
  for test in "$build"/tests/test_*; do # those that would use the card; Level Zero's need their driver
    [ "${test##*/}" != test_level_zero ] || continue
    if grep -qa 'cuda:0' "$test"; then cp "$test" "$folder/tests"; fi
  done
  cp "$build"/tests/libbackplane_interop_shim.so "$folder/tests" 2>/dev/null || echo "without tests/libbackplane_interop_shim.so: not built"
  mkdir -p "$folder/python/expecttest"
  cp build/peers/venv/lib/python*/site-packages/expecttest/*.py "$folder/python/expecttest" 2>/dev/null || echo "without expecttest, which the step torch needs"
  readlink -f "$build" >"$folder/built_at"
  local built=("$folder"/{bin,tests}/* "$folder"/lib/backplane/*.so)
  for library in $(libraries_of "${built[@]}"); do cp -L "$library" "$folder/libraries"; done
  find "$folder" -type f \( -name '*.so*' -o -path '*/bin/*' -o -path '*/tests/*' \) -exec strip {} + 2>/dev/null || true
  mkdir -p "$(dirname $package)"
  tar -C "$folder" -czf $package .
  size=$(stat -c %s $package)
  echo "$package: $((size / 1048576)) MiB; tests: $(ls "$folder/tests" | tr '\n' ' ')"
  [ "$size" -lt $((40 << 20)) ] || { echo "more than the 40 MiB that are carried"; exit 1; }
}

# Paths of what the programs and plugins load, but for what every Linux has and what comes with CUDA.
libraries_of() {
  ldd "$@" 2>/dev/null | awk '$2 == "=>" && $3 ~ /^\// {print $3}' | sort -u |
    grep -vE '/(libc|libm|libdl|librt|libpthread|libstdc\+\+|libgcc_s|ld-linux[^/]*)\.so|libbackplane|libcu|libnv'
}

# ---- On the card -------------------------------------------------------------------------------------------

run() {
  local quick= only=devices,ops,tests,interop,digits,memcheck,conform,bench step
  while [ $# -gt 0 ]; do
    case $1 in
      --quick) quick=--quick ;;
      --only) only=$2; shift ;;
      *) echo "gpu.sh: no option '$1'"; exit 2 ;;
    esac
    shift
  done
  out=${OUT:-$PWD/build/gpu-output}
  work=$(mktemp -d "${TMPDIR:-/tmp}/backplane-gpu.XXXXXX")
  trap "rm -rf '$work'" EXIT
  mkdir -p "$out"
  # Unpacked here, its files belong to the user who runs them, as plugins' must.
  tar -C "$work" --no-same-owner -xzf $package || { echo "gpu.sh: no $package; run bench/gpu.sh pack where it was built"; exit 1; }
  prepare_environment
  # Tests name plugins by where these were built.
  [ -e "$(cat "$work/built_at")/bin/backplane" ] || { mkdir -p "$(cat "$work/built_at")" && ln -sfn "$work/bin" "$work/lib" -t "$(cat "$work/built_at")"; }
  nvidia-smi --query-gpu=name,driver_version,memory.total,clocks.sm,clocks.mem --format=csv,noheader || true
  for step in ${only//,/ }; do
    echo "== $step"
    SECONDS=0
    "step_$step" || { failures=$((failures + 1)); echo "-- $step FAILED"; }
    echo "-- $step: $SECONDS s"
  done
  echo "$failures steps failed"
  [ $failures -eq 0 ]
}

prepare_environment() {
  export HOME=$work/home XDG_CACHE_HOME=$work/cache XDG_CONFIG_HOME=$work/config XDG_DATA_HOME=$work/data
  mkdir -p "$HOME"
  # The same cuBLAS, cuDNN and NVRTC as PyTorch's, where its wheels bring them, so that a ratio compares us and not those.
  local maker=
  for folder in $(python3 -c 'import glob, site, sys; print(*(f for p in sys.path for f in glob.glob(p + "/nvidia/*/lib")))' 2>/dev/null); do
    if ls "$folder" | grep -qE '^lib(cublasLt|cudnn|nvrtc)\.so'; then maker=$maker$folder:; fi
  done
  ours="$work/lib:$work/libraries:${maker}/usr/local/cuda/lib64"
}

# At most $1 seconds of a program of the package.
within() {
  local seconds=$1
  shift
  LD_LIBRARY_PATH="$ours" timeout -k 5 "$seconds" "$@"
}

step_devices() {
  within 60 "$work/bin/backplane" devices && within 60 "$work/bin/backplane" doctor
}

# What the card does not serve itself.
step_ops() {
  within 200 "$work/bin/backplane" ops --device cuda:0 >"$work/ops.txt" || { tail -5 "$work/ops.txt"; return 1; }
  awk 'NR > 1 && ($NF !~ /^(native|generated|view)$/ || /legalized|host|error|fail/)' "$work/ops.txt" | head -40
  awk 'NR > 1 {rungs[$NF]++} END {for (rung in rungs) printf "%s %d; ", rung, rungs[rung]; print ""}' "$work/ops.txt"
}

step_tests() {
  local failed=0 test
  : >"$out/tests.log"
  for test in "$work"/tests/test_*; do
    [ -x "$test" ] || { echo "no tests that name cuda:0 in the package"; return 1; }
    run_test "$test" || failed=1
  done
  return $failed
}

# All its tests that name the card, in as many processes as help: most of the time goes to the compiler. Suites of
# test_cuda get a process each: some reach the plugin past the host, others lose the card. What takes all of the card's
# memory, or looks how much is free, goes last and alone.
run_test() {
  local name limit=${TEST_SECONDS:-180} begin=$SECONDS suite shard
  name=$(basename "$1")
  if [ "$name" = test_cuda ]; then
    for suite in $(within 20 "$1" --gtest_list_tests | grep -E '^[^ ].*\.$'); do
      start_test "$1" "$suite" --gtest_filter="$suite*:-*exhausted*:*trimmed:*free_memory*"
    done
    wait
    start_test "$1" alone --gtest_filter='*exhausted*:*trimmed:*free_memory*'
  else
    for shard in 0 1 2 3 4 5 6 7 8 9 10 11; do
      GTEST_TOTAL_SHARDS=12 GTEST_SHARD_INDEX=$shard start_test "$1" $shard --gtest_filter='*cuda*:*Cuda*'
    done
  fi
  wait
  cat "$work/$name".* >>"$out/tests.log"
  summarize "$name" $((SECONDS - begin)) "$work/$name".*
}

start_test() {
  local program=$1 part=$2 log
  log=$work/$(basename "$1").${part//[\/]/_}
  shift 2
  { within "$limit" "$program" "$@" >"$log" 2>&1 || echo "[ENDED ] $part with code $?" >>"$log"; } &
}

# One line, then the failures with what they said.
summarize() {
  local name=$1 seconds=$2
  shift 2
  python3 - "$name" "$seconds" "$@" <<'END'
import re, sys
name, seconds, *files = sys.argv[1:]
counts, failures, ended, running = {"OK": 0, "FAILED": 0, "SKIPPED": 0}, [], [], "its start"
for file in files:
    said = []
    for line in open(file, errors="replace"):
        mark = re.match(r"\[ *(RUN|OK|FAILED|SKIPPED|ENDED) *\] (.*)", line)
        if not mark:
            said.append(line)
        elif mark[1] == "RUN":
            said, running = [], mark[2]
        elif mark[1] == "ENDED":
            # A code of 1 is gtest's own for failed tests; 124 is the time limit.
            if not line.rstrip().endswith("code 1"):
                ended.append(line.rstrip() + " in " + running + "\n" + "".join(said[-8:]))
        elif mark[2].endswith("ms)"):
            counts[mark[1]] += 1
            if mark[1] == "FAILED":
                failures.append(mark[2] + "\n" + "".join(said[:10]))
print(f"{name}: {counts['OK']} passed, {counts['FAILED']} failed, {counts['SKIPPED']} skipped, {seconds} s")
print("".join(failures[:25]) + "".join(ended), end="")
if len(failures) > 25:
    print(f"... and {len(failures) - 25} more failures; see tests.log")
sys.exit(bool(failures or ended))
END
}

# DLPack and streams with PyTorch and CuPy.
step_interop() {
  LD_LIBRARY_PATH="$ours" timeout -k 5 90 python3 tests/interop/dlpack_torch.py --build "$work" --device cuda
}

step_digits() {
  local run words name failed=0
  for run in "cpu" "cuda" "cuda --amp bf16" "cuda --amp f16 --workers 2"; do
    name=${run//[ -]/}
    read -ra words <<<"$run"
    within 90 "$work/bin/digits" --device "${words[@]}" --data examples/digits/digits.csv --json "$work/$name.json" >"$work/$name.txt" 2>&1 ||
      { failed=1; tail -3 "$work/$name.txt"; continue; }
    python3 -c 'import json, sys; r = json.load(open(sys.argv[1])); print(sys.argv[2], "accuracy", r["test_accuracy"], "loss", r["final_loss"], "ms/step", r["ms_per_step"], r["served"])' "$work/$name.json" "$run"
  done
  return $failed
}

# compute-sanitizer slows everything down a lot: a few tests that touch every way of calling.
step_memcheck() {
  local tool
  tool=$(command -v compute-sanitizer || ls /usr/local/cuda/bin/compute-sanitizer /usr/local/cuda/compute-sanitizer/compute-sanitizer 2>/dev/null | head -1)
  [ -n "$tool" ] || { echo "compute-sanitizer is not installed here"; return 0; }
  [ -x "$work/tests/test_cuda" ] || { echo "no test_cuda in the package"; return 0; }
  # Each in a process of its own: some reach the plugin past the host.
  local code=0 filter
  : >"$out/memcheck.log"
  for filter in 'Products.agree*:Products.batches*:Products.views*:Products.are_replayed*:Nonzero.*:Sorting.short*:Sorting.at*' \
    '*Memory*' '*Capture*' '*Queue*'; do
    within 60 "$tool" --report-api-errors no --error-exitcode 9 "$work/tests/test_cuda" --gtest_brief=1 \
      --gtest_filter="$filter:-*large*" >>"$out/memcheck.log" 2>&1 || { code=$?; echo "$filter: code $code"; }
  done
  grep -E 'ERROR SUMMARY|Device not supported|Invalid|^\[  (PASSED|FAILED)' "$out/memcheck.log" | sort | uniq -c | head -8
  return $code
}

# What the conformance suite says of the card; CONFORM: its profile and other options.
step_conform() {
  within "${CONFORM_SECONDS:-240}" "$work/bin/backplane-conform" run --device cuda:0 ${CONFORM:---quick} --quiet --out "$work/conform" >"$work/conform.txt" 2>&1
  local code=$?
  cp "$work/conform/journal.jsonl" "$out/conform.jsonl" 2>/dev/null
  tail -40 "$work/conform.txt" | cut -c1-300
  return $code
}

# OpInfo's samples and networks through bridges/torch, built here for the PyTorch of this machine.
step_torch() {
  bridges/torch/tests/on_card.sh "$work" "$ours" "$out"
}

step_bench() {
  BACKPLANE_BENCH_PROGRAM="$work/bin/backplane_bench_cuda" BACKPLANE_BENCH_LIBRARIES="$ours" \
    timeout -k 5 400 python3 bench/cuda_vs_pytorch.py $quick --json "$out/bench.json"
}

main "$@"
