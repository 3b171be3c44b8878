#!/usr/bin/env bash
# Builds the browser edition into web/dist: `bash web/build.sh`. The result is static files for any web server.
# Environment: CARGO_TARGET_DIR (its name plus "-web" is used), HEADROOM_TOOLS (where wasm-bindgen is kept),
# HEADROOM_WASM_OPT=0 (leave the module as the compiler wrote it).
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=web/toolchain.sh
. web/toolchain.sh

max_wasm_bytes=$((16 * 1000 * 1000))
max_gzip_bytes=$((5 * 1000 * 1000))
dist=web/dist
tools="${HEADROOM_TOOLS:-${XDG_CACHE_HOME:-$HOME/.cache}/headroom/tools}"

# Prints the path of a wasm-bindgen of exactly the version of the library in Cargo.lock; any other refuses the module.
find_wasm_bindgen() {
  local version candidate
  version="$(awk '$0 == "name = \"wasm-bindgen\"" { getline; gsub(/[^0-9.]/, ""); print; exit }' Cargo.lock)"
  [ -n "$version" ] || { echo "error: Cargo.lock names no wasm-bindgen" >&2; return 1; }
  for candidate in "$(command -v wasm-bindgen || true)" "$tools/bin/wasm-bindgen"; do
    if [ -x "$candidate" ] && [ "$("$candidate" --version)" = "wasm-bindgen $version" ]; then
      echo "$candidate"
      return 0
    fi
  done
  echo "wasm-bindgen $version: not found, building it once into $tools (some minutes)" >&2
  # Without --locked: the list of versions published with the tool names releases that some mirrors no longer serve.
  CARGO_TARGET_DIR="$tools/target" cargo install --quiet wasm-bindgen-cli --version "$version" --root "$tools" >&2
  rm -rf "$tools/target"
  echo "$tools/bin/wasm-bindgen"
}

# Shrinks the module where binaryen is installed; says so where it is not.
optimise() {
  local wasm="$1" tool
  if [ "${HEADROOM_WASM_OPT:-1}" = 0 ]; then
    echo "wasm-opt: switched off by HEADROOM_WASM_OPT=0; the module stays about a quarter larger than need be"
    return 0
  fi
  tool="$(command -v wasm-opt || true)"
  for candidate in web/node_modules/.bin/wasm-opt tests/browser/node_modules/.bin/wasm-opt; do
    [ -z "$tool" ] && [ -x "$candidate" ] && tool="$candidate"
  done
  if [ -z "$tool" ]; then
    echo "wasm-opt: not installed; the module stays about a quarter larger than need be (npm install --prefix web binaryen)"
    return 0
  fi
  echo "wasm-opt: $tool (some minutes)"
  "$tool" -Os --all-features "$wasm" -o "$wasm.small"
  mv "$wasm.small" "$wasm"
}

wasm_choose_route
bindgen="$(find_wasm_bindgen)"
echo "wasm: compiling by the $WASM_ROUTE route"
wasm_cargo build --release --bin headroom

rm -rf "$dist"
mkdir -p "$dist/data/fashion-mnist" "$dist/data/austen"
"$bindgen" --target web --no-typescript --out-dir "$dist" \
  "${CARGO_TARGET_DIR:-target}-web/wasm32-unknown-unknown/release/headroom.wasm"
optimise "$dist/headroom_bg.wasm"
cp web/index.html "$dist/"
cp lessons/data/fashion-mnist/*.gz lessons/data/fashion-mnist/LICENSE* "$dist/data/fashion-mnist/"
cp lessons/data/austen/austen.txt.gz lessons/data/austen/README.md "$dist/data/austen/"

wasm_bytes="$(wc -c <"$dist/headroom_bg.wasm")"
gzip_bytes="$(gzip -9 -c "$dist/headroom_bg.wasm" | wc -c)"
echo "$dist/headroom_bg.wasm: $wasm_bytes bytes, $gzip_bytes bytes gzipped (allowed: $max_wasm_bytes and $max_gzip_bytes)"
du -h --apparent-size "$dist"/* "$dist"/data/*/*
if [ "$wasm_bytes" -gt "$max_wasm_bytes" ] || [ "$gzip_bytes" -gt "$max_gzip_bytes" ]; then
  echo "error: the module is larger than a visitor should have to load; see what grew with 'cargo bloat' or 'twiggy top'" >&2
  exit 1
fi
echo "done: bash web/serve.sh shows it"
