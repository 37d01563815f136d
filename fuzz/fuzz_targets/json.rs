//! See `targets/json.rs`.

#![no_main]

use heddle_fuzz::targets::json::check;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| check(data));
