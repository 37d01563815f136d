//! An error as a connector tells it.

use heddle_sandbox::{EffectCode, EffectError};
use serde::{Deserialize, Serialize};

/// Why a connector did not do what it should.
#[derive(Serialize, Deserialize)]
pub struct Failure {
    code: String,
    message: String,
}

impl From<EffectError> for Failure {
    fn from(error: EffectError) -> Self {
        Failure {
            code: error.code.to_string(),
            message: error.message,
        }
    }
}

impl Failure {
    /// The error, if its code is one of these; an internal one otherwise.
    pub fn into_error(self, codes: &[EffectCode]) -> EffectError {
        let given = EffectCode::from(self.code.as_str());
        let code = if codes.contains(&given) {
            given
        } else {
            EffectCode::Internal
        };
        EffectError::new(code, self.message)
    }
}
