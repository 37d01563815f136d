//! What a worker may use, and how the parent tells it on the command line.

use std::fmt;
use std::str::FromStr;

/// What a worker may use. The frames' limits hold on both sides, the others are the system's for the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Address space, which bounds memory: RLIMIT_AS.
    pub address_space_bytes_max: u64,
    /// Memory that it can write to: RLIMIT_DATA. For those that reserve address space which they never use.
    pub data_bytes_max: u64,
    /// Seconds of processor time in the worker's whole life: RLIMIT_CPU.
    pub processor_seconds_max: u64,
    /// Open files and sockets: RLIMIT_NOFILE.
    pub files_max: u64,
    /// How large a file may be that it writes: RLIMIT_FSIZE.
    pub file_bytes_max: u64,
    /// How much less urgent than its parent it is: 0 to 19.
    pub niceness: u8,
    /// How large one request may be.
    pub request_bytes_max: usize,
    /// How large one answer may be.
    pub answer_bytes_max: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            address_space_bytes_max: 1 << 30,
            data_bytes_max: u64::MAX,
            processor_seconds_max: 60,
            files_max: 16,
            file_bytes_max: 0,
            niceness: 0,
            request_bytes_max: 64 << 20,
            answer_bytes_max: 64 << 20,
        }
    }
}

impl fmt::Display for Limits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{},{},{},{},{},{},{},{}",
            self.address_space_bytes_max,
            self.data_bytes_max,
            self.processor_seconds_max,
            self.files_max,
            self.file_bytes_max,
            self.niceness,
            self.request_bytes_max,
            self.answer_bytes_max
        )
    }
}

impl FromStr for Limits {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const WRONG: &str = "limits are eight numbers separated by commas";
        let mut numbers = text.split(',').map(|number| number.parse::<u64>());
        let mut next = || numbers.next().and_then(Result::ok).ok_or(WRONG);
        let limits = Limits {
            address_space_bytes_max: next()?,
            data_bytes_max: next()?,
            processor_seconds_max: next()?,
            files_max: next()?,
            file_bytes_max: next()?,
            niceness: u8::try_from(next()?).map_err(|_| WRONG)?,
            request_bytes_max: usize::try_from(next()?).map_err(|_| WRONG)?,
            answer_bytes_max: usize::try_from(next()?).map_err(|_| WRONG)?,
        };
        match numbers.next() {
            None => Ok(limits),
            Some(_) => Err(WRONG),
        }
    }
}
