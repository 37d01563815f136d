mod decoder;
mod encoder;

pub use self::{decoder::ZlibDecoder, encoder::ZlibEncoder};
