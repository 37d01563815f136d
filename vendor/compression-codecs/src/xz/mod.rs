mod decoder;
mod encoder;

pub use self::{decoder::XzDecoder, encoder::XzEncoder};
