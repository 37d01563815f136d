//! Who someone is: passwords, tokens, and the check of a request's token.

pub mod caller;
pub mod password;
pub mod token;
