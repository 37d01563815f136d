mod decoder;
mod encoder;
mod header;

pub use self::{decoder::GzipDecoder, encoder::GzipEncoder};
