//! `heddle user`: accounts, from the server's own machine.

mod lookup;
mod removal;

use super::failure::{Exit, Failure};
use super::output;
use super::serve;
use super::settings::gathered;
use crate::config::sources::Flags;
use crate::config::{Config, settings};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use clap::{Args, Subcommand};
use heddle_model::access::Role;
use heddle_model::audit::{Action as AuditAction, Object, Origin};
use heddle_model::clock::Clock;
use heddle_model::ids::UserId;
use heddle_service::auth::password;
use heddle_service::one_time_links;
use heddle_store::accounts::{self, UserRow};
use heddle_store::{Db, Store, StoreError, account_tokens, audit, authenticators, credentials};
use lookup::{broken, find, nobody};
use serde_json::json;
use std::io::BufRead;
use std::process::ExitCode;

/// Flags of `heddle user`.
#[derive(Args, Debug)]
pub struct UserArgs {
    #[command(subcommand)]
    action: Action,
    /// Print JSON.
    #[arg(long, global = true)]
    pub json: bool,
    #[command(flatten)]
    settings: Flags,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Register a user. Without --password-stdin a password is generated and printed.
    Create {
        /// The user's email address.
        email: String,
        /// The user's first name.
        #[arg(long, default_value = "New")]
        first_name: String,
        /// The user's last name.
        #[arg(long, default_value = "User")]
        last_name: String,
        /// Read the password from standard input.
        #[arg(long)]
        password_stdin: bool,
        /// Give the role admin.
        #[arg(long)]
        admin: bool,
    },
    /// Give a user the role admin.
    Promote {
        /// The user's email address.
        email: String,
    },
    /// Mark a user's email as verified, because you know that it is theirs.
    Verify {
        /// The user's email address.
        email: String,
    },
    /// Disable a user: their password, tokens and API keys stop working. Their deployments continue.
    Disable {
        /// The user's email address.
        email: String,
    },
    /// Enable a disabled user. Their tokens remain revoked; their password and API keys work again.
    Enable {
        /// The user's email address.
        email: String,
    },
    /// Set a new password for a user and revoke all their tokens. Without --password-stdin a password is generated and
    /// printed; with --link nothing changes yet, and a link is printed by which the user sets one.
    ResetPassword {
        /// The user's email address.
        email: String,
        /// Read the password from standard input.
        #[arg(long)]
        password_stdin: bool,
        /// Print a link instead, valid once and for an hour.
        #[arg(long, conflicts_with_all = ["password_stdin", "delete_api_keys"])]
        link: bool,
        /// Also delete their API keys, which otherwise remain valid.
        #[arg(long)]
        delete_api_keys: bool,
    },
    /// Remove a user's authenticator and recovery codes: signing in asks for the password alone.
    RemoveAuthenticator {
        /// The user's email address.
        email: String,
    },
    /// Remove a user for good, with workspaces that have no other member. Without --yes it only says what would go.
    Remove {
        /// The user's email address.
        email: String,
        /// Remove them.
        #[arg(long)]
        yes: bool,
    },
    /// List all users.
    List,
}

/// Runs the command.
pub fn user(args: &UserArgs) -> Result<ExitCode, Failure> {
    let values = gathered(&args.settings)?;
    let config = settings::read(&values)?;
    for path in &config.keys_made {
        output::note(&format!(
            "generated a key, readable only by this user: {}",
            path.display()
        ));
    }
    serve::with_store(&config, async |store| match &args.action {
        Action::Create {
            email,
            first_name,
            last_name,
            password_stdin,
            admin,
        } => {
            let given = if *password_stdin {
                Some(from_stdin()?)
            } else {
                None
            };
            let role = if *admin { Role::Admin } else { Role::User };
            create(args.json, &store, [email, first_name, last_name], given, role).await
        }
        Action::Promote { email } => promote(args.json, &store, email.clone()).await,
        Action::Verify { email } => verify(args.json, &store, email).await,
        Action::Disable { email } => set_disabled(args.json, &store, email.clone(), true).await,
        Action::Enable { email } => set_disabled(args.json, &store, email.clone(), false).await,
        Action::ResetPassword {
            email,
            password_stdin,
            link,
            delete_api_keys,
        } => {
            if *link {
                return reset_link(args.json, &store, &config, email).await;
            }
            let given = if *password_stdin {
                Some(from_stdin()?)
            } else {
                None
            };
            reset_password(args.json, &store, email, given, *delete_api_keys).await
        }
        Action::RemoveAuthenticator { email } => remove_authenticator(args.json, &store, email).await,
        Action::Remove { email, yes } => removal::remove(args.json, &store, &config, email, *yes).await,
        Action::List => list(args.json, &store).await,
    })?;
    Ok(ExitCode::SUCCESS)
}

fn from_stdin() -> Result<String, Failure> {
    let mut line = String::new();
    std::io::stdin()
        .lock()
        .read_line(&mut line)
        .map_err(|error| Failure::new(Exit::File, "FILE", format!("can't read the password: {error}")))?;
    Ok(line.trim_end_matches(['\r', '\n']).to_owned())
}

async fn create(
    json: bool,
    store: &Store,
    [email, first_name, last_name]: [&String; 3],
    given: Option<String>,
    role: Role,
) -> Result<(), Failure> {
    let email = heddle_service::auth::email::read(email).map_err(|error| Failure::usage(error.message()))?;
    let (made, hash) = hashed(given).await?;
    let row = UserRow {
        id: UserId::new(),
        email: email.clone(),
        first_name: first_name.clone(),
        last_name: last_name.clone(),
        role,
        password_hash: Some(hash),
        avatar_url: None,
        created_at: Clock::System.now(),
        // Whoever operates the service knows whom they make an account for.
        email_verified: true,
        generation: 0,
        is_disabled: false,
    };
    let id = row.id;
    let created = store
        .write(move |db| {
            Box::pin(async move {
                let created = accounts::create(db, &row).await?;
                note(db, row.id, AuditAction::AccountRegistered).await?;
                Ok(created)
            })
        })
        .await;
    match created {
        Err(StoreError::Unique) => {
            return Err(Failure::new(
                Exit::Failed,
                "EMAIL_ALREADY_EXISTS",
                format!("{email} is already registered"),
            ));
        }
        created => created.map_err(|error| broken(&error))?,
    };
    if json {
        let data = json!({"id": id, "email": email, "role": role, "password": made});
        return output::result(&data.to_string());
    }
    output::result(&format!("{email} is registered as {}", role.name()))?;
    made.map_or(Ok(()), |password| {
        output::result(&format!("password: {password}"))
    })
}

/// The password to print, if one had to be made, and the hash to store.
async fn hashed(given: Option<String>) -> Result<(Option<String>, String), Failure> {
    let made = given.is_none().then(|| {
        format!(
            "{}-",
            URL_SAFE_NO_PAD.encode(heddle_model::entropy::random::<[u8; 15]>())
        )
    });
    let chosen = given.or_else(|| made.clone()).unwrap_or_default();
    password::acceptable(&chosen).map_err(|error| Failure::usage(error.message()))?;
    let hash = password::hash(chosen).await;
    Ok((made, hash.map_err(|error| broken(&error))?))
}

/// Tells the audit log what the operator does.
async fn note(db: &mut Db<'_>, user: UserId, action: AuditAction) -> Result<(), StoreError> {
    let origin = Origin {
        at: Clock::System.now(),
        address: None,
        api_key: None,
    };
    audit::note_about(db, user, origin, action.of(Object::User(user))).await
}

async fn verify(json: bool, store: &Store, email: &str) -> Result<(), Failure> {
    let user = find(store, email).await?;
    let verified = store
        .write(move |db| {
            Box::pin(async move {
                note(db, user.id, AuditAction::AccountVerified).await?;
                credentials::verify(db, user.id).await
            })
        })
        .await;
    verified.map_err(|error: StoreError| broken(&error))?;
    match json {
        true => output::result(&json!({"email": user.email, "emailVerified": true}).to_string()),
        false => output::result(&format!("{} is now verified", user.email)),
    }
}

async fn set_disabled(json: bool, store: &Store, email: String, is_disabled: bool) -> Result<(), Failure> {
    let name = email.clone();
    let found = store
        .write(move |db| {
            Box::pin(async move {
                let action = match is_disabled {
                    true => AuditAction::AccountDisabled,
                    false => AuditAction::AccountEnabled,
                };
                if let Some(user) = audit::account_of(db, &name).await? {
                    note(db, user, action).await?;
                }
                credentials::set_disabled(db, &name, is_disabled).await
            })
        })
        .await;
    if !found.map_err(|error: StoreError| broken(&error))? {
        return Err(nobody(&email));
    }
    let word = if is_disabled { "disabled" } else { "enabled" };
    match json {
        true => output::result(&json!({"email": email, "disabled": is_disabled}).to_string()),
        false => output::result(&format!("{email} is now {word}")),
    }
}

async fn reset_password(
    json: bool,
    store: &Store,
    email: &str,
    given: Option<String>,
    delete_api_keys: bool,
) -> Result<(), Failure> {
    let user = find(store, email).await?;
    let (made, hash) = hashed(given).await?;
    let (id, before) = (user.id, user.password_hash.clone());
    let reset = store
        .write(move |db| {
            Box::pin(async move {
                let reset = credentials::set_password(db, id, before.as_deref(), &hash).await?;
                if reset.is_some() {
                    note(db, id, AuditAction::PasswordReset).await?;
                }
                if delete_api_keys {
                    credentials::delete_api_keys(db, id).await?;
                }
                Ok((reset.is_some(), credentials::count_api_keys(db, id).await?))
            })
        })
        .await;
    let (is_reset, api_keys) = reset.map_err(|error: StoreError| broken(&error))?;
    if !is_reset {
        let message = "the password was changed by somebody else at the same time: try again";
        return Err(Failure::new(Exit::Failed, "CONFLICT", message));
    }
    if json {
        let data = json!({"email": user.email, "password": made, "apiKeys": api_keys});
        return output::result(&data.to_string());
    }
    let message = format!(
        "{} has a new password, and all tokens are revoked; {api_keys} API keys remain valid",
        user.email
    );
    output::result(&message)?;
    made.map_or(Ok(()), |password| {
        output::result(&format!("password: {password}"))
    })
}

/// Prints a link by which a user sets a password.
async fn reset_link(json: bool, store: &Store, config: &Config, email: &str) -> Result<(), Failure> {
    let user = find(store, email).await?;
    let now = Clock::System.now();
    let (link, token) = one_time_links::reset_link(&config.base_url, user.id, None, now);
    let stored = store
        .write(move |db| {
            Box::pin(async move {
                note(db, token.user, AuditAction::PasswordLinkMade).await?;
                account_tokens::add(db, &token, now).await
            })
        })
        .await;
    stored.map_err(|error: StoreError| broken(&error))?;
    if json {
        return output::result(&json!({"email": user.email, "link": link}).to_string());
    }
    output::result(&format!(
        "{} can set a password with this link, within an hour and once:",
        user.email
    ))?;
    output::result(&link)
}

async fn remove_authenticator(json: bool, store: &Store, email: &str) -> Result<(), Failure> {
    let user = find(store, email).await?;
    let removed = store
        .write(move |db| {
            Box::pin(async move {
                let removed = authenticators::remove(db, user.id).await?;
                if removed {
                    note(db, user.id, AuditAction::AuthenticatorRemoved).await?;
                }
                Ok(removed)
            })
        })
        .await;
    let removed = removed.map_err(|error: StoreError| broken(&error))?;
    if json {
        return output::result(&json!({"email": user.email, "removed": removed}).to_string());
    }
    let outcome = match removed {
        true => "no longer has an authenticator",
        false => "had no authenticator",
    };
    output::result(&format!("{} {outcome}", user.email))
}

async fn promote(json: bool, store: &Store, email: String) -> Result<(), Failure> {
    let name = email.clone();
    let found = store
        .write(move |db| {
            Box::pin(async move {
                let Some(user) = accounts::by_email(db, &name).await? else {
                    return Ok(None);
                };
                if user.email_verified {
                    note(db, user.id, AuditAction::AccountPromoted).await?;
                    accounts::set_role(db, &name, Role::Admin).await?;
                }
                Ok(Some(user.email_verified))
            })
        })
        .await;
    match found.map_err(|error: StoreError| broken(&error))? {
        None => return Err(nobody(&email)),
        // Anybody may have registered with the address that the operator has in mind.
        Some(false) => {
            let message = format!(
                "nobody has proven that {email} is theirs: if you know that the account is, verify it first \
                 (heddle user verify {email})"
            );
            return Err(Failure::new(Exit::Failed, "EMAIL_NOT_VERIFIED", message));
        }
        Some(true) => {}
    }
    match json {
        true => output::result(&json!({"email": email, "role": Role::Admin}).to_string()),
        false => output::result(&format!("{email} is now an admin")),
    }
}

async fn list(json: bool, store: &Store) -> Result<(), Failure> {
    let mut reader = store.reader().await.map_err(|error| broken(&error))?;
    let users = accounts::all(&mut reader.db())
        .await
        .map_err(|error| broken(&error))?;
    if json {
        let users: Vec<_> = users
            .iter()
            .map(|user| {
                json!({"id": user.id, "email": user.email, "role": user.role, "createdAt": user.created_at,
                "emailVerified": user.email_verified, "disabled": user.is_disabled})
            })
            .collect();
        return output::result(&json!(users).to_string());
    }
    for user in users {
        let state = match (user.is_disabled, user.email_verified) {
            (true, _) => "disabled",
            (false, true) => "verified",
            (false, false) => "",
        };
        output::result(&format!(
            "{}  {state:8}  {:5}  {}",
            user.created_at,
            user.role.name(),
            user.email
        ))?;
    }
    Ok(())
}
