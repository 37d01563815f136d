#!/bin/sh
# Builds the JavaScript engine: artifact/engine.wasm, and in artifact/SOURCES.sha256 the hash of what it was built
# from. tests/artifact.rs recomputes that hash and fails when the artifact is stale.
#
# Three steps: engine/ (Rust) with QuickJS-ng (C, from the crate rquickjs-sys) to Wasm without WASI; its
# initialisation executed once and the memory kept (tools/preinitialise.rs); the hash. The same sources and
# compilers give the same bytes.
#
# Needs clang-19, llvm-19 and lld-19, and either rustup's wasm32-unknown-unknown target or Debian's rustc-web and
# rust-src (the standard library is then built from source). CARGO_TARGET_DIR is respected.
set -eu
cd "$(dirname "$0")"

target=wasm32-unknown-unknown
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$PWD/../target/engine}"
export CC_wasm32_unknown_unknown="${CLANG:-clang-19}"
export AR_wasm32_unknown_unknown="${LLVM_AR:-llvm-ar-19}"
export CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER="${WASM_LD:-wasm-ld-19}"

# No paths of the machine that built it.
sources="${CARGO_HOME:-$HOME/.cargo}/registry/src"
flags="--remap-path-prefix=$(dirname "$PWD")=heddle"
for index in "$sources"/*; do
    flags="$flags --remap-path-prefix=$index=crates"
done
export CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUSTFLAGS="$flags --remap-path-prefix=/usr/lib/rustlib/src=rust"

# The stack comes first, so that overflowing it traps instead of reaching data. It is larger than what QuickJS may
# use of it (STACK_BYTES_MAX in engine/src/realm.rs).
build() {
    cargo rustc --quiet --locked -p heddle-javascript-engine --lib --crate-type cdylib --profile guest "$@" \
        --target "$target" -- -C link-arg=--stack-first -C link-arg=-zstack-size=524288 \
        -C link-arg=--export=__stack_pointer
}
if { rustup target list --installed 2>/dev/null || true; } | grep -qx "$target"; then
    build
else
    RUSTC=/usr/bin/rustc RUSTC_BOOTSTRAP=1 build -Z build-std=std,panic_abort
fi

mkdir -p artifact
cargo run --quiet --locked -p heddle-javascript --example preinitialise -- \
    "$CARGO_TARGET_DIR/$target/guest/heddle_javascript_engine.wasm" artifact/engine.wasm
chmod 644 artifact/engine.wasm

# Everything that enters the engine: one line for each file as sha256sum prints it, sorted by path, hashed again.
find engine src tools build-engine.sh -type f | LC_ALL=C sort | xargs sha256sum | sha256sum | cut -d ' ' -f 1 \
    >artifact/SOURCES.sha256

wc -c artifact/engine.wasm
