//! Nothing but a place to compile libFuzzer in, which `fuzz/run` links with the targets.
