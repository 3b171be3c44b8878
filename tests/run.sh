#!/usr/bin/env bash
# The test command: `bash tests/run.sh`. Installs what it needs where it may, then checks everything, fastest first, and
# stops at the first stage that fails. `bash tests/run.sh STAGE ...` runs the named stages only.
# Environment: CARGO_TARGET_DIR, CHROMIUM, HEADROOM_SHOTS; NO_INSTALL=1 installs nothing and only says what is missing.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=web/toolchain.sh
. web/toolchain.sh

stages=(format tidy clippy clippy_wasm tests web browser window)
target="$(realpath -m "${CARGO_TARGET_DIR:-target}")"
log_dir="$target/test-logs"
HEADROOM_SHOTS="$(realpath -m "${HEADROOM_SHOTS:-$target/browser-shots}")"
export HEADROOM_SHOTS
# The software GPU compiles every kernel at its first use; keeping the results saves minutes in the next run.
export MESA_SHADER_CACHE_DIR="${MESA_SHADER_CACHE_DIR:-$target/mesa-shader-cache}"
passed=0
failed=0
gpu_tests=0
gpu_adapters=""

# ---- Installing ----------------------------------------------------------------------------------------------------

# Prints the Debian packages that are needed and absent; each is known by a file it brings.
missing_packages() {
  compgen -G "/usr/share/vulkan/icd.d/*.json" >/dev/null || echo mesa-vulkan-drivers
  compgen -G "/usr/lib/*/libvulkan.so.1" >/dev/null || compgen -G "/usr/lib*/libvulkan.so.1" >/dev/null || echo libvulkan1
  [ -x "${CHROMIUM:-/usr/bin/chromium}" ] || [ -x /usr/bin/google-chrome ] || [ -x /usr/bin/chromium-browser ] || echo chromium
  command -v xvfb-run >/dev/null || echo "xvfb xauth"
  command -v import >/dev/null || echo imagemagick
  command -v npm >/dev/null || echo "nodejs npm"
  if ! wasm_has_rustup_target; then
    wasm_has_debian || echo rustc-web cargo-web rust-web-src
    [ -x /usr/bin/cargo-clippy ] || echo rust-web-clippy
  fi
}

install_needs() {
  local packages
  command -v cargo >/dev/null || { echo "error: no Rust: see https://rustup.rs; version 1.95 or later is needed" >&2; return 1; }
  packages="$(missing_packages | tr '\n' ' ')"
  if [ -n "${packages// /}" ]; then
    if [ "${NO_INSTALL:-0}" = 1 ] || [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
      echo "error: missing, and not installed by this script (it needs root and apt-get): $packages" >&2
      echo "On Debian: sudo apt-get install --no-install-recommends $packages" >&2
      echo "For wasm, 'rustup target add wasm32-unknown-unknown' replaces the packages with -web- in their names." >&2
      return 1
    fi
    echo "installing: $packages"
    DEBIAN_FRONTEND=noninteractive apt-get update -qq
    # shellcheck disable=SC2086 # A list of packages.
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $packages >/dev/null
  fi
  if ! cmp -s tests/browser/package-lock.json tests/browser/node_modules/.installed-lock; then
    (cd tests/browser && npm ci --no-audit --no-fund)
    cp tests/browser/package-lock.json tests/browser/node_modules/.installed-lock
  fi
}

# ---- Stages --------------------------------------------------------------------------------------------------------

stage_format() { cargo fmt --check && passed=$((passed + 1)); }

# Compiled by itself: the rules read files and need none of the dependencies, so this takes seconds.
stage_tidy() {
  CARGO_MANIFEST_DIR="$PWD" rustc --test --edition 2024 -D warnings tests/tidy.rs -o "$log_dir/tidy"
  RUST_BACKTRACE=0 "$log_dir/tidy" --quiet >"$log_dir/tidy.log" 2>&1 || { cat "$log_dir/tidy.log"; return 1; }
  # Counted as one: the same tests run and count again with all others.
  grep '^test result' "$log_dir/tidy.log" && passed=$((passed + 1))
}

stage_clippy() { cargo clippy --release --all-targets -- -D warnings && passed=$((passed + 1)); }

# The browser's ban list first has to refuse a piece of code that breaks it; a list nobody reads passes everything.
stage_clippy_wasm() {
  local probe="$log_dir/banned.rs" driver=clippy-driver
  printf '%s\n' '//! Breaks the ban list on purpose.' \
    'pub fn probe() { std::thread::sleep(std::time::Instant::now().elapsed()); }' >"$probe"
  if CLIPPY_CONF_DIR="$PWD/web/clippy" "$driver" --edition 2024 --crate-type lib --emit metadata -D warnings \
    --out-dir "$log_dir" "$probe" 2>"$log_dir/banned.log"; then
    echo "error: web/clippy/clippy.toml lets std::time::Instant::now and std::thread::sleep pass" >&2
    return 1
  fi
  for word in std::thread::sleep std::time::Instant::now; do
    grep -q "disallowed method .$word" "$log_dir/banned.log" || { cat "$log_dir/banned.log"; return 1; }
  done
  wasm_choose_route
  CLIPPY_CONF_DIR="$PWD/web/clippy" wasm_cargo clippy --release --lib --bins -- -D warnings
  passed=$((passed + 1))
}

stage_tests() {
  local log="$log_dir/cargo-test.log" status=0
  # --show-output keeps each test's lines together, which the adapter count below reads.
  cargo test --release --no-fail-fast -- --show-output >"$log" 2>&1 || status=$?
  grep -E '^(test result:|     Running |   Doc-tests |test .* (FAILED|ignored)|error(\[|:))' "$log" || true
  count_results "$log"
  # A test may open several engines; it counts once. What stands after a slash is a case of it.
  gpu_tests="$(grep -oE '\[gpu\] [A-Za-z0-9_]+' "$log" | sort -u | wc -l || true)"
  gpu_adapters="$(sed -nE 's/.*\[gpu\] .+ on (.+ \([^)]*\)).*/\1/p' "$log" | sort -u | paste -sd ';' | sed 's/;/; /g')"
  if [ "$status" != 0 ]; then
    sed -n '/^failures:$/,/^test result/p;/^error/,/^$/p' "$log" | head -n 300
    echo "the whole output is in $log" >&2
    return 1
  fi
  echo "GPU tests: $gpu_tests (${gpu_adapters:-no adapter})"
  if [ "$gpu_tests" = 0 ]; then
    echo "error: no test ran on a GPU adapter; 'headroom gpu' lists what this machine offers" >&2
    return 1
  fi
}

stage_web() { bash web/build.sh && passed=$((passed + 1)); }

stage_browser() {
  local log="$log_dir/browser.log" status=0
  [ -x "$target/release/headroom" ] || cargo build --release --bin headroom
  (cd tests/browser && node --test checks.test.mjs) >"$log_dir/browser-checks.log" 2>&1 || { cat "$log_dir/browser-checks.log"; return 1; }
  passed=$((passed + 1))
  HEADROOM_BIN="$target/release/headroom" node tests/browser/run.mjs 2>&1 | tee "$log" || status=$?
  passed=$((passed + $(sed -nE 's/^browser: ([0-9]+) passed.*/\1/p' "$log" | tail -n 1 | grep . || echo 0)))
  failed=$((failed + $(sed -nE 's/^browser: .* ([0-9]+) failed/\1/p' "$log" | tail -n 1 | grep . || echo 0)))
  return "$status"
}

# The desktop app has to open, stay and draw more than a blank window on a virtual screen.
stage_window() {
  local shot="$HEADROOM_SHOTS/window.png"
  [ -x "$target/release/headroom" ] || cargo build --release --bin headroom
  mkdir -p "$HEADROOM_SHOTS"
  # shellcheck disable=SC2016 # Expanded by the inner shell.
  xvfb-run -a -s "-screen 0 1400x900x24" bash -c '
    "$1" & app=$!
    for _ in $(seq 30); do
      sleep 1
      kill -0 "$app" 2>/dev/null || { wait "$app"; echo "error: the app ended by itself with exit code $?" >&2; exit 1; }
      import -window root "$2"
      # A blank screen has one colour; text on a plain ground has dozens.
      colours="$(identify -format %k "$2")"
      if [ "$colours" -ge 50 ]; then
        echo "the window shows $colours colours: $2"
        kill "$app"
        wait "$app" 2>/dev/null
        exit 0
      fi
    done
    echo "error: after 30 s the screen has only $colours colours: $2" >&2
    kill "$app"
    exit 1' window "$target/release/headroom" "$shot"
  passed=$((passed + 1))
}

# Adds up the "test result" lines of a test program's output.
count_results() {
  local sums
  sums="$(sed -nE 's/^test result: .* ([0-9]+) passed; ([0-9]+) failed.*/\1 \2/p' "$1" | awk '{ p += $1; f += $2 } END { print p + 0, f + 0 }')"
  passed=$((passed + ${sums% *}))
  failed=$((failed + ${sums#* }))
}

# ---- Running them --------------------------------------------------------------------------------------------------

finish() {
  echo
  [ "$gpu_tests" = 0 ] || echo "GPU tests: $gpu_tests ($gpu_adapters)"
  echo "total: $SECONDS s"
  echo "$passed passed, $failed failed"
}

wanted=("$@")
[ "$#" -gt 0 ] || wanted=("${stages[@]}")
for stage in "${wanted[@]}"; do
  case " ${stages[*]} " in
    *" $stage "*) ;;
    *) echo "error: no stage '$stage'; there are: ${stages[*]}" >&2; exit 2 ;;
  esac
done
mkdir -p "$log_dir"
install_needs
for stage in "${wanted[@]}"; do
  begin=$SECONDS
  echo
  echo "== $stage"
  # Not in a condition: bash ignores `set -e` inside one, and a stage has to stop at its first failing line.
  failed_before=$failed
  trap 'echo "== $stage: FAILED after $((SECONDS - begin)) s"; [ "$failed" -gt "$failed_before" ] || failed=$((failed + 1)); finish; exit 1' ERR
  set -E
  "stage_$stage"
  trap - ERR
  echo "== $stage: ok, $((SECONDS - begin)) s"
done
finish
