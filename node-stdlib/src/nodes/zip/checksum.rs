//! CRC-32, as ZIP has it.

const TABLE: [u32; 256] = {
    let mut table = [0; 256];
    let mut at = 0;
    while at < 256 {
        let (mut value, mut bit) = (at as u32, 0);
        while bit < 8 {
            value = if value & 1 == 1 {
                value >> 1 ^ 0xedb8_8320
            } else {
                value >> 1
            };
            bit += 1;
        }
        table[at] = value;
        at += 1;
    }
    table
};

/// A checksum that goes on.
#[derive(Clone, Copy)]
pub(super) struct Checksum(u32);

impl Checksum {
    pub fn new() -> Self {
        Checksum(u32::MAX)
    }

    pub fn add(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = self.0 >> 8 ^ TABLE[usize::from(self.0 as u8 ^ byte)];
        }
    }

    pub fn value(self) -> u32 {
        !self.0
    }
}
