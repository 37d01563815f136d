//! The console: pages and files that are part of the program. Knows nothing of what they do; what they may do is in the
//! headers.

use crate::app::App;
use crate::http::error::ApiError;
use crate::http::reply::SharedBody;
use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::Path;
use axum::http::header::{
    ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderName,
    HeaderValue, REFERRER_POLICY, VARY,
};
use axum::http::{HeaderMap, Response};
use axum::response::IntoResponse;
use axum::routing::get;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::read::GzDecoder;
use heddle_model::Code;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::io::Read;
use std::sync::{LazyLock, Mutex, PoisonError};

/// A file of the console, as `console/build.sh` writes it into `console/artifact/assets.rs`.
pub struct Asset {
    /// Its address below `/assets/`; a name with a hash, so that no address ever changes its content.
    pub name: &'static str,
    /// Media type.
    pub content_type: &'static str,
    /// The content, compressed.
    pub gzip: &'static [u8],
}

/// All files; a build without Node has them.
pub static ASSETS: &[Asset] = include!("../../../console/artifact/assets.rs");

/// The one page, which shows what the address says.
const PAGE: &str = "index.html";
/// Stands in the page for the nonce of its styles.
const NONCE: &str = "__NONCE__";
/// Paths of the page.
const PAGES: &[&str] = &[
    "/",
    "/sign-in",
    "/sign-in/return",
    "/connections/return",
    "/register",
    "/join",
    "/forgot-password",
    "/reset-password",
    "/verify-email",
    "/w/{*path}",
];

/// The page around the places of its nonce.
static PAGE_PARTS: LazyLock<Vec<String>> = LazyLock::new(|| {
    let page = ASSETS.iter().find(|asset| asset.name == PAGE);
    let text = page.and_then(|page| String::from_utf8(inflated(page).ok()?).ok());
    let text = text.unwrap_or_default();
    text.split(NONCE).map(str::to_owned).collect()
});

/// Which build of the console this is: the page's hash, since the page names its files by theirs.
pub static BUILD: LazyLock<String> = LazyLock::new(|| {
    let page = ASSETS.iter().find(|asset| asset.name == PAGE);
    let digest = Sha256::digest(page.map_or(&[][..], |page| page.gzip));
    hex::encode(digest.get(..8).unwrap_or_default())
});
/// The header that says so, for pages that are older than the server.
pub const BUILD_HEADER: HeaderName = HeaderName::from_static("x-heddle-build");

/// The routes. They are not part of the API, nor of its description.
pub fn routes() -> Router<App> {
    let pages = PAGES
        .iter()
        .fold(Router::new(), |router, path| router.route(path, get(page)));
    pages.route("/assets/{name}", get(asset))
}

/// The page, with a nonce that no other answer has.
async fn page() -> impl IntoResponse {
    let random: [u8; 16] = heddle_model::entropy::random();
    let nonce = STANDARD.encode(random);
    // `style-src-attr`: the canvas places its parts by style attributes. Nothing else is allowed inline.
    let policy = format!(
        "default-src 'none'; script-src 'self'; style-src 'self' 'nonce-{nonce}'; style-src-attr 'unsafe-inline'; \
         img-src 'self' data:; font-src 'self'; connect-src 'self'; worker-src 'self'; base-uri 'none'; \
         form-action 'self'; frame-ancestors 'none'; require-trusted-types-for 'script'; \
         trusted-types svelte-trusted-html heddle-worker"
    );
    let headers = [
        (CONTENT_TYPE, "text/html; charset=utf-8".to_owned()),
        (CONTENT_SECURITY_POLICY, policy),
        (CACHE_CONTROL, "no-store".to_owned()),
        (REFERRER_POLICY, "same-origin".to_owned()),
        (
            HeaderName::from_static("cross-origin-opener-policy"),
            "same-origin".to_owned(),
        ),
    ];
    (headers, PAGE_PARTS.join(&nonce))
}

/// A file, which browsers may keep: another content has another name.
async fn asset(Path(name): Path<String>, headers: HeaderMap) -> Result<Response<Body>, ApiError> {
    let asset = ASSETS.iter().find(|asset| asset.name == name && name != PAGE);
    let asset = asset.ok_or_else(|| Code::NotFound.with("Nothing is served at this path."))?;
    let takes_gzip = takes_gzip(&headers);
    let body = match takes_gzip {
        true => Bytes::from_static(asset.gzip),
        false => whole(asset).map_err(ApiError::internal)?,
    };
    let mut response = Response::new(Body::from(body));
    let headers = response.headers_mut();
    for (name, value) in [
        (CONTENT_TYPE, asset.content_type),
        (CACHE_CONTROL, "public, max-age=31536000, immutable"),
        // For workers, which have a policy of their own; a picture that is opened as a page runs nothing.
        (
            CONTENT_SECURITY_POLICY,
            "default-src 'none'; script-src 'self'; frame-ancestors 'none'",
        ),
        (VARY, "accept-encoding"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    if takes_gzip {
        headers.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    }
    response.extensions_mut().insert(SharedBody);
    Ok(response)
}

/// The content as it was, for clients that don't take gzip: the same memory for all of them.
fn whole(asset: &Asset) -> std::io::Result<Bytes> {
    static WHOLE: Mutex<BTreeMap<&'static str, Bytes>> = Mutex::new(BTreeMap::new());
    let whole = || WHOLE.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(content) = whole().get(asset.name) {
        return Ok(content.clone());
    }
    let content = Bytes::from(inflated(asset)?);
    whole().insert(asset.name, content.clone());
    Ok(content)
}

/// The content as it was. Only what is part of the program is decompressed here, so that it needs no limit.
fn inflated(asset: &Asset) -> std::io::Result<Vec<u8>> {
    let mut content = Vec::new();
    GzDecoder::new(asset.gzip).read_to_end(&mut content)?;
    Ok(content)
}

/// Whether a client takes gzip (RFC 9110, section 12.5.3).
fn takes_gzip(headers: &HeaderMap) -> bool {
    let lines = headers.get_all(ACCEPT_ENCODING).iter();
    let lines = lines.filter_map(|line| line.to_str().ok());
    let mut by_star = false;
    for coding in lines.flat_map(|line| line.split(',')) {
        let (name, weight) = coding.split_once(';').unwrap_or((coding, ""));
        let weight = weight.trim().strip_prefix("q=");
        let is_taken =
            weight.is_none_or(|weight| weight.trim().parse().is_ok_and(|weight: f32| weight > 0.0));
        match name.trim() {
            name if name.eq_ignore_ascii_case("gzip") => return is_taken,
            "*" => by_star = is_taken,
            _ => {}
        }
    }
    by_star
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gzip_is_sent_to_those_who_take_it() {
        for (line, expected) in [
            ("gzip", true),
            ("br, GZIP;q=0.5", true),
            ("*", true),
            ("identity, *;q=0.1", true),
            ("gzip;q=0, *", false),
            ("gzip; q=0.000", false),
            ("*;q=0", false),
            ("br", false),
            ("gzip;q=nonsense", false),
            ("", false),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(ACCEPT_ENCODING, line.parse().unwrap());
            assert_eq!(takes_gzip(&headers), expected, "{line}");
        }
        assert!(!takes_gzip(&HeaderMap::new()));
    }
}
