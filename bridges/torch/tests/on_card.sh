#!/usr/bin/env bash
# PyTorch's samples and small networks on a card, through a bridge that is built here for the PyTorch of this machine.
#   on_card.sh PACKAGE LIBRARIES OUT     what bench/gpu.sh unpacked, the folders of its libraries, where reports go
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../../.." || exit 1
package=$1 libraries=$2 out=$3
python=$package/python bridge=$package/python/backplane_torch
processes=$(nproc)

build() {
  local torch rooms= objects=$package/bridge
  torch=$(python3 -c 'import importlib.util as u; print(u.find_spec("torch").submodule_search_locations[0])') || return 1
  for room in tensor state runtime dispatcher loading tuning capture core_ops tracing autograd nn optim amp functional application serialize data sdk; do
    rooms="$rooms -I$room/include"
  done
  mkdir -p "$objects" "$bridge"
  flags="-std=c++20 -O1 -DNDEBUG -fPIC -fvisibility=hidden -w -Ibridges/torch -Ibridges/torch/source -Ibridges/common $rooms
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
  python3 - "$package" "$name" "$out" <<'END'
import glob, json, sys

sys.path.append("bridges/torch/tests")
from opinfo import summary

package, name, out = sys.argv[1:]
parts = glob.glob(f"{package}/{name}.*.json")
report = {key: answer for part in parts for key, answer in json.load(open(part)).items()}
json.dump(report, open(f"{out}/torch_{name}.json", "w"), indent=1)
for key, answer in sorted(report.items()):
    if answer["wrong"]:
        print(f"{key}: {answer['wrong'][0].splitlines()[0][:200]}")
print(f"{name}, {len(parts)} parts ended")
print(summary(report))
END
}

# Networks, in strict mode: our own, and those of torchvision and transformers where these are installed.
networks() {
  HF_HUB_OFFLINE=1 timeout -k 5 200 python3 - "$device" <<'END'
import sys

sys.path.append("bridges/torch/tests")
import backplane_torch
import models

device, failed = sys.argv[1], 0
backplane_torch.set_strict()


def check(name, compare):
    global failed
    try:
        print(f"{name}: {compare()}")
    except Exception as error:
        print(f"{name}: WRONG, {type(error).__name__}: {str(error)[:300]}")
        failed += 1


def losses(module, name):
    expected, ours = module.train(name, "cpu")[0], module.train(name, device)[0]
    furthest = max(abs(a - b) for a, b in zip(expected, ours))
    assert furthest < 1e-4, f"losses of three steps differ by {furthest:.1e}"
    return f"losses of three steps differ by {furthest:.1e}"


def words(module, name):
    expected, ours = module.generate(name, "cpu"), module.generate(name, device)
    assert ours == expected, f"{ours} and not {expected}"
    return f"{sum(map(len, expected))} words are the CPU's"


for name in ("resnet18", "bert", "gpt", "lstm", "gru"):
    check(f"our {name}", lambda: losses(models, name))
try:
    import library_models
except ImportError as error:
    print(f"without the libraries' models: {error}")
else:
    for name in ("resnet18", "resnet50", "vit_b_16", "lstm", "bert", "gpt2", "llama", "t5", "whisper"):
        check(name, lambda: losses(library_models, name))
    for name in ("gpt2", "llama", "t5", "whisper"):
        check(f"{name} generates", lambda: words(library_models, name))
sys.exit(failed > 0)
END
}

build || { echo "the bridge does not build"; exit 1; }
export PYTHONPATH=$python LD_LIBRARY_PATH=$libraries TORCH_DEVICE_BACKEND_AUTOLOAD=0 OMP_NUM_THREADS=1
echo "built for PyTorch $(cat "$bridge/torch_version.txt") in $SECONDS s"
device=backplane:$(python3 -c 'import backplane_torch; print(backplane_torch.devices().index("cuda:0"))') || exit 1
networks
code=$?
samples forward --dtypes float32,float64,int64,bool,bfloat16 || code=1
samples backward --dtypes float32,float64 --backward || code=1
exit $code
