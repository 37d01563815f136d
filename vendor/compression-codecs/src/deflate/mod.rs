mod decoder;
mod encoder;

pub use self::{decoder::DeflateDecoder, encoder::DeflateEncoder};
