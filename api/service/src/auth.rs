//! Authentication: passwords, tokens, API keys, the external login, and the check of a request's token.

pub mod api_key;
pub mod caller;
pub mod cookie;
pub mod email;
pub mod external;
pub mod limits;
pub mod password;
pub(crate) mod signing;
pub mod token;
