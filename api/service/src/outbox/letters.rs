//! The texts of the service's letters. What others have chosen, such as a workspace's name, can't become a link in them.

use heddle_runtime::Letter;

/// Characters of a name in a letter.
const NAME_CHARS_MAX: usize = 60;

/// An invitation to a workspace.
pub fn invitation(to: &str, by: &str, workspace: &str, link: &str) -> Letter {
    let workspace = shown(workspace);
    Letter {
        to: to.to_owned(),
        subject: format!("Invitation to the workspace {workspace} on heddle"),
        text: format!(
            "{by} invites you to the workspace {workspace} on heddle, where workflows are drawn and run.\n\n\
             To join, open this link within 30 days:\n\n{link}\n\n\
             If you don't know who this is, you can ignore this message.\n"
        ),
    }
}

/// A link for another password. With an address that was not verified before, it ends all other access to the account.
pub fn reset(to: &str, is_verified: bool, link: &str) -> Letter {
    let warning = match is_verified {
        true => "",
        false => {
            "This address is not verified yet: setting a password by the link verifies it, and ends all other access to \
             the account. Its API keys and its authenticator are removed, others leave the workspaces that it made, and \
             its deployments are paused. If you are signed in, verify the address first, and all of that stays.\n\n"
        }
    };
    Letter {
        to: to.to_owned(),
        subject: "A new password for heddle".to_owned(),
        text: format!(
            "Somebody asked for a new password for your account on heddle.\n\n\
             To set one, open this link within an hour:\n\n{link}\n\n{warning}\
             If this was not you, you can ignore this message: your password stays as it is.\n"
        ),
    }
}

/// For somebody who asks for another password and has none.
pub fn no_password(to: &str, page: &str) -> Letter {
    Letter {
        to: to.to_owned(),
        subject: "Your account on heddle has no password".to_owned(),
        text: format!(
            "Somebody asked for a new password for your account on heddle. It has none: you sign in through your \
             login provider, at\n\n{page}\n\nIf this was not you, you can ignore this message.\n"
        ),
    }
}

/// A link to verify an address.
pub fn verification(to: &str, link: &str) -> Letter {
    Letter {
        to: to.to_owned(),
        subject: "Verify your email address for heddle".to_owned(),
        text: format!(
            "Your email address was given for an account on heddle.\n\n\
             If that was you, open this link within a day, in the browser where you are signed in:\n\n{link}\n\n\
             If this was not you, you can ignore this message: without you, the address stays unverified.\n"
        ),
    }
}

/// A name without what mail programs would make a link of, and in one line.
fn shown(name: &str) -> String {
    let kept = name.chars().take(NAME_CHARS_MAX).map(|c| match c {
        c if c.is_alphanumeric() || matches!(c, ' ' | '\'' | '’' | '-' | '&' | '(' | ')') => c,
        _ => ' ',
    });
    let kept: String = kept.collect();
    format!("“{}”", kept.split_whitespace().collect::<Vec<_>>().join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_letter_says_what_a_new_password_ends() {
        for is_verified in [true, false] {
            let letter = reset("ann@example.com", is_verified, "http://here/reset-password#x");
            assert_eq!(!letter.text.contains("API keys"), is_verified, "{}", letter.text);
        }
    }

    #[test]
    fn a_workspace_has_no_link_in_its_name() {
        for (name, expected) in [
            ("Ann's workspace", "“Ann's workspace”"),
            (
                "Win at https://evil.example/x now",
                "“Win at https evil example x now”",
            ),
            ("a\r\nBcc: b@evil.example", "“a Bcc b evil example”"),
        ] {
            let letter = invitation("bob@example.com", "ann@example.com", name, "http://here/join#x");
            assert_eq!(
                letter.subject,
                format!("Invitation to the workspace {expected} on heddle")
            );
            assert!(letter.text.contains(expected), "{}", letter.text);
        }
    }
}
