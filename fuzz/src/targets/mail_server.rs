//! What a server that mail is sent by says, whatever it is told; with a login if the first byte is odd. The message is sent or not, and what people are told of
//! it has a bound.

use heddle_runtime::EffectCode;
use heddle_runtime::foreign::mail_server_said;

/// Bytes of what people are told, with the full stop, or what stands for the rest.
const TOLD_BYTES_MAX: usize = (8 << 10) + '…'.len_utf8();

/// Checks an input.
pub fn check(data: &[u8]) {
    let Some((first, said)) = data.split_first() else {
        return;
    };
    let executor = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap();
    let logs_in = first % 2 == 1;
    if let Err(error) = executor.block_on(mail_server_said(said.to_vec(), logs_in)) {
        assert_eq!(error.code, EffectCode::MailFailed, "{error}");
        assert!(!error.message.is_empty() && error.message.len() <= TOLD_BYTES_MAX);
    }
}
