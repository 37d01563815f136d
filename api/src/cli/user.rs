//! `heddle user`: accounts, from the server's own machine.

use super::failure::{Exit, Failure};
use super::output;
use super::serve;
use crate::access::Role;
use crate::auth::password;
use crate::clock::Clock;
use crate::config::settings;
use crate::config::sources::{Flags, Values};
use crate::ids::UserId;
use crate::store::accounts::{self, UserRow};
use crate::store::{Store, StoreError};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use clap::{Args, Subcommand};
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
    /// Register a user. Without --password-stdin a password is made and printed.
    Create {
        /// Email.
        email: String,
        /// First name.
        #[arg(long, default_value = "New")]
        first_name: String,
        /// Last name.
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
        /// Email.
        email: String,
    },
    /// List all users.
    List,
}

/// Runs the command.
pub fn user(args: &UserArgs) -> Result<ExitCode, Failure> {
    let values = Values::gather(&args.settings, std::env::vars())?;
    let config = settings::read(&values)?;
    for path in &config.keys_made {
        output::note(&format!(
            "made a key, readable by this user only: {}",
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
        Action::List => list(args.json, &store).await,
    })?;
    Ok(ExitCode::SUCCESS)
}

fn from_stdin() -> Result<String, Failure> {
    let mut line = String::new();
    std::io::stdin()
        .lock()
        .read_line(&mut line)
        .map_err(|error| Failure::new(Exit::File, "FILE", format!("the password can't be read: {error}")))?;
    Ok(line.trim_end_matches(['\r', '\n']).to_owned())
}

async fn create(
    json: bool,
    store: &Store,
    [email, first_name, last_name]: [&String; 3],
    given: Option<String>,
    role: Role,
) -> Result<(), Failure> {
    let email = crate::http::auth::email(email).map_err(|error| Failure::usage(error.message()))?;
    let made = given
        .is_none()
        .then(|| format!("{}-", URL_SAFE_NO_PAD.encode(rand::random::<[u8; 15]>())));
    let chosen = given.or_else(|| made.clone()).unwrap_or_default();
    password::acceptable(&chosen).map_err(|error| Failure::usage(error.message()))?;
    let hash = password::hash(chosen)
        .await
        .map_err(|error| broken(error.message()))?;
    let row = UserRow {
        id: UserId::new(),
        email: email.clone(),
        first_name: first_name.clone(),
        last_name: last_name.clone(),
        role,
        password_hash: Some(hash),
        avatar_url: None,
        created_at: Clock::System.now(),
    };
    let id = row.id;
    let created = store
        .write(move |db| Box::pin(async move { accounts::create(db, &row).await }))
        .await;
    match created {
        Err(StoreError::Unique) => {
            return Err(Failure::new(
                Exit::Failed,
                "EMAIL_ALREADY_EXISTS",
                format!("{email} is registered already"),
            ));
        }
        created => created.map_err(|error| broken(&error))?,
    };
    if json {
        let told = json!({"id": id, "email": email, "role": role, "password": made});
        return output::result(&told.to_string());
    }
    output::result(&format!("{email} is registered as {}", role.name()))?;
    made.map_or(Ok(()), |password| {
        output::result(&format!("password: {password}"))
    })
}

async fn promote(json: bool, store: &Store, email: String) -> Result<(), Failure> {
    let name = email.clone();
    let found = store
        .write(move |db| Box::pin(async move { accounts::set_role(db, &name, Role::Admin).await }))
        .await;
    if !found.map_err(|error: StoreError| broken(&error))? {
        return Err(Failure::new(
            Exit::Failed,
            "NOT_FOUND",
            format!("there is no user with the email {email}"),
        ));
    }
    match json {
        true => output::result(&json!({"email": email, "role": Role::Admin}).to_string()),
        false => output::result(&format!("{email} is admin now")),
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
            .map(|user| json!({"id": user.id, "email": user.email, "role": user.role, "createdAt": user.created_at}))
            .collect();
        return output::result(&json!(users).to_string());
    }
    for user in users {
        output::result(&format!(
            "{}  {:5}  {}",
            user.created_at,
            user.role.name(),
            user.email
        ))?;
    }
    Ok(())
}

fn broken(error: &(impl std::fmt::Display + ?Sized)) -> Failure {
    Failure::new(Exit::File, "DATABASE", error.to_string())
}
