//! The workers that this crate starts, as their processes see it: which kind does what. What starts them says the kind.

use crate::effects;
use crate::mailbox;
use heddle_processes::ChannelError;
use heddle_sandbox::serve as executor;

/// Serves as a worker of this kind until the service closes its end: to be called before anything else, on the main thread,
/// with the last two arguments of the command line. `None`: this crate has no workers of this kind.
pub fn serve_worker(kind: &str, limits: &str) -> Option<Result<(), ChannelError>> {
    Some(match kind {
        executor::KIND => executor::serve(limits),
        effects::SQL_WORKER => effects::serve_sql(limits),
        effects::SQLITE_WORKER => effects::serve_sqlite(limits),
        effects::MAIL_WORKER => effects::serve_mail(limits),
        mailbox::WORKER => mailbox::serve(limits),
        _ => return None,
    })
}
