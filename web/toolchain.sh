# Finds a way to compile for wasm32-unknown-unknown; sourced by web/build.sh and tests/run.sh, which then call
# `wasm_cargo build ...`. First choice is rustup's target; second is Debian's rustc-web, which builds std from source.
# shellcheck shell=bash

# Packages of the second route: compiler, cargo, std's source, clippy.
wasm_debian_packages="rustc-web cargo-web rust-web-src rust-web-clippy"

# True if the compiler on PATH comes with a standard library for wasm32.
wasm_has_rustup_target() {
  local lib
  lib="$(rustc --print sysroot 2>/dev/null)/lib/rustlib/wasm32-unknown-unknown/lib"
  compgen -G "$lib/libstd-*.rlib" >/dev/null
}

# True if Debian's packages are unpacked in /usr.
wasm_has_debian() {
  [ -x /usr/bin/rustc ] && [ -x /usr/bin/cargo ] && [ -d "$(/usr/bin/rustc --print sysroot)/lib/rustlib/src/rust/library/std" ]
}

# Prints a linker for wasm: the one inside rustup's toolchain, or Debian's lld.
wasm_linker() {
  local sysroot candidate
  sysroot="$(rustc --print sysroot)"
  for candidate in "$sysroot"/lib/rustlib/*/bin/rust-lld; do
    [ -x "$candidate" ] && { echo "$candidate"; return 0; }
  done
  for candidate in wasm-ld wasm-ld-{25,24,23,22,21,20,19,18,17,16,15,14}; do
    command -v "$candidate" && return 0
  done
  return 1
}

# Sets WASM_ROUTE to `rustup` or `debian`, installing the latter where that is allowed; says what is missing otherwise.
wasm_choose_route() {
  if wasm_has_rustup_target; then
    WASM_ROUTE=rustup
    return 0
  fi
  if ! wasm_has_debian && [ "$(id -u)" = 0 ] && apt-cache show rustc-web >/dev/null 2>&1; then
    echo "wasm: no wasm32 standard library beside $(command -v rustc || echo rustc); installing $wasm_debian_packages"
    # shellcheck disable=SC2086 # A list of packages.
    apt-get install -y --no-install-recommends $wasm_debian_packages >/dev/null || true
  fi
  if ! wasm_has_debian; then
    cat >&2 <<TEXT
error: no way to compile for wasm32-unknown-unknown. Either of these gives one:
  rustup target add wasm32-unknown-unknown
  apt-get install --no-install-recommends $wasm_debian_packages    (Debian 12 and later, as root)
TEXT
    return 1
  fi
  if ! WASM_LINKER="$(wasm_linker)"; then
    echo "error: no linker for wasm: rustup's toolchains bring rust-lld; otherwise install a package such as lld-22" >&2
    return 1
  fi
  WASM_ROUTE=debian
}

# Runs cargo for wasm32. The target folder is apart from the native one: the two compilers would evict each other's work.
wasm_cargo() {
  local command="$1"
  shift
  local target_dir="${CARGO_TARGET_DIR:-target}-web"
  if [ "$WASM_ROUTE" = rustup ]; then
    CARGO_TARGET_DIR="$target_dir" cargo "$command" --target wasm32-unknown-unknown "$@"
  else
    # RUSTC_BOOTSTRAP permits -Zbuild-std on a stable compiler; PATH makes cargo find the clippy of the same version.
    PATH="/usr/bin:$PATH" RUSTC=/usr/bin/rustc RUSTC_BOOTSTRAP=1 CARGO_TARGET_DIR="$target_dir" \
      CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER="$WASM_LINKER" \
      /usr/bin/cargo "$command" -Zbuild-std=std,panic_abort --target wasm32-unknown-unknown "$@"
  fi
}
