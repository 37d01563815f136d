#!/bin/sh
# Builds the guest standard library: artifact/stdlib.wasm and its SHA-256, and in artifact/SOURCES.sha256 the hash of
# all that it was built from (.ci/artifact-inputs). A test, a git hook and .ci/artifacts compare these.
#
# Run it after every change to the guest's sources, and commit the artifact with them. Two branches that both
# changed it conflict in the artifact: merge the sources, then run this again; the last to land rebuilds.
#
# The tools are pinned, see .ci/toolchain: Debian's rustc-web builds the standard library from rust-web-src.
# CARGO_TARGET_DIR is respected.
set -eu
cd "$(dirname "$0")"
packages="rustc-web rust-web-src lld-19"
# shellcheck source=../.ci/toolchain
. ../.ci/toolchain

target=wasm32-unknown-unknown
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$PWD/../target/guest}"
export CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER=wasm-ld-19
export RUSTC=/usr/bin/rustc RUSTC_BOOTSTRAP=1
unset RUSTFLAGS CARGO_ENCODED_RUSTFLAGS RUSTC_WRAPPER

# No paths of this machine in the artifact.
sources="${CARGO_HOME:-$HOME/.cargo}/registry/src"
remap=""
for index in "$sources"/*; do
    remap="$remap --remap-path-prefix=$index=crates"
done
export CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUSTFLAGS="$wasm_flags $remap --remap-path-prefix=$(dirname "$PWD")=heddle --remap-path-prefix=/usr/lib/rustlib/src=rust"

# The stack comes first, so that overflowing it traps instead of reaching data. The pattern's module appends its
# functions to the table. An ordinary run fits into the initial memory: growing costs two system calls a run.
cargo rustc --quiet --locked -p heddle-node-stdlib --lib --crate-type cdylib --profile guest \
    -Z build-std=std,panic_abort --target "$target" -- \
    -C link-arg=--export-table -C link-arg=--growable-table \
    -C link-arg=--stack-first -C link-arg=-zstack-size=262144 -C link-arg=--initial-memory=1572864

cp "$CARGO_TARGET_DIR/$target/guest/heddle_node_stdlib.wasm" "$out/stdlib.wasm"
chmod 644 "$out/stdlib.wasm"
# As 32 bytes, which printf writes by their octal numbers.
sha256sum "$out/stdlib.wasm" | cut -c 1-64 | fold -w 2 | while read -r byte; do
    # shellcheck disable=SC2059 # the format is the byte
    printf "\\$(printf %03o "0x$byte")"
done >"$out/stdlib.wasm.sha256"
if [ "$out" = artifact ]; then
    ../.ci/artifact-inputs guest >artifact/SOURCES.sha256
fi

wc -c "$out/stdlib.wasm"
