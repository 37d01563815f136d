//! What a server of mailboxes says, whatever it is asked: by IMAP if the first byte is even, or else by POP3. It is understood or refused,
//! and no message is larger than what was asked for, or made of anything that was not sent.

use heddle_runtime::foreign::mailbox_said;

/// The largest message that is asked for.
const BYTES_MAX: usize = 1 << 10;

/// Checks an input.
pub fn check(data: &[u8]) {
    let Some((first, said)) = data.split_first() else {
        return;
    };
    let executor = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap();
    let by_imap = first % 2 == 0;
    let messages = executor.block_on(mailbox_said(said.to_vec(), by_imap));
    let bytes: usize = messages.iter().map(Vec::len).sum();
    // Lines that end with a line feed alone are made whole.
    assert!(bytes <= 2 * said.len());
    assert!(messages.iter().all(|message| message.len() <= BYTES_MAX + 2));
}
