#!/usr/bin/env bash
# PyTorch's samples and small networks on a card, through a bridge that is built here for the PyTorch of this machine.
#   on_card.sh PACKAGE LIBRARIES OUT     what bench/gpu.sh unpacked, the folders of its libraries, where reports go
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../../.." || exit 1
package=$1 libraries=$2 out=$3
python=$package/python bridge=$package/python/backplane_torch
processes=$(nproc)

build() {
  local torch objects=$package/bridge
  torch=$(python3 -c 'import importlib.util as u; print(u.find_spec("torch").submodule_search_locations[0])') || return 1
  mkdir -p "$objects" "$bridge"
  flags="-std=c++20 -O1 -DNDEBUG -fPIC -fvisibility=hidden -w -Ibridges/torch -Ibridges/torch/source -Ibridges/common $(printf ' -I%s' */include)
    -isystem $torch/include -isystem $torch/include/torch/csrc/api/include"
  export objects flags
  ls -S bridges/torch/{source,recipes,generated}/*.cpp |
    xargs -P "$processes" -I{} bash -c 'prefix=; case {} in */source/*) prefix="-include bridges/torch/source/prefix.hpp" ;; esac
      g++ $flags $prefix -c {} -o "$objects/$(echo {} | tr / _).o"' || return 1
  g++ -shared -o "$bridge/libbackplane_torch.so" "$objects"/*.o -L"$package/lib" -lbackplane -L"$torch/lib" -ltorch_cpu -lc10 \
    -Wl,--allow-shlib-undefined || return 1
  cp bridges/torch/backplane_torch/*.py "$bridge"
  python3 -c 'import re, sys; print(".".join(re.search(r"__version__ = .([^\x27]+)\x27", open(sys.argv[1]).read())[1].split(".")[:2]))' \
    "$torch/version.py" >"$bridge/torch_version.txt"
}

# OpInfo's samples, all parts at once; $1: a name for the reports, then options of opinfo.py.
samples() {
  local name=$1 part
  shift
  for ((part = 0; part < processes; ++part)); do
    timeout -k 5 "${TORCH_SECONDS:-200}" python3 bridges/torch/tests/opinfo.py --device "$device" "$@" --part $part --of "$processes" \
      --report "$package/$name.$part.json" >/dev/null 2>"$package/$name.$part.log" &
  done
  wait
  python3 - "$package" "$name" "$out" "$processes" <<'END'
import glob, json, sys

sys.path.append("bridges/torch/tests")
from opinfo import summary

package, name, out, processes = sys.argv[1:]
parts = glob.glob(f"{package}/{name}.*.json")
report = {key: answer for part in parts for key, answer in json.load(open(part)).items()}
json.dump(report, open(f"{out}/torch_{name}.json", "w"), indent=1)
for key, answer in sorted(report.items()):
    if answer["wrong"]:
        print(f"{key}: {answer['wrong'][0].splitlines()[0][:200]}")
print(f"{name}, {len(parts)} of {processes} parts ended")
print(summary(report))
sys.exit(len(parts) != int(processes))
END
}

# Networks, in strict mode: our own, and those of torchvision and transformers where these are installed.
networks() {
  timeout -k 5 240 python3 -m pytest -q -rsf -p no:cacheprovider -k "$card" bridges/torch/tests/test_models.py bridges/torch/tests/test_library_models.py
}

build || { echo "the bridge does not build"; exit 1; }
export PYTHONPATH=$python LD_LIBRARY_PATH=$libraries TORCH_DEVICE_BACKEND_AUTOLOAD=0 OMP_NUM_THREADS=1
echo "built for PyTorch $(cat "$bridge/torch_version.txt") in $SECONDS s"
card=cuda:0
device=backplane:$(python3 -c 'import backplane_torch, sys; print(backplane_torch.devices().index(sys.argv[1]))' $card) || exit 1
networks
code=$?
samples forward --dtypes float32,float64,int64,bool,bfloat16 || code=1
samples backward --dtypes float32,float64 --backward || code=1
exit $code
