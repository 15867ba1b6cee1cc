#!/usr/bin/env bash
# ONNX's node tests and tests of the bridge on a machine with an NVIDIA card, through ONNX Runtime with its CPU forbidden.
#   bench/gpu_onnx.sh pack [BUILD]     where it was built: the bridge, Python and ONNX Runtime into build/gpu-onnx
#   bench/gpu_onnx.sh run [OPTIONS]    on the card, with that folder, what bench/gpu.sh packed, and this tree; options of
#                                      bridges/onnxruntime/tests/node_tests.py; DEVICE, if it is another than cuda:0
# The other machine needs neither Python's packages nor the same Python, but a C library as new as this one's.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

package=build/gpu-onnx/package.tar.xz
venv=build/peers/ortvenv

pack() {
  local build=${1:-build/release} folder library packages
  folder=$(mktemp -d)
  trap "rm -rf '$folder'" EXIT
  mkdir -p "$folder"/{libraries,python/bin,python/lib,packages} "$(dirname $package)"
  cp -r "$build"/python/backplane_onnxruntime* "$folder/packages"
  # The interpreter that the environment is made of, without what no test reads.
  cp -L $venv/bin/python "$folder/python/bin/python3"
  library=$($venv/bin/python -c 'import sysconfig; print(sysconfig.get_path("stdlib"))')
  tar -C "${library%/*}" --exclude={__pycache__,test,idlelib,tkinter,lib2to3,ensurepip,pydoc_data,site-packages,dist-packages,'config-*'} \
    -c "${library##*/}" | tar -C "$folder/python/lib" -x
  packages=$(echo $venv/lib/python*/site-packages)
  tar -C "$packages" --exclude={__pycache__,tests,'*.pyi',light,real,'libonnxruntime.so*',pip,'pip-*',setuptools,'setuptools-*',pkg_resources} \
    --exclude=onnxruntime/{transformers,tools,quantization} -c . | tar -C "$folder/packages" -x
  for library in $(ldd "$folder"/python/bin/python3 | awk '$2 == "=>" && $3 ~ /^\// {print $3}' | grep -vE '/lib(c|m|dl|pthread)\.so'); do
    cp -L "$library" "$folder/libraries"
  done
  tar -C "$folder" -c . | xz -3 -T0 >$package
  echo "$package: $(($(stat -c %s $package) / 1048576)) MiB"
}

run() {
  local maker failures=0 device=${DEVICE:-cuda:0}
  work=$(mktemp -d "${TMPDIR:-/tmp}/backplane-onnx.XXXXXX")
  trap "rm -rf '$work'" EXIT
  tar -C "$work" --no-same-owner -xzf build/gpu-package/package.tar.gz
  tar -C "$work" --no-same-owner -xJf $package
  maker=$(python3 -c 'import glob, sys; print(*(f for p in sys.path for f in glob.glob(p + "/nvidia/*/lib")), sep=":")' 2>/dev/null || true)
  export HOME=$work/home XDG_CACHE_HOME=$work/cache PYTHONHOME=$work/python PYTHONPATH=$work/packages PYTHONDONTWRITEBYTECODE=1
  export LD_LIBRARY_PATH=$work/lib:$work/libraries:$maker:/usr/local/cuda/lib64 BACKPLANE_PLUGIN_PATH=$work/lib/backplane
  mkdir -p "$HOME"
  "$work/python/bin/python3" -c 'import backplane_onnxruntime; print(*backplane_onnxruntime.devices())'
  "$work/python/bin/python3" -m pytest -q -p no:cacheprovider -k "$device" bridges/onnxruntime/tests/test_{memory,fused}.py || failures=1
  "$work/python/bin/python3" -W ignore bridges/onnxruntime/tests/node_tests.py --device "$device" "$@" || failures=1
  return $failures
}

case ${1:-} in
  pack | run) "$@" ;;
  *) sed -n '2,/^set /{/^set /!s/^# \{0,1\}//p}' bench/gpu_onnx.sh; exit 2 ;;
esac
