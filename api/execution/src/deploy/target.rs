//! Which of a pattern's deployments gets another form. Knows nothing of what is deployed.

use heddle_model::error::{Code, ServiceError};
use heddle_model::ids::{EnvironmentId, PatternId};
use heddle_model::slot::Slot;
use heddle_store::Db;
use heddle_store::deployments;

/// The slot of a pattern's deployment in an environment. In a transaction that holds the pattern nobody else chooses the same.
pub(super) async fn choose(
    db: &mut Db<'_>,
    pattern: PatternId,
    environment: Option<EnvironmentId>,
    moves: Option<bool>,
) -> Result<Slot, ServiceError> {
    let rows = deployments::of_pattern_for_system(db, pattern).await?;
    let last = deployments::main_environment(db, pattern).await?;
    let known: Vec<_> = rows.iter().map(|row| (row.slot(), row.environment_id)).collect();
    slot_of(pattern, &known, last, environment, moves)
}

/// An environment's own deployment keeps its slot. Another one becomes the main one if that moves, or if none is there and
/// the main one's addresses were those of this environment, or of none.
fn slot_of(
    pattern: PatternId,
    known: &[(Slot, Option<EnvironmentId>)],
    last: Option<EnvironmentId>,
    environment: Option<EnvironmentId>,
    moves: Option<bool>,
) -> Result<Slot, ServiceError> {
    let own = known.iter().find(|(_, of)| *of == environment);
    if let Some((slot, _)) = own {
        return Ok(*slot);
    }
    // Outside of workspaces there is nothing else.
    let Some(environment) = environment else {
        return Ok(Slot::main(pattern));
    };
    if moves == Some(true) && known.len() > 1 {
        return Err(Code::Conflict.with(
            "The pattern is deployed in several environments, so none of its deployments moves: leave out `move`.",
        ));
    }
    let moves = moves.unwrap_or(known.len() <= 1);
    let has_main = known.iter().any(|(slot, _)| slot.is_main());
    let is_free = !has_main && last.is_none_or(|last| last == environment);
    let becomes_main = is_free || moves && (has_main || known.is_empty());
    Ok(match becomes_main {
        true => Slot::main(pattern),
        false => Slot::further(pattern, environment),
    })
}

#[cfg(test)]
mod tests {
    use super::slot_of;
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

        fn main(&self, environment: EnvironmentId) -> (Slot, Option<EnvironmentId>) {
            (Slot::main(self.pattern), Some(environment))
        }

        fn further(&self, environment: EnvironmentId) -> (Slot, Option<EnvironmentId>) {
            (Slot::further(self.pattern, environment), Some(environment))
        }

        /// Whether a deployment to this environment is the main one; `None`: it is refused.
        fn is_main(
            &self,
            known: &[(Slot, Option<EnvironmentId>)],
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
