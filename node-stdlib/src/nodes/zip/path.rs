//! Names within archives, which come from whoever made them: relative paths that lead nowhere else.

use crate::failure::Failure;
use heddle_contract::abi::code;

/// Bytes of a path.
const PATH_BYTES_MAX: usize = 1_024;

/// The upper half of code page 437, in which names are that are not UTF-8.
const CODE_PAGE: &str = "ÇüéâäàåçêëèïîìÄÅÉæÆôöòûùÿÖÜ¢£¥₧ƒáíóúñÑªº¿⌐¬½¼¡«»░▒▓│┤╡╢╖╕╣║╗╝╜╛┐└┴┬├─┼╞╟╚╔╩╦╠═╬╧╨╤╥╙╘╒╓╫╪┘┌█▄▌▐▀αßΓπΣσµτΦΘΩδ∞φε∩≡±≥≤⌠⌡÷≈°∙·√ⁿ²■\u{a0}";

/// A name as an archive has it. Makers of archives do not always say that it is UTF-8.
pub(super) fn decoded(name: &[u8]) -> String {
    match str::from_utf8(name) {
        Ok(name) => name.to_owned(),
        Err(_) => name.iter().map(|byte| character(*byte)).collect(),
    }
}

fn character(byte: u8) -> char {
    match byte.checked_sub(0x80) {
        None => char::from(byte),
        Some(place) => CODE_PAGE.chars().nth(usize::from(place)).unwrap_or('\u{fffd}'),
    }
}

/// The path with `/` between its parts, if it stays within the archive.
pub(super) fn checked(path: &str) -> Result<String, Failure> {
    let path = path.replace('\\', "/");
    let refused = |why: &str| {
        let shown: String = path.chars().take(200).collect();
        let message = format!("The name {shown:?} of a file in the archive is refused: {why}.");
        Err(Failure::new(code::PARSE, message))
    };
    if path.is_empty() {
        return refused("it is empty");
    }
    if path.len() > PATH_BYTES_MAX {
        return refused("it is longer than 1,024 bytes");
    }
    if path.chars().any(char::is_control) {
        return refused("it has control characters");
    }
    if path.starts_with('/') || path.as_bytes().get(1) == Some(&b':') {
        return refused("it begins at the root of a file system");
    }
    if path.split('/').any(|part| matches!(part, "." | "..")) {
        return refused("it leads out of the archive");
    }
    Ok(path)
}

/// The media type that a name's ending stands for.
pub(super) fn media_type(path: &str) -> &'static str {
    let ending = path
        .rsplit_once('.')
        .map(|(_, ending)| ending.to_ascii_lowercase());
    match ending.as_deref() {
        Some("csv") => "text/csv",
        Some("css") => "text/css",
        Some("docx") => "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
        Some("gif") => "image/gif",
        Some("htm" | "html") => "text/html",
        Some("jpeg" | "jpg") => "image/jpeg",
        Some("json") => "application/json",
        Some("jsonl" | "ndjson") => "application/x-ndjson",
        Some("md") => "text/markdown",
        Some("mp3") => "audio/mpeg",
        Some("mp4") => "video/mp4",
        Some("pdf") => "application/pdf",
        Some("png") => "image/png",
        Some("svg") => "image/svg+xml",
        Some("txt") => "text/plain",
        Some("webp") => "image/webp",
        Some("xlsx") => "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
        Some("xml") => "application/xml",
        Some("zip") => "application/zip",
        _ => "application/octet-stream",
    }
}
