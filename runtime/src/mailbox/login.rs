//! Who logs in to a mailbox, and by what.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

/// Who logs in.
#[derive(Serialize, Deserialize)]
pub(super) struct Login {
    pub user: String,
    pub proof: Proof,
}

#[derive(Serialize, Deserialize)]
pub(super) enum Proof {
    Password(Zeroizing<String>),
    Token(Zeroizing<String>),
}

/// What a token proves itself by (Google's and Microsoft's XOAUTH2).
pub(super) fn xoauth2(user: &str, token: &str) -> String {
    STANDARD.encode(format!("user={user}\u{1}auth=Bearer {token}\u{1}\u{1}"))
}
