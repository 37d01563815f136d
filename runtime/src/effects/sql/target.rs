//! Determines which database a connection refers to.

use crate::connections::Connection;
use heddle_sandbox::EffectError;
use heddle_sandbox::{hex, sha256};
use reqwest::Url;
use serde::{Deserialize, Serialize};
use sqlx::mysql::MySqlSslMode;
use sqlx::postgres::PgSslMode;
use zeroize::Zeroizing;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Kind {
    Postgres,
    MySql,
    Sqlite,
}

/// How the connection to a server is secured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Tls {
    None,
    Prefer,
    Require,
    Verify,
}

/// A database and how to get in.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Target {
    pub kind: Kind,
    pub host: String,
    pub port: u16,
    pub user: String,
    pub password: Zeroizing<String>,
    pub database: String,
    pub tls: Tls,
    pub tls_ca: Option<String>,
    /// Path of the SQLite file.
    pub file: String,
    /// Distinguishes pools: changes with every field.
    #[serde(skip)]
    pub key: String,
}

impl Target {
    pub fn of(connection: &Connection) -> Result<Self, EffectError> {
        let url = match connection.text(&["url"]) {
            Some(url) => Some(
                Url::parse(&url)
                    .map_err(|error| connection.unfit(format!("its `url` is not a valid URL ({error})")))?,
            ),
            None => None,
        };
        let scheme = url.as_ref().map(|url| url.scheme().to_owned());
        let stated = scheme.or_else(|| connection.text(&["kind"]));
        let kind = kind(stated.as_deref().unwrap_or(&connection.provider)).ok_or_else(|| {
            let takes = "its `kind`, or else its provider, must name the database: postgres, mysql or sqlite";
            connection.unfit(takes)
        })?;
        let part = |of_url: Option<String>, names: &[&str]| {
            of_url
                .filter(|text| !text.is_empty())
                .or_else(|| connection.text(names))
        };
        let decoded = |text: &str| {
            percent_encoding::percent_decode_str(text)
                .decode_utf8_lossy()
                .into_owned()
        };
        let of_url = |get: fn(&Url) -> Option<String>| url.as_ref().and_then(get);
        let port = url.as_ref().and_then(Url::port);
        let mut target = Target {
            kind,
            host: part(of_url(|url| url.host_str().map(str::to_owned)), &["host"]).unwrap_or_default(),
            port: match port {
                Some(port) => port,
                None => connection.port(if kind == Kind::MySql { 3306 } else { 5432 })?,
            },
            user: part(
                of_url(|url| Some(url.username().to_owned())),
                &["user", "username"],
            )
            .map(|user| decoded(&user))
            .unwrap_or_default(),
            password: part(
                of_url(|url| url.password().map(str::to_owned)).map(|text| decoded(&text)),
                &["password"],
            )
            .unwrap_or_default()
            .into(),
            database: part(
                of_url(|url| Some(url.path().trim_start_matches('/').to_owned())),
                &["database"],
            )
            .unwrap_or_default(),
            tls: tls(connection)?,
            tls_ca: connection.text(&["tlsCa"]),
            file: connection.text(&["file"]).unwrap_or_default(),
            key: String::new(),
        };
        if kind == Kind::Sqlite {
            target.file = connection.required(&["file"])?;
        } else {
            if target.host.is_empty() {
                return Err(connection.unfit("it has no field `host`"));
            }
            connection.check_host(&target.host, Some(target.port))?;
        }
        let facts = (&connection.id, &connection.fields);
        target.key = hex(&sha256(format!("{facts:?}").as_bytes()));
        Ok(target)
    }

    /// The name of the socket in a directory at which the driver looks for the server.
    pub fn socket(&self) -> String {
        match self.kind {
            Kind::Postgres => format!(".s.PGSQL.{}", self.port),
            _ => "mysql.sock".to_owned(),
        }
    }

    /// The name of the database in messages.
    pub fn name(&self) -> String {
        match self.kind {
            Kind::Sqlite => format!("The database {}", self.file),
            _ => format!("The database {}:{}/{}", self.host, self.port, self.database),
        }
    }
}

fn kind(text: &str) -> Option<Kind> {
    match text.to_ascii_lowercase().as_str() {
        "postgres" | "postgresql" | "pg" => Some(Kind::Postgres),
        "mysql" | "mariadb" => Some(Kind::MySql),
        "sqlite" | "sqlite3" => Some(Kind::Sqlite),
        _ => None,
    }
}

fn tls(connection: &Connection) -> Result<Tls, EffectError> {
    Ok(match connection.text(&["tls"]).as_deref() {
        None | Some("prefer") => Tls::Prefer,
        Some("none" | "false" | "disable") => Tls::None,
        Some("require") => Tls::Require,
        Some("verify" | "true" | "verify-full") => Tls::Verify,
        Some(other) => {
            return Err(connection.unfit(format!(
                "its `tls` is `{other}`, not verify, require, prefer or none"
            )));
        }
    })
}

impl From<Tls> for PgSslMode {
    fn from(tls: Tls) -> Self {
        match tls {
            Tls::None => PgSslMode::Disable,
            Tls::Prefer => PgSslMode::Prefer,
            Tls::Require => PgSslMode::Require,
            Tls::Verify => PgSslMode::VerifyFull,
        }
    }
}

impl From<Tls> for MySqlSslMode {
    fn from(tls: Tls) -> Self {
        match tls {
            Tls::None => MySqlSslMode::Disabled,
            Tls::Prefer => MySqlSslMode::Preferred,
            Tls::Require => MySqlSslMode::Required,
            Tls::Verify => MySqlSslMode::VerifyIdentity,
        }
    }
}
