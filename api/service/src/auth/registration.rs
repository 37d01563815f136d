//! Who may make an account. Knows nothing of how.

use crate::auth::email::domain;
use heddle_model::error::{Code, ServiceError};
use serde::Serialize;
use utoipa::ToSchema;

/// Who may make an account.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
#[schema(as = RegistrationMode)]
pub enum Mode {
    /// Anybody.
    #[default]
    Open,
    /// Whoever has an invitation's link.
    Invitation,
    /// Whoever reads the mail of an address in one of the domains, or has an invitation's link.
    Domains,
    /// Nobody but the operator, for others.
    Closed,
}

heddle_model::names!(Mode: Open = "open", Invitation = "invitation", Domains = "domains", Closed = "closed");

/// Who may make an account, and of which domains.
#[derive(Clone, Debug, Default)]
pub struct Registration {
    /// Who.
    pub mode: Mode,
    /// In lower case; with [`Mode::Domains`] only.
    pub domains: Vec<String>,
}

impl Registration {
    /// Whether somebody with this address may make an account, with an invitation's link or without.
    pub fn admits(&self, email: &str, is_invited: bool) -> Result<(), ServiceError> {
        match self.mode {
            Mode::Open => Ok(()),
            Mode::Closed => Err(Code::RegistrationClosed.into()),
            Mode::Invitation | Mode::Domains if is_invited => Ok(()),
            Mode::Invitation => Err(Code::InvitationRequired.into()),
            Mode::Domains if self.has_domain_of(email) => Ok(()),
            Mode::Domains => Err(Code::EmailDomainNotAllowed.into()),
        }
    }

    /// Whether only those sign in by a password whose address is verified: by what they call themselves, anybody would be of
    /// any domain.
    pub fn needs_verified(&self) -> bool {
        self.mode == Mode::Domains
    }

    fn has_domain_of(&self, email: &str) -> bool {
        let domain = domain(email).to_ascii_lowercase();
        self.domains.contains(&domain)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(mode: Mode, email: &str, is_invited: bool) -> Option<Code> {
        let registration = Registration {
            mode,
            domains: vec!["example.com".to_owned()],
        };
        let admitted = registration.admits(email, is_invited);
        admitted.err().map(|error| error.code())
    }

    #[test]
    fn each_mode_admits_whom_it_says() {
        for (mode, email, is_invited, refused) in [
            (Mode::Open, "ann@anywhere.org", false, None),
            (
                Mode::Closed,
                "ann@example.com",
                true,
                Some(Code::RegistrationClosed),
            ),
            (
                Mode::Invitation,
                "ann@example.com",
                false,
                Some(Code::InvitationRequired),
            ),
            (Mode::Invitation, "ann@anywhere.org", true, None),
            (Mode::Domains, "ann@Example.COM", false, None),
            (Mode::Domains, "ann@anywhere.org", true, None),
            (
                Mode::Domains,
                "ann@sub.example.com",
                false,
                Some(Code::EmailDomainNotAllowed),
            ),
            (
                Mode::Domains,
                "ann@notexample.com",
                false,
                Some(Code::EmailDomainNotAllowed),
            ),
        ] {
            assert_eq!(code(mode, email, is_invited), refused, "{mode:?} {email}");
        }
    }
}
