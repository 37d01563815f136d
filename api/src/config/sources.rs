//! Where settings come from: flags, then the environment, then `heddle.toml`. An unknown name in the file prevents the
//! start, so that a misspelt setting is never silently ignored. An unknown variable is only warned of, because others set
//! variables as well: Kubernetes describes a service named `heddle` by `HEDDLE_PORT`, `HEDDLE_SERVICE_HOST` and so on.

use super::table::{SETTINGS, Setting};
use clap::{Arg, ArgMatches, Command};
use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// Variables with our prefix that are not settings: they belong to the tests.
const NOT_SETTINGS: &[&str] = &["HEDDLE_TEST_POSTGRES", "HEDDLE_CONFIG"];
const FILE: &str = "heddle.toml";

/// Where a value was given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// On the command line.
    Flag,
    Environment,
    File(PathBuf),
}

/// What is wrong with a setting, and where it was given.
#[derive(Debug, thiserror::Error)]
#[error("{place} {message}")]
pub struct SettingError {
    place: String,
    message: String,
}

impl SettingError {
    /// An error at a place that is not necessarily a single setting.
    pub fn new(place: impl Into<String>, message: impl fmt::Display) -> Self {
        SettingError {
            place: place.into(),
            message: message.to_string(),
        }
    }
}

/// The settings that were given, as text.
#[derive(Clone, Default)]
pub struct Values {
    given: BTreeMap<&'static str, (String, Source)>,
    warnings: Vec<String>,
}

impl Values {
    /// Collects settings from the flags, the environment (`vars`) and the file: `heddle.toml` in the working directory,
    /// unless `HEDDLE_CONFIG` or `--config` names another.
    pub fn gather(
        flags: &Flags,
        vars: impl IntoIterator<Item = (String, String)>,
    ) -> Result<Self, SettingError> {
        let mut values = Values::default();
        let mut file = flags.config.clone();
        for (name, value) in vars {
            let Some(key) = name.strip_prefix("HEDDLE_").map(str::to_lowercase) else {
                continue;
            };
            if name == "HEDDLE_CONFIG" && file.is_none() {
                file = Some(value.clone().into());
            }
            if NOT_SETTINGS.contains(&name.as_str()) {
                continue;
            }
            let kept_setting = in_file(&key);
            let Some(setting) = kept_setting.or_else(|| known(&key)) else {
                if !is_of_a_service(&key, &value) {
                    let advice = advice(&key, variable);
                    values
                        .warnings
                        .push(format!("{name} is unknown and was ignored; {advice}"));
                }
                continue;
            };
            // An empty variable is how shells and containers leave one out.
            if value.is_empty() {
                continue;
            }
            if is_service_link(&value) {
                return Err(SettingError::new(name, SERVICE_LINK));
            }
            let value = match kept_setting {
                Some(_) => kept_in(&name, &value)?,
                None => (value, Source::Environment),
            };
            if values.given.insert(setting.name, value).is_some() {
                return Err(twice(&variable(setting.name)));
            }
        }
        for (setting, value) in from_file(file.as_deref())? {
            values.given.entry(setting).or_insert(value);
        }
        for (setting, value) in &flags.values {
            values.given.insert(setting, (value.clone(), Source::Flag));
        }
        Ok(values)
    }

    /// What people should know of the variables, one sentence each.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// The text of a setting, if it was given.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.given.get(name).map(|(text, _)| text.trim())
    }

    /// Where a setting was given.
    pub fn source(&self, name: &str) -> Option<&Source> {
        self.given.get(name).map(|(_, source)| source)
    }

    /// The elements of a comma-separated setting.
    pub fn list(&self, name: &str) -> impl Iterator<Item = &str> {
        let parts = self.text(name).unwrap_or_default().split(',');
        parts.map(str::trim).filter(|part| !part.is_empty())
    }

    /// Parses a setting with its type's `FromStr`.
    pub fn parsed<T: FromStr<Err: fmt::Display>>(&self, name: &str) -> Result<Option<T>, SettingError> {
        self.read(name, |text| {
            text.parse().map_err(|error| format!("is invalid: {error}"))
        })
    }

    /// Parses a setting with `read`.
    pub fn read<T>(
        &self,
        name: &str,
        read: impl FnOnce(&str) -> Result<T, String>,
    ) -> Result<Option<T>, SettingError> {
        let text = self.text(name).map(read).transpose();
        text.map_err(|message| self.error(name, message))
    }

    /// What is wrong with a setting, where it was given.
    pub fn error(&self, name: &str, message: impl fmt::Display) -> SettingError {
        let place = match self.source(name) {
            Some(Source::Flag) => flag(name),
            Some(Source::File(path)) => format!("`{name}` in {}", path.display()),
            Some(Source::Environment) | None => variable(name),
        };
        SettingError::new(place, message)
    }
}

/// The secret setting that is read from a file, as with `master_key_file`: files can be protected better than a
/// process's environment.
fn in_file(key: &str) -> Option<&'static Setting> {
    known(key.strip_suffix("_file")?).filter(|setting| setting.is_secret)
}

/// The contents of the file that `place` names.
fn kept_in(place: &str, path: &str) -> Result<(String, Source), SettingError> {
    let path = PathBuf::from(path);
    let text = std::fs::read_to_string(&path).map_err(|error| {
        SettingError::new(
            place,
            format!("names {}, which can't be read: {error}", path.display()),
        )
    })?;
    if text.trim().is_empty() {
        return Err(SettingError::new(
            place,
            format!("names {}, which is empty", path.display()),
        ));
    }
    Ok((text, Source::File(path)))
}

fn twice(name: &str) -> SettingError {
    SettingError::new(
        name,
        "is given both directly and in a file: remove one of the two",
    )
}

fn known(key: &str) -> Option<&'static Setting> {
    SETTINGS.iter().find(|setting| setting.name == key)
}

fn variable(name: &str) -> String {
    format!("HEDDLE_{}", name.to_uppercase())
}

fn flag(name: &str) -> String {
    format!("--{}", name.replace('_', "-"))
}

/// What people are told who have given a name that is unknown.
fn advice(key: &str, shown: impl Fn(&str) -> String) -> String {
    let distance = |setting: &&Setting| strsim::damerau_levenshtein(key, setting.name);
    match SETTINGS
        .iter()
        .min_by_key(distance)
        .filter(|nearest| distance(nearest) <= 3)
    {
        Some(setting) => format!("did you mean {}?", shown(setting.name)),
        None => "`heddle config` lists the settings".to_owned(),
    }
}

/// Said of a setting whose variable Kubernetes has set.
const SERVICE_LINK: &str = "has the address of a Kubernetes service as its value, which Kubernetes sets for services whose \
    names begin with `heddle`: set `enableServiceLinks: false` in the pod's spec, or rename the service";

/// Whether a value is an address as Kubernetes gives it to containers.
fn is_service_link(value: &str) -> bool {
    let protocols = ["tcp://", "udp://", "sctp://"];
    protocols.iter().any(|protocol| value.starts_with(protocol))
}

/// Whether Kubernetes sets such a variable for each service in the namespace: `SERVICE_HOST`, `PORT_8080_TCP_ADDR`, …, with
/// the rest of the service's name before it.
fn is_of_a_service(key: &str, value: &str) -> bool {
    let key = format!("_{key}");
    let is_of_a_port = || {
        let mut words = key
            .rsplit_once("_port_")
            .map_or("", |(_, words)| words)
            .split('_');
        let is_number = words.next().is_some_and(|word| word.parse::<u16>().is_ok());
        is_number && matches!(words.next(), Some("tcp" | "udp" | "sctp"))
    };
    is_service_link(value)
        || key.ends_with("_service_host")
        || key.ends_with("_service_port")
        || key.contains("_service_port_")
        || is_of_a_port()
}

type Given = Vec<(&'static str, (String, Source))>;

fn from_file(named: Option<&Path>) -> Result<Given, SettingError> {
    let path = named.unwrap_or(Path::new(FILE));
    let shown = path.display().to_string();
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if named.is_none() && error.kind() == std::io::ErrorKind::NotFound => {
            return Ok(Vec::new());
        }
        Err(error) => return Err(SettingError::new(shown, format!("can't be read: {error}"))),
    };
    let table: toml::Table = text.parse().map_err(|error| SettingError::new(&shown, error))?;
    let source = Source::File(path.to_owned());
    let mut given = Given::new();
    for (key, value) in table {
        let place = format!("`{key}` in {shown}");
        let text = match known(&key).is_some_and(|setting| setting.is_tables) {
            true => tables(&value).ok_or_else(|| {
                SettingError::new(&place, format!("must be tables, each beginning with [[{key}]]"))
            })?,
            false => plain(value).ok_or_else(|| {
                SettingError::new(&place, "must be a string, a number, true, false or a list")
            })?,
        };
        let (setting, value) = match in_file(&key) {
            Some(setting) => (setting, kept_in(&place, &text)?),
            None => {
                let setting = known(&key).ok_or_else(|| {
                    let advice = advice(&key, |name| format!("`{name}`"));
                    SettingError::new(&place, format!("is unknown; {advice}"))
                })?;
                (setting, (text, source.clone()))
            }
        };
        if given.iter().any(|(name, _)| *name == setting.name) {
            return Err(twice(&format!("`{}` in {shown}", setting.name)));
        }
        given.push((setting.name, value));
    }
    Ok(given)
}

/// Tables as JSON, and JSON as it is.
fn tables(value: &toml::Value) -> Option<String> {
    match value {
        toml::Value::String(json) => Some(json.clone()),
        toml::Value::Array(tables) if tables.iter().all(toml::Value::is_table) => {
            serde_json::to_string(tables).ok()
        }
        _ => None,
    }
}

fn plain(value: toml::Value) -> Option<String> {
    Some(match value {
        toml::Value::String(text) => text,
        toml::Value::Integer(number) => number.to_string(),
        toml::Value::Float(number) => number.to_string(),
        toml::Value::Boolean(truth) => truth.to_string(),
        toml::Value::Array(values) => values
            .into_iter()
            .map(plain)
            .collect::<Option<Vec<_>>>()?
            .join(","),
        toml::Value::Datetime(_) | toml::Value::Table(_) => return None,
    })
}

/// Settings that `-h` shows; `--help` shows all.
const SHORT_HELP: [&str; 3] = ["listen", "data_dir", "base_url"];

/// The settings as flags of a command: one for each, except for secrets, which process lists must not show.
#[derive(Clone, Debug, Default)]
pub struct Flags {
    /// File of settings.
    pub config: Option<PathBuf>,
    values: Vec<(&'static str, String)>,
}

impl clap::Args for Flags {
    fn augment_args(command: Command) -> Command {
        let config = Arg::new("config")
            .long("config")
            .value_name("FILE")
            .value_parser(clap::value_parser!(PathBuf))
            .global(true)
            .help("Settings file [default: heddle.toml, if it exists]")
            .help_heading("Settings");
        let settings = SETTINGS
            .iter()
            .filter(|setting| !setting.is_secret)
            .map(|setting| {
                Arg::new(setting.name)
                    .global(true)
                    .long(setting.name.replace('_', "-"))
                    .value_name("VALUE")
                    .help(format!(
                        "{} [env: {}] [default: {}]",
                        setting.help,
                        variable(setting.name),
                        setting.default
                    ))
                    .help_heading("Settings")
                    .hide_short_help(!SHORT_HELP.contains(&setting.name))
            });
        command.arg(config).args(settings)
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl clap::FromArgMatches for Flags {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut flags = Flags::default();
        flags.update_from_arg_matches(matches)?;
        Ok(flags)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        self.config = matches.get_one("config").cloned();
        let given = SETTINGS.iter().filter(|setting| !setting.is_secret);
        let given = given
            .filter_map(|setting| Some((setting.name, matches.get_one::<String>(setting.name)?.clone())));
        self.values = given.collect();
        Ok(())
    }
}
