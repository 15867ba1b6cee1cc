# The plugin in BUILD_FOLDER is found, runs every operator, and passes the suite's level 1: levels.sh BUILD_FOLDER
set -eu
export BACKPLANE_PLUGIN_PATH="$1"
backplane lint "$1/libbackplane_acme.so"
backplane devices | grep acme:0
backplane conform --device acme:0 --level 1 --out "$1/conformance"
