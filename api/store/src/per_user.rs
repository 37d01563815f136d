//! So many of something at a time for each user, so that whoever wants more of it waits for their own and for nobody else's.

use heddle_model::ids::UserId;
use heddle_processes::places::PerOwner;

/// The permits of all users.
pub type PerUser = PerOwner<UserId>;

/// The same where what is nobody's has a share like a user's.
pub type PerUserOrNobody = PerOwner<Option<UserId>>;
