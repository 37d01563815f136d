//! Why a workbook can't be read.

use crate::failure::Failure;
use heddle_contract::abi::code;

pub(super) fn broken(what: &str) -> Failure {
    Failure::new(code::PARSE, format!("This workbook can't be read: {what}."))
}
