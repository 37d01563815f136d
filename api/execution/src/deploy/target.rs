//! Chooses which of a pattern's deployments is replaced. Knows nothing of what is deployed.

use heddle_model::error::{Code, ServiceError};
use heddle_model::ids::{EnvironmentId, PatternId};
use heddle_model::slot::Slot;
use heddle_model::status::DeploymentStatus;
use heddle_store::Db;
use heddle_store::deployments::{self, DeploymentRow};

/// The slot of a pattern's deployment in an environment. In a transaction that holds the pattern nobody else chooses the same.
pub(super) async fn choose(
    db: &mut Db<'_>,
    pattern: PatternId,
    environment: Option<EnvironmentId>,
    moves: Option<bool>,
) -> Result<Slot, ServiceError> {
    let rows = deployments::of_pattern_for_system(db, pattern).await?;
    let last = deployments::main_environment(db, pattern).await?;
    let known: Vec<Known> = rows.iter().map(Known::of).collect();
    slot_of(pattern, &known, last, environment, moves)
}

/// A deployment that the pattern has, or had: it may be undeployed.
#[derive(Clone, Copy)]
struct Known {
    slot: Slot,
    environment: Option<EnvironmentId>,
    is_deployed: bool,
}

impl Known {
    fn of(row: &DeploymentRow) -> Known {
        Known {
            slot: row.slot(),
            environment: row.environment_id,
            is_deployed: row.status != DeploymentStatus::Undeployed,
        }
    }
}

/// An environment's own deployment keeps its slot. Another one becomes the main one if that moves, or if none is there and
/// the main one's addresses were those of this environment, or of none.
fn slot_of(
    pattern: PatternId,
    known: &[Known],
    last: Option<EnvironmentId>,
    environment: Option<EnvironmentId>,
    moves: Option<bool>,
) -> Result<Slot, ServiceError> {
    let own = known.iter().find(|known| known.environment == environment);
    if let Some(own) = own {
        return Ok(own.slot);
    }
    // Outside of workspaces there is nothing else.
    let Some(environment) = environment else {
        return Ok(Slot::main(pattern));
    };
    // What is undeployed is in nobody's way, but what is deployed further can't become the main one.
    let deployed: Vec<&Known> = known.iter().filter(|known| known.is_deployed).collect();
    if moves == Some(true) && deployed.len() > 1 {
        return Err(Code::Conflict.with(
            "The pattern is deployed in several environments, so none of its deployments moves: leave out `move`.",
        ));
    }
    let moves = moves.unwrap_or(deployed.len() <= 1);
    let had_main = known.iter().any(|known| known.slot.is_main());
    let is_free = !had_main && last.is_none_or(|last| last == environment);
    let becomes_main = is_free || moves && deployed.iter().all(|known| known.slot.is_main());
    Ok(match becomes_main {
        true => Slot::main(pattern),
        false => Slot::further(pattern, environment),
    })
}

#[cfg(test)]
mod tests {
    use super::{Known, slot_of};
    use heddle_model::ids::{EnvironmentId, PatternId};
    use heddle_model::slot::Slot;

    struct Scene {
        pattern: PatternId,
        production: EnvironmentId,
        staging: EnvironmentId,
    }

    impl Scene {
        fn new() -> Scene {
            Scene {
                pattern: PatternId::new(),
                production: EnvironmentId::new(),
                staging: EnvironmentId::new(),
            }
        }

        fn main(&self, environment: EnvironmentId) -> Known {
            deployed(Slot::main(self.pattern), environment)
        }

        fn further(&self, environment: EnvironmentId) -> Known {
            deployed(Slot::further(self.pattern, environment), environment)
        }

        /// Whether a deployment to this environment is the main one; `None`: it is refused.
        fn is_main(
            &self,
            known: &[Known],
            last: Option<EnvironmentId>,
            environment: EnvironmentId,
            moves: Option<bool>,
        ) -> Option<bool> {
            slot_of(self.pattern, known, last, Some(environment), moves)
                .ok()
                .map(Slot::is_main)
        }
    }

    #[test]
    fn the_only_deployment_moves_unless_it_is_not_to() {
        let scene = Scene::new();
        let (production, staging) = (scene.production, scene.staging);
        assert_eq!(scene.is_main(&[], None, staging, Some(false)), Some(true));
        let only = [scene.main(production)];
        let last = Some(production);
        assert_eq!(scene.is_main(&only, last, staging, None), Some(true));
        assert_eq!(scene.is_main(&only, last, staging, Some(true)), Some(true));
        assert_eq!(scene.is_main(&only, last, staging, Some(false)), Some(false));
        assert_eq!(scene.is_main(&only, last, production, Some(false)), Some(true));
    }

    fn deployed(slot: Slot, environment: EnvironmentId) -> Known {
        Known {
            slot,
            environment: Some(environment),
            is_deployed: true,
        }
    }

    fn undeployed(known: Known) -> Known {
        Known {
            is_deployed: false,
            ..known
        }
    }

    #[test]
    fn what_is_undeployed_stops_nothing_from_moving() {
        let scene = Scene::new();
        let (last, third) = (Some(scene.production), EnvironmentId::new());
        let (main, further) = (scene.main(scene.production), scene.further(scene.staging));
        let former = [main, undeployed(further)];
        for (moves, is_main) in [(None, true), (Some(true), true), (Some(false), false)] {
            assert_eq!(scene.is_main(&former, last, third, moves), Some(is_main));
        }
        assert_eq!(scene.is_main(&former, last, scene.staging, None), Some(false));
        let without_main = [undeployed(main), further];
        assert_eq!(scene.is_main(&without_main, last, third, None), Some(false));
        assert_eq!(
            scene.is_main(&without_main, last, scene.production, None),
            Some(true)
        );
    }

    #[test]
    fn of_several_none_moves() {
        let scene = Scene::new();
        let last = Some(scene.production);
        let both = [scene.main(scene.production), scene.further(scene.staging)];
        assert_eq!(scene.is_main(&both, last, scene.production, None), Some(true));
        assert_eq!(scene.is_main(&both, last, scene.staging, None), Some(false));
        let third = EnvironmentId::new();
        assert_eq!(scene.is_main(&both, last, third, None), Some(false));
        assert_eq!(scene.is_main(&both, last, third, Some(true)), None);
    }

    #[test]
    fn the_addresses_of_a_main_deployment_that_is_gone_are_kept_for_its_environment() {
        let scene = Scene::new();
        let last = Some(scene.production);
        let left = [scene.further(scene.staging)];
        let third = EnvironmentId::new();
        for moves in [None, Some(true), Some(false)] {
            assert_eq!(scene.is_main(&left, last, scene.production, moves), Some(true));
            assert_eq!(scene.is_main(&left, last, third, moves), Some(false));
        }
        assert_eq!(scene.is_main(&[], last, third, None), Some(true));
        assert_eq!(scene.is_main(&[], last, third, Some(false)), Some(false));
    }
}
