//! Checks shared by requests that contain secrets: the size of a value, and the hosts it may be sent to.

use super::error::ApiError;

/// Maximum size of a secret's value, in bytes.
const SECRET_BYTES_MAX: usize = 64 << 10;
/// Maximum number of hosts of a connection.
const HOSTS_MAX: usize = 50;

/// Checks that hosts have no scheme, user or path.
pub fn checked_hosts(hosts: Option<Vec<String>>) -> Result<Vec<String>, ApiError> {
    let hosts = hosts.unwrap_or_default();
    if hosts.len() > HOSTS_MAX {
        return Err(ApiError::field("hosts", "must have at most 50 entries"));
    }
    for (index, host) in hosts.iter().enumerate() {
        let plain = |c: char| c.is_ascii_alphanumeric() || "-._:[]*".contains(c);
        if host.is_empty() || host.len() > 255 || !host.chars().all(plain) {
            let problem = "must be a host such as api.example.com, api.example.com:8443 or *.example.com";
            return Err(ApiError::field(format!("hosts[{index}]"), problem));
        }
    }
    Ok(hosts)
}

/// Checks the size of a secret's value.
pub fn secret_value(path: &str, value: &str) -> Result<(), ApiError> {
    if value.is_empty() {
        return Err(ApiError::field(path, "must not be empty"));
    }
    if value.len() > SECRET_BYTES_MAX {
        return Err(ApiError::field(path, "must have at most 64 KiB"));
    }
    Ok(())
}
