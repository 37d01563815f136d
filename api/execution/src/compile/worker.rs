//! What is said between the service and its compilers: requests, answers, and the process that answers.
//!
//! A request is a letter and what is to be compiled, an answer the request's SHA-256, a letter and the result. The
//! service trusts no length and no letter of an answer; machine code it has to trust (ARCHITECTURE.md).

use super::findings::{Compiled, Finding};
use super::renaming::{RenameRequest, Renamed};
use super::sources::{Sources, Unreadable};
use super::validation::{Diagnostic, Validation};
use heddle_compiler::{Artifact, NodeEffects, Options};
use heddle_contract::manifest::Manifest;
use heddle_processes::{Channel, ChannelError, FrameError, Rights};
use heddle_runtime::CompileJob;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// Its name on the command line.
pub const KIND: &str = "compile";

const GRAPH: u8 = b'g';
const VALIDATE: u8 = b'v';
const RENAME: u8 = b'n';
const CODE: u8 = b'c';
const DONE: u8 = b'd';
const REFUSED: u8 = b'r';
const DIGEST_BYTES: usize = 32;
/// Bytes of the length that stands before a part.
const LENGTH_BYTES: usize = 4;
/// Calls of the compilers nest; what this reserves is touched only as they do.
const STACK_BYTES: usize = 32 << 20;

/// What compiling a graph depends on besides the graph.
#[derive(Serialize, Deserialize)]
struct SentOptions {
    trace: bool,
    breakpoints: Vec<String>,
    #[serde(default)]
    renaming: Option<RenameRequest>,
    /// Whether a validation tells the rights as well.
    #[serde(default)]
    rights: bool,
}

/// What goes before the module in an answer.
#[derive(Default, Serialize, Deserialize)]
struct AnswerHead {
    unreadable: Option<Unreadable>,
    manifest: Option<Manifest>,
    effects: Vec<NodeEffects>,
    errors: Vec<Finding>,
    warnings: Vec<Finding>,
    diagnostics: Vec<Diagnostic>,
}

/// Asks for a graph's module.
pub fn graph_request(sources: Sources, options: &Options) -> serde_json::Result<Vec<u8>> {
    request(GRAPH, sources, &SentOptions::of(options))
}

/// Asks what is known of a graph, and of its rights if wanted.
pub fn validation_request(sources: Sources, with_rights: bool) -> serde_json::Result<Vec<u8>> {
    let sent = SentOptions {
        rights: with_rights,
        ..SentOptions::of(&Options::default())
    };
    request(VALIDATE, sources, &sent)
}

/// Asks for the places that name a node.
pub(super) fn rename_request(sources: Sources, wanted: RenameRequest) -> serde_json::Result<Vec<u8>> {
    let sent = SentOptions {
        renaming: Some(wanted),
        ..SentOptions::of(&Options::default())
    };
    request(RENAME, sources, &sent)
}

impl SentOptions {
    fn of(options: &Options) -> Self {
        SentOptions {
            trace: options.trace,
            breakpoints: options.breakpoints.clone(),
            renaming: None,
            rights: false,
        }
    }
}

fn request(letter: u8, sources: Sources, sent: &SentOptions) -> serde_json::Result<Vec<u8>> {
    let mut request = Vec::with_capacity(sources.bytes() + 1_024);
    request.push(letter);
    // Each by itself: together they would nest more deeply than any of them may.
    for text in sources.texts() {
        push_part(&mut request, text.as_bytes());
    }
    push_part(&mut request, &serde_json::to_vec(sent)?);
    Ok(request)
}

/// Asks for machine code.
pub fn code_request(job: &CompileJob<'_>) -> Vec<u8> {
    let mut request = vec![CODE];
    request.extend_from_slice(&job.request());
    request
}

/// The result in the answer to a request, or the reason of a refusal; `None`: it is not the answer to this request.
pub fn result_of<'a>(request: &[u8], answer: &'a [u8]) -> Option<Result<&'a [u8], String>> {
    let (digest, rest) = answer.split_at_checked(DIGEST_BYTES)?;
    if digest != Sha256::digest(request).as_slice() {
        return None;
    }
    match rest {
        [DONE, result @ ..] => Some(Ok(result)),
        [REFUSED, reason @ ..] => Some(Err(String::from_utf8_lossy(reason).into_owned())),
        _ => None,
    }
}

/// What compiling a graph gave; `None`: the answer can't be read.
pub(super) fn compiled(result: &[u8]) -> Option<Result<Compiled, Unreadable>> {
    let (head, wasm) = take_part(result)?;
    let head: AnswerHead = serde_json::from_slice(head).ok()?;
    if let Some(unreadable) = head.unreadable {
        return Some(Err(unreadable));
    }
    let artifact = head.manifest.map(|manifest| Artifact {
        wasm: wasm.to_vec(),
        manifest,
        effects: head.effects,
    });
    Some(Ok(Compiled {
        artifact,
        errors: head.errors,
        warnings: head.warnings,
        diagnostics: head.diagnostics,
    }))
}

/// What is known of a graph; `None`: it is not such an answer.
pub(super) fn validated(result: &[u8]) -> Option<Result<Validation, Unreadable>> {
    serde_json::from_slice(result).ok()
}

/// The places that name a node; `None`: the answer can't be read.
pub(super) fn renamed(result: &[u8]) -> Option<Result<Renamed, Unreadable>> {
    serde_json::from_slice(result).ok()
}

/// Whether a result is one of a graph compiled, validated, or searched for a node. For those who test that anything may be answered.
pub fn kinds_of(result: &[u8]) -> [bool; 3] {
    [
        compiled(result).is_some(),
        validated(result).is_some(),
        renamed(result).is_some(),
    ]
}

fn push_part(to: &mut Vec<u8>, part: &[u8]) {
    // What is longer is over the limit of a request, which says so.
    let length = u32::try_from(part.len()).unwrap_or(u32::MAX);
    to.extend_from_slice(&length.to_le_bytes());
    to.extend_from_slice(part);
}

fn take_part(from: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = from.split_first_chunk::<LENGTH_BYTES>()?;
    rest.split_at_checked(u32::from_le_bytes(*length) as usize)
}

/// The worker process, until its parent asks no more.
pub fn serve(limits: &str) -> Result<(), ChannelError> {
    let threads = std::thread::Builder::new().stack_size(STACK_BYTES);
    Channel::confined(limits, Rights::Compute)?.serve(threads, answer_all)
}

fn answer_all(mut channel: Channel) {
    while let Ok(Some(request)) = channel.receive() {
        let digest = Sha256::digest(&request);
        let answer = |letter, result: &[u8]| {
            let mut answer = digest.to_vec();
            answer.push(letter);
            answer.extend_from_slice(result);
            answer
        };
        let result = execute(&request);
        drop(request);
        let reply = match &result {
            Ok(result) => answer(DONE, result),
            Err(reason) => answer(REFUSED, reason.as_bytes()),
        };
        drop(result);
        let sent = match channel.send(&reply) {
            Err(FrameError::TooLarge { bytes, bytes_max }) => {
                let reason = format!("its module would have {bytes} bytes; at most {bytes_max} are allowed");
                channel.send(&answer(REFUSED, reason.as_bytes()))
            }
            sent => sent,
        };
        if sent.is_err() {
            return;
        }
    }
}

fn execute(request: &[u8]) -> Result<Vec<u8>, String> {
    match request {
        [GRAPH, rest @ ..] => graph(rest).ok_or_else(|| "the request is broken".to_owned()),
        [VALIDATE, rest @ ..] => validate(rest).ok_or_else(|| "the request is broken".to_owned()),
        [RENAME, rest @ ..] => rename(rest).ok_or_else(|| "the request is broken".to_owned()),
        [CODE, rest @ ..] => CompileJob::execute_request(rest).map_err(|error| error.to_string()),
        _ => Err("the request is broken".to_owned()),
    }
}

impl From<SentOptions> for Options {
    fn from(sent: SentOptions) -> Self {
        Options {
            trace: sent.trace,
            breakpoints: sent.breakpoints,
            ..Options::default()
        }
    }
}

fn sources_and_options(request: &[u8]) -> Option<(Sources, SentOptions)> {
    let (graph, rest) = take_part(request)?;
    let (definitions, rest) = take_part(rest)?;
    let (pins, rest) = take_part(rest)?;
    let (sent, _) = take_part(rest)?;
    let sent: SentOptions = serde_json::from_slice(sent).ok()?;
    let sources = Sources {
        graph: serde_json::from_slice(graph).ok()?,
        definitions: serde_json::from_slice(definitions).ok()?,
        pinned_nodes: match pins {
            b"null" => None,
            pins => Some(serde_json::from_slice(pins).ok()?),
        },
    };
    Some((sources, sent))
}

fn rename(request: &[u8]) -> Option<Vec<u8>> {
    let (sources, sent) = sources_and_options(request)?;
    serde_json::to_vec(&sources.rename(&sent.renaming?)).ok()
}

fn validate(request: &[u8]) -> Option<Vec<u8>> {
    let (sources, sent) = sources_and_options(request)?;
    let with_rights = sent.rights;
    serde_json::to_vec(&sources.validate(sent.into(), with_rights)).ok()
}

fn graph(request: &[u8]) -> Option<Vec<u8>> {
    let (sources, sent) = sources_and_options(request)?;
    let (head, wasm) = match sources.compile(sent.into()).map(Compiled::from) {
        Ok(compiled) => {
            let (manifest, effects, wasm) = match compiled.artifact {
                Some(artifact) => (Some(artifact.manifest), artifact.effects, artifact.wasm),
                None => (None, Vec::new(), Vec::new()),
            };
            let head = AnswerHead {
                manifest,
                effects,
                errors: compiled.errors,
                warnings: compiled.warnings,
                diagnostics: compiled.diagnostics,
                ..AnswerHead::default()
            };
            (head, wasm)
        }
        Err(unreadable) => {
            let unreadable = Some(unreadable);
            (
                AnswerHead {
                    unreadable,
                    ..AnswerHead::default()
                },
                Vec::new(),
            )
        }
    };
    let mut result = Vec::with_capacity(wasm.len() + 1_024);
    push_part(&mut result, &serde_json::to_vec(&head).ok()?);
    result.extend_from_slice(&wasm);
    Some(result)
}
