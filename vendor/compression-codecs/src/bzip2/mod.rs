mod decoder;
mod encoder;
pub mod params;

pub use self::{decoder::BzDecoder, encoder::BzEncoder};
