//! So many of something at a time for each user, so that whoever wants more of it waits for their own and for nobody else's.

use heddle_model::ids::UserId;
use heddle_processes::places::PerOwner;

/// The permits of all users.
pub type PerUser = PerOwner<UserId>;

/// The permits of all users, where what belongs to nobody has a share like a user's.
pub type PerUserOrNobody = PerOwner<Option<UserId>>;
