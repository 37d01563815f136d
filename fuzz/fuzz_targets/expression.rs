//! See `targets/expression.rs`.

#![no_main]

use heddle_fuzz::targets::expression::check;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| check(data));
