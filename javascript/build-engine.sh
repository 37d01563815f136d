#!/bin/sh
# Builds the JavaScript engine: artifact/engine.wasm, and in artifact/SOURCES.sha256 the hash of all that it was built
# from (.ci/artifact-inputs). A test, a git hook and .ci/artifacts compare these.
#
# Three steps: engine/ (Rust) with QuickJS-ng (C, from the crate rquickjs-sys) to Wasm without WASI; its
# initialisation executed once and the memory kept (tools/preinitialise.rs); the hash.
#
# The tools are pinned, see .ci/toolchain: Debian's rustc-web builds the standard library from rust-web-src, its clang
# the C. CARGO_TARGET_DIR is respected.
set -eu
cd "$(dirname "$0")"
packages="rustc-web rust-web-src clang-19 lld-19 llvm-19"
# shellcheck source=../.ci/toolchain
. ../.ci/toolchain

target=wasm32-unknown-unknown
# The tool is built as tests are, wasmtime with it, and shares their folder.
tools="${CARGO_TARGET_DIR:-$PWD/../target}"
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$PWD/../target/engine}"
export CC_wasm32_unknown_unknown=clang-19
# The same instructions as Rust's ($wasm_flags): this compiler has them not by default.
export CFLAGS_wasm32_unknown_unknown="-msimd128 -mnontrapping-fptoint -mno-bulk-memory"
export AR_wasm32_unknown_unknown=llvm-ar-19
export CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER=wasm-ld-19
unset RUSTFLAGS CARGO_ENCODED_RUSTFLAGS RUSTC_WRAPPER CFLAGS

# No paths of the machine that built it.
sources="${CARGO_HOME:-$HOME/.cargo}/registry/src"
flags="$wasm_flags --remap-path-prefix=$(dirname "$PWD")=heddle"
for index in "$sources"/*; do
    flags="$flags --remap-path-prefix=$index=crates"
done
export CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUSTFLAGS="$flags --remap-path-prefix=/usr/lib/rustlib/src=rust"

# The stack comes first, so that overflowing it traps instead of reaching data. It is larger than what QuickJS may
# use of it (STACK_BYTES_MAX in engine/src/realm.rs).
RUSTC=/usr/bin/rustc RUSTC_BOOTSTRAP=1 cargo rustc --quiet --locked -p heddle-javascript-engine --lib \
    --crate-type cdylib --profile guest -Z build-std=std,panic_abort --target "$target" -- \
    -C link-arg=--stack-first -C link-arg=-zstack-size=524288 -C link-arg=--export=__stack_pointer

CARGO_TARGET_DIR="$tools" cargo build --quiet --locked --workspace --example preinitialise
"$tools/debug/examples/preinitialise" "$CARGO_TARGET_DIR/$target/guest/heddle_javascript_engine.wasm" "$out/engine.wasm"
chmod 644 "$out/engine.wasm"

if [ "$out" = artifact ]; then
    ../.ci/artifact-inputs engine >artifact/SOURCES.sha256
fi

wc -c "$out/engine.wasm"
