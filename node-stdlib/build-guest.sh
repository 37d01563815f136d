#!/bin/sh
# Builds the guest standard library: artifact/stdlib.wasm, and in artifact/SOURCES.sha256 the hash of what it was
# built from. tests/artifact.rs recomputes that hash and fails when the artifact is stale.
#
# Run it after every change to the guest's sources, and commit the artifact with them. Two branches that both
# changed it conflict in the artifact: merge the sources, then run this again; the last to land rebuilds.
#
# Needs either rustup's wasm32-unknown-unknown target, or Debian's rustc-web, rust-src and lld (no target
# installed: the standard library is then built from source). CARGO_TARGET_DIR is respected.
set -eu
cd "$(dirname "$0")"

target=wasm32-unknown-unknown
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$PWD/../target/guest}"
std=""
if ! { rustup target list --installed 2>/dev/null || true; } | grep -qx "$target"; then
    export CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER="${WASM_LD:-wasm-ld-19}"
    export RUSTC=/usr/bin/rustc RUSTC_BOOTSTRAP=1
    std="-Z build-std=std,panic_abort"
fi

# No paths of this machine in the artifact.
sources="${CARGO_HOME:-$HOME/.cargo}/registry/src"
remap=""
for index in "$sources"/*; do
    remap="$remap --remap-path-prefix=$index=crates"
done
export CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUSTFLAGS="$remap --remap-path-prefix=$(dirname "$PWD")=heddle --remap-path-prefix=/usr/lib/rustlib/src=rust"

# The stack comes first, so that overflowing it traps instead of reaching data. The pattern's module appends its
# functions to the table. An ordinary run fits into the initial memory: growing costs two system calls a run.
# shellcheck disable=SC2086 # $std is two words or none
cargo rustc --quiet -p heddle-node-stdlib --lib --crate-type cdylib --profile guest $std --target "$target" -- \
    -C link-arg=--export-table -C link-arg=--growable-table \
    -C link-arg=--stack-first -C link-arg=-zstack-size=262144 -C link-arg=--initial-memory=1572864

mkdir -p artifact
cp "$CARGO_TARGET_DIR/$target/guest/heddle_node_stdlib.wasm" artifact/stdlib.wasm
chmod 644 artifact/stdlib.wasm
# As 32 bytes, which printf writes by their octal numbers.
sha256sum artifact/stdlib.wasm | cut -c 1-64 | fold -w 2 | while read -r byte; do
    # shellcheck disable=SC2059 # the format is the byte
    printf "\\$(printf %03o "0x$byte")"
done >artifact/stdlib.wasm.sha256

# Everything that enters the guest: one line for each file as sha256sum prints it, sorted by path, hashed again.
find src Cargo.toml contract values -type f \
    ! -path contract/src/manifest.rs ! -name tests.rs ! -path '*/tests/*' |
    LC_ALL=C sort | xargs sha256sum | sha256sum | cut -d ' ' -f 1 >artifact/SOURCES.sha256

wc -c artifact/stdlib.wasm
