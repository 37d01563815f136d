//! `heddle healthcheck`: asks the server of this machine how it is, for supervisors that start a command, in images that
//! have no other program.

use super::failure::{Exit, Failure};
use super::output;
use super::serve;
use super::settings::gathered;
use crate::config::settings;
use crate::config::sources::Flags;
use clap::Args;
use heddle_model::error::chain;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::process::ExitCode;
use std::time::Duration;

/// A server that takes longer to answer is not well.
const ANSWER_MAX: Duration = Duration::from_secs(10);

/// Flags of `heddle healthcheck`.
#[derive(Args, Debug)]
pub struct HealthcheckArgs {
    /// Ask /readyz, whether the server can work, rather than /healthz, whether its process answers.
    #[arg(long)]
    ready: bool,
    #[command(flatten)]
    settings: Flags,
}

/// Runs the command.
pub fn healthcheck(args: &HealthcheckArgs) -> Result<ExitCode, Failure> {
    let values = gathered(&args.settings)?;
    let scheme = if values.text("tls_cert").is_some() {
        "https"
    } else {
        "http"
    };
    let path = if args.ready { "readyz" } else { "healthz" };
    let url = format!("{scheme}://{}/{path}", reachable(settings::listen(&values)?));
    let answer = serve::wait(ask(&url))?;
    answer.map_err(|why| Failure::new(Exit::Failed, "UNHEALTHY", format!("{url}: {why}")))?;
    output::result("ok")?;
    Ok(ExitCode::SUCCESS)
}

async fn ask(url: &str) -> Result<(), String> {
    let client = client().map_err(|error| chain(&error))?;
    let answer = match client.get(url).send().await {
        Ok(answer) => answer,
        Err(error) => return Err(why(&client, url, &error).await),
    };
    let status = answer.status();
    match status.is_success() {
        true => Ok(()),
        false => Err(format!("{status} {}", answer.text().await.unwrap_or_default())),
    }
}

/// Why there is no answer. If there is one by TLS, this command was not given the server's settings.
async fn why(client: &reqwest::Client, url: &str, error: &reqwest::Error) -> String {
    let why = chain(error);
    let by_tls = match url.strip_prefix("http://") {
        Some(rest) if !error.is_connect() && !error.is_timeout() => format!("https://{rest}"),
        _ => return why,
    };
    match client.get(by_tls).send().await {
        Ok(_) => format!(
            "the server speaks TLS ({why}): give this command the server's `tls_cert` too, or the settings file that has it"
        ),
        Err(_) => why,
    }
}

fn client() -> reqwest::Result<reqwest::Client> {
    // Fails when a provider was chosen already, which is as good.
    let _ = rustls::crypto::ring::default_provider().install_default();
    // The certificate is for the server's public name, not for this address; and nothing secret is sent.
    reqwest::Client::builder()
        .danger_accept_invalid_certs(true)
        .no_proxy()
        .timeout(ANSWER_MAX)
        .build()
}

/// Where this machine reaches a server that listens on an address: one that stands for all addresses stands for its own.
pub(super) fn reachable(listen: SocketAddr) -> SocketAddr {
    let ip = match listen.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    SocketAddr::new(ip, listen.port())
}
