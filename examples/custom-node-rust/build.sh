#!/bin/sh
# Builds check-iban.wasm, and SOURCES.sha256, the hash of what it was built from: a test fails when it is stale.
#
# Needs rustup's target wasm32-wasip2, which makes components by itself; or Debian's rustc-web, rust-web-src and lld-19
# (no target installed: the standard library is then built from source) with wasm-tools.
set -eu
cd "$(dirname "$0")/node"

export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$PWD/target}"
out="$PWD/../check-iban.wasm"
# No paths of this machine in the component.
remap="--remap-path-prefix=$PWD=node --remap-path-prefix=/usr/lib/rustlib/src/rust=rust"
for index in "${CARGO_HOME:-$HOME/.cargo}"/registry/src/*; do
    remap="$remap --remap-path-prefix=$index=crates"
done
export RUSTFLAGS="$remap"
if { rustup target list --installed 2>/dev/null || true; } | grep -qx wasm32-wasip2; then
    cargo build --release --target wasm32-wasip2
    cp "$CARGO_TARGET_DIR/wasm32-wasip2/release/check_iban.wasm" "$out"
else
    CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER="${WASM_LD:-wasm-ld-19}" RUSTC=/usr/bin/rustc RUSTC_BOOTSTRAP=1 \
        cargo build --release -Z build-std=std,panic_abort --target wasm32-unknown-unknown
    ${WASM_TOOLS:-wasm-tools} component new \
        "$CARGO_TARGET_DIR/wasm32-unknown-unknown/release/check_iban.wasm" -o "$out"
fi

cat Cargo.toml Cargo.lock src/lib.rs ../../../wit/node.wit | sha256sum | cut -d ' ' -f 1 >../SOURCES.sha256
wc -c "$out"
