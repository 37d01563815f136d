//! JSON lines: a value in each line.

use super::format::{RECORD_BYTES_MAX, Take};
use crate::failure::{Failure, unreadable};
use heddle_contract::abi::code;
use heddle_values::{JSON_DEPTH_MAX, parse_json};

/// Reads lines of which pieces may have been cut anywhere.
#[derive(Default)]
pub(super) struct Lines {
    /// The beginning of a line that has not ended.
    begun: String,
    /// Lines that have ended.
    ended: u64,
}

impl Lines {
    pub fn feed(&mut self, text: &str, is_last: bool, take: Take<'_>) -> Result<(), Failure> {
        let mut rest = text;
        while let Some((line, after)) = rest.split_once('\n') {
            rest = after;
            let wanted = match self.begun.is_empty() {
                true => read(line, self.ended, take)?,
                false => {
                    self.begun.push_str(line);
                    read(&std::mem::take(&mut self.begun), self.ended, take)?
                }
            };
            self.ended += 1;
            if !wanted {
                return Ok(());
            }
        }
        self.begun.push_str(rest);
        if self.begun.len() > RECORD_BYTES_MAX {
            let message = format!(
                "Line {} is longer than {} MiB: is the file JSON lines, with a value in each line?",
                self.ended + 1,
                RECORD_BYTES_MAX >> 20
            );
            return Err(Failure::new(code::PARSE, message));
        }
        if is_last {
            read(&std::mem::take(&mut self.begun), self.ended, take)?;
        }
        Ok(())
    }
}

fn read(line: &str, before: u64, take: Take<'_>) -> Result<bool, Failure> {
    let line = line.trim();
    if line.is_empty() {
        return Ok(true);
    }
    let value = parse_json(line.as_bytes(), JSON_DEPTH_MAX).map_err(|error| {
        let wrong = if error.too_deep {
            "is"
        } else {
            "is not valid JSON:"
        };
        let message = format!(
            "Line {} of the file {wrong} {}, at byte {} of the line.",
            before + 1,
            error.message,
            error.offset
        );
        Failure::new(unreadable(&error, code::PARSE), message)
    })?;
    take(value)
}
